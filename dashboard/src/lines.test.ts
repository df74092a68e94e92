import { expect, test } from "vitest";
import { Lines } from "./lines";

function texts(...pieces: string[]): string[] {
  const lines = new Lines();
  for (const piece of pieces) lines.add(piece);
  return lines.list().map((line) => line.text);
}

test("a line may come in pieces", () => expect(texts("a", "b\nc", "\nd")).toEqual(["ab", "c", "d"]));

test("an empty line is a line", () => expect(texts("a\n\nb\n")).toEqual(["a", "", "b"]));

test("a progress bar is shown as it is last", () => {
  expect(texts("10 %\r50 %\r100 %\ndone\r\n")).toEqual(["100 %", "done"]);
  expect(texts("10 %\r50 %")).toEqual(["50 %"]);
});

test("colours of terminals are left out, tabs and angle brackets are not", () => {
  expect(texts("\u001b[31mred\u001b[0m\t<b>\u001b]8;;http://x\u0007link\u001b]8;;\u0007\n")).toEqual(["red\t<b>link"]);
});

test("only the last lines are kept, and that is said", () => {
  const lines = new Lines();
  lines.add(Array.from({ length: 6000 }, (_, i) => `${i}\n`).join(""));
  expect(lines.list()).toHaveLength(5000);
  expect(lines.list().at(-1)?.text).toBe("5999");
  expect(lines.cut).toBe(true);
});

test("a line without an end does not grow for ever", () => {
  const lines = new Lines();
  for (let i = 0; i < 100; i += 1) lines.add("x".repeat(1000));
  expect(lines.list()[0]?.text.length).toBeLessThanOrEqual(20_000);
});

test("bytes that are missing are said", () => {
  const lines = new Lines();
  lines.add("after\n", 12);
  expect(lines.list().map((line) => line.text)).toEqual(["[12 bytes are missing here]", "after"]);
});

test("each line keeps its number, so that those that stay are not painted anew", () => {
  const lines = new Lines();
  lines.add("a\nb");
  const before = lines.list()[1];
  lines.add("c\n");
  expect(lines.list()[1]?.id).toBe(before?.id);
});

test("a flood is read no further back than it is kept", () => {
  const lines = new Lines();
  lines.add("first\nbegin");
  lines.add(` of a line\n${"x\n".repeat(100_000)}last`);
  expect(lines.list()).toHaveLength(5001); // the line that has not ended among them
  expect(lines.list().at(-1)).toEqual({ id: 100_002, text: "last" });
  expect(lines.cut).toBe(true);
});
