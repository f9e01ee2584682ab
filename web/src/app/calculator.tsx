// One collective, one op: cost over a range of sizes, with what was measured of the same on the curve.
import { useEffect, useRef } from "preact/hooks";
import { Chart, Mark, band, line } from "./chart";
import { Answer } from "./connection";
import { why, wholeNumber } from "./problems";
import { binary, count, digits, ms, plural, rate as rateText, sourceText, tick } from "./format";
import { useKept } from "./kept";
import { Explanation } from "./report/explanation";
import { Store } from "./store";

type Point = [size: number, us: number, low: number, high: number, basis: string, source: string, flops?: number];
interface Curve { source: string; label: string; origin: string; library: string; device: string; timed_by: string; points: [number, number, number, number][] }
interface Priced { system: string; ranks: number; nodes: number; bottleneck: string; busbw_factor: number; points: Point[]; measured: Curve[]; at: Point; explanation: string; remarks: string[] }
interface PricedOp { device: string; what: string; at: Point; flops: number; points: Point[]; measured: [number, number][]; has_measured: boolean }
interface Offer { ops: { op: string; sentence: string; sizes: { name: string; value: number; part: boolean }[] }[]; dtypes: string[]; collectives: string[]; gpus: string[] }

const us = (value: number) => ms(value / 1000), usTick = (value: number) => tick(value / 1000);
const words = (name: string) => name.replaceAll("_", " ");
const DELAY_MS = 200;

// "64 MiB", "1G": as sizes are written in an experiment and by nccl-tests.
export function sizeOf(text: string): number {
  const m = /^\s*([\d.]+)\s*([kKMGTP]?)(i?)(B?)\s*$/.exec(text);
  if (!m) return Number.NaN;
  const power = ["", "K", "M", "G", "T", "P"].indexOf(m[2].toUpperCase());
  return Math.round(Number(m[1]) * (m[3] || !m[4] ? 1024 : 1000) ** power);
}

const gigabytesPerSecond = Object.assign((v: number) => rateText(v * 1e9), { axis: (ticks: number[]) => rateText.axis!(ticks.map((t) => t * 1e9)) });
// What is wrong with a size that was typed; nothing where it can be read.
const wrongSize = (field: string, text: string) => (sizeOf(text) >= 1 ? "" : `${field}: found '${text.trim()}', expected a number of bytes of 1 or more, such as 64 MiB, 1G or 500 kB`);
function Complaints({ of }: { of: string[] }) { return <>{of.filter(Boolean).map((c) => <p key={c} class="problem" role="alert">{c}</p>)}</>; }

// Asks again a moment after something changed; only the last answer counts. Of what cannot be asked there is no answer.
function useAsked<T>(store: Store, key: string, type: string, body: object | null): [T | null, string] {
  const [answer, setAnswer] = useKept<T | null>(`${key}.answer`, null);
  const [failure, setFailure] = useKept<string>(`${key}.failure`, "");
  const last = useRef(0);
  const line = JSON.stringify(body);
  useEffect(() => {
    if (body === null) return;
    const timer = setTimeout(async () => {
      const question = store.connection.ask(type, body);
      last.current = question.id;
      const got: Answer = await question;
      if (last.current !== question.id) return;
      if (got.type === type) { setAnswer(got as unknown as T); setFailure(""); } else { setAnswer(null); setFailure(why(got)); }
    }, DELAY_MS);
    return () => { clearTimeout(timer); last.current = 0; };
  }, [line]);
  return body === null ? [null, ""] : [answer, failure];
}

interface AskedCollective { system: string; kind: string; nodes: string; gpus: string; from: string; to: string; at: string; figure: string }

function CollectiveView({ store }: { store: Store }) {
  const [asked, set] = useKept<AskedCollective>("collective", { system: "", kind: "all_reduce", nodes: "", gpus: "", from: "1 KiB", to: "1 GiB", at: "64 MiB", figure: "time" });
  const offer = useOffer(store);
  const change = (more: Partial<AskedCollective>) => set((a) => ({ ...a, ...more }));
  const nodes = wholeNumber("nodes", asked.nodes), gpus = wholeNumber("GPUs of a node", asked.gpus);
  const from = sizeOf(asked.from), to = sizeOf(asked.to), at = sizeOf(asked.at);
  const wrong = [nodes.problem, gpus.problem, wrongSize("from", asked.from), wrongSize("to", asked.to), wrongSize("explain", asked.at), from > to ? `to: found '${asked.to.trim()}', expected at least '${asked.from.trim()}'` : ""].filter(Boolean);
  const text = store.shown?.text ?? store.text;
  const body = wrong.length === 0 && text ? { ...(asked.system ? { system: asked.system } : { text }), kind: asked.kind, nodes: nodes.value, gpus_per_node: gpus.value, from, to, at } : null;
  const [got, failure] = useAsked<Priced>(store, "collective", "collective", body);
  const isRate = asked.figure === "bandwidth" && (got?.busbw_factor ?? 0) > 0;
  const figure = (size: number, t: number) => (isRate ? (size / t / 1000) * got!.busbw_factor : t);
  const points = (got?.points ?? []).filter((p) => p[1] > 0);
  return (
    <section>
      <h2>One collective</h2>
      <div class="toolbar">
        <label>On <input id="collective-system" list="calculator-systems" value={asked.system} placeholder="the experiment's cluster" spellcheck={false} onChange={(e) => change({ system: e.currentTarget.value.trim() })} /></label>
        <datalist id="calculator-systems">{(store.lists?.systems ?? []).map((s) => <option key={s.name} value={s.name} />)}</datalist>
        <label>kind <select id="collective-kind" value={asked.kind} onChange={(e) => change({ kind: e.currentTarget.value })}>{(offer?.collectives ?? ["all_reduce"]).map((k) => <option key={k} value={k}>{words(k)}</option>)}</select></label>
        <label>nodes <input class="short" id="collective-nodes" aria-invalid={nodes.problem !== ""} value={asked.nodes} placeholder={got ? String(got.nodes) : ""} inputMode="numeric" onInput={(e) => change({ nodes: e.currentTarget.value })} /></label>
        <label>GPUs of a node <input class="short" id="collective-gpus" aria-invalid={gpus.problem !== ""} value={asked.gpus} placeholder="all" inputMode="numeric" onInput={(e) => change({ gpus: e.currentTarget.value })} /></label>
        <label>from <input class="short" id="collective-from" aria-invalid={!(from >= 1)} value={asked.from} onInput={(e) => change({ from: e.currentTarget.value })} /></label>
        <label>to <input class="short" aria-invalid={!(to >= from)} value={asked.to} onInput={(e) => change({ to: e.currentTarget.value })} /></label>
        <label>explain <input class="short" id="collective-at" aria-invalid={!(at >= 1)} value={asked.at} onInput={(e) => change({ at: e.currentTarget.value })} /></label>
        <label>show <select value={asked.figure} onChange={(e) => change({ figure: e.currentTarget.value })}><option value="time">time</option><option value="bandwidth">bus bandwidth</option></select></label>
      </div>
      <Complaints of={[...wrong, failure]} />
      {got && points.length > 0 && (
        <>
          <Chart id="collective-chart" label={`${words(asked.kind)} on ${got.ranks} GPUs: ${isRate ? "bus bandwidth" : "time"} over size`} binaryX x={points.map((p) => p[0])}
            y={[...points.flatMap((p) => (p[2] > 0 ? [figure(p[0], p[2]), figure(p[0], p[3])] : [figure(p[0], p[1])])), ...got.measured.flatMap((c) => c.points.filter((p) => p[0] >= points[0][0] && p[0] <= points[points.length - 1][0]).map((p) => figure(p[0], p[1])))]} logX logY
            xName="size, as in nccl-tests" yName={isRate ? "bus bandwidth" : "time"} xText={binary} yText={isRate ? gigabytesPerSecond : usTick}>
            {(x, y) => (
              <>
                <g class="line-0"><polygon class="band" points={band(points.map((p) => ({ x: p[0], low: figure(p[0], p[2]), high: figure(p[0], p[3]) })), x, y)} /><polyline points={line(points.map((p) => ({ x: p[0], y: figure(p[0], p[1]) })), x, y)} /></g>
                {got.measured.map((c, i) => <g key={i} class={`line-${1 + (i % 6)} measured`}>{c.points.filter((p) => p[1] > 0 && p[0] >= points[0][0] && p[0] <= points[points.length - 1][0]).map((p, j) => <Mark key={j} x={x(p[0])} y={y(figure(p[0], p[1]))} r={4} title={`measured ${us(p[1])} for ${binary(p[0])}, ${curveName(c)}`} />)}</g>)}
              </>
            )}
          </Chart>
          <div class="legend small"><span>line and band: predicted, with its range</span>{got.measured.map((c, i) => <span key={i}><svg class={`swatch line-${1 + (i % 6)}`} viewBox="0 0 10 10" aria-hidden="true"><circle cx="5" cy="5" r="5" /></svg> measured {c.origin}: {curveName(c)}{c.timed_by === "pytorch" ? ", with the host's launch" : ""}</span>)}{got.measured.length === 0 && <span>nothing was measured of this collective on a group of this size</span>}</div>
          <p id="collective-price">{binary(got.at[0])} over {got.ranks} GPUs on {plural(got.nodes, "node")}: <b>{us(got.at[1])}</b> ({us(got.at[2])} to {us(got.at[3])}){got.busbw_factor > 0 && got.at[1] > 0 && `, ${rateText((got.at[0] / got.at[1]) * 1e6 * got.busbw_factor)} bus bandwidth`}, <Based on={got.at} /></p>
          <Explanation text={got.explanation} />
          {got.remarks.map((r) => <p key={r} class="small soft">{r}</p>)}
        </>
      )}
    </section>
  );
}

const curveName = (c: Curve) => (c.label === "" || c.source.includes(c.label) ? c.source : `${c.source} ${c.label}`);
function Based({ on }: { on: Point }) { return <><span class={`basis ${on[4]}`}>{on[4]}</span> <span class="soft small">{sourceText(on[4], on[5])}</span></>; }

function useOffer(store: Store): Offer | null {
  const [offer, set] = useKept<Offer | null>("calculator.offer", null);
  useEffect(() => {
    if (offer) return;
    void store.connection.ask("ops").then((a) => { if (a.type === "ops") set(a as unknown as Offer); });
  }, []);
  return offer;
}

interface AskedOp { gpu: string; op: string; dtype: string; pass: string; sizes: Record<string, string>; vary: string; from: string; to: string; figure: string }

function OpView({ store }: { store: Store }) {
  const [asked, set] = useKept<AskedOp>("op", { gpu: "", op: "gemm", dtype: "bf16", pass: "fwd", sizes: {}, vary: "m", from: "64", to: "65536", figure: "time" });
  const offer = useOffer(store);
  const change = (more: Partial<AskedOp>) => set((a) => ({ ...a, ...more }));
  const kind = offer?.ops.find((o) => o.op === asked.op);
  const sizes = Object.fromEntries((kind?.sizes ?? []).map((s) => [s.name, asked.sizes[s.name] ?? String(s.value)]).filter(([, v]) => v !== ""));
  const vary = kind?.sizes.some((s) => s.name === asked.vary) ? asked.vary : kind?.sizes.find((s) => !s.part && s.value > 1)?.name ?? "";
  const from = wholeNumber("from", asked.from), to = wholeNumber("to", asked.to), text = store.shown?.text ?? store.text;
  const empty = (kind?.sizes ?? []).filter((s) => (asked.sizes[s.name] ?? String(s.value)).trim() === "" || !(Number(asked.sizes[s.name] ?? s.value) >= 0));
  const wrong = [...empty.map((s) => `${words(s.name)}: found ${asked.sizes[s.name].trim() === "" ? "nothing" : `'${asked.sizes[s.name].trim()}'`}, expected a number`), from.problem, to.problem,
    from.value === undefined && from.problem === "" ? "from: found nothing, expected a whole number" : "", to.value === undefined && to.problem === "" ? "to: found nothing, expected a whole number" : "",
    (to.value ?? 0) <= (from.value ?? 0) && from.value !== undefined && to.value !== undefined ? `to: found ${to.value}, expected more than ${from.value}` : ""].filter(Boolean);
  const body = kind && wrong.length === 0 && text ? { ...(asked.gpu ? { gpu: asked.gpu } : { text }), op: asked.op, dtype: asked.dtype, pass: asked.pass, sizes, vary, from: from.value, to: to.value } : null;
  const [got, failure] = useAsked<PricedOp>(store, "op", "op", body);
  const isRate = asked.figure === "rate" && (got?.flops ?? 0) > 0;
  const figure = (t: number, flops = 0) => (isRate ? flops / t / 1e6 : t);
  const points = (got?.points ?? []).filter((p) => p[1] > 0 && (!isRate || (p[6] ?? 0) > 0));
  const flopsAt = (size: number) => points.find((p) => p[0] === size)?.[6] ?? 0;
  return (
    <section>
      <h2>One op</h2>
      <div class="toolbar">
        <label>On <input id="op-gpu" list="calculator-gpus" value={asked.gpu} placeholder="the experiment's GPU" spellcheck={false} onChange={(e) => change({ gpu: e.currentTarget.value.trim() })} /></label>
        <datalist id="calculator-gpus">{(offer?.gpus ?? []).map((g) => <option key={g} value={g} />)}</datalist>
        <label>op <select id="op-kind" value={asked.op} onChange={(e) => change({ op: e.currentTarget.value, sizes: {} })}>{(offer?.ops ?? []).map((o) => <option key={o.op} value={o.op}>{words(o.op)}</option>)}</select></label>
        <label>data type <select value={asked.dtype} onChange={(e) => change({ dtype: e.currentTarget.value })}>{(offer?.dtypes ?? ["bf16"]).map((d) => <option key={d} value={d}>{d}</option>)}</select></label>
        <label>pass <select value={asked.pass} onChange={(e) => change({ pass: e.currentTarget.value })}><option value="fwd">forward</option><option value="bwd">backward</option></select></label>
        <label>show <select value={asked.figure} onChange={(e) => change({ figure: e.currentTarget.value })}><option value="time">time</option><option value="rate">TFLOP/s</option></select></label>
      </div>
      {kind && <p class="small soft">{kind.sentence}</p>}
      <div class="toolbar">
        {(kind?.sizes ?? []).map((s) => <label key={s.name}>{words(s.name)} <input class="short" id={`op-size-${s.name}`} aria-invalid={empty.includes(s)} value={asked.sizes[s.name] ?? String(s.value)} inputMode="numeric" onInput={(e) => change({ sizes: { ...asked.sizes, [s.name]: e.currentTarget.value } })} /></label>)}
      </div>
      <div class="toolbar">
        <label>along <select value={vary} onChange={(e) => change({ vary: e.currentTarget.value })}>{(kind?.sizes ?? []).map((s) => <option key={s.name} value={s.name}>{words(s.name)}</option>)}</select></label>
        <label>from <input class="short" value={asked.from} inputMode="numeric" onInput={(e) => change({ from: e.currentTarget.value })} /></label>
        <label>to <input class="short" value={asked.to} inputMode="numeric" onInput={(e) => change({ to: e.currentTarget.value })} /></label>
      </div>
      <Complaints of={[...wrong, failure]} />
      {got && <p id="op-price">{got.what} on {got.device}: <b>{us(got.at[1])}</b> ({us(got.at[2])} to {us(got.at[3])}){got.flops > 0 && `, ${digits(got.flops / got.at[1] / 1e6)} TFLOP/s`}, <Based on={got.at} /></p>}
      {got && points.length > 1 && (
        <>
          <Chart id="op-chart" label={`${words(asked.op)}: ${isRate ? "TFLOP/s" : "time"} over ${words(vary)}`} x={points.map((p) => p[0])} y={[...points.flatMap((p) => [figure(p[2], p[6]), figure(p[3], p[6])]), ...got.measured.map((p) => figure(p[1], flopsAt(p[0])))]} logX logY xName={words(vary)} yName={isRate ? "TFLOP/s" : "time"} xText={count} yText={isRate ? (v) => digits(v, 2) : usTick}>
            {(x, y) => (
              <>
                <g class="line-0"><polygon class="band" points={band(points.map((p) => ({ x: p[0], low: figure(p[2], p[6]), high: figure(p[3], p[6]) })), x, y)} /><polyline points={line(points.map((p) => ({ x: p[0], y: figure(p[1], p[6]) })), x, y)} /></g>
                <g class="line-1 measured">{got.measured.map((p, i) => <Mark key={i} x={x(p[0])} y={y(figure(p[1], flopsAt(p[0])))} r={4} title={`measured ${us(p[1])} at ${count(p[0])}`} />)}</g>
              </>
            )}
          </Chart>
          <p class="small soft">{got.measured.length > 0 ? `${got.measured.length} measured on this GPU.` : got.has_measured ? "Nothing on this line was measured on this GPU." : "No ops were measured on this GPU: op_bench measures them, and distsim calibrate ops makes them known."}</p>
        </>
      )}
    </section>
  );
}

export function CalculatorView({ store }: { store: Store }) { return <><CollectiveView store={store} /><OpView store={store} /></>; }
