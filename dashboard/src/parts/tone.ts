export type Tone = "good" | "warn" | "bad" | "busy" | "calm";

const TONES: Readonly<Record<string, Tone>> = {
  alive: "good",
  answers: "good",
  "backing off": "warn",
  backing_off: "warn",
  blocked: "warn",
  building: "warn",
  complete: "good",
  critical: "bad",
  dead: "bad",
  "does not answer": "bad",
  error: "bad",
  failed: "bad",
  leased: "busy",
  lost: "bad",
  ok: "good",
  pending: "warn",
  queued: "warn",
  retried: "warn",
  running: "busy",
  starting: "warn",
  stopped: "warn",
  stopping: "warn",
  succeeded: "good",
  "timed out": "bad",
  warning: "warn",
};

/** How good or bad a state is; a state that is not known here is neither. */
export function tone(state: string): Tone {
  return TONES[state.toLowerCase()] ?? "calm";
}
