// Where the viewer is: each view has a URL of its own, and what is chosen within it stands in the query, so that the address can be
// sent to a colleague. Links are ordinary links; those of the page itself are followed without a reload.

export const BASE = import.meta.env.BASE_URL;

export interface Address {
  /** The parts of the path below the base, decoded: `["jobs", "train-7"]`. */
  readonly parts: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

export function parseAddress(pathname: string, search: string): Address {
  const below = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : "";
  return {
    parts: below.split("/").filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray %: an unknown name, which the view says
  }
}

/** The URL of a view; parts of the query that are empty are left out. */
export function href(parts: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const path = BASE + parts.map(encodeURIComponent).join("/");
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

class Place {
  address = $state.raw<Address>(parseAddress(location.pathname, location.search));

  constructor() {
    addEventListener("popstate", () => this.#read());
    document.addEventListener("click", (event) => this.#follow(event));
  }

  get view(): string {
    return this.address.parts[0] ?? "";
  }

  go(url: string): void {
    history.pushState(null, "", url);
    this.#read();
  }

  /** Goes on to another one of the same kind: going back does not stop at each. */
  goOn(url: string): void {
    history.replaceState(null, "", url);
    this.#read();
  }

  /** Changes the query of this view; going back does not stop at each choice. */
  choose(query: Readonly<Record<string, string | undefined>>): void {
    this.goOn(href(this.address.parts, { ...this.address.query, ...query }));
  }

  #read(): void {
    this.address = parseAddress(location.pathname, location.search);
  }

  #follow(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest("a");
    if (!link || link.target || link.origin !== location.origin || !link.pathname.startsWith(BASE)) return;
    event.preventDefault();
    if (link.href !== location.href) this.go(link.href);
  }
}

export const place = new Place();
