// What is answered: the headline, where the time goes, tables, and what it rests on. Of distsim serve and of the pages of their own.
import { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { bytes, count, digits, ms, msRange, percent, rate, sourceText } from "../format";
import { Picture } from "../pictures/picture";
import { PathStep, Report, Split, Values } from "../types";
import { Why, WhyId, WhyRow, firstSteps } from "./why";

export const PARTS: { key: keyof Split; name: string; colour: string; doc: string }[] = [
  { key: "compute_ms", name: "compute", colour: "c-compute", doc: "a kernel or copy runs" },
  { key: "exposed_comm_ms", name: "exposed communication", colour: "c-comm", doc: "what the iteration would be shorter by if communication took no time" },
  { key: "waiting_ms", name: "waiting for other ranks", colour: "c-waiting", doc: "at a collective, for its last member" },
  { key: "host_bound_ms", name: "host", colour: "c-host", doc: "the host has not yet launched the next step" },
  { key: "idle_ms", name: "idle", colour: "c-idle", doc: "none of these, such as the bubble of a pipeline" },
];

export function fullest(report: Report): number { return Math.max(0, ...report.memory.used_bytes_per_rank); }

function Figure({ name, why, value, note }: { name: string; why: WhyId; value: string; note?: string }) {
  return <div class="figure"><dt>{name}</dt><dd><Why id={why} label={`${name}: ${value}; what it rests on`}>{value}</Why>{note && <span class="soft small"> {note}</span>}</dd></div>;
}

export function Headline({ report: r, old, waiting, onBasis }: { report: Report | null; old: boolean; waiting: string; onBasis: () => void }) {
  if (!r) return <div class="headline"><p class="soft">{waiting}</p></div>;
  const best = Object.entries(r.basis_share).sort((a, b) => b[1] - a[1]);
  const used = fullest(r), share = r.memory.capacity_bytes > 0 ? used / r.memory.capacity_bytes : 0;
  return (
    <div class={`headline ${old ? "old" : ""}`} aria-live="polite" aria-atomic="true">
      <div class="main-figure">
        <Why id="iteration" label={`${ms(r.iteration_ms)} per iteration; what it rests on`}><span id="iteration">{ms(r.iteration_ms)}</span></Why> <span class="unit">per iteration</span>
        <div class="range" id="range">likely <Why id="range">{msRange(r.low_ms, r.high_ms)}</Why></div>
      </div>
      <dl class="figures">
        {r.tokens ? <Figure name="tokens/s per GPU" why="rate" value={count(r.tokens.tokens_per_second_per_gpu)} note={`${count(Math.round(r.tokens.tokens_per_second))} in all`} /> : <Figure name="samples/s" why="rate" value={count(r.samples_per_second)} note={`${r.context.ranks} GPU${r.context.ranks === 1 ? "" : "s"}`} />}
        {r.mfu > 0 && <Figure name="MFU" why="mfu" value={percent(r.mfu)} note={`${digits(r.achieved_tflops_per_gpu)} TFLOP/s per GPU`} />}
        <Figure name="limited by" why="limited" value={r.limited_by ?? "nothing"} note={r.runner_up ? `next: ${r.runner_up}, ${ms(r.slack_ms)} behind` : ""} />
        <div class="figure">
          <dt>memory, fullest GPU</dt>
          <dd><Why id="memory" label={`Memory of the fullest GPU: ${bytes(used)}; what it rests on`}>{bytes(used)}</Why><span class="soft small"> of {bytes(r.memory.capacity_bytes)}</span>
            <div class={`meter ${share > 1 ? "over" : ""}`} role="meter" aria-label="Memory of the fullest GPU" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.min(100, Math.round(100 * share))} aria-valuetext={percent(share)}><Bar share={share} /></div>
          </dd>
        </div>
        <div class="figure"><dt>basis</dt><dd><button class="link" id="basis-button" onClick={onBasis}>{best.length === 0 ? "none" : best.slice(0, 2).map(([name, s]) => `${name} ${percent(s, 0)}`).join(", ")}</button></dd></div>
      </dl>
    </div>
  );
}

// A share of the width: an SVG, since styles in attributes are not allowed.
export function Bar({ share, colour = "c-fill" }: { share: number; colour?: string }) {
  return <svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true"><rect class={colour} x="0" y="0" width={Math.max(0, Math.min(1, share)) * 1000} height="10" /></svg>;
}

function Stack({ parts, total, label }: { parts: { name: string; value: number; colour: string }[]; total: number; label: string }) {
  let x = 0;
  return (
    <svg class="stack" viewBox="0 0 1000 28" preserveAspectRatio="none" role="img" aria-label={`${label}: ${parts.map((p) => `${p.name} ${percent(p.value / total, 0)}`).join(", ")}`}>
      {parts.filter((p) => p.value > 0).map((p) => {
        const width = (1000 * p.value) / total, at = x;
        x += width;
        return <rect key={p.name} class={p.colour} x={at} y="0" width={Math.max(0, width - 1)} height="28"><title>{`${p.name} ${ms(p.value)}`}</title></rect>;
      })}
    </svg>
  );
}

// Names in a cell of class "breaks" are broken behind their underscores, dots and commas, not within their words.
export const breakable = (name: string) => name.split(/(?<=[_,=])|(?<=\.)(?=[a-z])/).flatMap((part, i) => (i === 0 ? [part] : [<wbr key={i} />, part]));

// A table that scrolls by itself where it is wider than the page.
export function Scroll({ label, tall, children }: { label: string; tall?: boolean; children: ComponentChildren }) {
  return <div class={`scroll ${tall ? "tall" : ""}`} tabIndex={0} role="region" aria-label={label}>{children}</div>;
}

const CYCLE: Record<string, string> = { "host loop": "c-host", network: "c-comm", compute: "c-compute", memory: "c-memory", input: "c-idle" };

export interface Causes { by_cause: boolean; rows: { name: string; where: string; rank: string; steps: number | null; time_ms: number }[]; note: string }

// Equal steps, as those of all micro-batches, are one: their times together. `index`: of the longest of them; `rank`: of all, if they have one.
interface Steps { step: PathStep; index: number; time: number; count: number; rank: number | null }
export function longestSteps(path: PathStep[]): Steps[] {
  const found = new Map<string, Steps>();
  path.forEach((step, index) => {
    const key = `${step.kind} ${step.name}`, one = found.get(key);
    if (!one) return found.set(key, { step, index, time: step.time_ms, count: step.steps, rank: step.rank });
    one.time += step.time_ms;
    one.count += step.steps;
    if (one.rank !== step.rank) one.rank = null;
    if (step.time_ms > one.step.time_ms) { one.step = step; one.index = index; }
  });
  return [...found.values()].sort((a, b) => b.time - a.time);
}
// A name that ends in their number does not say it twice.
const timesOf = (steps: number, name: string) => (steps > 1 && !name.endsWith(`(${steps})`) && !name.startsWith(`${steps} `) ? ` (${count(steps)})` : "");

// `causes`: the cycle in a few rows, of pages that hold them; else its longest steps.
export function Overview({ report: r, causes }: { report: Report; causes?: Causes }) {
  const parts = PARTS.map((p) => ({ ...p, value: r.breakdown[p.key] }));
  const total = r.iteration_ms || 1;
  const top = causes ? [] : longestSteps(r.critical_path).slice(0, 12);
  return (
    <div class="panes">
      <section>
        <h2>Where the time goes</h2>
        <Picture name="Where the time goes" why="iteration"><Stack parts={parts} total={total} label="Mean over ranks" /></Picture>
        <Scroll label="Parts of an iteration"><table class="plain">
          <thead><tr><th colSpan={2}>Part of an iteration</th><th class="n">time</th><th class="n">share</th></tr></thead>
          <tbody>{parts.filter((p) => p.value > 0).map((p) => <WhyRow key={p.name} id={`part ${p.key}`}><td class="swatch"><Swatch colour={p.colour} /></td><td><Why id={`part ${p.key}`}>{p.name}</Why><div class="small soft">{p.doc}</div></td><td class="n">{ms(p.value)}</td><td class="n">{percent(p.value / total)}</td></WhyRow>)}</tbody>
        </table></Scroll>
        <p class="small soft">Communication takes <Why id="part comm_ms">{ms(r.breakdown.comm_ms)}</Why>, of which <Why id="part hidden_comm_ms">{ms(r.breakdown.hidden_comm_ms)}</Why> runs beside compute.</p>
      </section>
      <section>
        <h2>{r.cycle_closed ? "What sets it: the critical cycle" : "What sets it: the critical path"}</h2>
        <Picture name="Critical cycle" why="limited"><Stack parts={r.cycle.map((c) => ({ name: c.resource, value: c.time_ms, colour: CYCLE[c.resource] ?? "c-idle" }))} total={total} label="Critical cycle" /></Picture>
        <p class="legend small">{r.cycle.map((c) => <span key={c.resource}><Swatch colour={CYCLE[c.resource] ?? "c-idle"} /> <Why id={`cycle ${c.resource}`}>{c.resource} {ms(c.time_ms)}</Why></span>)}</p>
        {causes ? (
          <>
            <Scroll label="Critical cycle"><table class="plain" id="causes">
              <thead><tr><th>{causes.by_cause ? "Causes on it" : "Steps on it"}</th><th class="n">time</th><th class="n">share</th><th class="n">rank</th><th class="n">steps</th><th>stream, phase</th></tr></thead>
              <tbody>{causes.rows.map((c, i) => <WhyRow key={i} id="iteration"><td class="cut" title={c.name}><Why id="iteration">{c.name}</Why></td><td class="n">{ms(c.time_ms)}</td><td class="n">{percent(c.time_ms / total)}</td><td class="n">{c.rank}</td><td class="n">{c.steps !== null && count(c.steps)}</td><td>{c.where}</td></WhyRow>)}</tbody>
            </table></Scroll>
            {causes.note && <p class="small soft">{causes.note}</p>}
          </>
        ) : (
          <Scroll label="Longest steps of the critical cycle"><table class="plain">
            <thead><tr><th>Longest steps on it</th><th class="n">time</th><th class="n">rank</th><th>kind</th><th>basis</th></tr></thead>
            <tbody>{top.map(({ step: s, index, time, count: n, rank }, place) => <WhyRow key={place} id={`step ${index}`}><td><span class="named"><span class="cut" title={s.name}><Why id={`step ${index}`}>{s.name}</Why></span><span class="soft small">{timesOf(n, s.name)}</span></span></td><td class="n">{ms(time)}</td><td class="n">{rank ?? ""}</td><td>{s.kind}</td><td>{s.basis}</td></WhyRow>)}</tbody>
          </table></Scroll>
        )}
        {!causes && r.path_steps && <p class="small soft">Of the {firstSteps(r)}.</p>}
      </section>
    </div>
  );
}

export function Swatch({ colour }: { colour: string }) { return <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class={colour} width="10" height="10" /></svg>; }

export function Tables({ report: r }: { report: Report }) {
  const longest = Math.max(1e-12, ...r.collectives.map((c) => c.transfer_ms), ...r.ops.map((o) => o.time_ms));
  return (
    <>
      <section>
        <h2>Collectives</h2>
        {r.collectives.length === 0 ? <p class="soft">None.</p> : (
          <Scroll label="Collectives"><table>
            <thead><tr><th>name and kind</th><th class="n">transfer</th><td /><th class="n">exposed</th><th class="n">ranks</th><th class="n">calls</th><th class="n">bytes, all calls</th><th class="n">bus bandwidth</th><th>basis and source</th></tr></thead>
            <tbody>{r.collectives.map((c, i) => (
              <WhyRow key={c.name + c.kind + c.group_size} id={`collective ${i}`}><td class="cut" title={c.name}><Why id={`collective ${i}`}>{c.name}</Why><div class="small soft">{c.kind}</div></td><td class="n">{ms(c.transfer_ms)}</td><td class="tiny-bar"><Bar share={c.transfer_ms / longest} colour="c-comm" /></td><td class="n">{ms(c.exposed_ms)}</td>
                <td class="n">{count(c.group_size)}</td><td class="n">{count(c.calls)}</td><td class="n">{bytes(c.bytes)}</td><td class="n">{c.busbw_GBps > 0 ? rate(c.busbw_GBps * 1e9) : ""}</td><td class="source"><span class={`basis ${c.basis}`}>{c.basis}</span> <span class="small soft">{sourceText(c.basis, c.source)}</span></td></WhyRow>
            ))}</tbody>
          </table></Scroll>
        )}
      </section>
      <section>
        <h2>Ops</h2>
        <Scroll label="Ops"><table>
          <thead><tr><th>kind</th><th class="n">kernels</th><th class="n">time</th><td /><th class="n">useful TFLOP/s</th></tr></thead>
          <tbody>{r.ops.map((o) => <WhyRow key={o.kind} id={`op ${o.kind}`}><td><Why id={`op ${o.kind}`}>{o.kind}</Why></td><td class="n">{count(o.kernels)}</td><td class="n">{ms(o.time_ms)}</td><td class="tiny-bar"><Bar share={o.time_ms / longest} colour="c-compute" /></td><td class="n">{o.tflops > 0 ? digits(o.tflops) : ""}</td></WhyRow>)}</tbody>
        </table></Scroll>
      </section>
    </>
  );
}

// The steps of the critical cycle, in order of time: as many as a reader scrolls through.
const MOST_STEPS = 2000;
export function Cycle({ report: r }: { report: Report }) {
  const [all, setAll] = useState(false);
  const steps = r.path_steps ?? r.critical_path.length, listed = r.critical_path.slice(0, MOST_STEPS);
  const shown = all ? listed : listed.slice(0, 40);
  return (
    <section>
      <h2>{r.cycle_closed ? "Critical cycle, step by step" : "Critical path, step by step"}</h2>
      <Scroll label="Steps of the critical cycle" tall><table>
        <thead><tr><th>step</th><th class="n">time</th><th class="n">share</th><th class="n">rank</th><th>stream</th><th>kind</th><th class="n">from</th><th>basis</th></tr></thead>
        <tbody>{shown.map((s, i) => <WhyRow key={i} id={`step ${i}`}><td class="cut" title={s.name}><Why id={`step ${i}`}>{s.name}</Why><span class="soft small">{timesOf(s.steps, s.name)}</span></td><td class="n">{ms(s.time_ms)}</td><td class="n">{percent(s.time_ms / (r.iteration_ms || 1))}</td><td class="n">{s.rank}</td><td>{s.stream}</td><td>{s.kind}</td><td class="n">{ms(s.start_ms)}</td><td>{s.basis}</td></WhyRow>)}</tbody>
      </table></Scroll>
      {!all && shown.length < listed.length && <button class="quiet" onClick={() => setAll(true)}>{listed.length < steps ? "The first" : "All"} {count(listed.length)} steps</button>}
      {listed.length < steps && <p class="small soft">Of {count(steps)} steps; the JSON report has all.{r.path_steps ? ` The timeline marks the first ${count(r.critical_path.length)}.` : ""}</p>}
    </section>
  );
}

export function Ranks({ report: r }: { report: Report }) {
  const used = r.memory.used_bytes_per_rank, times = r.ranks.times;
  const kinds = r.tokens?.memory[0];
  return (
    <div class="panes">
      <section>
        <h2>Memory</h2>
        <p><Why id="memory">{bytes(fullest(r))}</Why> of {bytes(r.memory.capacity_bytes)}{r.context.ranks === 1 ? "" : used.length > 1 ? ` on the fullest GPU, ${bytes(Math.min(...used))} on the emptiest` : ", the same on all GPUs"}.</p>
        {kinds && <table class="plain"><thead><tr><th>What rank {kinds.rank} holds</th><th class="n">bytes</th></tr></thead><tbody>{Object.entries(kinds.bytes).filter(([, b]) => b > 0).sort((a, b) => b[1] - a[1]).map(([what, b]) => <WhyRow key={what} id="memory"><td><Why id="memory">{what}</Why></td><td class="n">{bytes(b)}</td></WhyRow>)}</tbody></table>}
        {used.length > 1 && <Picture name="Memory by rank" why="memory"><Columns values={used} label="Memory by rank" text={bytes} /></Picture>}
      </section>
      <section>
        <h2>Ranks</h2>
        {r.ranks.alike ? <p>{r.context.ranks === 1 ? "One rank." : `All ${r.context.ranks} ranks take the same time.`}</p> : (
          <>
            <p>Slowest in compute: rank {r.ranks.slowest}; fastest: rank {r.ranks.fastest}.</p>
            {times.length > 1 ? <Picture name="Ranks" why="ranks"><RankStacks times={times} total={r.iteration_ms} /></Picture> : <p class="soft">The times of {r.context.ranks} ranks are in the JSON report.</p>}
          </>
        )}
        {r.context.placement && <><h3>Placement</h3><p class="small soft placement" tabIndex={0} role="region" aria-label="Placement">{r.context.placement}</p></>}
      </section>
    </div>
  );
}

const MOST_COLUMNS = 256;

// Each rank's iteration, split as the mean is.
function RankStacks({ times, total }: { times: Split[]; total: number }) {
  const columns = Math.min(times.length, MOST_COLUMNS), pitch = 1000 / columns, high = 100 / (total || 1);
  const rankOf = (i: number) => Math.floor((i * times.length) / columns);
  const compute = times.map((t) => t.compute_ms);
  return (
    <figure>
      <figcaption class="small soft">Each rank's iteration; compute {ms(Math.min(...compute))} to {ms(Math.max(...compute))}{columns < times.length && `, ${columns} of ${times.length} ranks`}</figcaption>
      <svg class="columns" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label={`Each rank's iteration: compute ${ms(Math.min(...compute))} to ${ms(Math.max(...compute))}`}>
        {Array.from({ length: columns }, (_, i) => {
          const t = times[rankOf(i)];
          let y = 100;
          return (
            <g key={i}><title>{`rank ${rankOf(i)}: ${PARTS.map((p) => `${p.name} ${ms(t[p.key])}`).join(", ")}`}</title>
              {PARTS.filter((p) => t[p.key] > 0).map((p) => { const height = t[p.key] * high; y -= height; return <rect key={p.key} class={p.colour} x={i * pitch} y={y} width={pitch * (columns > 64 ? 0.92 : 0.85)} height={height} />; })}
            </g>
          );
        })}
      </svg>
      <p class="legend small">{PARTS.filter((p) => times.some((t) => t[p.key] > 0)).map((p) => <span key={p.key}><Swatch colour={p.colour} /> {p.name}</span>)}</p>
    </figure>
  );
}

function Columns({ values, label, text }: { values: number[]; label: string; text: (v: number) => string }) {
  const most = Math.max(...values, 1e-12), shown = Math.min(values.length, MOST_COLUMNS), width = 1000 / shown;
  return (
    <figure>
      <figcaption class="small soft">{label}: {text(Math.min(...values))} to {text(Math.max(...values))}</figcaption>
      <svg class="columns" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label={`${label}: ${text(Math.min(...values))} to ${text(Math.max(...values))}`}>
        {Array.from({ length: shown }, (_, i) => {
          const rank = Math.floor((i * values.length) / shown), v = values[rank];
          return <rect key={i} class="c-compute" x={i * width} y={100 - (100 * v) / most} width={Math.max(0.5, width * 0.85)} height={(100 * v) / most}><title>{`rank ${rank}: ${text(v)}`}</title></rect>;
        })}
      </svg>
    </figure>
  );
}

// `values`: of distsim serve, where each value of the experiment comes from.
export function Basis({ report: r, id = "basis", values, file, idle }: { report: Report; id?: string; values?: Values; file?: string; idle?: { key: string; where: string }[] }) {
  return (
    <div class="panes" id={id}>
      <section>
        <h2>What the figures rest on</h2>
        <table class="plain"><thead><tr><th>Basis</th><th class="n">share of the critical cycle</th></tr></thead><tbody>{Object.entries(r.basis_share).map(([name, share]) => <tr key={name}><td><span class={`basis ${name}`}>{name}</span></td><td class="n">{percent(share)}</td></tr>)}</tbody></table>
        <p class="small soft">In order of trust: measured, interpolated, extrapolated, scaled, learned, analytic. The range is that of the costs on the critical cycle and of the framework's profile.</p>
        <h2>Assumptions</h2>
        <ul>{r.assumptions.map((a, i) => <li key={i}>{a} <span class="soft small">({r.assumption_kinds[i]})</span></li>)}</ul>
        {idle && idle.length > 0 && <><h2>Keys without effect</h2><ul>{idle.map((k) => <li key={k.key}>{k.key} <span class="soft small">{k.where}</span></li>)}</ul></>}
      </section>
      <section>{values && file !== undefined ? <ValueTable values={values} file={file} /> : <SourceTable report={r} />}</section>
    </div>
  );
}

function ValueTable({ values, file }: { values: Values; file: string }) {
  const [all, setAll] = useState(false);
  const given = Object.entries(values).filter(([, v]) => all || v[1].startsWith(`${file}:`));
  return (
    <>
      <h2>Values and where they come from</h2>
      <label class="small"><input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> also those of the files that the experiment names</label>
      <Scroll label="Values" tall><table class="plain"><thead><tr><th>key</th><th>value, and where it comes from</th></tr></thead><tbody>{given.map(([key, v]) => <tr key={key}><td class="long">{key}</td><td class="long">{v[0]}<div class="small soft">{v[1]}</div></td></tr>)}</tbody></table></Scroll>
    </>
  );
}

function SourceTable({ report: r }: { report: Report }) {
  const sources = [...new Set(r.collectives.map((c) => c.source).filter(Boolean))];
  return (
    <>
      <h2>Sources of the collectives' times</h2>
      {sources.length === 0 ? <p class="soft">No collective.</p> : <ul class="small">{sources.map((s) => <li key={s}>{s}: {r.collectives.filter((c) => c.source === s).map((c) => c.name).join(", ")}</li>)}</ul>}
    </>
  );
}
