// What would help most, and sweeps: many predictions, started from here, each point a way to an experiment.
import { useMemo } from "preact/hooks";
import { AsItWas } from "./as_it_was";
import { useKept } from "./kept";
import { mainKeys } from "./ask";
import { Sensitivity, Sweep, SweepCharts, SweepTable, Tornado, words } from "./pictures/charts";
import { Answer } from "./connection";
import { ms, quantity } from "./format";
import { why } from "./problems";
import { placesOf } from "./slider_scale";
import { Store } from "./store";
import { KeyDoc, SweepPoint } from "./types";

interface Running { id: number; done: number; total: number }

function Progress({ running, cancel }: { running: Running; cancel: () => void }) {
  return <p class="progress"><progress value={running.done} max={running.total} aria-label="Progress" /> {running.done} of {running.total} <button onClick={cancel}>Cancel</button></p>;
}

export function SensitivityView({ store }: { store: Store }) {
  const [running, setRunning] = useKept<Running | null>("sensitivity.running", null);
  const [found, setFound] = useKept<{ text: string; result: Sensitivity } | null>("sensitivity.found", null);
  const [failure, setFailure] = useKept<string>("sensitivity.failure", "");
  const run = async () => {
    setFailure("");
    const text = store.shown?.text ?? store.text;
    const asked = store.connection.ask("sensitivity", { text }, (p) => setRunning({ id: asked.id, done: p.done as number, total: p.total as number }));
    setRunning({ id: asked.id, done: 0, total: 1 });
    const answer = await asked;
    setRunning(null);
    if (answer.type === "sensitivity") setFound({ text, result: answer.result as Sensitivity });
    else setFailure(why(answer));
  };
  return (
    <section>
      <h2>What would help most</h2>
      <p class="soft small">Every resource half as good, twice as good and without limit, one at a time, with overlap respected.</p>
      {!running && <button id="run-sensitivity" onClick={() => void run()}>{found ? "Predict again" : "Predict"}</button>}
      {running && <Progress running={running} cancel={() => store.connection.cancel(running.id)} />}
      {failure && <p class="problem" role="alert">{failure}</p>}
      {found && <AsItWas store={store} text={found.text} />}
      {found && <Tornado found={found.result} />}
      {found && found.result.pairs.length > 0 && <p class="small">Together: {found.result.pairs.slice(0, 3).map((p) => `${words(p.resources[0])} and ${words(p.resources[1])}, both twice as good: ${ms(p.iteration_ms)} (alone ${p.alone_ms.map(ms).join(" and ")})`).join("; ")}.</p>}
    </section>
  );
}

const FIGURES: { name: keyof SweepPoint; head: string }[] = [
  { name: "iteration_ms", head: "iteration" }, { name: "low_ms", head: "low" }, { name: "high_ms", head: "high" }, { name: "samples_per_s", head: "samples/s" },
  { name: "exposed_comm_ms", head: "exposed communication" }, { name: "mfu", head: "MFU" }, { name: "memory_gb", head: "memory" },
];

// As the pictures take it.
function sweepOf(points: SweepPoint[], keys: string[]): { sweep: Sweep; points: SweepPoint[] } {
  const sorted = [...points].sort((a, b) => a.index - b.index);
  const axes = keys.map((key, i) => ({ key, name: key.split(".").pop()!, values: [...new Set(sorted.map((p) => p.values[i]))] }));
  const rows = sorted.map((p) => [...p.values.map((v, i) => axes[i].values.indexOf(v)), ...FIGURES.map((f) => (typeof p[f.name] === "number" ? (p[f.name] as number) : null)), p.error ? (p.fits === false ? 1 : 2) : 0]);
  return { sweep: { axes, figures: FIGURES.map((f) => ({ name: f.name, head: f.head })), points: rows }, points: sorted };
}

function suggested(doc: KeyDoc | undefined, store: Store): string {
  if (!doc) return "";
  if (doc.choices) return doc.choices.join(",");
  const now = store.values[doc.key]?.[2];
  if (now === undefined || !(now > 0)) return "";
  const far = placesOf(doc, now).filter((v) => v >= now / 8 && v <= now * 8);
  return (doc.type === "integer" ? far.filter((v) => Number.isInteger(Math.log2(v / now))) : [0.25, 0.5, 1, 2, 4].map((f) => f * now).filter((v) => v >= (doc.min ?? 0) && v <= (doc.max ?? Infinity))).map((v) => quantity(v, doc.type, store.values[doc.key]?.[0])).join(",");
}

// What is wrong with a key and its values, before they are sent. Keys of a map, such as those of device.peak, are known to the server alone.
function wrongAxis({ key, values }: { key: string; values: string }, store: Store): string {
  if (key.trim() === "") return "Key: found none, expected one of those under All keys";
  const above = key.split(".").slice(0, -1).join(".");
  if (!store.keys.has(key) && !store.keys.get(above)?.type.startsWith("map")) return `Key: found '${key}', expected one of those under All keys, such as cluster.nodes`;
  if (values.split(",").some((v) => v.trim() === "")) return `Values of ${key}: found ${values.trim() === "" ? "none" : "an empty one"}, expected values with commas between them, such as 1,2,4, or a range such as 1..8`;
  return "";
}

const MOST_AXES = 4;

export function SweepView({ store }: { store: Store }) {
  const keys = mainKeys(store);
  const [chosen, setChosen] = useKept<{ key: string; values: string }[]>("sweep.chosen", []);
  const [running, setRunning] = useKept<Running | null>("sweep.running", null);
  const [points, setPoints] = useKept<SweepPoint[]>("sweep.points", []);
  const [axes, setAxes] = useKept<string[]>("sweep.axes", []);
  const [failure, setFailure] = useKept<string>("sweep.failure", "");
  const [base, setBase] = useKept<string>("sweep.base", "");
  const [partial, setPartial] = useKept<{ why: string; done: number; total: number } | null>("sweep.partial", null);
  const all = [...store.keys.values()].filter((d) => d.key.includes(".") && !d.type.startsWith("map") && !d.type.startsWith("list"));
  const list = chosen.length > 0 ? chosen : [{ key: keys[0]?.key ?? "cluster.nodes", values: suggested(keys[0], store) }];
  const change = (i: number, next: Partial<{ key: string; values: string }>) => setChosen(list.map((a, j) => (i === j ? { ...a, ...next } : a)));
  const run = async () => {
    const wrong = list.map((a) => wrongAxis(a, store)).find(Boolean) ?? "";
    setFailure(wrong);
    if (wrong) return;
    const text = store.shown?.text ?? store.text;
    setBase(text);
    setPartial(null);
    let got: SweepPoint[] = [];
    setPoints(got);
    setAxes(list.map((a) => a.key));
    const add = (a: Answer) => { got = [...got, ...((a.points as SweepPoint[] | undefined) ?? [])]; setPoints(got); };
    const asked = store.connection.ask("sweep", { text, axes: list.map((a) => `${a.key}=${a.values}`) }, (p) => { add(p); setRunning({ id: asked.id, done: p.done as number, total: p.total as number }); });
    setRunning({ id: asked.id, done: 0, total: 1 });
    const answer = await asked;
    setRunning(null);
    add(answer);
    if (answer.type === "sweep") return;
    if (got.length > 0) setPartial({ why: why(answer), done: got.length, total: (answer.total as number | undefined) ?? got.length });
    else setFailure(why(answer));
  };
  const shown = useMemo(() => sweepOf(points, axes), [points, axes]);
  const openPoint = (p: SweepPoint) => { store.open(base); store.edit(p.values.map((value, i) => ({ key: axes[i], value }))); };
  return (
    <section>
      <h2>Sweep</h2>
      <datalist id="sweep-keys">{all.map((d) => <option key={d.key} value={d.key} />)}</datalist>
      {list.map((a, i) => (
        <div class="toolbar" key={i}>
          <label>Key <input list="sweep-keys" value={a.key} spellcheck={false} onChange={(e) => change(i, { key: e.currentTarget.value, values: suggested(store.keys.get(e.currentTarget.value), store) })} /></label>
          <label class="wide">Values <input value={a.values} spellcheck={false} placeholder="1,2,4,8 or 1..8:x2" onChange={(e) => change(i, { values: e.currentTarget.value })} /></label>
          {list.length > 1 && <button class="quiet" onClick={() => setChosen(list.filter((_, j) => j !== i))} aria-label={`Remove ${a.key}`}>remove</button>}
        </div>
      ))}
      <div class="toolbar">
        {!running && <button id="run-sweep" onClick={() => void run()}>Predict all points</button>}
        {list.length < MOST_AXES && <button class="quiet" onClick={() => { const next = keys.find((k) => !list.some((a) => a.key === k.key)); setChosen([...list, { key: next?.key ?? "", values: suggested(next, store) }]); }}>add a key</button>}
        {running && <Progress running={running} cancel={() => store.connection.cancel(running.id)} />}
      </div>
      {failure && <p class="problem" role="alert">{failure}</p>}
      {partial && <p class="partial" role="alert" id="sweep-partial">{partial.why} Partial: {partial.done} of {partial.total} points had been predicted; pictures and table hold these.</p>}
      {shown && points.length > 0 && (
        <>
          <AsItWas store={store} text={base} />
          <SweepCharts sweep={shown.sweep} onOpen={(i) => openPoint(shown.points[i])} />
          <SweepTable sweep={shown.sweep} reasons={(i) => (shown.points[i].error ?? "").replace(/^--set /, "")} onOpen={(i) => openPoint(shown.points[i])} />
        </>
      )}
    </section>
  );
}
