// Puts what the node tells of tasks into the rows, and keeps the names of functions by their numbers.
import type { Tasks } from "../api/documents";
import { chosenColour } from "./palette";
import { Rows } from "./rows";

export class Stream {
  readonly rows: Rows;
  readonly names: string[] = [];
  /** The colour of each function, as palette.ts numbers them. */
  readonly colours: number[] = [];
  /** Runs that the node did not send, because there were too many or it had forgotten them. */
  leftOut = 0;
  /** The node's time of the newest message. */
  time = 0;
  #numbers = new Map<number, number>(); // the node's number of a function → its place in `names`

  constructor(most?: number) {
    this.rows = new Rows(most);
  }

  take(told: Tasks): void {
    this.time = told.time;
    this.leftOut += told.left_out;
    for (const [number, name] of told.functions) this.#name(number, name);
    for (const [number, pid] of told.workers) this.rows.row(number, label(number, pid));
    for (const [fn, worker, start, seconds, state, count, task, attempt] of told.rows) {
      const row = this.rows.find(worker) ?? this.rows.row(worker, label(worker, null));
      this.rows.add(row, { task, attempt: attempt ?? 0, start, end: start + seconds, fn: this.#place(fn), state, count });
    }
    for (const row of this.rows.list) row.running = [];
    for (const [fn, worker, start, , , , task] of told.running) {
      const row = this.rows.find(worker) ?? this.rows.row(worker, label(worker, null));
      row.running.push({ task, start, fn: this.#place(fn) });
    }
  }

  #name(number: number, name: string): void {
    const place = this.#place(number);
    if (this.names[place] === name) return;
    this.names[place] = name;
    this.colours[place] = chosenColour(
      name,
      this.colours.filter((_, other) => other !== place),
    );
  }

  #place(number: number): number {
    let place = this.#numbers.get(number);
    if (place === undefined) {
      place = this.names.length;
      this.#numbers.set(number, place);
      this.names.push(`function ${number}`);
      this.colours.push(0);
    }
    return place;
  }
}

function label(number: number, pid: number | null): string {
  return pid === null ? `worker ${number}` : `worker ${number}, pid ${pid}`;
}
