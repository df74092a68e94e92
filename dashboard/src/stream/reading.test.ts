import { expect, test } from "vitest";
import type { Tasks } from "../api/documents";
import { Stream } from "./reading";

function told(part: Partial<Tasks>): Tasks {
  return { time: 100, next: 1, left_out: 0, functions: [], workers: [], rows: [], running: [], ...part };
}

test("runs go to the row of their worker, with the name of their function", () => {
  const stream = new Stream();
  stream.take(
    told({ functions: [[7, "train.step"]], workers: [[3, 5120, 12]], rows: [[7, 3, 90, 0.25, "failed", 1, "1-42", 2]] }),
  );
  const row = stream.rows.find(3);
  expect(row?.label).toBe("worker 3, pid 5120");
  expect(row?.ends[0]).toBe(90.25);
  expect(row?.attempts[0]).toBe(2);
  expect(stream.names[row?.functions[0] ?? -1]).toBe("train.step");
});

test("a name that comes later replaces the number that stood for it", () => {
  const stream = new Stream();
  stream.take(told({ rows: [[7, 3, 90, 0.25, "ok", 1, "1-42", 1]] }));
  expect(stream.names).toEqual(["function 7"]);
  stream.take(told({ functions: [[7, "train.step"]] }));
  expect(stream.names).toEqual(["train.step"]);
});

test("what ran before and runs no more is not shown as running", () => {
  const stream = new Stream();
  stream.take(told({ workers: [[3, 5120, 12]], running: [[7, 3, 90, 1, "running", 1, "1-42", null]] }));
  expect(stream.rows.find(3)?.running).toHaveLength(1);
  stream.take(told({ time: 101 }));
  expect(stream.rows.find(3)?.running).toHaveLength(0);
});

test("what the node left out is added up", () => {
  const stream = new Stream();
  stream.take(told({ left_out: 5 }));
  stream.take(told({ left_out: 7 }));
  expect(stream.leftOut).toBe(12);
});
