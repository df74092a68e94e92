// What the node answers: docs/formats/dashboard.md has the meaning of each key, and docs/reference/cli.md that of jobs.

export interface Process {
  process: number;
  pid: number | null;
}

export interface Session {
  release: string;
  node: string;
  pid: number;
  started: number;
  time: number;
  may: { stop_jobs: boolean };
}

export interface Waiting {
  kind: "tasks" | "actor" | "job";
  count: number;
  seconds: number;
  reason: string;
  way_on: string;
  name?: string | null;
  id?: string;
  resources: Record<string, number>;
  processes?: Process[];
}

export interface Now {
  time: number;
  resources: { total: Record<string, number>; free: Record<string, number> };
  cpus: { total: number; leased: number; busy: number | null };
  gpus: { total: number; leased: number };
  memory: { limit_bytes: number; used_bytes: number };
  store: { limit_bytes: number; used_bytes: number; spilled_bytes: number; segments: number; objects: number };
  tasks: {
    per_second: number;
    failed_per_second: number;
    running: number;
    unfinished: number;
    waiting: number;
    ended: number;
    failed: number;
  };
  workers: Record<string, number> & { total: number };
  drivers: number;
  actors: number;
  jobs: { running: number; pending: number };
  waiting: Waiting[];
}

export interface History {
  step_seconds: number;
  fields: string[];
  columns: (number | null)[][];
}

export type RunState = "ok" | "failed" | "cancelled" | "timed out" | "retried" | "running";

/** function, worker, start, seconds, state, count, task, attempt */
export type TaskRow = [number, number, number, number, RunState, number, string, number | null];

export interface Tasks {
  time: number;
  next: number;
  left_out: number;
  functions: [number, string][];
  /** number, pid, process */
  workers: [number, number | null, number][];
  rows: TaskRow[];
  running: TaskRow[];
}

export interface Run {
  attempt: number | null;
  state: RunState;
  worker: { number: number; process: number; pid: number | null; alive: boolean } | null;
  start: number;
  seconds: number;
  cpu_seconds: number | null;
  peak_memory_bytes: number | null;
  bytes_in: number | null;
  bytes_out: number | null;
  count: number;
}

export interface Task {
  task: string;
  function: string;
  client: Process | null;
  runs: Run[];
  error: string | null;
  stack: string | null;
}

export interface FunctionRow {
  number: number;
  name: string;
  running: number;
  count: number;
  ok: number;
  failed: number;
  cancelled: number;
  timed_out: number;
  retried: number;
  per_second: number;
  seconds_total: number;
  seconds_mean: number | null;
  seconds_p50: number | null;
  seconds_p90: number | null;
  seconds_p99: number | null;
  seconds_max: number | null;
  cpu_seconds: number | null;
  peak_memory_bytes: number | null;
  bytes_in: number | null;
  bytes_out: number | null;
  last: number | null;
}

export interface Functions {
  total: number;
  since: number;
  functions: FunctionRow[];
}

export interface Actor {
  actor: string;
  class: string;
  name: string | null;
  namespace: string;
  state: string;
  detached: boolean;
  pid: number | null;
  process: number | null;
  restarts: number;
  max_restarts: number;
  pending_calls: number | null;
  memory_bytes: number | null;
  running: string | null;
  running_seconds: number | null;
  reason: string | null;
  way_on: string | null;
  error: string | null;
}

export interface Actors {
  total: number;
  actors: Actor[];
}

export interface SharedObject {
  object: string;
  bytes: number | null;
  place: "inline" | "shared" | "spilled" | null;
  state: "pending" | "complete" | "lost";
  /** Whose run made it, where that is known. */
  function: string | null;
  owner: Process | null;
  holders: Process[];
  contained_in: number;
}

export interface Objects {
  total: number;
  bytes: number;
  objects: SharedObject[];
  by_owner: (Process & { count: number; bytes: number })[];
  growing: Growing[];
}

/** Objects of one owner, made by one function, whose sum grows. */
export interface Growing extends Process {
  function: string | null;
  since: number;
  count_then: number;
  count: number;
  bytes_then: number;
  bytes: number;
  bytes_per_minute: number;
}

export interface Worker {
  process: number;
  pid: number;
  number: number | null;
  state: string;
  task: string | null;
  running_seconds: number | null;
  stopped_seconds: number | null;
  client: Process | null;
  resources: Record<string, number> | null;
  devices: Record<string, unknown> | null;
  memory_bytes: number | null;
  cpu_seconds: number | null;
  actor: string | null;
}

export interface Driver {
  process: number;
  pid: number;
  memory_bytes: number | null;
  cpu_seconds: number | null;
  command: string | null;
  /** The id of the job that it is a process of. */
  job: string | null;
  unfinished: number | null;
}

export interface Workers {
  total: number;
  workers: Worker[];
  drivers: Driver[];
}

export interface Stack {
  pid: number;
  role: string;
  source: string | null;
  problem: string | null;
  threads: { name: string; has_gil?: boolean | null; frames: { function: string; file: string; line: number }[] }[];
}

/** depth, start, samples, own, function, file, line */
export type FlameRow = [number, number, number, number, string, string, number | null];

export interface Flame {
  pid: number;
  seconds: number;
  samples: number;
  left_out: number;
  problem: string | null;
  frames: FlameRow[];
}

export interface LogLine {
  time: number | null;
  level: string | null;
  text: string;
}

export interface NodeLog {
  path: string | null;
  problem: string | null;
  lines: LogLine[];
}

export interface Replica {
  status: string;
  exit_code?: number | null;
  signal?: number | null;
  error: string | null;
  peak_memory_bytes?: number | null;
}

export interface Job {
  id: string;
  name: string;
  command: string[] | string;
  folder: string;
  metadata: Record<string, string>;
  status: "pending" | "running" | "succeeded" | "failed" | "stopped";
  phase: string;
  pending_reason: string | null;
  message: string | null;
  exit_code: number | null;
  replicas: Replica[];
  attempt: number;
  failures: number;
  max_failures: number;
  preemptions: number;
  max_preemptions: number;
  resources: Record<string, number>;
  priority: number;
  deadline_seconds: number | null;
  grace_seconds: number | null;
  runtime_env?: Record<string, unknown> | null;
  /** RFC 3339, in UTC. */
  submitted_at: string | null;
  started_at: string | null;
  ended_at: string | null;
  supervisor_pid: number | null;
}

export interface Jobs {
  jobs: Job[];
}

/** A cluster beside this node that somebody named. */
export interface Cluster {
  name: string;
  kind: string;
  spec: string;
  answers: boolean;
  problem: string | null;
  /** How many there were by status, when it last answered. */
  jobs: Record<string, number>;
}

export interface Clusters {
  clusters: Cluster[];
}

/** A piece of a job's output, as `…/logs/follow` sends it. */
export interface LogPiece {
  replica: number;
  stream: number;
  offset: number;
  missing: number;
  text: string;
}
