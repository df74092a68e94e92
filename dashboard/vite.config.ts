import { readFileSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

const version = readFileSync(new URL("../python/fray/_version.py", import.meta.url), "utf8");
const release = /^VERSION = "([^"]+)"/m.exec(version)?.[1];
if (!release) throw new Error("python/fray/_version.py says no VERSION");

// FRAY_URL=http://127.0.0.1:PORT npx vite: the page as it is edited, in front of a started node.
const node = process.env.FRAY_URL;

export default defineConfig({
  base: "/dashboard/",
  plugins: [svelte()],
  define: { __RELEASE__: JSON.stringify(release) },
  build: {
    outDir: "../build/dashboard",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the page's policy allows no data: URLs
    modulePreload: { polyfill: false },
    target: ["chrome123", "firefox120", "safari17.5"],
  },
  ...(node ? { server: { proxy: { "/api": { target: node, changeOrigin: true } } } } : {}),
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
