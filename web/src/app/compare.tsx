// Pinned states beside the present one, and how the time of one becomes that of another.
import { useChartWidth, WIDE } from "./chart";
import { bytes, count, cut, ms, percent, signed } from "./format";
import { Picture } from "./pictures/picture";
import { fullest, PARTS } from "./report/see";
import { Store } from "./store";
import { Report, Values } from "./types";

export interface Column { id: number; name: string; text: string; report: Report; values: Values }

const ROWS: { name: string; value: (r: Report) => number; text: (v: number) => string; less: boolean }[] = [
  { name: "iteration", value: (r) => r.iteration_ms, text: ms, less: true },
  { name: "samples/s", value: (r) => r.samples_per_second, text: count, less: false },
  { name: "MFU", value: (r) => r.mfu, text: percent, less: false },
  { name: "compute", value: (r) => r.breakdown.compute_ms, text: ms, less: true },
  { name: "exposed communication", value: (r) => r.breakdown.exposed_comm_ms, text: ms, less: true },
  { name: "waiting", value: (r) => r.breakdown.waiting_ms, text: ms, less: true },
  { name: "host", value: (r) => r.breakdown.host_bound_ms, text: ms, less: true },
  { name: "idle", value: (r) => r.breakdown.idle_ms, text: ms, less: true },
  { name: "memory, fullest GPU", value: fullest, text: bytes, less: true },
  { name: "GPUs", value: (r) => r.context.ranks, text: count, less: true },
];

function differing(columns: Column[]): string[] {
  const keys = new Set(columns.flatMap((c) => Object.keys(c.values)));
  return [...keys].filter((key) => new Set(columns.map((c) => c.values[key]?.[0] ?? "")).size > 1 && !/\.(description|source|title|aliases)$/.test(key)).sort();
}

export function Compare({ store }: { store: Store }) {
  if (!store.shown) return null;
  const now: Column = { id: 0, name: "now", text: store.shown.text, report: store.shown.report, values: store.shown.values };
  const columns: Column[] = [...store.pins.map((p) => ({ id: p.id, name: p.name, text: p.shown.text, report: p.shown.report, values: p.shown.values })), now];
  if (columns.length === 1) return <section><h2>Compare</h2><p>Pin this state, change something, and both stand here side by side. <button onClick={() => store.pin()}>Pin this state</button></p></section>;
  const base = columns[0], keys = differing(columns);
  return (
    <section>
      <h2>Compare</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Pinned states"><table id="compare">
        <thead><tr><td />{columns.map((c) => (
          <th key={c.id} class="n">{c.id === 0 ? "now" : <><input class="pin-name" aria-label="Name of the pinned state" title={c.name} value={c.name} onChange={(e) => store.rename(c.id, e.currentTarget.value)} /><br /><button class="quiet" onClick={() => store.open(c.text)}>open</button> <button class="quiet" onClick={() => store.unpin(c.id)} aria-label={`Unpin ${c.name}`}>unpin</button></>}</th>
        ))}</tr></thead>
        <tbody>
          {ROWS.filter((row) => columns.some((c) => row.value(c.report) > 0)).map((row) => (
            <tr key={row.name}><th scope="row">{row.name}</th>{columns.map((c) => {
              const value = row.value(c.report), first = row.value(base.report), change = first > 0 ? value / first - 1 : 0;
              const better = row.less ? change < 0 : change > 0;
              return <td key={c.id} class="n">{row.text(value)}{c !== base && Math.abs(change) >= 5e-4 && <div class={`small ${better ? "better" : "worse"}`}>{signed(change)}</div>}</td>;
            })}</tr>
          ))}
          <tr><th scope="row">limited by</th>{columns.map((c) => <td key={c.id} class="n wrap">{c.report.limited_by}</td>)}</tr>
        </tbody>
        <tbody class="keys">
          <tr><th scope="rowgroup" colSpan={columns.length + 1}>{keys.length === 0 ? "No key differs." : `Keys that differ (${keys.length})`}</th></tr>
          {keys.slice(0, 60).map((key) => <tr key={key}><th scope="row" class="long">{key}</th>{columns.map((c) => <td key={c.id} class="n cut" title={c.values[key]?.[0]}>{c.values[key]?.[0] ?? ""}</td>)}</tr>)}
        </tbody>
      </table></div>
      <Waterfall from={base} to={now} />
    </section>
  );
}

interface Step { name: string; colour: string; change: number }

function Waterfall({ from, to }: { from: Column; to: Column }) {
  return <WaterfallChart from={from.name} to={to.name} first={from.report.iteration_ms} last={to.report.iteration_ms} steps={PARTS.map((p) => ({ name: p.name, colour: p.colour, change: to.report.breakdown[p.key] - from.report.breakdown[p.key] }))} />;
}

export function WaterfallChart({ from, to, first, last, steps }: { from: string; to: string; first: number; last: number; steps: Step[] }) {
  const bars: { name: string; low: number; high: number; colour: string; text: string }[] = [];
  let at = first;
  bars.push({ name: from, low: 0, high: at, colour: "c-fill", text: ms(at) });
  for (const s of steps) {
    if (Math.abs(s.change) < 1e-9) continue;
    bars.push({ name: s.name, low: Math.min(at, at + s.change), high: Math.max(at, at + s.change), colour: s.colour, text: `${s.change > 0 ? "+" : "−"}${ms(Math.abs(s.change))}` });
    at += s.change;
  }
  bars.push({ name: to, low: 0, high: last, colour: "c-fill", text: ms(last) });
  const across = useChartWidth(), isWide = across === WIDE, most = Math.max(...bars.map((b) => b.high)) || 1, row = 26, left = isWide ? 220 : 136, width = across - left - (isWide ? 120 : 98);
  return (
    <figure>
      <figcaption><h3>From {from} to {to}</h3></figcaption>
      <Picture name={`From ${from} to ${to}`} why="iteration">
        <svg class="chart waterfall" viewBox={`0 0 ${across} ${bars.length * row}`} role="img" aria-label={`Waterfall: ${bars.map((b) => `${b.name} ${b.text}`).join(", ")}`}>
          {bars.map((b, i) => (
            <g key={i}>
              <text class="t" x={left - 8} y={i * row + 17} text-anchor="end">{cut(b.name, isWide ? 28 : 15)}<title>{b.name}</title></text>
              <rect class={b.colour} x={left + (width * b.low) / most} y={i * row + 4} width={Math.max(1, (width * (b.high - b.low)) / most)} height={row - 8} />
              <text class="t" x={left + (width * b.high) / most + 6} y={i * row + 17}>{b.text}</text>
            </g>
          ))}
        </svg>
      </Picture>
    </figure>
  );
}
