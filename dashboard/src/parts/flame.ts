// Which calls of a flame graph are drawn where: the one that was chosen fills the width, those that led to it lie above it.
import type { Flame, FlameRow } from "../api/documents";

export interface Shown {
  readonly frame: FlameRow;
  readonly row: number;
  readonly x: number;
  readonly width: number;
  /** As much of its name as there is room for. */
  readonly label: string;
}

const NARROWEST = 2; // pixels
const CHARACTER = 6.7; // pixels of one in the graph's type

export function shownFrames(flame: Flame, root: FlameRow | null, width: number): Shown[] {
  const [from, whole] = root ? [root[1], root[2]] : [0, flame.samples];
  const shown: Shown[] = [];
  for (const frame of flame.frames) {
    const [depth, start, samples, , name] = frame;
    const leads = root !== null && depth < root[0] && start <= from && start + samples >= from + whole;
    const within = (root === null || depth >= root[0]) && start >= from && start + samples <= from + whole;
    if (!leads && !within) continue;
    const x = leads ? 0 : ((start - from) / whole) * width;
    const wide = leads ? width : (samples / whole) * width;
    if (wide < NARROWEST) continue;
    shown.push({ frame, row: depth, x, width: wide, label: cut(name, Math.floor((wide - 8) / CHARACTER)) });
  }
  return shown;
}

function cut(name: string, most: number): string {
  if (name.length <= most) return name;
  return most < 3 ? "" : `${name.slice(0, most - 1)}…`;
}

/** A call as it is said of it: its name, its place, its share. */
export function spoken(flame: Flame, [, , samples, own, name, file, line]: FlameRow): string {
  const place = line === null ? file : `${file}:${line}`;
  return `${name}${place ? `, ${place}` : ""}: ${share(samples, flame.samples)} of the time, ${share(own, flame.samples)} in itself`;
}

function share(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(1)} %`;
}
