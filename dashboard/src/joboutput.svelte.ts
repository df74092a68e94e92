// What a job prints, followed until it ends. After a cut it goes on where it was; what a job of another cluster prints begins anew,
// for the logs of clusters cannot be entered in their midst.
import type { LogPiece } from "./api/documents";
import { live } from "./api/live.svelte";
import { url } from "./api/request";
import { type Line, Lines } from "./lines";

export interface Source {
  readonly path: string;
  /** Whose job it is; without one, this node's. */
  readonly cluster?: string | undefined;
  readonly stream: string;
  readonly replica: number;
  /** That one alone; without one, the newest and those that come after it. */
  readonly attempt?: number | undefined;
}

const TAIL = 5000; // lines
const PAUSE = 1000;

/** To be made while a component is made. */
export class JobOutput {
  lines = $state.raw<readonly Line[]>([]);
  ended = $state(false);
  trouble = $state("");
  /** The beginning is not shown. */
  cut = $state(false);
  #kept = new Lines();
  #offset: number | null = null;
  #painting = 0;

  constructor(source: () => Source | null) {
    const current = $derived(JSON.stringify(source()));
    $effect(() => {
      void current;
      this.#forget();
      this.#show();
      this.ended = false;
      this.trouble = "";
    });
    $effect(() => {
      const wanted = JSON.parse(current) as Source | null;
      if (!wanted || live.connection !== "live" || !live.visible) return;
      return this.#follow(wanted);
    });
  }

  #follow({ path, cluster, stream, replica, attempt }: Source): () => void {
    let events: EventSource | null = null;
    let timer = 0;
    const open = () => {
      if (cluster !== undefined) this.#forget();
      const from = this.#offset === null ? { tail: TAIL } : { offset: this.#offset };
      events = new EventSource(url(`${path}/logs/follow`, { cluster, stream, replica, attempt, ...from }));
      events.onmessage = (event) => this.#take(JSON.parse(event.data as string) as LogPiece, Number(event.lastEventId));
      events.addEventListener("end", () => {
        events?.close();
        this.#show(); // what came in the same moment: no frame will paint it
        this.ended = true;
      });
      events.addEventListener("error", (event) => {
        events?.close();
        if (event instanceof MessageEvent) this.trouble = (JSON.parse(event.data as string) as { message: string }).message;
        else timer = window.setTimeout(open, PAUSE);
      });
    };
    if (!this.ended) open();
    return () => {
      clearTimeout(timer);
      cancelAnimationFrame(this.#painting);
      this.#painting = 0;
      events?.close();
    };
  }

  #forget(): void {
    this.#kept = new Lines();
    this.#offset = null;
  }

  #take(piece: LogPiece, next: number): void {
    if (this.#offset === null && piece.offset > 0) this.#kept.cut = true;
    this.#offset = next; // in bytes of the file, which the text may not have
    this.#kept.add(piece.text, piece.missing);
    if (this.#painting === 0) this.#painting = requestAnimationFrame(() => this.#show());
  }

  #show(): void {
    cancelAnimationFrame(this.#painting);
    this.#painting = 0;
    this.lines = this.#kept.list();
    this.cut = this.#kept.cut;
  }
}
