import { describe, expect, test } from "vitest";
import { amount, bytes, clock, count, duration, percent, plural, preciseClock, rate, resources } from "./format";

describe("numbers have units and at most three digits that matter", () => {
  test.each([
    [0, "0 B"],
    [1023, "1023 B"],
    [1024, "1 KiB"],
    [1536, "1.5 KiB"],
    [1024 ** 2 - 1, "1 MiB"],
    [23.5 * 1024 ** 3, "23.5 GiB"],
    [3 * 1024 ** 6, "3072 PiB"],
    [-2048, "-2 KiB"],
  ])("%d bytes are %s", (value, text) => expect(bytes(value)).toBe(text));

  test.each([
    [0, "0"],
    [99_999, "99,999"],
    [999_999, "1 M"],
    [1_234_567, "1.23 M"],
    [250_000, "250 k"],
  ])("the count %d is %s", (value, text) => expect(count(value)).toBe(text));

  test.each([
    [0, "0 s"],
    [8.5e-7, "850 ns"],
    [1.2e-5, "12 µs"],
    [0.0034, "3.4 ms"],
    [0.9999, "1 s"],
    [59.96, "1 min"],
    [250, "4 min 10 s"],
    [3599.9, "1 h"],
    [7500, "2 h 5 min"],
    [86_400 * 3 + 3600 * 4, "3 d 4 h"],
  ])("%d seconds are %s", (value, text) => expect(duration(value)).toBe(text));

  test.each([
    [0, "0/s"],
    [0.25, "0.25/s"],
    [99.96, "100/s"],
    [125_000, "125 k/s"],
  ])("the rate %d is %s", (value, text) => expect(rate(value)).toBe(text));

  test.each([
    [0, "0 %"],
    [0.031, "3.1 %"],
    [0.999, "100 %"],
    [1.2, "120 %"],
  ])("the part %d is %s", (value, text) => expect(percent(value)).toBe(text));

  test("what is not known is a dash and never NaN", () => {
    for (const format of [bytes, count, duration, rate, percent, amount]) {
      expect(format(undefined)).toBe("–");
      expect(format(null)).toBe("–");
      expect(format(Number.NaN)).toBe("–");
    }
  });
});

test("resources are listed without those of which nothing is held", () => {
  expect(resources({ CPU: 1, GPU: 0.5, memory: 2 ** 31, TPU: 0 })).toBe("CPU 1, GPU 0.5, memory 2 GiB");
  expect(resources({})).toBe("–");
});

test("a time of another day has its date", () => {
  const noon = new Date(2026, 5, 3, 12, 30, 5).getTime() / 1000;
  expect(clock(noon, noon + 60)).toMatch(/^12:30:05$/);
  expect(clock(noon, noon + 86_400)).toMatch(/3.*12:30:05$|.*3.*12:30:05/);
  expect(preciseClock(noon + 0.25)).toBe("12:30:05.250");
});

test("one thing is singular", () => {
  expect(plural(1, "worker")).toBe("1 worker");
  expect(plural(0, "worker")).toBe("0 workers");
  expect(plural(2, "entry", "entries")).toBe("2 entries");
});
