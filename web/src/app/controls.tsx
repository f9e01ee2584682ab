// Controls of keys: a slider, a choice or a field, as the key's type asks for.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isQuantity, quantity } from "./format";
import { nearestPlace, placesOf } from "./slider_scale";
import { Store } from "./store";
import { KeyDoc, Value } from "./types";

// What a slider was drawn around stays while it is moved.
const bases = new Map<string, number>();
export const forgetBases = () => bases.clear();

export function shortKey(key: string) { return key.split(".").slice(1).join(" ").replaceAll("_", " ") || key; }

function baseOf(key: string, now: number, where: string, file: string): number {
  if (!(now > 0)) return bases.get(key) ?? now;
  const known = bases.get(key);
  if (known !== undefined && now <= known * 32 && now >= known / 1024) return known;
  if (known === undefined || !where.startsWith(file)) bases.set(key, now);
  return bases.get(key)!;
}

function Field({ doc, value, store, id }: { doc: KeyDoc; value?: Value; store: Store; id: string }) {
  const [text, setText] = useState<string | null>(null);
  const shown = text ?? value?.[0] ?? "";
  const commit = () => {
    if (text === null || text.trim() === (value?.[0] ?? "")) return setText(null);
    store.edit([{ key: doc.key, value: text.trim() === "" ? null : text.trim() }]);
    setText(null);
  };
  const bad = store.problem?.what.startsWith(`${doc.key}:`) ?? false;
  return (
    <input id={id} class="field" type="text" spellcheck={false} autocomplete="off" value={shown} placeholder={doc.default} aria-invalid={bad}
      inputMode={doc.type === "integer" ? "numeric" : undefined} title={doc.range && `${doc.type}, ${doc.range}`}
      onInput={(e) => setText(e.currentTarget.value)} onBlur={commit} onKeyDown={(e) => { if (e.key === "Enter") commit(); if (e.key === "Escape") setText(null); }} />
  );
}

// `value`: nothing where no file has the key; then its default holds.
export function Slider({ doc, value, store }: { doc: KeyDoc; value?: Value; store: Store }) {
  const now = value?.[2] ?? (/^[\d.]+$/.test(doc.default) ? Number(doc.default) : Number.NaN);
  const id = `k-${doc.key.replaceAll(".", "-")}`;
  const base = baseOf(doc.key, now, value?.[1] ?? "", store.file), places = useMemo(() => placesOf(doc, base), [doc, base]);
  const at = places.length > 0 ? nearestPlace(places, now) : 0;
  const move = (index: number) => {
    const text = quantity(places[index], doc.type, value?.[0]);
    store.numbers.set(`${doc.key}=${text}`, places[index]);
    store.edit([{ key: doc.key, value: text }], false);
  };
  const given = value?.[1].startsWith(`${store.file}:`) ?? false;
  const idle = store.idle.some((k) => k.key === doc.key);
  const reset = given && <button class="quiet reset" title="Take this key out of the experiment: the value of its file holds again" aria-label={`Reset ${doc.key}`} onClick={() => { store.edit([{ key: doc.key, value: null }]); document.getElementById(id)?.focus(); }}>reset</button>;
  return (
    <div class="control" title={doc.doc}>
      <div><label for={id}>{label(doc)}</label>{reset}</div>
      <Field doc={doc} value={value} store={store} id={id} />
      {places.length > 1 && (
        <input class="slider" type="range" min={0} max={places.length - 1} step={1} value={at} data-key={doc.key} aria-label={`${doc.key}, slider`} aria-valuetext={value?.[0] ?? doc.default}
          onInput={(e) => move(Number(e.currentTarget.value))} />
      )}
      {idle && <p class="remark">No effect on this prediction.</p>}
    </div>
  );
}

function label(doc: KeyDoc) {
  const section = doc.key.split(".")[0];
  return <><span class="section-name">{section}</span> {shortKey(doc.key)}</>;
}

// Any key: for the list of all of them.
export function KeyControl({ doc, store }: { doc: KeyDoc; store: Store }) {
  const value = store.values[doc.key];
  const id = `a-${doc.key.replaceAll(".", "-")}`;
  if (value && value[2] !== undefined && value[2] > 0 && (doc.type === "integer" || doc.type === "number" || isQuantity(doc.type))) return <Slider doc={doc} value={value} store={store} />;
  if (doc.type === "map" || doc.type.startsWith("list of maps")) return <div class="control"><span>{label(doc)}</span><span class="soft">{doc.type}; edit it in the text</span></div>;
  return (
    <div class="control" title={doc.doc}>
      <label for={id}>{label(doc)}</label>
      {doc.choices ? (
        <select id={id} value={value?.[0] ?? ""} onChange={(e) => store.edit([{ key: doc.key, value: e.currentTarget.value || null }])}>
          <option value="">{doc.default === "required" ? "" : `default: ${doc.default}`}</option>
          {doc.choices.map((c) => <option value={c} key={c}>{c}</option>)}
        </select>
      ) : <Field doc={doc} value={value} store={store} id={id} />}
    </div>
  );
}

const MOST_CHOICES = 80;

// A list to search in: systems, models, frameworks.
export function Picker({ label: name, keyName, current, choices, store }: { label: string; keyName: string; current: string; choices: { name: string; text: string; ok: boolean }[]; store: Store }) {
  const [query, setQuery] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const box = useRef<HTMLInputElement>(null);
  const closing = useRef<ReturnType<typeof setTimeout>>();  // who comes back at once finds the list open
  const id = `pick-${keyName.replace(".", "-")}`;
  const words = (query ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  // Those called so first, then those that begin so, then those whose name has it. Before anything is typed, the one that is chosen:
  // Enter changes nothing.
  const rank = (name: string) => (words.length === 0 ? Number(name !== current.toLowerCase()) : name === words[0] ? 0 : name.startsWith(words[0]) ? 1 : words.every((w) => name.includes(w)) ? 2 : 3);
  const found = query === null ? [] : choices.filter((c) => words.every((w) => `${c.name} ${c.text}`.toLowerCase().includes(w))).sort((a, b) => rank(a.name.toLowerCase()) - rank(b.name.toLowerCase()));
  const left = found.splice(MOST_CHOICES).length;
  const choose = (value: string) => {
    forgetBases();
    setQuery(null);
    box.current?.blur();
    if (value !== current) store.edit([{ key: keyName, value }]);
  };
  useEffect(() => setAt(0), [query]);
  const keys = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      if (query === null) return setQuery("");
      setAt(Math.max(0, Math.min(found.length - 1, at + (e.key === "ArrowDown" ? 1 : -1))));
    } else if (e.key === "Enter" && query !== null && found[at]) choose(found[at].name);
    else if (e.key === "Escape") { setQuery(null); box.current?.blur(); }
  };
  return (
    <div class="picker">
      <label for={id}>{name}</label>
      <input id={id} ref={box} role="combobox" aria-expanded={query !== null} aria-controls={`${id}-list`} aria-autocomplete="list" aria-activedescendant={query !== null && found[at] ? `${id}-${at}` : undefined}
        autocomplete="off" spellcheck={false} value={query ?? current} placeholder={current} onFocus={() => { clearTimeout(closing.current); setQuery((q) => q ?? ""); }} onBlur={() => { closing.current = setTimeout(() => setQuery(null), 150); }}
        onInput={(e) => setQuery(e.currentTarget.value)} onKeyDown={keys} />
      {query !== null && (
        <ul tabIndex={-1} id={`${id}-list`} role="listbox" aria-label={name}>
          {found.length === 0 && <li class="soft">{choices.length === 0 ? "The list is being read." : "Nothing is called so."}</li>}
          {found.map((c, i) => (
            <li id={`${id}-${i}`} role="option" aria-selected={i === at} key={c.name} onMouseDown={(e) => { e.preventDefault(); choose(c.name); }}>
              <b>{c.name}</b> <span class="soft">{c.text}</span>
            </li>
          ))}
          {left > 0 && <li class="soft" role="option" aria-disabled="true" aria-selected="false">{left} more; type a part of the name.</li>}
        </ul>
      )}
    </div>
  );
}
