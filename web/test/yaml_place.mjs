// Where a place in an experiment's text is (src/app/editor/yaml_place.ts): "^" is the place.
import { build } from "esbuild";
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const source = join(dirname(fileURLToPath(import.meta.url)), "../src/app/editor/yaml_place.ts");
const made = await build({ entryPoints: [source], bundle: true, write: false, format: "esm" });
const { keysOf, placeAt } = await import(`data:text/javascript,${encodeURIComponent(made.outputFiles[0].text)}`);

const at = (text) => {
  const mark = text.indexOf("^"), whole = text.slice(0, mark) + text.slice(mark + 1), place = placeAt(whole, mark);
  return place && [[...place.parents, place.key].join("."), place.isKey ? "key" : "value", whole.slice(place.from, mark)];
};

for (const [text, expected] of [
  ["^", ["", "key", ""]],
  ["clus^", ["clus", "key", "clus"]],
  ["cluster:\n  no^", ["cluster.no", "key", "no"]],
  ["cluster:\n  nodes: 4\n  nic:\n    band^", ["cluster.nic.band", "key", "band"]],
  ["cluster:\n  nodes: 4\n  nic:\n    count: 8\n  gp^", ["cluster.gp", "key", "gp"]],
  ["cluster:\n  nodes: 4\n^", ["", "key", ""]],
  ["cluster:\n  nodes: ^4", ["cluster.nodes", "value", ""]],
  ["cluster:\n  nic:\n    bandwidth: 25 GB^", ["cluster.nic.bandwidth", "value", "25 GB"]],
  ["cluster: {system: dgx^", ["cluster.system", "value", "dgx"]],
  ["cluster: {system: dgx_a100, no^", ["cluster.no", "key", "no"]],
  ["cluster: {nic: {count: 8, band^", ["cluster.nic.band", "key", "band"]],
  ["cluster: {nic: {count: 8}, no^", ["cluster.no", "key", "no"]],
  ["model:\n  \"name\": dlrm^", ["model.name", "value", "dlrm"]],
  ["# clus^", null],
  ["cluster:  # a no^", null],
  ["title: a # no^", null],
  ["title: a#no^", ["title", "value", "a#no"]],
  ["title: \"a: b^", null],
  ["title: \"a: b\" ^", ["title", "value", "\"a: b\" "]],
  ["description: |\n  cluster: no^\n", ["description.cluster", "value", "no"]],
  ["model:\n  tables:\n    - rows: 5\n      di^", ["model.tables.di", "key", "di"]],
  ["model:\n  tables:\n    - ro^", ["model.tables.ro", "key", "ro"]],
  ["a: 1\r\nb^", ["b", "key", "b"]],
]) assert.deepEqual(at(text), expected, JSON.stringify(text));

assert.deepEqual(keysOf("a:\n  b: 1\n  c: |\n    d: 2\n  e: 3\nf: {g: 1}\n").map((k) => k.path.join(".")), ["a", "a.b", "a.c", "a.e", "f"]);
assert.deepEqual(keysOf("a:\n    - b: 1\n      c: 2\n# d: 3\ne : 4\n").map((k) => k.path.join(".")), ["a", "a.b", "a.c", "e"]);
for (let i = 0, text = "cluster:\n  nic: {count: 8, \"x\": 'y'} # z\n\n  - a: |\n"; i <= text.length; ++i) assert.doesNotThrow(() => placeAt(text, i));
