import { expect, test } from "vitest";
import { chosenColour } from "./palette";

test("a function has the same colour at every visit", () => {
  expect(chosenColour("train.step", [])).toBe(chosenColour("train.step", []));
});

test("as long as there are colours, no two functions share one", () => {
  const taken: number[] = [];
  for (let i = 0; i < 10; i += 1) taken.push(chosenColour(`function ${i}`, taken));
  expect(new Set(taken).size).toBe(10);
  expect(chosenColour("one more", taken)).toBeLessThan(10);
});
