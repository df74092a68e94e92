// What a table shows of a row, and in which order the node is asked to sort.
import { place } from "../place.svelte";

export interface Column<Row> {
  /** The key that the node sorts by; without one the column cannot be sorted. */
  readonly sort?: string;
  readonly label: string;
  /** Said of the column in a tooltip. */
  readonly hint?: string;
  readonly text: (row: Row) => string;
  /** Where the row's name leads. */
  readonly href?: (row: Row) => string;
  readonly number?: boolean;
  readonly badge?: boolean;
  readonly mono?: boolean;
  readonly bad?: (row: Row) => boolean;
  /** May take what room is left, and is cut off there. */
  readonly wide?: boolean;
}

export interface Order {
  readonly sort: string;
  readonly order: "asc" | "desc";
}

/** The order that the address asks for, or the first one. */
export function orderOf(query: Readonly<Record<string, string>>, first: Order): Order {
  if (!query.sort) return first;
  return { sort: query.sort, order: query.order === "asc" ? "asc" : "desc" };
}

/** The same column turns the order around; another one begins with what is largest, or with A. */
export function nextOrder(current: Order, column: { sort?: string; number?: boolean }): Order {
  const sort = column.sort ?? current.sort;
  if (sort === current.sort) return { sort, order: current.order === "asc" ? "desc" : "asc" };
  return { sort, order: column.number ? "desc" : "asc" };
}

export function chooseOrder(order: Order): void {
  place.choose({ sort: order.sort, order: order.order });
}
