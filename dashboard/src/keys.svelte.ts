// Keys that work everywhere, unless somebody types. They can be switched off, for who speaks to the machine.
import { href, place } from "./place.svelte";
import { VIEWS } from "./views";

const KEPT = "fray-keys";

class Keys {
  on = $state(kept());
  help = $state(false);

  toggle(): void {
    this.on = !this.on;
    try {
      localStorage.setItem(KEPT, this.on ? "on" : "off");
    } catch {
      // A browser that keeps nothing: the choice lasts as long as the page.
    }
  }

  press(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key === "?" && (this.on || this.help)) {
      this.help = !this.help;
    } else if (!this.on || this.help) {
      return;
    } else if (event.key === "/") {
      document.querySelector<HTMLInputElement>("input[type=search]")?.focus();
    } else if (event.key === "j" || event.key === "k") {
      step(event.key === "j" ? 1 : -1);
    } else {
      const view = VIEWS[Number.parseInt(event.key, 10) - 1];
      if (!view) return;
      place.go(href(view.path ? [view.path] : []));
    }
    event.preventDefault();
  }
}

function kept(): boolean {
  try {
    return localStorage.getItem(KEPT) !== "off";
  } catch {
    return true;
  }
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(input|select|textarea)$/i.test(target.tagName));
}

/** To the next or the previous row that can be opened. */
function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  if (rows.length === 0) return;
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
  rows[next]?.focus();
}

export const keys = new Keys();
