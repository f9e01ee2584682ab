// The rows of a plan: time against memory, and the table.
import { bytes, count, ms, percent } from "../format";
import { Picture } from "./picture";
import { Scroll } from "../report/see";

export interface PlanRow { keys: Record<string, string>; baseline: boolean; fits: boolean; error: string; iteration_ms?: number; low_ms?: number; high_ms?: number; samples_per_s?: number; mfu?: number; memory_gb?: number; limited_by?: string; why_slower?: string }
export interface Plan { subject: string; objective: string; rows: PlanRow[] }

export function PlanView({ plan, columns }: { plan: Plan; columns: { key: string; head: string }[] }) {
  const good = plan.rows.map((row, i) => ({ row, i })).filter(({ row }) => row.error === "" && row.iteration_ms !== undefined);
  return (
    <>
      <section><h2>Iteration and memory of the fullest GPU</h2>{good.length > 0 ? <ParetoChart rows={good} /> : <p class="soft">No row has a prediction.</p>}</section>
      <section>
        <Scroll label="Rows of the plan"><table id="plan-table">
          <thead><tr><td /><th class="n">iteration</th>{columns.map((c) => <th key={c.key}>{c.head}</th>)}<th class="n">samples/s</th><th class="n">MFU</th><th class="n">memory</th><th>limited by</th><th>slower by, most</th></tr></thead>
          <tbody>{plan.rows.map((r, i) => (
            <tr key={i}><th scope="row">{r.baseline ? "baseline" : i + 1}</th><td class="n">{r.iteration_ms === undefined ? "" : ms(r.iteration_ms)}</td>{columns.map((c) => <td key={c.key}>{r.keys[c.key]}</td>)}
              {r.error ? <td colSpan={5}>{r.error}</td> : <><td class="n">{count(r.samples_per_s ?? 0)}</td><td class="n">{percent(r.mfu ?? 0)}</td><td class="n">{bytes((r.memory_gb ?? 0) * 1e9)}</td><td>{r.limited_by}</td><td>{r.why_slower}</td></>}</tr>
          ))}</tbody>
        </table></Scroll>
      </section>
    </>
  );
}

function ParetoChart({ rows }: { rows: { row: PlanRow; i: number }[] }) {
  const times = rows.map(({ row }) => row.iteration_ms!), memory = rows.map(({ row }) => row.memory_gb ?? 0);
  const [x0, x1, y0, y1] = [Math.min(...times), Math.max(...times), Math.min(...memory), Math.max(...memory)];
  const L = 80, R = 770, T = 16, B = 240;
  const x = (v: number) => (x1 > x0 ? L + 10 + ((v - x0) / (x1 - x0)) * (R - L - 20) : (L + R) / 2), y = (v: number) => (y1 > y0 ? B - 10 - ((v - y0) / (y1 - y0)) * (B - T - 20) : (T + B) / 2);
  const isFront = (r: PlanRow) => !rows.some(({ row: o }) => o.iteration_ms! <= r.iteration_ms! && (o.memory_gb ?? 0) <= (r.memory_gb ?? 0) && (o.iteration_ms! < r.iteration_ms! || (o.memory_gb ?? 0) < (r.memory_gb ?? 0)));
  return (
    <Picture name="Iteration and memory" why="plan">
      <figure>
        <svg class="chart" id="pareto" viewBox="0 0 800 290" role="img" aria-label={`Iteration across, ${ms(x0)} to ${ms(x1)}; memory upwards, ${bytes(y0 * 1e9)} to ${bytes(y1 * 1e9)}`}>
          <line class="axis" x1={L} x2={R} y1={B} y2={B} /><line class="axis" x1={L} x2={L} y1={T} y2={B} />
          <text class="t soft small" x={L} y={B + 18}>{ms(x0)}</text><text class="t soft small" x={R} y={B + 18} text-anchor="end">{ms(x1)}</text><text class="t soft small" x={(L + R) / 2} y={B + 36} text-anchor="middle">iteration</text>
          <text class="t soft small" x={L - 6} y={B} text-anchor="end">{bytes(y0 * 1e9)}</text><text class="t soft small" x={L - 6} y={T + 10} text-anchor="end">{bytes(y1 * 1e9)}</text>
          {rows.map(({ row, i }) => <circle key={i} class={`dot ${row.baseline ? "dot-base" : isFront(row) ? "dot-front" : "dot-other"}`} cx={x(row.iteration_ms!)} cy={y(row.memory_gb ?? 0)} r="5"><title>{`${row.baseline ? "baseline" : `row ${i + 1}`}: ${ms(row.iteration_ms!)}, ${bytes((row.memory_gb ?? 0) * 1e9)}`}</title></circle>)}
        </svg>
        <figcaption class="legend small"><span><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><circle class="dot-front" cx="5" cy="5" r="4" /></svg> no row is better in both</span><span><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><circle class="dot-other" cx="5" cy="5" r="4" /></svg> other rows</span><span><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><circle class="dot-base" cx="5" cy="5" r="4" /></svg> the experiment as it is</span></figcaption>
      </figure>
    </Picture>
  );
}
