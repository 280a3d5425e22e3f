/** Writes src/api/schema.d.ts from openapi.json; `--check` only says whether it is fresh. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const source = new URL("../openapi.json", import.meta.url);
const target = new URL("../src/api/schema.d.ts", import.meta.url);
if (!existsSync(source)) {
  console.error("web/openapi.json is not there: write it from the server first");
  process.exit(1);
}
const header = "/** Generated from openapi.json by `npm run types`: do not edit. */\n";
const text = header + astToString(await openapiTS(source));
if (process.argv.includes("--check")) {
  const fresh = existsSync(target) && readFileSync(target, "utf8") === text;
  if (!fresh) console.error("src/api/schema.d.ts is stale: `npm run types`");
  process.exit(fresh ? 0 : 1);
}
writeFileSync(target, text);
