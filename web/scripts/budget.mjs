/** Fails when what the browser must load first has grown over its budget. */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BUDGET_KB = 200;
const folder = new URL("../../src/whorl/interfaces/web/", import.meta.url);
const page = readFileSync(new URL("index.html", folder), "utf8");
// What index.html names is loaded before anything is shown: the main chunk and what it shares.
const scripts = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map((found) => found[1]);
let total = 0;
for (const name of scripts) {
  const size = gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length / 1000;
  total += size;
  console.log(`${name}: ${size.toFixed(1)} kB gzip`);
}
if (scripts.length === 0) throw new Error("index.html names no script: was the page built?");
console.log(`first load: ${total.toFixed(1)} of ${BUDGET_KB} kB`);
if (total > BUDGET_KB) {
  console.error("over the budget: load a screen lazily, or leave a dependency out");
  process.exit(1);
}
