// Checks the types, and bundles src/ into one page: node build.mjs OUT.cc writes it as a C++ source file.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { build } from "esbuild";

const out = process.argv[2];
if (!out) throw new Error("usage: node build.mjs OUT.cc");

try {
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
} catch {
  process.exit(1);
}
const bundle = await build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2021",
  charset: "utf8",
  write: false,
  outdir: "out",
});
const text = (ending) => bundle.outputFiles.find((file) => file.path.endsWith(ending)).text.trim();
// A script ends at "</script", wherever it stands.
const script = text(".js").replaceAll("</script", "<\\/script");
const page = readFileSync("src/page.html", "utf8")
  .replace("/* STYLE */", () => text(".css"))
  .replace("/* SCRIPT */", () => script);

const delimiter = "grbm_page";
if (page.includes(`)${delimiter}"`)) throw new Error("the page holds the delimiter of its own text");
mkdirSync(dirname(out), { recursive: true });
writeFileSync(`${out}.tmp`, `#include "dashboard/page.h"

const std::string_view grbm::kPageText = R"${delimiter}(${page})${delimiter}";
`);
renameSync(`${out}.tmp`, out);
