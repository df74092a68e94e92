// Light or dark: as the viewer's system has it, unless the viewer chose. The choice stays in this browser.

export type Choice = "system" | "light" | "dark";

const KEY = "fray-theme";
const NEXT: Record<Choice, Choice> = { system: "light", light: "dark", dark: "system" };

class Theme {
  choice = $state<Choice>("system");
  /** Grows at each change, so that what is painted on a canvas is painted anew. */
  version = $state(0);

  constructor() {
    this.#apply(this.#kept());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.version += 1;
    });
  }

  get isDark(): boolean {
    void this.version;
    return this.choice === "dark" || (this.choice === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  }

  next(): void {
    this.#apply(NEXT[this.choice]);
    try {
      localStorage.setItem(KEY, this.choice);
    } catch {
      // A browser that keeps nothing: the choice lasts as long as the page.
    }
  }

  #kept(): Choice {
    try {
      const kept = localStorage.getItem(KEY);
      return kept === "light" || kept === "dark" ? kept : "system";
    } catch {
      return "system";
    }
  }

  #apply(choice: Choice): void {
    this.choice = choice;
    if (choice === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
    this.version += 1;
  }
}

export const theme = new Theme();

/** A colour of styles/tokens.css as a canvas can take it. */
export function colour(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
