// The views of the page, in the order of the navigation; the number is the key that opens it.
import type { Component } from "svelte";
import Actors from "./pages/Actors.svelte";
import Clusters from "./pages/Clusters.svelte";
import Functions from "./pages/Functions.svelte";
import Jobs from "./pages/Jobs.svelte";
import NodeLog from "./pages/NodeLog.svelte";
import Now from "./pages/Now.svelte";
import Objects from "./pages/Objects.svelte";
import TaskStream from "./pages/TaskStream.svelte";
import Workers from "./pages/Workers.svelte";

export interface View {
  /** The first part of its URL. */
  readonly path: string;
  readonly name: string;
  readonly component: Component;
}

export const VIEWS: readonly View[] = [
  { path: "", name: "Now", component: Now },
  { path: "tasks", name: "Task stream", component: TaskStream },
  { path: "functions", name: "Functions", component: Functions },
  { path: "actors", name: "Actors", component: Actors },
  { path: "jobs", name: "Jobs", component: Jobs },
  { path: "objects", name: "Objects", component: Objects },
  { path: "workers", name: "Workers and drivers", component: Workers },
  { path: "log", name: "Node log", component: NodeLog },
  { path: "clusters", name: "Clusters", component: Clusters },
];
