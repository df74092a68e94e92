// Asks the node. The browser sends the cookie along; a failure says what the node said, in its own words.

/** The node answered, and refused. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Nobody answered. */
export class Unreachable extends Error {
  constructor() {
    super("The node does not answer.");
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>;

export function url(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") search.set(name, String(value));
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

async function send(method: string, address: string, signal: AbortSignal | undefined): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address, { method, signal: signal ?? null, cache: "no-store", redirect: "error" });
  } catch {
    throw new Unreachable(); // whoever aborted does not listen any more, or waited long enough
  }
  if (!response.ok) throw new Refused(response.status, await refusal(response));
  return response;
}

async function refusal(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error?: { message?: string } };
    if (error?.message) return error.message;
  } catch {
    // No JSON: what stands below says as much as there is to say.
  }
  return `The node answered with ${response.status}.`;
}

export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return (await send("GET", url(path, query), signal)).json() as Promise<T>;
}

export async function post<T>(path: string, query?: Query): Promise<T> {
  return (await send("POST", url(path, query), undefined)).json() as Promise<T>;
}
