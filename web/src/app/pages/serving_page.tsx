// The page of `distsim serving --html`: scheduling policies against each other, over load, of all requests and of each model and
// class of service.
import { useState } from "preact/hooks";
import { Chart, line } from "../chart";
import { count, digits, ms, percent, tick } from "../format";
import { Picture } from "../pictures/picture";
import { Scroll } from "../report/see";
import { About, Frame } from "./frame";

interface Figures { rate_per_s: number; requests: number; violations: number; served_per_s: number; goodput_per_s: number; busy?: number; mean_ms?: number; p50_ms?: number; p90_ms?: number; p99_ms?: number; p999_ms?: number; latencies_ms?: number[] }
interface Point { policy: string; rate_per_s: number; unstable?: boolean; error?: string; rows?: Figures[] }
export interface ServingData { kind: "serving"; title: string; facts: string; notes: string[]; rows: string[]; shares: number[]; points: Point[] }

type Name = "p50_ms" | "p90_ms" | "p99_ms" | "p999_ms" | "mean_ms" | "late" | "goodput_per_s" | "served_per_s" | "busy";
const FIGURES: { name: Name; head: string; text: (v: number) => string }[] = [
  { name: "p99_ms", head: "99th percentile", text: tick }, { name: "p50_ms", head: "median", text: tick }, { name: "p90_ms", head: "90th percentile", text: tick }, { name: "p999_ms", head: "99.9th percentile", text: tick },
  { name: "mean_ms", head: "mean latency", text: tick }, { name: "late", head: "above their deadline", text: (v) => percent(v) }, { name: "goodput_per_s", head: "goodput/s", text: count }, { name: "served_per_s", head: "served/s", text: count }, { name: "busy", head: "GPUs busy", text: (v) => percent(v, 0) },
];
const rate = (v: number) => String(Number(v.toPrecision(4)));  // 200 and 66.67
const late = (f: Figures) => (f.requests > 0 ? f.violations / f.requests : 0);
const valueOf = (f: Figures | undefined, name: Name) => (f === undefined ? undefined : name === "late" ? late(f) : f[name]);
const spread = (values: number[]) => values.length > 0 && Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > 5;

// A colour for each policy; from the ninth on lines are dashed.
const lineOf = (policies: string[], policy: string) => { const i = policies.indexOf(policy); return `line-${i % 8}${i >= 8 ? " dashes" : ""}`; };

function Legend({ policies, all }: { policies: string[]; all: string[] }) {
  return <figcaption class="legend small">{policies.map((p) => <span key={p}><svg class={`swatch ${lineOf(all, p)}`} viewBox="0 0 10 10" aria-hidden="true"><circle cx="5" cy="5" r="5" /></svg> {p}</span>)}</figcaption>;
}

export function ServingPage({ data }: { data: ServingData }) {
  const policies = [...new Set(data.points.map((p) => p.policy))], rates = [...new Set(data.points.map((p) => p.rate_per_s))];
  const [row, setRow] = useState(0);
  const [load, setLoad] = useState(0);
  const [figure, setFigure] = useState<Name>("p99_ms");
  const at = (policy: string) => data.points.filter((p) => p.policy === policy && p.rows).map((p) => ({ point: p, figures: p.rows![row] }));
  const ofRow = data.rows.length > 1 && <label>Requests <select id="serving-row" value={String(row)} onChange={(e) => setRow(Number(e.currentTarget.value))}>{data.rows.map((r, i) => <option key={r} value={String(i)}>{r}</option>)}</select></label>;
  return (
    <Frame title={data.title || "Serving"} under={data.facts} made="Emulated by distsim.">
      <section>
        <h2>Latencies</h2>
        <div class="toolbar">{ofRow}{rates.length > 1 && <label>at <select id="serving-rate" value={String(load)} onChange={(e) => setLoad(Number(e.currentTarget.value))}>{rates.map((r, i) => <option key={i} value={String(i)}>{r > 0 ? `${rate(r)} requests/s` : "the load as given"}</option>)}</select></label>}</div>
        <Distribution data={data} policies={policies} points={data.points.filter((p) => p.rate_per_s === rates[load])} row={row} />
      </section>
      {rates.length > 1 && (
        <section>
          <h2>Over load</h2>
          <div class="toolbar">{ofRow}<label>Figure <select id="serving-figure" value={figure} onChange={(e) => setFigure(e.currentTarget.value as Name)}>{FIGURES.map((f) => <option key={f.name} value={f.name}>{f.head}</option>)}</select></label></div>
          <OverLoad policies={policies} figure={figure} of={(policy) => at(policy).map(({ point, figures }) => ({ x: point.rate_per_s, y: valueOf(figures, figure), unstable: point.unstable ?? false }))} />
        </section>
      )}
      <section>
        <h2>Every policy{rates.length > 1 && ", every load"}{data.rows.length > 1 && ", every model and class"}</h2>
        <Table data={data} />
        {data.notes.length > 0 && <ul class="small" id="serving-notes">{data.notes.map((n) => <li key={n}>{n}</li>)}</ul>}
      </section>
      <About>Every policy sees the same requests, at the same times, with the same seed. Latency is from the arrival of a request to its answer. Goodput counts answers within their deadline. Where latencies come from, and what is left out, is in docs/serving.md; intervals of the percentiles are in the JSON.</About>
    </Frame>
  );
}

function Distribution({ data, policies, points, row }: { data: ServingData; policies: string[]; points: Point[]; row: number }) {
  const curves = points.flatMap((p) => { const ms = p.rows?.[row]?.latencies_ms; return ms ? [{ policy: p.policy, ms }] : []; });
  if (curves.length === 0) return <p class="soft">No request was answered.</p>;
  const xs = curves.flatMap((c) => c.ms);
  return (
    <Picture name={`Latencies of ${data.rows[row]}`}>
      <figure>
        <Chart id="serving-latencies" label={`Share of requests answered within a time, ${data.rows[row]}: ${curves.map((c) => `${c.policy} median ${ms(c.ms[data.shares.findIndex((s) => s >= 0.5)])}`).join(", ")}`} x={xs} y={[0, 1]} logX={spread(xs)} zeroY xName="latency" yName="share of requests" xText={tick} yText={(v) => percent(v, 0)}>
          {(x, y) => curves.map((c) => <g key={c.policy} class={lineOf(policies, c.policy)}><polyline points={line(c.ms.map((v, i) => ({ x: v, y: data.shares[i] })), x, y)}><title>{c.policy}</title></polyline></g>)}
        </Chart>
        <Legend policies={curves.map((c) => c.policy)} all={policies} />
      </figure>
    </Picture>
  );
}

function OverLoad({ policies, figure, of }: { policies: string[]; figure: Name; of: (policy: string) => { x: number; y: number | undefined; unstable: boolean }[] }) {
  const { head, text } = FIGURES.find((f) => f.name === figure)!;
  const curves = policies.map((policy) => ({ policy, points: of(policy).flatMap((p) => (p.y === undefined ? [] : [{ ...p, y: p.y }])) })).filter((c) => c.points.length > 0);
  if (curves.length === 0) return <p class="soft">Nothing has this figure.</p>;
  const ys = curves.flatMap((c) => c.points.map((p) => p.y)), logY = figure.endsWith("_ms") && spread(ys);
  return (
    <Picture name={`${head} over load`}>
      <figure>
        <Chart id="serving-load" label={`${head} over requests per second`} x={curves.flatMap((c) => c.points.map((p) => p.x))} y={ys} logY={logY} zeroY={!logY} xName="requests/s offered" yName={head} xText={count} yText={text}>
          {(x, y) => curves.map((c) => (
            <g key={c.policy} class={lineOf(policies, c.policy)}>
              <polyline points={line(c.points, x, y)} />
              {c.points.map((p, i) => <circle key={i} class={p.unstable ? "hollow" : ""} cx={x(p.x)} cy={y(p.y)} r="4"><title>{`${c.policy} at ${rate(p.x)}/s: ${text(p.y)}${p.unstable ? ", above capacity" : ""}`}</title></circle>)}
            </g>
          ))}
        </Chart>
        <Legend policies={curves.map((c) => c.policy)} all={policies} />
        {curves.some((c) => c.points.some((p) => p.unstable)) && <p class="small soft">Rings: above capacity, latencies grow with the length of the run.</p>}
      </figure>
    </Picture>
  );
}

function Table({ data }: { data: ServingData }) {
  const busy = data.points.some((p) => p.rows?.[0]?.busy !== undefined);
  return (
    <Scroll label="Policies" tall><table id="serving-table">
      <thead class="wrapped"><tr><th>policy</th><th>requests of</th><th class="n">offered/s</th><th class="n">requests</th><th class="n">mean latency</th><th class="n">median latency</th><th class="n">90th percentile</th><th class="n">99th percentile</th><th class="n">99.9th percentile</th><th class="n">above deadline</th><th class="n">served/s</th><th class="n">goodput/s</th>{busy && <th class="n">busy</th>}</tr></thead>
      <tbody>{data.points.flatMap((p, i) => (p.error ? [<tr key={i} class="soft"><th scope="row">{p.policy}</th><td colSpan={busy ? 12 : 11}>{p.error}</td></tr>] : (p.rows ?? []).map((f, k) => (
        <tr key={`${i} ${k}`} class={k > 0 ? "soft" : ""}>{k === 0 ? <th scope="row">{p.policy}{p.unstable && <span class="worse"> above capacity</span>}</th> : <td />}<td>{data.rows[k].replaceAll(" ", "\u00a0")}</td><td class="n">{rate(f.rate_per_s)}</td><td class="n">{f.requests.toLocaleString("en")}</td>
          {([f.mean_ms, f.p50_ms, f.p90_ms, f.p99_ms, f.p999_ms] as const).map((v, n) => <td key={n} class="n">{v === undefined ? "" : ms(v)}</td>)}
          <td class="n">{percent(late(f))}</td><td class="n">{digits(f.served_per_s, 4)}</td><td class="n">{digits(f.goodput_per_s, 4)}</td>{busy && <td class="n">{f.busy === undefined ? "" : percent(f.busy)}</td>}</tr>
      ))))}</tbody>
    </table></Scroll>
  );
}
