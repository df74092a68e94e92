// Paints the window of the stream on a canvas. What is narrower than a pixel is painted once for each pixel, so that the time it takes
// follows from the size of the screen and not from the number of tasks.
import { paletteColour } from "./palette";
import { type Bar, isFailure, type Row } from "./rows";
import { marks, type Window } from "./window";

export const ROW_HEIGHT = 22;
const BAR_HEIGHT = 16;
export const HEAD_HEIGHT = 24;
const LABEL_LEAST = 46;

export interface Look {
  readonly ink: string;
  readonly soft: string;
  readonly line: string;
  readonly bad: string;
  readonly surface: string;
  readonly accent: string;
  readonly dark: boolean;
}

export interface Scene {
  readonly window: Window;
  readonly rows: readonly Row[];
  readonly names: readonly string[];
  /** Of the functions, as palette.ts numbers them. */
  readonly colours: readonly number[];
  readonly width: number;
  readonly height: number;
  /** Pixels of the rows that lie above the canvas. */
  readonly scrolled: number;
  readonly now: number;
  readonly selected: Bar | null;
  /** A function whose tasks stand out; the others are faint. */
  readonly only: number | null;
  readonly markText: (at: number, step: number) => string;
  readonly look: Look;
}

export function paint(context: CanvasRenderingContext2D, scene: Scene): void {
  context.clearRect(0, 0, scene.width, scene.height);
  paintMarks(context, scene);
  const first = Math.max(0, Math.floor(scene.scrolled / ROW_HEIGHT));
  const last = Math.min(scene.rows.length, Math.ceil((scene.scrolled + scene.height - HEAD_HEIGHT) / ROW_HEIGHT));
  context.save();
  context.beginPath();
  context.rect(0, HEAD_HEIGHT, scene.width, scene.height - HEAD_HEIGHT);
  context.clip();
  for (let i = first; i < last; i += 1)
    paintRow(context, scene, scene.rows[i] as Row, HEAD_HEIGHT + i * ROW_HEIGHT - scene.scrolled);
  context.restore();
}

function paintMarks(context: CanvasRenderingContext2D, { window, width, height, look, markText }: Scene): void {
  const scale = width / (window.to - window.from);
  const { step, at } = marks(window, width);
  context.font = "11px Inter, system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const moment of at) {
    const x = Math.round((moment - window.from) * scale) + 0.5;
    context.fillStyle = look.line;
    context.fillRect(x - 0.5, HEAD_HEIGHT, 1, height - HEAD_HEIGHT);
    context.fillStyle = look.soft;
    context.fillText(markText(moment, step), x + 4, HEAD_HEIGHT / 2);
  }
  context.fillStyle = look.line;
  context.fillRect(0, HEAD_HEIGHT - 1, width, 1);
}

function paintRow(context: CanvasRenderingContext2D, scene: Scene, row: Row, top: number): void {
  const { window, width, look } = scene;
  const scale = width / (window.to - window.from);
  const y = top + (ROW_HEIGHT - BAR_HEIGHT) / 2;
  const colours = scene.colours.map((colour) => paletteColour(colour, look.dark));
  let painted = -1; // the last column of pixels that has a bar
  for (let i = row.from(window.from - row.longest); i < row.length; i += 1) {
    const start = row.starts[i] as number;
    if (start > window.to) break;
    const right = (row.ends[i] as number) * scale - window.from * scale;
    if (right < 0) continue;
    const state = row.state(i);
    const failed = isFailure(state);
    if (right <= painted && !failed) continue;
    const left = Math.max((start - window.from) * scale, 0);
    const wide = Math.max(Math.min(right, width) - left, 1);
    const fn = row.functions[i] as number;
    paintBar(context, scene, { left, y, wide, fn, failed, fill: colours[fn] ?? look.soft, faint: state === "cancelled" });
    painted = Math.max(painted, Math.floor(left + wide));
    if (scene.selected?.row === row && scene.selected.index === i) paintFrame(context, look, left, y, wide);
  }
  for (const task of row.running) {
    const left = Math.max((task.start - window.from) * scale, 0);
    const wide = (Math.min(scene.now, window.to) - window.from) * scale - left;
    if (wide > 0)
      paintRunning(context, scene, {
        left,
        y,
        wide,
        fn: task.fn,
        failed: false,
        fill: colours[task.fn] ?? look.soft,
        faint: false,
      });
  }
}

interface Shape {
  readonly left: number;
  readonly y: number;
  readonly wide: number;
  readonly fn: number;
  readonly failed: boolean;
  readonly fill: string;
  readonly faint: boolean;
}

function paintBar(context: CanvasRenderingContext2D, scene: Scene, shape: Shape): void {
  const aside = scene.only !== null && scene.only !== shape.fn;
  context.globalAlpha = aside ? 0.15 : shape.faint ? 0.4 : 1;
  context.fillStyle = shape.fill;
  // A gap of a pixel between neighbours, where there is room for one.
  context.fillRect(shape.left, shape.y, shape.wide > 3 ? shape.wide - 1 : shape.wide, BAR_HEIGHT);
  context.globalAlpha = aside ? 0.15 : 1;
  if (shape.failed) paintFailure(context, scene.look, shape);
  if (shape.wide > LABEL_LEAST) paintName(context, scene, shape, scene.look.dark ? "#0c0e0f" : "#ffffff");
  context.globalAlpha = 1;
}

/** A frame, a foot and, where there is room, a cross. */
function paintFailure(context: CanvasRenderingContext2D, look: Look, { left, y, wide }: Shape): void {
  context.fillStyle = look.bad;
  context.fillRect(left, y + BAR_HEIGHT - 5, Math.max(wide - 1, 2), 5);
  context.fillRect(left, y - 2, Math.max(wide - 1, 2), 2);
}

function paintRunning(context: CanvasRenderingContext2D, scene: Scene, shape: Shape): void {
  const aside = scene.only !== null && scene.only !== shape.fn;
  context.globalAlpha = aside ? 0.1 : 0.3;
  context.fillStyle = shape.fill;
  context.fillRect(shape.left, shape.y, shape.wide, BAR_HEIGHT);
  context.globalAlpha = aside ? 0.15 : 1;
  context.strokeStyle = shape.fill;
  context.strokeRect(shape.left + 0.5, shape.y + 0.5, Math.max(shape.wide - 1, 1), BAR_HEIGHT - 1);
  if (shape.wide > LABEL_LEAST) paintName(context, scene, shape, scene.look.ink);
  context.globalAlpha = 1;
}

function paintName(context: CanvasRenderingContext2D, scene: Scene, { left, y, wide, fn }: Shape, ink: string): void {
  context.save();
  context.beginPath();
  context.rect(left, y, wide - 4, BAR_HEIGHT);
  context.clip();
  context.fillStyle = ink;
  context.fillText(scene.names[fn] ?? "", left + 5, y + BAR_HEIGHT / 2 + 0.5);
  context.restore();
}

function paintFrame(context: CanvasRenderingContext2D, look: Look, left: number, y: number, wide: number): void {
  context.lineWidth = 2;
  context.strokeStyle = look.ink;
  context.strokeRect(left - 1, y - 1, wide + 2, BAR_HEIGHT + 2);
  context.lineWidth = 1;
}
