// Numbers as people write them, each with its unit, and times in the viewer's zone.

const NONE = "–";

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;
const COUNT_UNITS = ["", "k", "M", "G"] as const;

/** At most three digits that matter: 0.04, 1.5, 23.5, 512. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1).replace(/\.0$/, "");
  return value.toFixed(2).replace(/\.?0+$/, "");
}

/** Divides by `step` until what is left reads well; a value that would be rounded up to `step` takes the next unit. */
function scaled(value: number, step: number, units: readonly string[]): [string, string] {
  let left = value;
  let unit = 0;
  while (Math.abs(Number(digits(left))) >= step && unit < units.length - 1) {
    left /= step;
    unit += 1;
  }
  return [digits(left), units[unit] ?? ""];
}

export function bytes(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  const [number, unit] = scaled(value, 1024, BYTE_UNITS);
  return `${number} ${unit}`;
}

/** 950, 12,345, 1.23 M. */
export function count(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  if (Math.abs(value) < 100_000) return value.toLocaleString("en", { maximumFractionDigits: Number.isInteger(value) ? 0 : 2 });
  const [number, unit] = scaled(value, 1000, COUNT_UNITS);
  return `${number} ${unit}`;
}

export function rate(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  return `${count(value < 100 ? Number(digits(value)) : Math.round(value))}/s`;
}

/** 850 ns, 12 µs, 3.4 ms, 1.2 s, 4 min 10 s, 2 h 5 min, 3 d 4 h. */
export function duration(seconds: number | null | undefined): string {
  if (seconds == null || !Number.isFinite(seconds)) return NONE;
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size < 0.9995e-6) return `${digits(seconds * 1e9)} ns`;
  if (size < 0.9995e-3) return `${digits(seconds * 1e6)} µs`;
  if (size < 0.9995) return `${digits(seconds * 1e3)} ms`;
  if (size < 59.95) return `${digits(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return pair(whole, 60, "min", 1, "s");
  if (whole < 86_400) return pair(whole, 3600, "h", 60, "min");
  return pair(whole, 86_400, "d", 3600, "h");
}

function pair(seconds: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((seconds % large) / small);
  const first = `${Math.floor(seconds / large)} ${largeUnit}`;
  return rest === 0 ? first : `${first} ${rest} ${smallUnit}`;
}

export function percent(part: number | null | undefined): string {
  if (part == null || !Number.isFinite(part)) return NONE;
  const value = part * 100;
  return `${value > 0 && value < 10 ? digits(Number(value.toFixed(1))) : value.toFixed(0)} %`;
}

/** CPUs and other amounts that may be fractions. */
export function amount(value: number | null | undefined): string {
  return value == null || !Number.isFinite(value) ? NONE : digits(value);
}

/** `CPU 1, GPU 0.5, memory 2 GiB`: what a lease or a job holds. */
export function resources(set: Readonly<Record<string, number>> | null | undefined): string {
  const named = Object.entries(set ?? {}).filter(([, value]) => value !== 0);
  if (named.length === 0) return NONE;
  return named.map(([name, value]) => `${name} ${name === "memory" ? bytes(value) : amount(value)}`).join(", ");
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const HOUR_AND_MINUTE = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY_AND_CLOCK = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

/** Unix seconds as the time of day, with the date where it is another day than `now`. */
export function clock(unixSeconds: number, now: number = Date.now() / 1000): string {
  const then = new Date(unixSeconds * 1000);
  const sameDay = then.toDateString() === new Date(now * 1000).toDateString();
  return (sameDay ? CLOCK : DAY_AND_CLOCK).format(then);
}

/** Marks of an axis: with seconds where they stand closer than a minute. */
export function clockMarks(unixSeconds: readonly number[]): string[] {
  const close = unixSeconds.some((at, i) => i > 0 && (at - (unixSeconds[i - 1] ?? at)) % 60 !== 0);
  return unixSeconds.map((at) => (close ? CLOCK : HOUR_AND_MINUTE).format(new Date(at * 1000)));
}

/** The same with milliseconds, for the task stream. */
export function preciseClock(unixSeconds: number): string {
  const milliseconds = Math.floor((unixSeconds % 1) * 1000);
  return `${CLOCK.format(new Date(unixSeconds * 1000))}.${String(milliseconds).padStart(3, "0")}`;
}

/** With day and zone, for a tooltip. */
export function fullTime(unixSeconds: number): string {
  return FULL.format(new Date(unixSeconds * 1000));
}

export function plural(number: number, one: string, many: string = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
