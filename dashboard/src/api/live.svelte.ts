// The connection to the node: one stream of events for each tab that somebody sees. A node that goes away is asked again and
// again; one that is silent counts as gone; another one in its place starts the views anew.
import type { NodeLog, Now, Session, Tasks } from "./documents";
import { get, type Query, Refused, url } from "./request";

const ROOT = "/api/v1/dashboard/";
const SILENCE = 6000; // the node sends `now` each half second
const PAUSES = [300, 1000, 2000] as const;
const PAUSE_REFUSED = 5000;

export type Connection = "connecting" | "live" | "away" | "refused";
export type Topic = "tasks" | "log";

interface Events {
  tasks: Tasks;
  log: NodeLog;
}

/** Who looks at a topic. */
export interface Follower<Name extends Topic> {
  readonly topic: Name;
  /** `first` is true for the first event of each stream. */
  readonly take: (data: Events[Name], first: boolean) => void;
  /** What a new stream is asked for beside the topic, such as where to go on. */
  readonly query?: () => Query;
}

export function route(path: string): string {
  return ROOT + path;
}

class Live {
  connection = $state<Connection>("connecting");
  session = $state.raw<Session | null>(null);
  now = $state.raw<Now | null>(null);
  /** Why the node does not let this browser in. */
  refusal = $state("");
  /** Grows with each node that is met, so that nothing of an earlier one stays on the screen. */
  generation = $state(0);
  visible = $state(!document.hidden);

  #follower: Follower<Topic> | null = null;
  #source: EventSource | null = null;
  #timer = 0;
  #tries = 0;

  constructor() {
    document.addEventListener("visibilitychange", () => {
      this.visible = !document.hidden;
      if (this.visible) this.#connect();
      else this.#disconnect();
    });
    if (this.visible) this.#connect();
  }

  /** Hands on the events of a topic until the returned function is called. */
  follow<Name extends Topic>(follower: Follower<Name>): () => void {
    const mine = follower as unknown as Follower<Topic>;
    this.#follower = mine;
    if (this.#source) this.#open();
    return () => {
      if (this.#follower !== mine) return;
      this.#follower = null;
      if (this.#source) this.#open();
    };
  }

  #connect(): void {
    this.#disconnect();
    void this.#ask();
  }

  #disconnect(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  async #ask(): Promise<void> {
    try {
      this.#meet(await get<Session>(route("session"), {}, AbortSignal.timeout(SILENCE)));
      if (this.visible) this.#open();
    } catch (error) {
      this.#fail(error);
    }
  }

  #meet(session: Session): void {
    if (this.session?.node !== session.node) {
      this.generation += 1;
      this.now = null;
    }
    this.session = session;
  }

  #open(): void {
    this.#disconnect();
    const follower = this.#follower;
    const topics = follower ? `now,${follower.topic}` : "now";
    const source = new EventSource(url(route("live"), { topics, ...follower?.query?.() }));
    this.#source = source;
    const on = (name: string, take: (data: never) => void) =>
      source.addEventListener(name, (event) => {
        if (this.#source !== source) return;
        this.#heard();
        take(JSON.parse((event as MessageEvent<string>).data) as never);
      });
    on("hello", (session: Session) => this.#meet(session));
    on("now", (now: Now) => {
      this.now = now;
    });
    let first = true;
    if (follower) {
      on(follower.topic, (data: Tasks & NodeLog) => {
        follower.take(data, first);
        first = false;
      });
    }
    // The browser would try again by itself, and never learn that it has to log in.
    source.onerror = () => {
      if (this.#source === source) this.#lost();
    };
    this.#watch();
  }

  #heard(): void {
    this.connection = "live";
    this.refusal = "";
    this.#tries = 0;
    this.#watch();
  }

  #watch(): void {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => {
      this.connection = "away"; // a node that is stopped would let a question wait as well
      this.#lost();
    }, SILENCE);
  }

  /** The first time it asks at once: a stream may end for no grave reason. */
  #lost(): void {
    this.#disconnect();
    if (this.#tries > 0) this.connection = "away";
    this.#later(this.#tries === 0 ? 0 : this.#pause());
  }

  #fail(error: unknown): void {
    if (error instanceof Refused && (error.status === 401 || error.status === 403)) {
      this.connection = "refused";
      this.refusal = error.message;
    } else {
      this.connection = "away";
    }
    this.#later(this.connection === "refused" ? PAUSE_REFUSED : this.#pause());
  }

  #pause(): number {
    return PAUSES[Math.min(this.#tries, PAUSES.length - 1)] ?? 0;
  }

  #later(milliseconds: number): void {
    this.#tries += 1;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#ask(), milliseconds);
  }
}

export const live = new Live();
