import { expect, test } from "vitest";
import type { History, Now } from "./api/documents";
import { extended } from "./columns";

const HISTORY: History = {
  step_seconds: 0.5,
  fields: ["time", "running", "unheard_of"],
  columns: [
    [10, 11, 12],
    [1, null, 3],
    [7, 7, 7],
  ],
};

function now(time: number, running: number): Now {
  return { time, tasks: { running } } as Now;
}

test("a moment is put behind the others, and what is too old goes", () => {
  expect(extended(HISTORY, now(13, 5), 2.5).columns).toEqual([
    [11, 12, 13],
    [null, 3, 5],
    [7, 7, null],
  ]);
});

test("a moment that is there already changes nothing", () => {
  expect(extended(HISTORY, now(12, 5), 60)).toBe(HISTORY);
});

test("a history without a moment takes its first", () => {
  const empty = { ...HISTORY, columns: [[], [], []] };
  expect(extended(empty, now(13, 5), 60).columns).toEqual([[13], [5], [null]]);
});
