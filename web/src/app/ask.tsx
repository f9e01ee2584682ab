// What is asked: the main keys as sliders, every key in a list, and the experiment's text.
import { useState } from "preact/hooks";
import { KeyControl, Picker, Slider } from "./controls";
import { later } from "./later";
import { Store } from "./store";
import { tabFor } from "./tabs";
import { KeyDoc } from "./types";

const Editor = later(() => import("./editor/editor").then((m) => m.Editor));

// Shown first where the experiment has them; the peak of the GPU is that of the model's precision.
const MAIN = ["cluster.nodes", "model.global_batch", "model.per_gpu_batch", "parallel.tensor", "parallel.pipeline", "parallel.expert", "parallel.context", "parallel.micro_batch",
  "cluster.nic.count", "cluster.nic.bandwidth", "cluster.nic.latency", "cluster.gpu_links.bandwidth_per_link", "device.hbm.bandwidth", "device.hbm.capacity", "cluster.host.dispatch_scale"];

export function mainKeys(store: Store): KeyDoc[] {
  return MAIN.filter((key) => store.values[key]?.[2] !== undefined).map((key) => store.keys.get(key)!).filter(Boolean);
}

function Sliders({ store }: { store: Store }) {
  const shown = MAIN.filter((key) => store.values[key]?.[2] !== undefined || store.seen.has(key)).map((key) => store.keys.get(key)!).filter(Boolean);
  return <div class="controls">{shown.map((doc) => <Slider key={doc.key} doc={doc} value={store.values[doc.key]} store={store} />)}</div>;
}

const MOST_FOUND = 40;

function AllKeys({ store }: { store: Store }) {
  const [query, setQuery] = useState("");
  const words = query.toLowerCase().split(/[\s.]+/).filter(Boolean);
  const all = [...store.keys.values()].filter((doc) => doc.key.includes("."));
  const found = all.filter((doc) => words.every((w) => doc.key.includes(w) || doc.doc.toLowerCase().includes(w)));
  found.sort((a, b) => Number(words.every((w) => b.key.includes(w))) - Number(words.every((w) => a.key.includes(w))));
  const shown = words.length > 0 ? found.slice(0, MOST_FOUND) : all.filter((doc) => store.values[doc.key]?.[1].startsWith(`${store.file}:`));
  return (
    <div>
      <label class="search">Search {all.length} keys
        <input type="search" id="key-search" value={query} spellcheck={false} placeholder="overlap, nic, precision, ..." onInput={(e) => setQuery(e.currentTarget.value)} />
      </label>
      <p class="soft small">{words.length > 0 ? `${found.length} found${found.length > MOST_FOUND ? `, the first ${MOST_FOUND} shown` : ""}` : "Keys of this experiment; the others have the values of the files that it names, or defaults."}</p>
      <div class="controls">
        {shown.map((doc) => (
          <div key={doc.key} class="described">
            <KeyControl doc={doc} store={store} />
            <p class="small soft">{doc.doc} {whereOf(store, doc.key)}</p>
          </div>
        ))}
      </div>
    </div>
  );
}

function whereOf(store: Store, key: string) {
  const where = store.values[key]?.[1];
  if (!where) return "Not set.";
  return where.startsWith(`${store.file}:`) ? "From this experiment." : `From ${where}.`;
}

// "it fits with --set A=1, or --set B=2 --set C=3": what each way sets.
function waysOut(hint: string): string[][] {
  return hint.split(", or ").map((way) => [...way.matchAll(/--set ([\w.]+=[\w.]+)/g)].map((m) => m[1])).filter((sets) => sets.length > 0);
}

export function Problem({ store }: { store: Store }) {
  const p = store.problem;
  if (!p) return null;
  const ways = waysOut(p.hint);
  return (
    <div class="problem" id="problem" role="alert">
      <b>{p.line ? `Line ${p.line}${p.column ? `, column ${p.column}` : ""}: ` : ""}</b>{p.what || p.text}{p.hint && <span>; {p.hint.replaceAll("--set ", "")}</span>}
      {!p.line && p.where && <span class="soft"> ({p.where})</span>}
      {ways.length > 0 && <p class="small">{ways.map((sets) => <button key={sets.join(" ")} class="way" onClick={() => store.edit(sets.map((s) => ({ key: s.slice(0, s.indexOf("=")), value: s.slice(s.indexOf("=") + 1) })))}>Set {sets.join(" and ")}</button>)}</p>}
      {store.shown && <p class="small">The figures are those of {store.shown.text === store.first ? "the experiment that distsim serve was started with" : "the last experiment that could be predicted"}. <button class="link" id="back-to-good" onClick={() => store.open(store.shown!.text)}>Go back to it</button></p>}
    </div>
  );
}

const VIEWS = ["Main keys", "All keys", "Text"] as const;
const idOf = (view: (typeof VIEWS)[number]) => `ask-${view.replace(" ", "-").toLowerCase()}`;

export function Ask({ store }: { store: Store }) {
  const [view, setView] = useState<(typeof VIEWS)[number]>("Main keys");
  const value = (key: string) => store.values[key]?.[0] ?? "", context = store.report?.context;
  const chosen = (key: string, now: string | undefined) => store.told?.[key]?.[0] ?? now;  // by a text with an error, else what is predicted
  const keys = (e: KeyboardEvent) => {
    const next = tabFor(e.key, VIEWS, view);
    if (next === null) return;
    e.preventDefault();
    setView(next);
    document.getElementById(idOf(next))?.focus();
  };
  return (
    <section class="ask" aria-label="Experiment">
      <Picker label="System" keyName="cluster.system" current={chosen("cluster.system", context?.system) ?? value("cluster.name")} choices={store.lists?.systems ?? []} store={store} />
      <Picker label="Model" keyName="model.name" current={chosen("model.name", context?.model) ?? value("model.name")} choices={store.lists?.models ?? []} store={store} />
      <Picker label="Framework" keyName="framework.name" current={chosen("framework.name", context?.framework) ?? value("framework.name")} choices={store.lists?.frameworks ?? []} store={store} />
      <div class="tabs" role="tablist" aria-label="Ways to change the experiment" onKeyDown={keys}>
        {VIEWS.map((v) => <button key={v} role="tab" id={idOf(v)} aria-selected={v === view} tabIndex={v === view ? 0 : -1} onClick={() => setView(v)}>{v}</button>)}
      </div>
      <Problem store={store} />
      {view === "Main keys" && <Sliders store={store} />}
      {view === "All keys" && <AllKeys store={store} />}
      {view === "Text" && <Editor store={store} />}
    </section>
  );
}
