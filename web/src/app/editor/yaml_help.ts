// What the schema knows, where a text is edited: keys and values that can follow, and the help of what the pointer is at.
import { Completion, CompletionContext, CompletionResult, startCompletion } from "@codemirror/autocomplete";
import { EditorView, hoverTooltip } from "@codemirror/view";
import { Store } from "../store";
import { KeyDoc } from "../types";
import { keysOf, placeAt } from "./yaml_place";

const LISTS: Record<string, "systems" | "models" | "frameworks"> = { "cluster.system": "systems", "model.name": "models", "framework.name": "frameworks" };

// Without the index of a list's items: their keys are those of "tables[]".
const plain = (key: string) => key.replaceAll("[]", "");

function element(name: string, text: string, kind = "") {
  const out = document.createElement(name);
  out.textContent = text;
  if (kind) out.className = kind;
  return out;
}

function helpOf(doc: KeyDoc): HTMLElement {
  const out = element("div", "", "help");
  out.append(element("b", doc.key), element("div", [doc.type, doc.range, doc.default && (doc.default === "required" ? "required" : `default: ${doc.default}`)].filter(Boolean).join(" · "), "soft"), element("div", doc.doc));
  return out;
}

function docOf(store: Store, path: string[]): KeyDoc | undefined {
  const key = path.join(".");
  return store.keys.get(key) ?? [...store.keys.values()].find((doc) => plain(doc.key) === key) ?? store.keys.get(path.slice(0, -1).join("."));  // the last: of a map to quantities
}

// What may stand under a path: keys with their help, and names of what has keys of its own.
function childrenOf(store: Store, path: string[]): Map<string, KeyDoc | null> {
  const begin = path.map((p) => `${p}.`).join(""), out = new Map<string, KeyDoc | null>();
  for (const doc of store.keys.values()) {
    const key = plain(doc.key);
    if (!key.startsWith(begin)) continue;
    const rest = key.slice(begin.length), dot = rest.indexOf(".");
    if (dot < 0) out.set(rest, doc);
    else if (!out.has(rest.slice(0, dot))) out.set(rest.slice(0, dot), null);
  }
  return out;
}

const hasChoices = (store: Store, doc: KeyDoc) => doc.choices !== undefined || (LISTS[doc.key] !== undefined && store.lists !== null);

function keyCompletions(store: Store, parents: string[], taken: Set<string>): Completion[] {
  return [...childrenOf(store, parents)].filter(([name]) => name !== "" && !taken.has(name)).map(([name, doc]): Completion => {
    const section = doc === null || doc.type === "map" || doc.type.startsWith("list of maps");
    const put = section ? `${name}:` : `${name}: `;
    return {
      label: name, type: "property", detail: doc?.type ?? "", info: doc ? () => helpOf(doc) : undefined,
      apply: (view, _, from, to) => {
        const colon = /^\s*:/.test(view.state.sliceDoc(to, to + 2));
        const text = colon ? name : put;
        view.dispatch({ changes: { from, to, insert: text }, selection: { anchor: from + text.length }, userEvent: "input.complete" });
        if (doc && !colon && hasChoices(store, doc)) startCompletion(view);
      },
    };
  });
}

function valueCompletions(store: Store, doc: KeyDoc): Completion[] {
  const list = LISTS[doc.key] && store.lists?.[LISTS[doc.key]];
  if (list) return list.map((entry) => ({ label: entry.name, type: "constant", info: entry.text }));
  return (doc.choices ?? []).map((label) => ({ label, type: "constant" }));
}

export const complete = (store: Store) => (context: CompletionContext): CompletionResult | null => {
  const text = context.state.doc.toString(), place = placeAt(text, context.pos);
  if (!place) return null;
  if (place.isKey) {
    if (place.key === "" && !context.explicit) return null;
    const above = place.parents.join("."), here = keysOf(text).filter((k) => k.path.slice(0, -1).join(".") === above && !(k.from <= context.pos && context.pos <= k.to));
    const options = keyCompletions(store, place.parents, new Set(here.map((k) => k.path[k.path.length - 1])));
    return options.length > 0 ? { from: place.from, options, validFor: /^[\w.-]*$/ } : null;
  }
  const doc = docOf(store, [...place.parents, place.key]);
  const options = doc ? valueCompletions(store, doc) : [];
  const typed = context.state.sliceDoc(place.from, context.pos);
  return options.length > 0 && (context.explicit || typed.trim() !== "") ? { from: place.from, options, validFor: /^[\w./-]*$/ } : null;
};

// Of the key whose line the pointer is in.
export const hoverHelp = (store: Store) => hoverTooltip((view: EditorView, pos: number) => {
  const line = view.state.doc.lineAt(pos), place = placeAt(view.state.doc.toString(), Math.max(pos, line.from));
  if (!place) return null;
  const word = /[\w.-]*$/.exec(view.state.sliceDoc(line.from, pos))![0].length, rest = /^[\w.-]*/.exec(view.state.sliceDoc(pos, line.to))![0];
  const path = place.isKey ? [...place.parents, view.state.sliceDoc(pos - word, pos) + rest] : [...place.parents, place.key];
  const doc = docOf(store, path);
  return doc && doc.key.includes(".") ? { pos: pos - word, end: pos + rest.length, above: true, create: () => ({ dom: helpOf(doc) }) } : null;
});
