// A plan: time of an iteration over memory, and its rows. On the page of distsim serve, and on that of `distsim plan --html`.
import { Chart, Mark } from "../chart";
import { bytes, count, digits, gigabytes, ms, msRange, percent, tick } from "../format";
import { Picture } from "./picture";
import { breakable, Scroll } from "../report/see";

export interface PlanRow { keys: Record<string, string>; baseline: boolean; fits: boolean; error: string; iteration_ms?: number; low_ms?: number; high_ms?: number; samples_per_s?: number; tokens_per_s_per_gpu?: number; mfu?: number; memory_gb?: number; limited_by?: string; why_slower?: string; cost?: number; set?: string[] }
export interface Plan { subject: string; objective: string; rows: PlanRow[] }
// A layout that was played on the way.
export interface Played { set: string[]; iteration_ms: number; memory_gb: number; value: number | null }

const MOST_DOTS = 1500;

// Those that nothing beats in both time and memory.
function frontOf(points: Played[]): Played[] {
  let least = Infinity;
  return [...points].sort((a, b) => a.iteration_ms - b.iteration_ms || a.memory_gb - b.memory_gb).filter((p) => { const better = p.memory_gb < least; least = Math.min(least, p.memory_gb); return better; });
}

export const shortSets = (sets: string[]) => sets.map((s) => s.replace("parallel.", "")).filter((s) => !/=(1|0|false|automatic|none|\[\]|-)$/.test(s)).join(", ") || "as it is";

export function PlanPicture({ rows, played = [], open }: { rows: PlanRow[]; played?: Played[]; open?: (sets: string[]) => void }) {
  const good = rows.filter((r) => !r.error && r.iteration_ms !== undefined);
  const front = frontOf([...played, ...good.map((r) => ({ set: r.set ?? [], iteration_ms: r.iteration_ms!, memory_gb: r.memory_gb ?? 0, value: null }))]);
  const every = Math.max(1, Math.ceil(played.length / MOST_DOTS)), dots = played.filter((_, i) => i % every === 0);
  const all = [...dots, ...front, ...good.map((r) => ({ memory_gb: r.memory_gb ?? 0, iteration_ms: r.iteration_ms! }))], xs = all.map((p) => p.memory_gb), ys = all.map((p) => p.iteration_ms);
  if (all.length === 0) return <p class="soft">No row has a prediction.</p>;
  const at = (p: { iteration_ms: number; memory_gb: number }) => `${ms(p.iteration_ms)}, ${bytes(p.memory_gb * 1e9)}`;
  const nameOf = (r: PlanRow) => (r.baseline ? "the experiment as it is" : `row ${rows.indexOf(r) + 1}`);
  return (
    <Picture name="Iteration over memory" why="plan">
      <figure>
        <Chart id="plan-chart" label="Layouts that were played: time of an iteration over the memory of the fullest GPU" x={xs} y={ys} logY={Math.max(...ys) / Math.min(...ys) > 4} xName="memory of the fullest GPU" yName="iteration" xText={gigabytes} yText={tick}>
          {(x, y) => (
            <>
              <polyline class="line-1 front" points={front.flatMap((p, i) => (i === 0 ? [] : [`${x(front[i - 1].memory_gb)},${y(p.iteration_ms)}`]).concat(`${x(p.memory_gb)},${y(p.iteration_ms)}`)).join(" ")} />
              <g class="line-5 pale-dots">{dots.map((p, i) => <circle key={i} cx={x(p.memory_gb)} cy={y(p.iteration_ms)} r="3" onClick={() => open?.(p.set)}><title>{`${at(p)}: ${shortSets(p.set)}`}</title></circle>)}</g>
              <g class="line-1">{front.map((p, i) => <Mark key={i} r={7} x={x(p.memory_gb)} y={y(p.iteration_ms)} title={`${at(p)}: ${shortSets(p.set)}`} open={open && (() => open(p.set))} />)}</g>
              <g class="line-0">{good.map((r, i) => <Mark key={i} kind={r.baseline ? "hollow" : ""} x={x(r.memory_gb ?? 0)} y={y(r.iteration_ms!)} r={r.baseline ? 10 : 4} title={`${nameOf(r)}: ${at({ iteration_ms: r.iteration_ms!, memory_gb: r.memory_gb ?? 0 })}`} open={open && (() => open(r.set ?? []))} />)}</g>
            </>
          )}
        </Chart>
        <figcaption class="legend small">
          {dots.length > 0 && <span><Swatch n={5} /> played{every > 1 ? ` (one of ${every} shown)` : ""}</span>}
          <span><Swatch n={1} /> nothing played is better in both</span>
          {good.length > 0 && <span><Swatch n={0} /> rows of the table</span>}{good.some((r) => r.baseline) && <span>ring: the experiment as it is</span>}
        </figcaption>
      </figure>
    </Picture>
  );
}

function Swatch({ n }: { n: number }) { return <svg class={`swatch line-${n}`} viewBox="0 0 10 10" aria-hidden="true"><circle cx="5" cy="5" r="5" /></svg>; }

// What is not as it is without the key.
const saysNothing = (value: string | undefined) => value === undefined || ["", "false", "[]", "-", "0", "automatic"].includes(value);
const layoutOf = (keys: Record<string, string>, columns: { key: string; head: string }[]) => columns.filter((c) => !saysNothing(keys[c.key])).map((c) => (keys[c.key] === "true" ? c.head : `${c.head} ${keys[c.key]}`)).join(", ");
const MOST_COLUMNS = 5;
// Lines that were broken at a comma are one.
export const joined = (lines: string[]) => lines.join("\n").replaceAll(",\n", ", ").split("\n");

// `columns`: keys in which rows differ; of many, one column names those that say something.
export function PlanTable({ rows, columns, open }: { rows: PlanRow[]; columns: { key: string; head: string }[]; open?: (sets: string[]) => void }) {
  const tokens = rows.some((r) => (r.tokens_per_s_per_gpu ?? 0) > 0), cost = rows.some((r) => (r.cost ?? 0) > 0);
  const told = columns.filter((c) => rows.some((r) => (r.keys[c.key] ?? "") !== "")), isOne = told.length > MOST_COLUMNS;
  return (
    <Scroll label="Rows of the plan" tall><table id="plan-table">
      <thead><tr><th>row</th><th class="n">iteration</th>{isOne ? <th>layout</th> : told.map((c) => <th key={c.key} title={c.key}>{c.head}</th>)}<th class="n">memory</th>{cost && <th class="n">cost</th>}<th>slower by, most</th><th>limited by</th><th class="n">MFU</th><th class="n">{tokens ? "tokens/s per GPU" : "samples/s"}</th></tr></thead>
      <tbody>{rows.map((r, i) => (
        <tr key={i} class={r.error ? "soft" : ""}>
          <th scope="row">{r.baseline ? "baseline, as it is" : i + 1}{open && !r.error && <> <button class="quiet" aria-label={`Open row ${i + 1}`} onClick={() => open(r.set ?? [])}>open</button></>}</th>
          <td class="n">{r.iteration_ms !== undefined && ms(r.iteration_ms)}{r.low_ms !== undefined && <div class="small soft">{msRange(r.low_ms, r.high_ms!, " .. ")}</div>}</td>
          {isOne ? <td class="wrap layout">{layoutOf(r.keys, told)}</td> : told.map((c) => <td key={c.key} class={(r.keys[c.key] ?? "").split(" ").some((w) => w.length > 16) ? "breaks" : ""}>{breakable(r.keys[c.key] ?? "")}</td>)}
          {r.error ? <td colSpan={5 + Number(cost)} class="wrap words">{r.fits ? r.error : `does not fit: ${r.error}`}</td> : (
            <>
              <td class="n">{r.memory_gb !== undefined && bytes(r.memory_gb * 1e9)}</td>{cost && <td class="n">{r.cost ? digits(r.cost, 4) : ""}</td>}
              <td class="wrap words">{r.why_slower}</td><td>{r.limited_by}</td><td class="n">{r.mfu ? percent(r.mfu) : ""}</td><td class="n">{count(Math.round((tokens ? r.tokens_per_s_per_gpu : r.samples_per_s) ?? 0))}</td>
            </>
          )}
        </tr>
      ))}</tbody>
    </table></Scroll>
  );
}

export function PlanView({ plan, columns }: { plan: Plan; columns: { key: string; head: string }[] }) {
  return (
    <>
      <section><h2>Iteration and memory of the fullest GPU</h2><PlanPicture rows={plan.rows} /></section>
      <section><PlanTable rows={plan.rows} columns={columns} /></section>
    </>
  );
}
