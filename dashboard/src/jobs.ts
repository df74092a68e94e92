// How jobs are told: their words, and their times, which are RFC 3339.
import type { Job } from "./api/documents";

export function command(job: Job): string {
  return typeof job.command === "string" ? job.command : job.command.map(quoted).join(" ");
}

/** A word as a shell would need it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export function unixSeconds(text: string | null | undefined): number | null {
  const at = text ? Date.parse(text) / 1000 : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

export function hasEnded(job: Job): boolean {
  return job.status !== "pending" && job.status !== "running";
}

/** What it waits for while it waits, and why it ended as it did. */
export function reason(job: Job): string {
  return (hasEnded(job) ? job.message : job.pending_reason) ?? "";
}
