// The last minutes as columns for charts: what the node kept, with what it says now behind it.
import { untrack } from "svelte";
import type { History } from "./api/documents";
import { live, route } from "./api/live.svelte";
import { get, url } from "./api/request";
import { extended } from "./columns";

export interface Range {
  readonly seconds: number;
  readonly label: string;
}

export const RANGES: readonly [Range, ...Range[]] = [
  { seconds: 60, label: "1 min" },
  { seconds: 600, label: "10 min" },
  { seconds: 7200, label: "2 h" },
  { seconds: 86_400, label: "24 h" },
];

/** To be made while a component is made. */
export class HistoryKept {
  #history = $state.raw<History | null>(null);

  constructor(seconds: () => number) {
    const range = $derived(seconds());
    $effect(() => {
      if (live.connection !== "live" || !live.visible) return;
      return this.#ask(range);
    });
    $effect(() => {
      const now = live.now;
      const kept = untrack(() => this.#history);
      if (now && kept && kept.step_seconds < 1) this.#history = extended(kept, now, range);
    });
  }

  get times(): readonly number[] {
    return (this.#column("time") as number[] | undefined) ?? [];
  }

  of(...fields: string[]): (readonly (number | null)[])[] {
    return fields.map((field) => this.#column(field) ?? []);
  }

  #column(field: string): (number | null)[] | undefined {
    const history = this.#history;
    return history?.columns[history.fields.indexOf(field)];
  }

  /** Coarse ones are asked for anew when they have another step to tell. */
  #ask(seconds: number): () => void {
    let timer = 0;
    const ended = new AbortController();
    const ask = async () => {
      try {
        const history = await get<History>(url(route("history"), { seconds }), {}, ended.signal);
        if (ended.signal.aborted) return;
        this.#history = history;
        if (history.step_seconds >= 1) timer = window.setTimeout(() => void ask(), history.step_seconds * 1000);
      } catch {
        // The connection says it, and asks again.
      }
    };
    void ask();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }
}
