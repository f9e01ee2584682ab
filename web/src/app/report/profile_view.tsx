// What the iterations of a measured trace consist of: on the page of distsim serve, and on that of `distsim profile --html`.
import { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Chart } from "../chart";
import { bytes, count, digits, ms, msRange, percent, rate, signed, tick } from "../format";
import { Picture } from "../pictures/picture";
import { Bar, Scroll, Swatch } from "./see";

export interface Step { step: string; measured_ms: number | null; wall_ms: number; busy_ms: number; compute_ms: number; exposed_comm_ms: number; idle_ms: number; comm_ms: number; host_gap_ms: number | null; sm_efficiency: number | null; occupancy: number | null; memory_peak_gb: number | null; without_profiler_ms: number | null; profiler_ms: number }
interface Kernel { name: string; kind: string; communication: boolean; calls: number; total_ms: number; min_us: number; max_us: number; occupancy: number | null }
interface Op { op: string; shapes: string; calls: number; device_ms: number; tflops: number | null; GBps: number | null }
interface Node { depth: number; kind: string; name: string; launched: number; device_ms: number }
interface Overhead { count: number; mean_us: number; median_us: number; p90_us: number; corrected_median_us: number | null }
interface Rank { rank: number; file: string; format: string; devices: string[]; steps: Step[]; whole_trace?: Step; kernels: Kernel[]; ops: Op[]; tree: Node[]; host_overheads: Record<string, Overhead>; notes: Notes; rows?: Record<string, number> }
interface Notes { assumptions: string[]; left_out: { what: string; count: number }[] }
interface Collective { kind: string; group: string; group_size: number | null; bytes: number | null; calls: number; mean_us: number | null; transfer_us: number | null; skew_median_us: number | null; busbw_GBps: number | null }
interface Standing { rank: number; last_arrivals: number; made_others_wait_ms: number; waited_ms: number; compute_excess_percent: number | null; straggler: boolean }
export interface Profile { world_size: number; ranks: Rank[]; collectives: Collective[]; standing: Standing[]; notes: Notes; missing: string[]; host: { format: string; functions: { function: string; self: number; total: number; self_ms_per_step: number | null }[] } | null }
export interface ReplayStep { rank: number; step: string; measured_ms: number | null; replayed_ms: number }
export interface Replay { replayed_ms: number; measured_ms: number | null; median_error: number; worst_error: number; steps: ReplayStep[]; what_if_ms?: number; changes?: string[]; assumptions: string[] }

const MOST_ROWS = 30, MOST_STEPS = 200;
const PARTS = [["compute_ms", "compute", "c-compute"], ["exposed_comm_ms", "exposed communication", "c-comm"], ["copies", "copies", "c-memory"], ["idle_ms", "idle", "c-idle"]] as const;
const part = (s: Step, name: string) => (name === "copies" ? Math.max(0, s.busy_ms - s.compute_ms - s.exposed_comm_ms) : (s as unknown as Record<string, number>)[name]);
const OVERHEADS: Record<string, string> = { T1: "two ops of a thread (T1)", T2: "an op's start and its first launch (T2)", T3: "its last launch and its end (T3)", T4: "begin and end of a launching call (T4)", T5: "two launches of an op (T5)" };

export function NotesView({ notes }: { notes: string[] }) {
  const all = [...new Set(notes)];
  return all.length === 0 ? null : <details><summary>{all.length} {all.length === 1 ? "assumption" : "assumptions and notes"}</summary><ul>{all.map((n) => <li key={n} class="small">{n}</li>)}</ul></details>;
}

// `rank`: the place of the rank that is shown among those of the profile.
interface Shown { profile: Profile; rank: number }

export function ProfileSteps({ profile, rank, onRank, replay, noReplay }: Shown & { onRank: (rank: number) => void; replay?: Replay; noReplay?: string }) {
  const r = profile.ranks[Math.min(rank, profile.ranks.length - 1)];
  const steps = (r.steps.length > 0 ? r.steps : r.whole_trace ? [r.whole_trace] : []).slice(0, MOST_STEPS);
  const replayed = (replay?.steps ?? []).filter((s) => s.rank === r.rank);
  const devices = [...new Set(r.devices.filter(Boolean))];  // some formats do not say which
  const stragglers = profile.standing.filter((s) => s.straggler);
  return (
    <section>
      <h2>Iterations</h2>
      <p>{devices.length > 0 ? `${devices.join(", ")}. ` : ""}{r.format}, {count(profile.ranks.length)} {profile.ranks.length === 1 ? "rank" : "ranks"}{profile.world_size > profile.ranks.length ? ` of ${profile.world_size}` : ""}.
        {replay && <span id="replay-line"> <b>{ms(replay.replayed_ms)} replayed</b>{replay.measured_ms !== null && <>, {ms(replay.measured_ms)} measured: {signed(replay.replayed_ms / replay.measured_ms - 1)}; worst step {percent(Math.abs(replay.worst_error), 2)}</>}.</span>}
        {noReplay && <span class="soft"> No replay: {noReplay}</span>}</p>
      {profile.missing.length > 0 && <p class="problem" role="status" id="trace-partial"><b>Partial trace</b>: without {profile.missing.join("; ")}. The figures are of what is there.</p>}
      {profile.ranks.length > 1 && <div class="toolbar"><label>Rank <select id="trace-rank" value={String(rank)} onChange={(e) => onRank(Number(e.currentTarget.value))}>{profile.ranks.map((x, i) => <option key={i} value={String(i)}>{x.rank}</option>)}</select></label></div>}
      {steps.length > 0 && <StepsChart steps={steps} replayed={replayed} rank={r.rank} />}
      {stragglers.length > 0 && <p class="problem">Stragglers: {stragglers.map((s) => `rank ${s.rank} (others waited ${ms(s.made_others_wait_ms)} for it)`).join(", ")}.</p>}
      <NotesView notes={[...profile.notes.assumptions, ...r.notes.assumptions, ...r.notes.left_out.map((d) => `not read: ${d.what} (${count(d.count)})`), ...(replay?.assumptions ?? []).filter((a) => !a.startsWith("the trace is partial"))]} />
    </section>
  );
}

function StepsChart({ steps, replayed, rank }: { steps: Step[]; replayed: ReplayStep[]; rank: number }) {
  const most = Math.max(1e-9, ...steps.map((s) => s.wall_ms)), width = Math.min(60, 690 / Math.max(1, steps.length));
  return (
    <Picture name="Iterations as measured">
      <figure>
        <Chart id="trace-steps" label={`Parts of ${steps.length} iterations of rank ${rank}, measured${replayed.length > 0 ? ", and their times as replayed" : ""}`} x={[-0.5, steps.length - 0.5]} y={[0, most * 1.05, ...replayed.map((s) => s.replayed_ms)]} zeroY xName="iteration" yName="" xText={(v) => (Number.isInteger(v) && v >= 0 && v < steps.length ? String(v) : "")} yText={tick}>
          {(x, y) => (
            <>
              {steps.map((s, i) => { let below = 0; return <g key={i}>{PARTS.map(([key, name, colour]) => { const v = part(s, key), top = y(below + v), height = y(below) - top; below += v; return <rect key={key} class={colour} x={x(i) - width * 0.35} y={top} width={width * 0.7} height={Math.max(0, height)}><title>{`${s.step}: ${name} ${ms(v)}${s.measured_ms ? `, measured ${ms(s.measured_ms)}` : ""}`}</title></rect>; })}</g>; })}
              {replayed.slice(0, steps.length).map((s, i) => <g key={i} class="replayed"><line class="axis" x1={x(i) - width * 0.45} x2={x(i) + width * 0.45} y1={y(s.replayed_ms)} y2={y(s.replayed_ms)}><title>{`${s.step}: replayed ${ms(s.replayed_ms)}${s.measured_ms !== null ? `, measured ${ms(s.measured_ms)} (${signed(s.replayed_ms / s.measured_ms - 1)})` : ""}`}</title></line></g>)}
            </>
          )}
        </Chart>
        <figcaption class="legend small">{PARTS.map(([, name, colour]) => <span key={name}><Swatch colour={colour} /> {name}</span>)}<span>bar: the step's window, as measured{replayed.length > 0 && "; line: step time as replayed"}</span></figcaption>
      </figure>
    </Picture>
  );
}

// A list of a rank, of which the first rows are shown until all that there are are asked for.
function List<T>({ title, label, id, list, total, head, row }: { title: string; label: string; id?: string; list: T[]; total?: number; head: ComponentChildren; row: (item: T, index: number) => ComponentChildren }) {
  const [all, setAll] = useState(false);
  if (list.length === 0) return null;
  const shown = all ? list : list.slice(0, MOST_ROWS), left = (total ?? list.length) - list.length;
  return (
    <section>
      <h2>{title}</h2>
      <Scroll label={label} tall><table id={id}><thead><tr>{head}</tr></thead><tbody>{shown.map(row)}</tbody></table></Scroll>
      {!all && shown.length < list.length && <button class="quiet" onClick={() => setAll(true)}>All {list.length} rows</button>}
      {left > 0 && <p class="small soft">{count(left)} more; <code>distsim profile --json</code> has all.</p>}
    </section>
  );
}

const share = (v: number | null) => (v === null ? "" : percent(v, 0));
const time = (v: number | null | undefined) => (v === null || v === undefined ? "" : ms(v));

// `onWithout`: replays it without a kernel.
export function ProfileTables({ profile, rank, onWithout }: Shown & { onWithout?: (kernel: string) => void }) {
  const r = profile.ranks[Math.min(rank, profile.ranks.length - 1)], longest = Math.max(1e-12, ...r.kernels.map((k) => k.total_ms));
  const steps = [...r.steps, ...(r.whole_trace ? [r.whole_trace] : [])];
  const has = (key: "sm_efficiency" | "occupancy" | "memory_peak_gb") => steps.some((s) => s[key] !== null);
  const occupied = r.kernels.some((k) => k.occupancy !== null), shaped = r.ops.some((o) => o.shapes || o.tflops || o.GBps), matched = profile.collectives.some((c) => c.transfer_us !== null || c.skew_median_us !== null);
  const inAll = Math.max(1e-12, ...r.tree.map((n) => n.device_ms));
  return (
    <>
      <List title="Kernels and copies" label="Kernels" id="trace-kernels" list={r.kernels} total={r.rows?.kernels} head={<><th>name</th><th class="n">calls</th><th class="n">total</th><td /><th class="n">mean</th><th class="n">least .. most</th>{occupied && <th class="n">occupancy</th>}{onWithout && <td />}</>}
        row={(k) => <tr key={k.name}><td class="cut" title={k.name}>{k.name}</td><td class="n">{count(k.calls)}</td><td class="n">{ms(k.total_ms)}</td><td class="tiny-bar"><Bar share={k.total_ms / longest} colour={k.communication ? "c-comm" : k.kind === "kernel" ? "c-compute" : "c-memory"} /></td><td class="n">{ms(k.total_ms / Math.max(1, k.calls))}</td><td class="n">{k.min_us === k.max_us ? ms(k.min_us / 1000) : msRange(k.min_us / 1000, k.max_us / 1000, " .. ")}</td>{occupied && <td class="n">{share(k.occupancy)}</td>}{onWithout && <td><button class="quiet" onClick={() => onWithout(k.name)} aria-label={`Replay without ${k.name}`}>without</button></td>}</tr>} />
      <List title="Steps" label="Steps" id="trace-step-table" list={steps} total={(r.rows?.steps ?? r.steps.length) + (r.whole_trace ? 1 : 0)} head={<><th>step</th><th class="n">measured</th><th class="n">span</th><th class="n">busy</th><th class="n">compute</th><th class="n">communication</th><th class="n">exposed</th><th class="n">idle</th><th class="n">of it for the host</th>{has("sm_efficiency") && <th class="n">SMs</th>}{has("occupancy") && <th class="n">occupancy</th>}{has("memory_peak_gb") && <th class="n">peak memory</th>}</>}
        row={(s, i) => <tr key={i}><th scope="row">{s.step}</th><td class="n">{time(s.measured_ms)}</td><td class="n">{ms(s.wall_ms)}</td><td class="n">{ms(s.busy_ms)}</td><td class="n">{ms(s.compute_ms)}</td><td class="n">{ms(s.comm_ms)}</td><td class="n">{ms(s.exposed_comm_ms)}</td><td class="n">{ms(s.idle_ms)}</td><td class="n">{time(s.host_gap_ms)}</td>{has("sm_efficiency") && <td class="n">{share(s.sm_efficiency)}</td>}{has("occupancy") && <td class="n">{share(s.occupancy)}</td>}{has("memory_peak_gb") && <td class="n">{s.memory_peak_gb === null ? "" : bytes(s.memory_peak_gb * 1e9)}</td>}</tr>} />
      <List title="From the iteration to its kernels" label="Tree of the work" id="trace-tree" list={r.tree} total={r.rows?.tree} head={<><th>layer, op, kernel</th><th class="n">launched</th><th class="n">device time</th><td /></>}
        row={(n, i) => <tr key={i}><td class={`cut depth-${Math.min(n.depth, 9)} ${n.kind === "kernel" ? "soft" : ""}`} title={n.name}>{n.name || "all work on the GPU"}</td><td class="n">{count(n.launched)}</td><td class="n">{ms(n.device_ms)}</td><td class="tiny-bar"><Bar share={n.device_ms / inAll} /></td></tr>} />
      <List title={shaped ? "Ops by shape" : "Ops"} label="Ops" list={r.ops} total={r.rows?.ops} head={<><th>op</th>{shaped && <th>shapes</th>}<th class="n">calls</th><th class="n">device time</th>{shaped && <><th class="n">TFLOP/s</th><th class="n">GB/s</th></>}</>}
        row={(o, i) => <tr key={i}><td>{o.op}</td>{shaped && <td class="cut" title={o.shapes}>{o.shapes}</td>}<td class="n">{count(o.calls)}</td><td class="n">{ms(o.device_ms)}</td>{shaped && <><td class="n">{o.tflops ? digits(o.tflops) : ""}</td><td class="n">{o.GBps ? digits(o.GBps) : ""}</td></>}</tr>} />
      <List title="Collectives" label="Measured collectives" id="trace-collectives" list={profile.collectives} head={<><th>kind</th><th class="n">ranks</th><th class="n">bytes of one</th><th class="n">calls</th><th class="n">mean</th>{matched && <><th class="n">transfer</th><th class="n">skew</th></>}<th class="n">bus bandwidth</th></>}
        row={(c, i) => <tr key={i}><td>{c.kind}</td><td class="n">{c.group_size! > 0 ? count(c.group_size!) : ""}</td><td class="n">{c.bytes === null ? "" : bytes(c.bytes)}</td><td class="n">{count(c.calls)}</td><td class="n">{c.mean_us === null ? "" : ms(c.mean_us / 1000)}</td>{matched && <><td class="n">{c.transfer_us === null ? "" : ms(c.transfer_us / 1000)}</td><td class="n">{c.skew_median_us === null ? "" : ms(c.skew_median_us / 1000)}</td></>}<td class="n">{c.busbw_GBps ? rate(c.busbw_GBps * 1e9) : ""}</td></tr>} />
      {profile.standing.length > 1 && <List title="Ranks" label="Ranks at collectives" list={profile.standing} head={<><th>rank</th><th class="n">arrived last</th><th class="n">others waited for it</th><th class="n">it waited</th><th class="n">compute above the mean</th><td /></>}
        row={(s) => <tr key={s.rank}><th scope="row">{s.rank}</th><td class="n">{count(s.last_arrivals)}</td><td class="n">{ms(s.made_others_wait_ms)}</td><td class="n">{ms(s.waited_ms)}</td><td class="n">{s.compute_excess_percent === null ? "" : signed(s.compute_excess_percent / 100)}</td><td>{s.straggler && "straggler"}</td></tr>} />}
      <List title="Host overheads" label="Host overheads" list={Object.entries(OVERHEADS).filter(([k]) => (r.host_overheads[k]?.count ?? 0) > 0)} head={<><th>between</th><th class="n">count</th><th class="n">median</th><th class="n">mean</th><th class="n">90th percentile</th></>}
        row={([k, name]) => { const o = r.host_overheads[k]; return <tr key={k}><td>{name}</td><td class="n">{count(o.count)}</td><td class="n">{ms(o.median_us / 1000)}</td><td class="n">{ms(o.mean_us / 1000)}</td><td class="n">{ms(o.p90_us / 1000)}</td></tr>; }} />
      {profile.host && <List title="Host functions" label="Host functions" list={profile.host.functions} head={<><th>function</th><th class="n">itself</th><th class="n">with what it calls</th><th class="n">itself, per step</th></>}
        row={(f, i) => <tr key={i}><td class="cut" title={f.function}>{f.function}</td><td class="n">{percent(f.self)}</td><td class="n">{percent(f.total)}</td><td class="n">{time(f.self_ms_per_step)}</td></tr>} />}
    </>
  );
}
