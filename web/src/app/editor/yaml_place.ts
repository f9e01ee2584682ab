// Where a place in an experiment's text is: under which keys, in a key or in its value. Works on text that is not yet valid YAML.
export interface Place {
  parents: string[];  // keys that it is under
  key: string;        // that it is in, as far as it is typed
  isKey: boolean;     // false: in the value of the key
  from: number;       // where the key, or the value, begins
  column: number;     // where its key begins in its line; of a flow mapping, that of its first line
}
export interface PlacedKey { path: string[]; from: number; to: number }

const KEY = /^(\s*)((?:- +)*)([A-Za-z_][\w.-]*|"[^"]*"|'[^']*')\s*:(?=\s|$)/;
const bare = (key: string) => key.replace(/^["']|["']$/g, "");

// Keys of the block mappings of a text, in order. Items of lists are not told apart: their keys are under the key of the list.
export function keysOf(text: string): PlacedKey[] {
  const out: PlacedKey[] = [], open: { column: number; key: string }[] = [];
  let at = 0, literal = -1;  // literal: column of the key whose block of plain text ("|") goes on
  for (const line of text.split("\n")) {
    const column = line.search(/\S/);
    if (column >= 0 && literal >= 0 && column <= literal) literal = -1;
    const found = literal < 0 && KEY.exec(line);
    if (found) {
      const begin = found[1].length + found[2].length, key = bare(found[3]);
      while (open.length > 0 && open[open.length - 1].column >= begin) open.pop();
      out.push({ path: [...open.map((o) => o.key), key], from: at + begin, to: at + begin + found[3].length });
      open.push({ column: begin, key });
      if (/:\s*[|>][+-]?\d?\s*(#.*)?$/.test(line)) literal = begin;
    }
    at += line.length + 1;
  }
  return out;
}

// Null: in a comment, in quotes that are not closed, or in plain text.
export function placeAt(text: string, at: number): Place | null {
  const begin = text.lastIndexOf("\n", at - 1) + 1, before = text.slice(begin, at);
  const indent = /^(\s*(?:- +)*)/.exec(before)![1].length;
  const keys = keysOf(text.slice(0, begin));
  const parents: { column: number; key: string }[] = [];
  for (const k of keys) {
    const column = k.from - (text.lastIndexOf("\n", k.from - 1) + 1);
    while (parents.length > 0 && parents[parents.length - 1].column >= column) parents.pop();
    parents.push({ column, key: k.path[k.path.length - 1] });
  }
  while (parents.length > 0 && parents[parents.length - 1].column >= indent) parents.pop();
  const under = parents.map((p) => p.key);
  // Along the line: a key in front of a colon, mappings in braces.
  const levels: string[] = [];
  let word = "", from = begin + indent, key: string | null = null, quote = "";
  for (let i = indent; i < before.length; ++i) {
    const c = before[i];
    if (quote) { if (c === quote) quote = ""; word += c; continue; }
    if ((c === '"' || c === "'") && word.trim() === "") { quote = c; word += c; continue; }
    if (c === "#" && (i === 0 || /\s/.test(before[i - 1]))) return null;
    const next = before[i + 1];
    if (c === ":" && key === null && (next === undefined || /[\s{[]/.test(next))) { key = bare(word.trim()); word = ""; from = begin + i + 1; continue; }
    if (c === "{") { levels.push(key ?? ""); key = null; word = ""; from = begin + i + 1; continue; }
    if (c === "}") { levels.pop(); word = ""; continue; }
    if (c === "," && levels.length > 0) { key = null; word = ""; from = begin + i + 1; continue; }
    if (word === "" && /\s/.test(c)) { from = begin + i + 1; continue; }
    word += c;
  }
  if (quote) return null;
  const all = [...under, ...levels.filter(Boolean)];
  return { parents: all, key: key ?? bare(word.trim()), isKey: key === null, from, column: indent };
}
