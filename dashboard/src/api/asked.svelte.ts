// A document of the node that is asked for again and again while somebody sees it.
import { live } from "./live.svelte";
import { get, Unreachable } from "./request";

export interface Asked<T> {
  readonly data: T | null;
  /** What the node said in place of an answer. */
  readonly trouble: string | null;
  again(): void;
}

/** To be called while a component is made. `address` may change, and is null where there is nothing to ask. */
export function asked<T>(address: () => string | null, everySeconds = 2): Asked<T> {
  let data = $state.raw<T | null>(null);
  let trouble = $state<string | null>(null);
  let tries = $state(0);
  const current = $derived(address());

  $effect(() => {
    void live.generation;
    data = null;
    trouble = null;
  });

  $effect(() => {
    void live.generation;
    void tries;
    if (current === null || live.connection !== "live" || !live.visible) return;
    return repeat(current, everySeconds, (answer) => {
      if (answer instanceof Error) trouble = answer instanceof Unreachable ? trouble : answer.message;
      else {
        data = answer as T;
        trouble = null;
      }
    });
  });

  return {
    get data() {
      return data;
    },
    get trouble() {
      return trouble;
    },
    again() {
      tries += 1;
    },
  };
}

function repeat(address: string, everySeconds: number, take: (answer: unknown) => void): () => void {
  const ended = new AbortController();
  let timer = 0;
  const ask = async () => {
    try {
      take(await get<unknown>(address, {}, ended.signal));
    } catch (error) {
      if (ended.signal.aborted) return;
      take(error);
    }
    if (!ended.signal.aborted) timer = window.setTimeout(() => void ask(), everySeconds * 1000);
  };
  void ask();
  return () => {
    ended.abort();
    clearTimeout(timer);
  };
}
