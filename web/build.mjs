// Bundles the page of distsim serve, in parts that are fetched when they are first shown and are named by their content, and the
// script and style sheet of the pages that --html writes, each one file. usage: node build.mjs [FOLDER]      default: dist
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url)), out = process.argv[2] ?? join(here, "dist"), source = join(here, "src/app");
const shared = { absWorkingDir: here, bundle: true, minify: true, metafile: true, charset: "utf8", legalComments: "none", logLevel: "warning", outdir: out };
const script = { ...shared, target: "es2022", jsx: "automatic", jsxImportSource: "preact" };
const style = { ...shared, target: ["es2022", "chrome110", "firefox110", "safari16"] };

mkdirSync(out, { recursive: true });
for (const name of readdirSync(out)) rmSync(join(out, name));

const served = await build({ ...script, entryPoints: { app: join(source, "main.tsx") }, format: "esm", splitting: true, entryNames: "[name]-[hash]", chunkNames: "[name]-[hash]" });
const own = await build({ ...script, entryPoints: { page: join(source, "page_main.tsx") }, format: "iife" });
await build({ ...style, entryPoints: { page: join(source, "app.css") } });

// The style sheet is part of the page, so that nothing is waited for before it is painted; the server's Content-Security-Policy allows
// it by its hash. What the first script imports is fetched beside it, not after it.
const outputs = served.metafile.outputs, entry = Object.keys(outputs).find((name) => outputs[name].entryPoint?.endsWith("/main.tsx"));
const first = new Set([entry]);
for (const name of first) for (const i of outputs[name].imports) if (i.kind === "import-statement") first.add(i.path);
const sheet = readFileSync(join(out, "page.css"), "utf8");
if (sheet.includes("</")) throw new Error("the style sheet would end its element");
const tags = [`<style>${sheet}</style>`, ...[...first].slice(1).map((name) => `<link rel="modulepreload" href="/${basename(name)}">`), `<script type="module" src="/${basename(entry)}"></script>`];
writeFileSync(join(out, "index.html"), readFileSync(join(source, "index.html"), "utf8").replace("<!-- style sheet and scripts -->", () => tags.join("\n")));
writeFileSync(join(out, "style.sha256"), `sha256-${createHash("sha256").update(sheet).digest("base64")}`);
copyFileSync(join(source, "icon.svg"), join(out, "icon.svg"));

// Licences of what is bundled.
const packages = new Set([served, own].flatMap((r) => Object.keys(r.metafile.inputs)).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
const texts = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name), about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
  if (!file) throw new Error(`${name}: no licence file`);
  return { head: `${name} ${about.version}, ${about.license}`, text: readFileSync(join(folder, file), "utf8").trim() };
});
const same = Map.groupBy ? Map.groupBy(texts, (t) => t.text) : texts.reduce((m, t) => m.set(t.text, [...(m.get(t.text) ?? []), t]), new Map());
writeFileSync(join(out, "LICENSES.txt"), `The scripts here hold, besides web/src/app (Apache-2.0, the file LICENSE of this repository), these packages.\n${[...same].map(([text, of]) => `\n---- ${of.map((t) => t.head).join("; ")} ----\n\n${text}\n`).join("")}`);
