// The runs of the stream, a row for each worker, kept in columns: many of them must neither fill the memory nor
// slow the painting.
import type { RunState } from "../api/documents";

/** How a run ended, by the number that its column holds. */
export const STATES: readonly RunState[] = ["ok", "failed", "cancelled", "timed out", "retried"];

export function isFailure(state: RunState | undefined): boolean {
  return state === "failed" || state === "timed out" || state === "retried";
}

export interface Added {
  readonly task: string;
  readonly attempt: number;
  readonly start: number;
  readonly end: number;
  readonly fn: number;
  readonly state: RunState;
  /** Above 1: so many short runs, one after the other. */
  readonly count: number;
}

/** A run as it lies in the columns of its row. */
export interface Bar {
  readonly row: Row;
  readonly index: number;
}

const FIRST_CAPACITY = 16; // a node may have had very many workers that ran little

export interface Running {
  readonly task: string;
  readonly start: number;
  readonly fn: number;
}

function columns(capacity: number) {
  return {
    starts: new Float64Array(capacity),
    ends: new Float64Array(capacity),
    functions: new Uint32Array(capacity),
    counts: new Uint32Array(capacity),
    attempts: new Uint16Array(capacity),
    states: new Uint8Array(capacity),
  };
}

export class Row {
  length = 0;
  tasks: string[] = [];
  running: Running[] = [];
  /** The longest run, so that those that began before a window and reach into it are found. */
  longest = 0;
  #columns = columns(FIRST_CAPACITY);

  constructor(
    readonly number: number,
    public label: string,
  ) {}

  get starts(): Float64Array {
    return this.#columns.starts;
  }

  get ends(): Float64Array {
    return this.#columns.ends;
  }

  get functions(): Uint32Array {
    return this.#columns.functions;
  }

  get counts(): Uint32Array {
    return this.#columns.counts;
  }

  get attempts(): Uint16Array {
    return this.#columns.attempts;
  }

  state(index: number): RunState {
    return STATES[this.#columns.states[index] ?? 0] ?? "ok";
  }

  /** Runs come nearly in the order of their starts; one that is late is put in its place. */
  add({ task, attempt, start, end, fn, state, count }: Added): void {
    if (this.length === this.starts.length) this.#grow();
    let at = this.length;
    while (at > 0 && (this.starts[at - 1] as number) > start) at -= 1;
    if (at < this.length) this.#shift(at, at + 1);
    const columns = this.#columns;
    columns.starts[at] = start;
    columns.ends[at] = end;
    columns.functions[at] = fn;
    columns.counts[at] = count;
    columns.attempts[at] = attempt;
    columns.states[at] = Math.max(0, STATES.indexOf(state));
    if (at === this.length) this.tasks.push(task);
    else this.tasks.splice(at, 0, task);
    this.length += 1;
    this.longest = Math.max(this.longest, end - start);
  }

  /** The first run that begins at `time` or later. */
  from(time: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.starts[middle] as number) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  dropOldest(count: number): void {
    const gone = Math.min(count, this.length);
    this.#shift(gone, 0);
    this.tasks.splice(0, gone);
    this.length -= gone;
  }

  /** The run at a moment, or the one nearest to it within `reach` seconds. */
  at(time: number, reach: number): number | null {
    let best: number | null = null;
    let least = reach;
    for (let i = this.from(time - this.longest - reach); i < this.length && (this.starts[i] as number) <= time + reach; i += 1) {
      const away = Math.max((this.starts[i] as number) - time, time - (this.ends[i] as number), 0);
      if (away <= least) {
        best = i;
        least = away;
      }
    }
    return best;
  }

  #shift(from: number, to: number): void {
    for (const column of Object.values(this.#columns)) column.copyWithin(to, from, this.length);
  }

  #grow(): void {
    const old = this.#columns;
    this.#columns = columns(old.starts.length * 2);
    for (const name of Object.keys(old) as (keyof typeof old)[]) this.#columns[name].set(old[name]);
  }
}

export class Rows {
  readonly list: Row[] = [];
  length = 0;
  /** How many were let go of, the oldest first, to stay within `most`. */
  dropped = 0;
  /** How many of those that were added failed. */
  failures = 0;
  #byNumber = new Map<number, Row>();

  constructor(private readonly most = 300_000) {}

  /** The row of a worker, which is made where there is none. */
  row(number: number, label: string): Row {
    let row = this.#byNumber.get(number);
    if (!row) {
      row = new Row(number, label);
      this.#byNumber.set(number, row);
      const isLast = number > (this.list.at(-1)?.number ?? -1); // numbers are given in the order of appearance
      this.list.push(row);
      if (!isLast) this.list.sort((one, other) => one.number - other.number);
    }
    row.label = label;
    return row;
  }

  find(number: number): Row | undefined {
    return this.#byNumber.get(number);
  }

  add(row: Row, run: Added): void {
    row.add(run);
    this.length += 1;
    if (isFailure(run.state)) this.failures += 1;
    if (this.length > this.most) this.#dropOldest();
  }

  clear(): void {
    this.list.length = 0;
    this.#byNumber.clear();
    this.length = 0;
    this.dropped = 0;
  }

  /** The time of the first start that is kept and of the last end. */
  span(): { from: number; to: number } | null {
    let from = Number.POSITIVE_INFINITY;
    let to = Number.NEGATIVE_INFINITY;
    for (const row of this.list) {
      if (row.length === 0) continue;
      from = Math.min(from, row.starts[0] as number);
      to = Math.max(to, row.ends[row.length - 1] as number);
    }
    return from <= to ? { from, to } : null;
  }

  /** An eighth at once, so that the columns move seldom. */
  #dropOldest(): void {
    const span = this.span();
    if (!span) return;
    for (let part = 1; part <= 8 && this.length > this.most * 0.875; part += 1) {
      const until = span.from + ((span.to - span.from) * part) / 8;
      for (const row of this.list) {
        const gone = row.from(until);
        row.dropOldest(gone);
        this.length -= gone;
        this.dropped += gone;
      }
    }
    if (this.length > this.most) this.#dropOfEach();
    this.#dropEmpty();
  }

  /** Workers that have ended long ago; one that runs something again gets its row again. */
  #dropEmpty(): void {
    const kept = this.list.filter((row) => row.length > 0 || row.running.length > 0);
    if (kept.length === this.list.length) return;
    this.list.splice(0, this.list.length, ...kept);
    this.#byNumber = new Map(kept.map((row) => [row.number, row]));
  }

  /** What all began at one moment has no oldest. */
  #dropOfEach(): void {
    for (const row of this.list) {
      const gone = Math.ceil(row.length / 8);
      row.dropOldest(gone);
      this.length -= gone;
      this.dropped += gone;
    }
  }
}
