/** The build: deterministic file names, because the result is committed and served by exact name. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env["WHORL_URL"];

export default defineConfig({
  base: "./",
  plugins: [react()],
  ...(server ? { server: { proxy: { "/api": server, "/healthz": server } } } : {}),
  test: { include: ["test/**/*.test.{ts,tsx}"], testTimeout: 60_000 },
  build: {
    outDir: "../src/whorl/interfaces/web",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      input: { app: "index.html" },
      output: {
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: (asset: { names: string[] }) =>
          asset.names.some((name) => name.endsWith(".css"))
            ? "assets/app.css"
            : "assets/[name][extname]",
      },
    },
  },
});
