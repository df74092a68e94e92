// How jobs are told: their words, and their times, which are RFC 3339.
import type { Job } from "./api/documents";

/** The route of a job, or without an id of all. */
export function jobRoute(id?: string): string {
  return id === undefined ? "/api/v1/jobs" : `/api/v1/jobs/${encodeURIComponent(id)}`;
}

/** A command of one word is a line for the shell, as Ray has it. */
export function command(job: Job): string {
  if (typeof job.command === "string") return job.command;
  return job.command.length === 1 ? (job.command[0] ?? "") : job.command.map(quoted).join(" ");
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

/** The attempt before the newest one that an address asks for; undefined: it asks for the newest. */
export function chosenAttempt(text: string | undefined, newest: number): number | undefined {
  const number = Number.parseInt(text ?? "", 10);
  return number >= 1 && number < newest ? number : undefined;
}

const MOST_ATTEMPTS = 100;

/** Those to choose from, the newest first. */
export function attempts(newest: number): number[] {
  return Array.from({ length: Math.min(newest, MOST_ATTEMPTS) }, (_, back) => newest - back);
}
