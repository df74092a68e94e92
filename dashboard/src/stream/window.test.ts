import { expect, test } from "vitest";
import { following, marks, moved, zoomed } from "./window";

test("zooming keeps the moment under the pointer where it is", () => {
  const closer = zoomed({ from: 100, to: 200 }, 125, 0.5);
  expect(closer).toEqual({ from: 112.5, to: 162.5 });
});

test("zooming ends before a window has no width, and before it is wider than a day's work", () => {
  let window = { from: 0, to: 1 };
  for (let i = 0; i < 100; i += 1) window = zoomed(window, 0.5, 0.5);
  expect(window.to - window.from).toBeCloseTo(20e-6, 7);
  for (let i = 0; i < 100; i += 1) window = zoomed(window, 0.5, 2);
  expect(window.to - window.from).toBeCloseTo(6 * 3600);
});

test("moving shifts both ends", () => expect(moved({ from: 0, to: 10 }, -0.5)).toEqual({ from: -5, to: 5 }));

test("the present stands near the right edge", () => {
  const window = following(1000, 100);
  expect(window.to).toBeGreaterThan(1000);
  expect(window.to - window.from).toBeCloseTo(100);
});

test.each([
  [{ from: 0, to: 0.001 }, 1000, 0.0002],
  [{ from: 0, to: 60 }, 1000, 10],
  [{ from: 0, to: 600 }, 1000, 120],
  [{ from: 0, to: 21_600 }, 1000, 3600],
])("marks of %o on %d pixels are %d seconds apart", (window, width, step) => {
  const found = marks(window, width);
  expect(found.step).toBeCloseTo(step, 9);
  expect(found.at.length).toBeGreaterThan(3);
});
