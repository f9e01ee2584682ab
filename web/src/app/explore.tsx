// What would help most, and sweeps: many predictions, started from here, each point a way to an experiment.
import { useKept } from "./kept";
import { mainKeys } from "./ask";
import { Answer } from "./connection";
import { bytes, count, ms, percent, quantity } from "./format";
import { placesOf } from "./slider_scale";
import { Store } from "./store";
import { KeyDoc, SweepPoint } from "./types";

interface Resource { resource: string; level: string; keys: string; elasticity: number; note: string; points: { factor: number | "inf"; iteration_ms?: number; delta_percent?: number; limited_by?: string; error?: string }[] }
interface Sensitivity { iteration_ms: number; resources: Resource[]; pairs: { resources: [string, string]; iteration_ms: number; alone_ms: [number, number] }[] }

interface Running { id: number; done: number; total: number }

function Progress({ running, cancel }: { running: Running; cancel: () => void }) {
  return <p class="progress"><progress value={running.done} max={running.total} aria-label="Progress" /> {running.done} of {running.total} <button onClick={cancel}>Cancel</button></p>;
}

export function why(answer: Answer) { return (answer.error as { text: string } | undefined)?.text ?? ({ busy: "Other studies of this page are still running.", timeout: "This takes more than 30 s.", stale: "Something newer was asked.", lost: "The connection to the server was lost.", cancelled: "Cancelled." } as Record<string, string>)[answer.type] ?? answer.type; }

const words = (name: string) => name.replaceAll("_", " ");

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
  const rows = found?.result.resources ?? [];
  const at = (r: Resource, factor: number | "inf") => r.points.find((p) => p.factor === factor);
  const changes = rows.flatMap((r) => [at(r, 0.5), at(r, 2), at(r, "inf")].map((p) => Math.max(-100, Math.min(100, p?.delta_percent ?? 0))));
  const most = Math.max(1, ...changes), least = Math.min(-1, ...changes);
  const row = 26, left = 160, scale = 450 / (most - least), middle = left - least * scale;
  const x = (delta: number) => middle + Math.max(-100, Math.min(100, delta)) * scale;
  const change = (percent: number) => (Math.abs(percent) < 0.05 ? "0" : `${percent > 0 ? "+" : "−"}${Math.abs(percent).toFixed(1)} %`);
  return (
    <section>
      <h2>What would help most</h2>
      <p class="soft small">Every resource half as good, twice as good and without limit, one at a time, with overlap respected.</p>
      {!running && <button id="run-sensitivity" onClick={() => void run()}>{found ? "Predict again" : "Predict"}</button>}
      {running && <Progress running={running} cancel={() => store.connection.cancel(running.id)} />}
      {failure && <p class="problem" role="alert">{failure}</p>}
      {found && found.text !== store.shown?.text && <p class="small soft">Of the experiment as it was then.</p>}
      {rows.length > 0 && (
        <svg class="chart" id="tornado" viewBox={`0 0 800 ${24 + rows.length * row}`} role="img" aria-label={rows.map((r) => `${words(r.resource)} twice as good: ${(at(r, 2)?.delta_percent ?? 0).toFixed(1)} %`).join("; ")}>
          <text class="t soft" x={middle} y="12" text-anchor="middle">{ms(found!.result.iteration_ms)}</text>
          {rows.map((r, i) => {
            const y = 20 + i * row, half = at(r, 0.5)?.delta_percent ?? 0, twice = at(r, 2)?.delta_percent ?? 0, best = at(r, "inf")?.delta_percent ?? 0;
            return (
              <g key={r.resource}>
                <text class="t" x={left - 12} y={y + 16} text-anchor="end">{words(r.resource)}<title>{`${r.keys}${r.note ? `; ${r.note}` : ""}`}</title></text>
                <rect class="c-pale" x={Math.min(middle, x(best))} y={y + 4} width={Math.abs(x(best) - middle)} height={row - 8}><title>{`without limit ${best.toFixed(1)} %`}</title></rect>
                <rect class="c-compute" x={Math.min(middle, x(twice))} y={y + 4} width={Math.abs(x(twice) - middle)} height={row - 8}><title>{`twice as good ${twice.toFixed(1)} %`}</title></rect>
                <rect class="c-waiting" x={Math.min(middle, x(half))} y={y + 4} width={Math.abs(x(half) - middle)} height={row - 8}><title>{`half as good ${half.toFixed(1)} %`}</title></rect>
                <text class="t small" x="630" y={y + 16}>twice {change(twice)}, half {change(half)}</text>
              </g>
            );
          })}
          <line class="axis" x1={middle} x2={middle} y1="18" y2={24 + rows.length * row} />
        </svg>
      )}
      {found && found.result.pairs.length > 0 && <p class="small">Together: {found.result.pairs.slice(0, 3).map((p) => `${words(p.resources[0])} and ${words(p.resources[1])}, both twice as good: ${ms(p.iteration_ms)} (alone ${p.alone_ms.map(ms).join(" and ")})`).join("; ")}.</p>}
    </section>
  );
}

const FIGURES: { name: keyof SweepPoint; head: string; text: (v: number) => string }[] = [
  { name: "iteration_ms", head: "iteration", text: ms }, { name: "samples_per_s", head: "samples/s", text: count }, { name: "exposed_comm_ms", head: "exposed communication", text: ms },
  { name: "mfu", head: "MFU", text: (v) => percent(v) }, { name: "memory_gb", head: "memory", text: (v) => bytes(v * 1e9) },
];

function suggested(doc: KeyDoc | undefined, store: Store): string {
  if (!doc) return "";
  if (doc.choices) return doc.choices.join(",");
  const now = store.values[doc.key]?.[2];
  if (now === undefined || !(now > 0)) return "";
  const far = placesOf(doc, now).filter((v) => v >= now / 8 && v <= now * 8);
  return (doc.type === "integer" ? far.filter((v) => Number.isInteger(Math.log2(v / now))) : [0.25, 0.5, 1, 2, 4].map((f) => f * now).filter((v) => v >= (doc.min ?? 0) && v <= (doc.max ?? Infinity))).map((v) => quantity(v, doc.type)).join(",");
}

export function SweepView({ store }: { store: Store }) {
  const keys = mainKeys(store);
  const [chosen, setChosen] = useKept<{ key: string; values: string }[]>("sweep.chosen", []);
  const [running, setRunning] = useKept<Running | null>("sweep.running", null);
  const [points, setPoints] = useKept<SweepPoint[]>("sweep.points", []);
  const [axes, setAxes] = useKept<string[]>("sweep.axes", []);
  const [figure, setFigure] = useKept<number>("sweep.figure", 0);
  const [failure, setFailure] = useKept<string>("sweep.failure", "");
  const [base, setBase] = useKept<string>("sweep.base", "");
  const all = [...store.keys.values()].filter((d) => d.key.includes(".") && !d.type.startsWith("map") && !d.type.startsWith("list"));
  const list = chosen.length > 0 ? chosen : [{ key: keys[0]?.key ?? "cluster.nodes", values: suggested(keys[0], store) }];
  const change = (i: number, next: Partial<{ key: string; values: string }>) => setChosen(list.map((a, j) => (i === j ? { ...a, ...next } : a)));
  const run = async () => {
    setFailure("");
    const text = store.shown?.text ?? store.text;
    setBase(text);
    let got: SweepPoint[] = [];
    setPoints(got);
    setAxes(list.map((a) => a.key));
    const add = (a: Answer) => { got = [...got, ...((a.points as SweepPoint[] | undefined) ?? [])]; setPoints(got); };
    const asked = store.connection.ask("sweep", { text, axes: list.map((a) => `${a.key}=${a.values}`) }, (p) => { add(p); setRunning({ id: asked.id, done: p.done as number, total: p.total as number }); });
    setRunning({ id: asked.id, done: 0, total: 1 });
    const answer = await asked;
    setRunning(null);
    add(answer);
    if (answer.type !== "sweep") setFailure(why(answer));
  };
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
        {list.length < 3 && <button class="quiet" onClick={() => { const next = keys.find((k) => !list.some((a) => a.key === k.key)); setChosen([...list, { key: next?.key ?? "", values: suggested(next, store) }]); }}>add a key</button>}
        {running && <Progress running={running} cancel={() => store.connection.cancel(running.id)} />}
      </div>
      {failure && <p class="problem" role="alert">{failure}</p>}
      {points.length > 0 && (
        <>
          <div class="toolbar"><label>Figure <select value={String(figure)} onChange={(e) => setFigure(Number(e.currentTarget.value))}>{FIGURES.map((f, i) => <option key={f.name} value={String(i)}>{f.head}</option>)}</select></label></div>
          <Curves points={points} axes={axes} figure={FIGURES[figure]} onOpen={openPoint} store={store} />
          <SweepTable points={points} axes={axes} onOpen={openPoint} />
        </>
      )}
    </section>
  );
}

function SweepTable({ points, axes, onOpen }: { points: SweepPoint[]; axes: string[]; onOpen: (p: SweepPoint) => void }) {
  const sorted = [...points].sort((a, b) => a.index - b.index).slice(0, 500);
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label="Points"><table id="sweep-table">
      <thead><tr>{axes.map((a) => <th key={a} class="n">{a}</th>)}<th class="n">iteration</th><th class="n">range</th><th class="n">samples/s</th><th class="n">memory</th><th>limited by</th><th /></tr></thead>
      <tbody>{sorted.map((p) => (
        <tr key={p.index} class={p.error ? "soft" : ""}>{p.values.map((v, i) => <td key={i} class="n">{v}</td>)}
          {p.error ? <td colSpan={4} class="cut" title={p.error}>{p.error}</td> : <><td class="n">{ms(p.iteration_ms!)}</td><td class="n">{ms(p.low_ms!)} .. {ms(p.high_ms!)}</td><td class="n">{count(p.samples_per_s!)}</td><td class="n">{bytes((p.memory_gb ?? 0) * 1e9)}</td></>}
          <td>{p.limited_by}</td><td><button class="quiet" onClick={() => onOpen(p)}>open</button></td></tr>
      ))}</tbody>
    </table></div>
  );
}

// A curve along the first key for each combination of the others, on logarithmic scales where the values are spread.
function Curves({ points, axes, figure, onOpen, store }: { points: SweepPoint[]; axes: string[]; figure: (typeof FIGURES)[number]; onOpen: (p: SweepPoint) => void; store: Store }) {
  const good = points.filter((p) => !p.error && typeof p[figure.name] === "number");
  if (good.length === 0) return <p class="soft">No point has a prediction.</p>;
  const names = [...new Set(points.map((p) => p.values[0]))];
  const scales: Record<string, number> = { T: 1e12, G: 1e9, M: 1e6, K: 1e3, k: 1e3 };
  const number = (text: string) => { const m = /^([\d.eE+-]+)\s*([TGMKk])?i?[bB]?/.exec(text); return m ? Number(m[1]) * (scales[m[2] ?? ""] ?? 1) : Number.NaN; };
  const xs = new Map(names.map((n) => [n, number(n)]));
  const numeric = store.keys.get(axes[0])?.choices === undefined && [...xs.values()].every((v) => Number.isFinite(v) && v > 0);
  const order = numeric ? [...names].sort((a, b) => xs.get(a)! - xs.get(b)!) : names;
  const low = Math.min(...xs.values()), high = Math.max(...xs.values());
  const logX = numeric && high / low >= 4;
  const L = 90, R = 780, T = 16, B = 270;
  const place = (name: string) => {
    if (!numeric) return L + ((order.indexOf(name) + 0.5) / order.length) * (R - L);
    if (high === low) return (L + R) / 2;
    const v = xs.get(name)!;
    return L + (logX ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low)) * (R - L);
  };
  const values = good.flatMap((p) => (figure.name === "iteration_ms" ? [p.low_ms!, p.high_ms!] : [p[figure.name] as number]));
  const most = Math.max(...values) || 1, least = Math.min(...values);
  const logY = least > 0 && most / least > 30;
  const y = (v: number) => (logY ? B - (Math.log(v / least) / Math.log(most / least)) * (B - T) : B - (v / most) * (B - T));
  const groups = new Map<string, SweepPoint[]>();
  for (const p of good) { const k = p.values.slice(1).join(", "); groups.set(k, [...(groups.get(k) ?? []), p]); }
  const lines = [...groups].slice(0, 8);
  const ticks = logY ? [least, Math.sqrt(least * most), most] : [0, most / 2, most];
  return (
    <figure>
      <svg class="chart" id="sweep-chart" viewBox="0 0 800 310" role="group" aria-label={`${figure.head} over ${axes[0]}`}>
        {ticks.map((t) => <g key={t}><line class="grid" x1={L} x2={R} y1={y(t)} y2={y(t)} /><text class="t soft" x={L - 8} y={y(t) + 4} text-anchor="end">{figure.text(t)}</text></g>)}
        {order.filter((_, i) => i % Math.ceil(order.length / 10) === 0).map((n) => <text key={n} class="t soft" x={place(n)} y={B + 18} text-anchor="middle">{n}</text>)}
        <text class="t soft" x={(L + R) / 2} y="305" text-anchor="middle">{axes[0]}</text>
        {lines.map(([name, list], i) => {
          const sorted = [...list].sort((a, b) => place(a.values[0]) - place(b.values[0]));
          const path = (f: (p: SweepPoint) => number) => sorted.map((p) => `${place(p.values[0])},${y(f(p))}`);
          return (
            <g key={name} class={`line-${i}`}>
              {figure.name === "iteration_ms" && <polygon class="band" points={[...path((p) => p.low_ms!), ...path((p) => p.high_ms!).reverse()].join(" ")} />}
              <polyline points={path((p) => p[figure.name] as number).join(" ")} />
              {sorted.map((p) => (
                <circle key={p.index} cx={place(p.values[0])} cy={y(p[figure.name] as number)} r="5" tabIndex={0} role="button" aria-label={`${p.values.join(", ")}: ${figure.text(p[figure.name] as number)}; open`}
                  onClick={() => onOpen(p)} onKeyDown={(e) => { if (e.key === "Enter") onOpen(p); }}><title>{`${p.values.join(", ")}: ${figure.text(p[figure.name] as number)}, limited by ${p.limited_by}`}</title></circle>
              ))}
            </g>
          );
        })}
      </svg>
      {axes.length > 1 && <figcaption class="legend small">{lines.map(([name], i) => <span key={name}><svg class={`swatch line-${i}`} viewBox="0 0 10 10" aria-hidden="true"><circle cx="5" cy="5" r="5" /></svg> {axes.slice(1).map((a) => a.split(".").pop()).join(", ")} {name}</span>)}{groups.size > lines.length && <span>{groups.size - lines.length} more in the table</span>}</figcaption>}
    </figure>
  );
}
