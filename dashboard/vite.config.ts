import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const version = readFileSync(new URL("../python/fray/_version.py", import.meta.url), "utf8");
const release = /^VERSION = "([^"]+)"/m.exec(version)?.[1];
if (!release) throw new Error("python/fray/_version.py says no VERSION");

// FRAY_URL=http://127.0.0.1:PORT npx vite: the page as it is edited, in front of a started node.
const node = process.env.FRAY_URL;

/** Puts what the node sends to browsers that take it packed, `NAME.gz`, beside each file that gets smaller so. */
function packed(): Plugin {
  return {
    name: "packed",
    apply: "build",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        for (const file of Object.values(bundle)) {
          if (!/^assets\/.*\.(js|css|svg)$/.test(file.fileName)) continue;
          const source = gzipSync(file.type === "chunk" ? file.code : file.source, { level: 9 });
          this.emitFile({ type: "asset", fileName: `${file.fileName}.gz`, source });
        }
      },
    },
  };
}

/** The licence of the font, which the list of the code's licences leaves out. */
function fontLicence(): Plugin {
  return {
    name: "font-licence",
    apply: "build",
    generateBundle() {
      const source = readFileSync(new URL("node_modules/@fontsource-variable/inter/LICENSE", import.meta.url), "utf8");
      this.emitFile({ type: "asset", fileName: "font-licence.txt", source });
    },
  };
}

export default defineConfig({
  base: "/dashboard/",
  plugins: [svelte(), fontLicence(), packed()],
  define: { __RELEASE__: JSON.stringify(release) },
  build: {
    outDir: "../build/dashboard",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the page's policy allows no data: URLs
    license: { fileName: "licences.md" },
    modulePreload: { polyfill: false },
    target: ["chrome123", "firefox120", "safari17.5"],
  },
  ...(node ? { server: { proxy: { "/api": { target: node, changeOrigin: true } } } } : {}),
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
