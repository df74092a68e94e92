import { expect, test } from "vitest";
import type { Job } from "./api/documents";
import { attempts, chosenAttempt, command, reason, unixSeconds } from "./jobs";

test("words of a command are quoted where a shell would need it", () => {
  const job = { command: ["python", "-c", "print('a b')", ""] } as Job;
  expect(command(job)).toBe(`python -c 'print('\\''a b'\\'')' ''`);
  expect(command({ command: "echo $HOME" } as Job)).toBe("echo $HOME");
});

test("times are Unix seconds, and what is none is null", () => {
  expect(unixSeconds("2026-11-22T15:00:00.500000Z")).toBe(Date.UTC(2026, 10, 22, 15, 0, 0) / 1000 + 0.5);
  expect(unixSeconds(null)).toBeNull();
  expect(unixSeconds("yesterday")).toBeNull();
});

test("a job that waits says for what, and one that has ended why", () => {
  const job = { pending_reason: "waits for CPU 4", message: "killed by signal 9" };
  expect(reason({ ...job, status: "pending" } as Job)).toBe("waits for CPU 4");
  expect(reason({ ...job, status: "failed" } as Job)).toBe("killed by signal 9");
  expect(reason({ ...job, status: "running", pending_reason: null } as unknown as Job)).toBe("");
});

test("an attempt is chosen among those before the newest one", () => {
  expect(attempts(3)).toEqual([3, 2, 1]);
  expect(attempts(100_000).length).toBe(100);
  expect(chosenAttempt("1", 3)).toBe(1);
  for (const none of [undefined, "", "0", "-1", "3", "4", "x"]) expect(chosenAttempt(none, 3)).toBeUndefined();
});
