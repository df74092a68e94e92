// Columns of the history: each field of the node's newest state has its place behind the older ones.
import type { History, Now } from "./api/documents";

const NEWEST: Readonly<Record<string, (now: Now) => number | null>> = {
  time: (now) => now.time,
  cpus_leased: (now) => now.cpus.leased,
  cpus_busy: (now) => now.cpus.busy,
  gpus_leased: (now) => now.gpus.leased,
  memory_used_bytes: (now) => now.memory.used_bytes,
  store_used_bytes: (now) => now.store.used_bytes,
  spilled_bytes: (now) => now.store.spilled_bytes,
  tasks_per_second: (now) => now.tasks.per_second,
  failed_per_second: (now) => now.tasks.failed_per_second,
  running: (now) => now.tasks.running,
  waiting: (now) => now.tasks.waiting,
  unfinished: (now) => now.tasks.unfinished,
  workers: (now) => now.workers.total,
};

/** The history with one more moment at its end, and without those that are older than `seconds`. */
export function extended(history: History, now: Now, seconds: number): History {
  const time = history.fields.indexOf("time");
  const last = history.columns[time]?.at(-1) ?? 0;
  if (now.time <= last) return history;
  const found = history.columns[time]?.findIndex((at) => (at ?? 0) >= now.time - seconds) ?? -1;
  const first = found < 0 ? (history.columns[time]?.length ?? 0) : found;
  const columns = history.fields.map((field, i) => [...(history.columns[i] ?? []).slice(first), NEWEST[field]?.(now) ?? null]);
  return { ...history, columns };
}
