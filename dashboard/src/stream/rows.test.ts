import { expect, test } from "vitest";
import { type Added, isFailure, Row, Rows, STATES } from "./rows";

function run(start: number, end = start + 1, task = `t${start}`): Added {
  return { task, attempt: 1, start, end, fn: 0, state: "ok", count: 1 };
}

function rowOf(...starts: number[]): Row {
  const row = new Row(1, "worker 1");
  for (const start of starts) row.add(run(start));
  return row;
}

test("runs that come late are put in the order of their starts", () => {
  const row = rowOf(5, 1, 3, 2, 9);
  expect([...row.starts.subarray(0, row.length)]).toEqual([1, 2, 3, 5, 9]);
  expect(row.tasks).toEqual(["t1", "t2", "t3", "t5", "t9"]);
});

test("a row grows beyond its first capacity and loses nothing", () => {
  const row = rowOf(...Array.from({ length: 5000 }, (_, i) => i));
  expect(row.length).toBe(5000);
  expect(row.starts[4999]).toBe(4999);
  expect(row.tasks[4999]).toBe("t4999");
});

test("a point finds the run under it, or the nearest one within reach", () => {
  const row = rowOf(0, 10, 20);
  expect(row.at(10.5, 0)).toBe(1);
  expect(row.at(15, 0)).toBeNull();
  expect(row.at(19.5, 1)).toBe(2);
  expect(row.at(11.4, 1)).toBe(1);
});

test("a long run is found far behind its start", () => {
  const row = new Row(1, "worker 1");
  row.add(run(0, 100, "long"));
  for (let i = 1; i < 50; i += 1) row.add(run(i, i + 0.1));
  expect(row.tasks[row.at(80, 0) ?? -1]).toBe("long");
});

test("the oldest runs go when there are too many, and are counted", () => {
  const rows = new Rows(800);
  const row = rows.row(1, "worker 1");
  for (let i = 0; i < 1000; i += 1) rows.add(row, run(i));
  expect(rows.length).toBeLessThanOrEqual(800);
  expect(rows.length).toBeGreaterThan(600);
  expect(rows.length + rows.dropped).toBe(1000);
  expect(row.tasks.at(-1)).toBe("t999");
  expect(rows.span()?.to).toBe(1000);
});

test("runs that all began at one moment are bounded too", () => {
  const rows = new Rows(100);
  const row = rows.row(1, "worker 1");
  for (let i = 0; i < 1000; i += 1) rows.add(row, run(5, 5));
  expect(rows.length).toBeLessThanOrEqual(101);
});

test("a worker has one row", () => {
  const rows = new Rows();
  expect(rows.row(7, "worker 7")).toBe(rows.row(7, "worker 7"));
  expect(rows.list).toHaveLength(1);
});

test("rows stand in the order of their numbers, however they appear", () => {
  const rows = new Rows();
  for (const number of [3, 1, 2]) rows.row(number, `worker ${number}`);
  expect(rows.list.map((row) => row.number)).toEqual([1, 2, 3]);
});

test("each state comes back as it was put in", () => {
  const row = new Row(1, "worker 1");
  STATES.forEach((state, i) => {
    row.add({ ...run(i), state });
  });
  expect(STATES.map((_, i) => row.state(i))).toEqual([...STATES]);
  expect(STATES.filter(isFailure)).toEqual(["failed", "timed out", "retried"]);
});

test("workers that have ended long ago take no place", () => {
  const rows = new Rows(100);
  for (let i = 0; i < 1000; i += 1) rows.add(rows.row(i, `worker ${i}`), run(i));
  expect(rows.length).toBeLessThanOrEqual(100);
  expect(rows.list).toHaveLength(rows.length);
  expect(rows.find(0)).toBeUndefined();
  expect(rows.find(999)?.length).toBe(1);
  rows.row(0, "worker 0"); // it runs something again
  expect(rows.list[0]?.number).toBe(0);
  expect(rows.list.at(-1)?.number).toBe(999);
});
