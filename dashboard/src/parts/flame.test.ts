import { expect, test } from "vitest";
import type { Flame } from "../api/documents";
import { shownFrames, spoken } from "./flame";

const FLAME: Flame = {
  pid: 1,
  seconds: 5,
  samples: 100,
  left_out: 0,
  problem: null,
  frames: [
    [0, 0, 90, 10, "main", "a.py", 1],
    [1, 0, 60, 60, "step", "a.py", 3],
    [1, 60, 20, 0, "load", "b.py", null],
    [2, 60, 20, 20, "a_name_that_is_long", "b.py", 7],
    [0, 90, 10, 10, "other", "", null],
  ],
};

test("each call lies where its caller is, as wide as its share", () => {
  const shown = shownFrames(FLAME, null, 1000);
  expect(shown.map(({ row, x, width }) => [row, x, width])).toEqual([
    [0, 0, 900],
    [1, 0, 600],
    [1, 600, 200],
    [2, 600, 200],
    [0, 900, 100],
  ]);
  expect(shown[0]?.label).toBe("main");
});

test("the chosen call fills the width, below those that led to it", () => {
  const shown = shownFrames(FLAME, FLAME.frames[2] ?? null, 100);
  expect(shown.map(({ frame, x, width }) => [frame[4], x, width])).toEqual([
    ["main", 0, 100],
    ["load", 0, 100],
    ["a_name_that_is_long", 0, 100],
  ]);
  expect(shown[2]?.label).toBe("a_name_that_…");
});

test("calls that nobody could see are not drawn", () => {
  expect(shownFrames(FLAME, null, 15).map(({ frame }) => frame[4])).toEqual(["main", "step", "load", "a_name_that_is_long"]);
});

test("a call is said with its place and its share", () => {
  const [main, , , , other] = FLAME.frames;
  expect(main && spoken(FLAME, main)).toBe("main, a.py:1: 90.0 % of the time, 10.0 % in itself");
  expect(other && spoken(FLAME, other)).toBe("other: 10.0 % of the time, 10.0 % in itself");
});
