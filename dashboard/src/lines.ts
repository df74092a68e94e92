// The last lines of a text that comes in pieces. Colours and cursor movements of terminals are left out; a carriage return begins the
// line again, as progress bars have it.

export interface Line {
  readonly id: number;
  readonly text: string;
}

const MOST_LINES = 5000;
const MOST_CHARACTERS = 20_000; // of one line
const CONTROL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the control characters of terminals
  /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-_])|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

export class Lines {
  /** Lines were let go of, or the beginning never came. */
  cut = false;
  #done: Line[] = [];
  #open = "";
  #next = 0;

  add(text: string, missing = 0): void {
    if (missing > 0) this.#push(`[${missing} bytes are missing here]`);
    const parts = (this.#open + text).split("\n");
    this.#open = parts.pop() ?? "";
    const passed = Math.max(0, parts.length - MOST_LINES - 1); // which would be let go of at once
    this.#next += passed;
    for (let i = passed; i < parts.length; i += 1) this.#push(parts[i] as string);
    if (this.#open.length > MOST_CHARACTERS) this.#open = this.#open.slice(-MOST_CHARACTERS);
    if (this.#done.length > MOST_LINES) {
      this.#done = this.#done.slice(-MOST_LINES);
      this.cut = true;
    }
  }

  list(): readonly Line[] {
    const open = shown(this.#open);
    return open ? [...this.#done, { id: this.#next, text: open }] : this.#done.slice();
  }

  #push(raw: string): void {
    this.#done.push({ id: this.#next, text: shown(raw).slice(0, MOST_CHARACTERS) });
    this.#next += 1;
  }
}

function shown(raw: string): string {
  const line = raw.replace(/\r+$/, "");
  return line.slice(line.lastIndexOf("\r") + 1).replace(CONTROL, "");
}
