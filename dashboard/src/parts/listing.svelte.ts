// A list that the node sorts, searches and cuts off, as the address asks for it.
import { type Asked, asked } from "../api/asked.svelte";
import { route } from "../api/live.svelte";
import { url } from "../api/request";
import { place } from "../place.svelte";
import { type Order, orderOf } from "./table";

const FIRST = 200;
const MOST = 1000;

export interface Listing<T> {
  readonly answer: Asked<T>;
  readonly order: Order;
  readonly search: string;
  /** Shows more rows, unless there are as many as the node sends. */
  readonly more: (() => void) | undefined;
}

/** To be called while a component is made. */
export function listing<T>(path: string, first: Order): Listing<T> {
  const order = $derived(orderOf(place.address.query, first));
  const search = $derived(place.address.query.search ?? "");
  const limit = $derived(Math.min(MOST, Math.max(1, Number.parseInt(place.address.query.limit ?? "", 10) || FIRST)));
  const answer = asked<T>(() => url(route(path), { sort: order.sort, order: order.order, limit, search }));
  return {
    answer,
    get order() {
      return order;
    },
    get search() {
      return search;
    },
    get more() {
      return limit < MOST ? () => place.choose({ limit: String(Math.min(MOST, limit * 2)) }) : undefined;
    },
  };
}
