// Which part of the time the stream shows: it follows the present until the viewer moves it, and comes back on demand.

const LEAST = 20e-6;
const MOST = 6 * 3600;

export interface Window {
  /** Unix seconds. */
  readonly from: number;
  readonly to: number;
}

/** The window that ends a little after now. */
export function following(now: number, span: number): Window {
  return { from: now - span * 0.97, to: now + span * 0.03 };
}

/** Closer (`factor` below 1) or wider, with the moment `at` staying where it is on the screen. */
export function zoomed(window: Window, at: number, factor: number): Window {
  const span = window.to - window.from;
  const wanted = Math.min(MOST, Math.max(LEAST, span * factor));
  const part = (at - window.from) / span;
  return { from: at - wanted * part, to: at + wanted * (1 - part) };
}

/** Moved by a part of what is shown. */
export function moved(window: Window, part: number): Window {
  const step = (window.to - window.from) * part;
  return { from: window.from + step, to: window.to + step };
}

const STEPS = [1, 2, 5] as const;

/** The moments that get a mark, some `least` pixels apart, at round distances. */
export function marks(window: Window, width: number, least = 110): { step: number; at: number[] } {
  const span = window.to - window.from;
  const step = roundStep((span * least) / Math.max(width, 1));
  const first = Math.ceil(window.from / step);
  const at: number[] = [];
  for (let i = first; i * step <= window.to && at.length < 200; i += 1) at.push(i * step);
  return { step, at };
}

function roundStep(least: number): number {
  for (const seconds of [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200]) if (least > 10 && seconds >= least) return seconds;
  if (least > 10) return 3600 * 6;
  const power = 10 ** Math.floor(Math.log10(least));
  return (STEPS.find((step) => step * power >= least) ?? 10) * power;
}
