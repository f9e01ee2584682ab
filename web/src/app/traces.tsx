// Measured traces: dropped on the page or named on the command line; their profile, measured against replayed, what-ifs.
import { useEffect, useState } from "preact/hooks";
import { Chart } from "./chart";
import { Answer } from "./connection";
import { why } from "./explore";
import { bytes, count, digits, ms, percent, signed, tick } from "./format";
import { setKept, useKept } from "./kept";
import { save } from "./save";
import { Store } from "./store";

interface Sent { name: string; bytes: number; done: number; id?: string; failure?: string }
interface Step { step: string; measured_ms: number | null; wall_ms: number; busy_ms: number; compute_ms: number; exposed_comm_ms: number; idle_ms: number; comm_ms: number }
interface Kernel { name: string; kind: string; communication: boolean; calls: number; total_ms: number; min_us: number; max_us: number; occupancy: number | null }
interface Rank { rank: number; file: string; format: string; devices: string[]; steps: Step[]; whole_trace?: Step; kernels: Kernel[]; ops: { op: string; shapes: string; calls: number; device_ms: number; tflops: number | null; GBps: number | null }[]; host_overheads: Record<string, { count: number; mean_us: number; median_us: number; p90_us: number }>; notes: Notes }
interface Notes { assumptions: string[]; left_out: { what: string; count: number }[] }
interface Profile { world_size: number; ranks: Rank[]; collectives: { kind: string; group_size: number; bytes: number | null; calls: number; mean_us: number; transfer_us: number | null; skew_median_us: number | null; busbw_GBps: number | null }[]; standing: { rank: number; last_arrivals: number; made_others_wait_ms: number; waited_ms: number; straggler: boolean }[]; notes: Notes; missing: string[] }
interface ReplayStep { rank: number; step: string; measured_ms: number | null; replayed_ms: number; parts: { window_ms: number; compute_ms: number; comm_ms: number; exposed_comm_ms: number; idle_ms: number } }
interface Replay { replayed_ms: number; measured_ms: number | null; median_error: number; worst_error: number; steps: ReplayStep[]; what_if_ms?: number; what_if_steps?: ReplayStep[]; changes?: string[]; assumptions: string[] }
interface Chakra { makespan_ms: number; ranks: number; where: string; parts_ms: Record<string, { mean: number; least: number; most: number }>; assumptions: string[] }
interface Looked { files: string[]; names: string[]; format: string; profile?: Profile; replay?: Replay; no_replay?: string }
interface WhatIf { moved: boolean; on: string; remove: string[]; fuse: string; sets: string; ranks: string }

const FIRST: WhatIf = { moved: false, on: "", remove: [], fuse: "", sets: "", ranks: "" };
const MOST_ROWS = 30;
const regex = (name: string) => `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;

// One after the other, as the server takes only a few at a time.
export async function sendFiles(store: Store, files: File[]) {
  const list: Sent[] = files.map((f) => ({ name: f.name, bytes: f.size, done: 0 }));
  const show = () => setKept<Sent[]>("traces.sent", [...list], []);
  show();
  for (const [i, file] of files.entries()) {
    await new Promise<void>((over) => {
      const request = new XMLHttpRequest();
      request.open("POST", `/upload?token=${encodeURIComponent(store.token)}&name=${encodeURIComponent(file.name)}`);
      request.upload.onprogress = (e) => { list[i].done = e.loaded; show(); };
      request.onload = () => {
        if (request.status === 201) { list[i].id = (JSON.parse(request.responseText) as { file: string }).file; list[i].done = list[i].bytes; } else list[i].failure = request.responseText.trim() || `status ${request.status}`;
        over();
      };
      request.onerror = () => { list[i].failure = "The server did not take it."; over(); };
      request.send(file);
    });
    show();
  }
  const ids = list.flatMap((s) => (s.id ? [s.id] : []));
  if (ids.length > 0) await look(store, ids, list.filter((s) => s.id).map((s) => s.name));
}

async function look(store: Store, files: string[], names: string[], steps = "") {
  setKept("traces.failure", "", "");
  setKept<Replay | Chakra | null>("traces.whatif", null, null);
  const question = store.connection.ask("trace", { files, steps }, (p: Answer) => setKept("traces.running", { id: question.id, what: p.what as string }, null));
  setKept("traces.running", { id: question.id, what: "reading" }, null);
  const answer = await question;
  setKept("traces.running", null, null);
  if (answer.type === "trace") setKept<Looked | null>("traces.looked", { ...(answer as unknown as Looked), files, names }, null);
  else setKept("traces.failure", why(answer), "");
}

// Files dropped anywhere on the page.
export function DropZone({ store, onFiles }: { store: Store; onFiles: () => void }) {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const has = (e: DragEvent) => [...(e.dataTransfer?.types ?? [])].includes("Files");
    const drag = (e: DragEvent) => { if (has(e)) { e.preventDefault(); setOver(true); } };
    const leave = (e: DragEvent) => { if (e.relatedTarget === null) setOver(false); };
    const drop = (e: DragEvent) => {
      if (!has(e)) return;
      e.preventDefault();
      setOver(false);
      const files = [...(e.dataTransfer?.files ?? [])];
      if (files.length === 0) return;
      onFiles();
      void sendFiles(store, files);
    };
    addEventListener("dragover", drag); addEventListener("dragleave", leave); addEventListener("drop", drop);
    return () => { removeEventListener("dragover", drag); removeEventListener("dragleave", leave); removeEventListener("drop", drop); };
  }, []);
  return over ? <div class="drop-here" aria-hidden="true"><p>Drop the traces of one job here</p></div> : null;
}

export function TracesView({ store }: { store: Store }) {
  const [sent] = useKept<Sent[]>("traces.sent", []);
  const [given, setGiven] = useKept<string[] | null>("traces.given", null);
  const [looked] = useKept<Looked | null>("traces.looked", null);
  const [running] = useKept<{ id: number; what: string } | null>("traces.running", null);
  const [failure] = useKept<string>("traces.failure", "");
  const [steps, setSteps] = useKept<string>("traces.steps", "");
  useEffect(() => {
    if (given !== null) return;
    void store.connection.ask("traces").then((a) => {
      if (a.type !== "traces") return;
      const paths = a.given as string[];
      setGiven(paths);
      if (paths.length > 0 && !looked && !running) void look(store, [], paths);
    });
  }, []);
  return (
    <>
      <section>
        <h2>Traces</h2>
        <p class="soft small">Profiler traces of one job: PyTorch (Kineto), Nsight Systems, nvprof, HugeCTR; or Chakra execution traces. Drop them anywhere on the page. They stay on the machine that runs distsim, and go when it ends.</p>
        <div class="toolbar">
          <label class="file-button">Choose files <input type="file" id="trace-files" multiple onChange={(e) => { const files = [...(e.currentTarget.files ?? [])]; if (files.length > 0) void sendFiles(store, files); }} /></label>
          {(given?.length ?? 0) > 0 && <button onClick={() => void look(store, [], given!, steps)}>Those of the command line</button>}
          <label class="wide">Iterations are marked by <input value={steps} placeholder="ProfilerStep#N" spellcheck={false} title="Regular expression of the annotations that mark an iteration" onInput={(e) => setSteps(e.currentTarget.value)} /></label>
          {looked && <button class="quiet" onClick={() => void look(store, looked.files, looked.names, steps)}>read again</button>}
        </div>
        {sent.some((s) => !s.id) && <ul class="sent">{sent.map((s, i) => <li key={i}>{s.name}, {bytes(s.bytes)} {s.failure ? <span class="problem">{s.failure}</span> : s.id ? "" : <progress value={s.done} max={s.bytes} aria-label={`Sending ${s.name}`} />}</li>)}</ul>}
        {running && <p class="progress"><progress aria-label={running.what} /> {running.what} <button onClick={() => store.connection.cancel(running.id)}>Cancel</button></p>}
        {failure && <p class="problem" role="alert">{failure}</p>}
      </section>
      {looked && <p class="small" id="trace-names">{looked.names.join(", ")}</p>}
      {looked?.format === "chakra" && <ChakraView store={store} looked={looked} />}
      {looked?.profile && <><StepsView looked={looked} /><WhatIfView store={store} looked={looked} /><Tables store={store} profile={looked.profile} looked={looked} /></>}
    </>
  );
}

const PARTS = [["compute_ms", "compute", "c-compute"], ["exposed_comm_ms", "exposed communication", "c-comm"], ["copies", "copies", "c-memory"], ["idle_ms", "idle", "c-idle"]] as const;
const part = (s: Step, name: string) => (name === "copies" ? Math.max(0, s.busy_ms - s.compute_ms - s.exposed_comm_ms) : (s as unknown as Record<string, number>)[name]);

function StepsView({ looked }: { looked: Looked }) {
  const profile = looked.profile!, replay = looked.replay;
  const [rank, setRank] = useKept<number>("traces.rank", 0);
  const r = profile.ranks[Math.min(rank, profile.ranks.length - 1)];
  const steps = (r.steps.length > 0 ? r.steps : r.whole_trace ? [r.whole_trace] : []).slice(0, 200);
  const most = Math.max(1e-9, ...steps.map((s) => s.wall_ms));
  const replayed = (replay?.steps ?? []).filter((s) => s.rank === r.rank);
  const width = Math.min(60, 690 / Math.max(1, steps.length));
  return (
    <section>
      <h2>Iterations</h2>
      <p>{r.devices.length > 0 ? `${[...new Set(r.devices)].join(", ")}. ` : ""}{r.format}, {count(profile.ranks.length)} {profile.ranks.length === 1 ? "rank" : "ranks"}{profile.world_size > profile.ranks.length ? ` of ${profile.world_size}` : ""}.
        {replay && <span id="replay-line"> <b>{ms(replay.replayed_ms)} replayed</b>{replay.measured_ms !== null && <>, {ms(replay.measured_ms)} measured: {signed(replay.replayed_ms / replay.measured_ms - 1)}; worst step {percent(Math.abs(replay.worst_error), 2)}</>}.</span>}
        {looked.no_replay && <span class="soft"> No replay: {looked.no_replay}</span>}</p>
      {profile.ranks.length > 1 && <div class="toolbar"><label>Rank <select value={String(rank)} onChange={(e) => setRank(Number(e.currentTarget.value))}>{profile.ranks.map((x, i) => <option key={i} value={String(i)}>{x.rank}</option>)}</select></label></div>}
      {steps.length > 0 && (
        <figure>
          <Chart id="trace-steps" label={`Parts of ${steps.length} iterations of rank ${r.rank}, measured, and their times as replayed`} x={[0, steps.length]} y={[0, most * 1.05, ...replayed.map((s) => s.replayed_ms)]} zeroY xName="iteration" yName="" xText={(v) => (Number.isInteger(v) && v < steps.length ? String(v) : "")} yText={tick}>
            {(x, y) => (
              <>
                {steps.map((s, i) => { let below = 0; return <g key={i}>{PARTS.map(([key, name, colour]) => { const v = part(s, key), top = y(below + v), height = y(below) - top; below += v; return <rect key={key} class={colour} x={x(i + 0.5) - width * 0.35} y={top} width={width * 0.7} height={Math.max(0, height)}><title>{`${s.step}: ${name} ${ms(v)}${s.measured_ms ? `, measured ${ms(s.measured_ms)}` : ""}`}</title></rect>; })}</g>; })}
                {replayed.slice(0, steps.length).map((s, i) => <g key={i} class="replayed"><line class="axis" x1={x(i + 0.5) - width * 0.45} x2={x(i + 0.5) + width * 0.45} y1={y(s.replayed_ms)} y2={y(s.replayed_ms)}><title>{`${s.step}: replayed ${ms(s.replayed_ms)}${s.measured_ms !== null ? `, measured ${ms(s.measured_ms)} (${signed(s.replayed_ms / s.measured_ms - 1)})` : ""}`}</title></line></g>)}
              </>
            )}
          </Chart>
          <figcaption class="legend small">{PARTS.map(([, name, colour]) => <span key={name}><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class={colour} width="10" height="10" /></svg> {name}</span>)}<span>bar: the step's window, as measured; line: step time as replayed</span></figcaption>
        </figure>
      )}
      {profile.standing.some((s) => s.straggler) && <p class="problem">Stragglers: {profile.standing.filter((s) => s.straggler).map((s) => `rank ${s.rank} (others waited ${ms(s.made_others_wait_ms)} for it)`).join(", ")}.</p>}
      <NotesView notes={[...profile.missing.map((m) => `missing in the trace: ${m}`), ...profile.notes.assumptions, ...r.notes.assumptions, ...r.notes.left_out.map((d) => `not read: ${d.what} (${count(d.count)})`), ...(replay?.assumptions ?? [])]} />
    </section>
  );
}

function NotesView({ notes }: { notes: string[] }) {
  const all = [...new Set(notes)];
  return all.length === 0 ? null : <details><summary>{all.length} {all.length === 1 ? "assumption" : "assumptions and notes"}</summary><ul>{all.map((n) => <li key={n} class="small">{n}</li>)}</ul></details>;
}

function bodyOf(store: Store, looked: Looked, w: WhatIf): Record<string, unknown> {
  const body: Record<string, unknown> = { files: looked.files, remove: w.remove, fuse: w.fuse.trim() ? [w.fuse.trim()] : [], sets: w.moved ? w.sets.split(";").map((s) => s.trim()).filter(Boolean) : [] };
  if (w.moved) {
    body.text = store.shown?.text ?? store.text;
    if (w.on.trim()) body.measured_on = w.on.trim();
    if (/^\d+$/.test(w.ranks.trim())) body.ranks = Number(w.ranks);
  }
  return body;
}

function WhatIfView({ store, looked }: { store: Store; looked: Looked }) {
  const [w, set] = useKept<WhatIf>("traces.form", FIRST);
  const [got, setGot] = useKept<Replay | null>("traces.whatif", null);
  const [failure, setFailure] = useKept<string>("traces.whatif.failure", "");
  const [busy, setBusy] = useKept<number>("traces.whatif.id", 0);
  const change = (more: Partial<WhatIf>) => set((now) => ({ ...now, ...more }));
  const run = async (timeline = false) => {
    setFailure("");
    const question = store.connection.ask("replay", { ...bodyOf(store, looked, w), timeline });
    setBusy(question.id);
    const answer = await question;
    setBusy(0);
    if (answer.type !== "replay") return setFailure(why(answer));
    if (timeline) save(`${answer.path as string}?token=${encodeURIComponent(store.token)}`, "replay.json");
    else setGot(answer.result as Replay);
  };
  if (!looked.replay) return null;
  const context = store.report?.context;
  return (
    <section>
      <h2>What if</h2>
      <div class="toolbar">
        <label><input type="checkbox" id="whatif-moved" checked={w.moved} onChange={(e) => change({ moved: e.currentTarget.checked })} /> on the experiment's cluster{context ? `: ${context.nodes} x ${context.gpus_per_node} ${context.system}` : ""}</label>
        {w.moved && <>
          <label>measured on <input id="whatif-on" list="calculator-systems-traces" value={w.on} placeholder="as the trace says" spellcheck={false} onInput={(e) => change({ on: e.currentTarget.value })} /></label>
          <datalist id="calculator-systems-traces">{(store.lists?.systems ?? []).map((s) => <option key={s.name} value={s.name} />)}</datalist>
          <label>ranks <input class="short" value={w.ranks} placeholder="all" inputMode="numeric" onInput={(e) => change({ ranks: e.currentTarget.value })} /></label>
          <label class="wide">with <input value={w.sets} placeholder="cluster.host.dispatch_scale=0.5; cluster.nic.bandwidth=50 GB/s" spellcheck={false} onInput={(e) => change({ sets: e.currentTarget.value })} /></label>
        </>}
      </div>
      <div class="toolbar">
        <label class="wide">without kernels <input id="whatif-remove" value={w.remove.join(" | ")} placeholder="regular expression of names; or press 'without' in the table" spellcheck={false} onChange={(e) => change({ remove: e.currentTarget.value.trim() ? [e.currentTarget.value.trim()] : [] })} /></label>
        <label class="wide">fusing neighbours <input value={w.fuse} placeholder="regular expression of names" spellcheck={false} onChange={(e) => change({ fuse: e.currentTarget.value })} /></label>
        {busy === 0 ? <button id="run-whatif" onClick={() => void run()}>Replay so</button> : <button onClick={() => store.connection.cancel(busy)}>Cancel</button>}
        <button class="quiet" onClick={() => void run(true)}>download both for Perfetto</button>
      </div>
      {failure && <p class="problem" role="alert">{failure}</p>}
      {got && (
        <div id="whatif">
          {got.what_if_ms === undefined ? <p>Nothing changes: {ms(got.replayed_ms)}, as replayed.</p> : <p><b>{ms(got.what_if_ms)}</b>, {signed(got.what_if_ms / got.replayed_ms - 1)} relative to the replay of {ms(got.replayed_ms)}.</p>}
          {(got.changes ?? []).length > 0 && <ul>{got.changes!.map((c) => <li key={c} class="small">{c}</li>)}</ul>}
          <NotesView notes={got.assumptions.filter((a) => !looked.replay!.assumptions.includes(a))} />
        </div>
      )}
    </section>
  );
}

function ChakraView({ store, looked }: { store: Store; looked: Looked }) {
  const [got, setGot] = useKept<Chakra | null>("traces.chakra", null);
  const [failure, setFailure] = useKept<string>("traces.chakra.failure", "");
  const [ranks, setRanks] = useKept<string>("traces.chakra.ranks", "");
  const text = store.shown?.text;
  const run = async () => {
    const answer = await store.connection.ask("replay", { files: looked.files, text, ...(/^\d+$/.test(ranks) ? { ranks: Number(ranks) } : {}) });
    if (answer.type === "replay") { setGot(answer.result as Chakra); setFailure(""); } else setFailure(why(answer));
  };
  useEffect(() => { if (text) { const timer = setTimeout(() => void run(), 250); return () => clearTimeout(timer); } }, [text, ranks, looked]);
  const names: Record<string, string> = { compute: "compute", exposed_comm: "exposed communication", waiting: "waiting", host: "host", idle: "idle", comm: "communication in all" };
  return (
    <section>
      <h2>Chakra job on the experiment's cluster</h2>
      <p class="soft small">The sliders on the left move it: the job is played again on the cluster of the experiment.</p>
      {looked.names.length === 1 && <div class="toolbar"><label>on so many ranks <input class="short" value={ranks} placeholder="1" inputMode="numeric" onInput={(e) => setRanks(e.currentTarget.value)} /></label></div>}
      {failure && <p class="problem" role="alert">{failure}</p>}
      {got && <div id="chakra"><p><b>{ms(got.makespan_ms)}</b> on {got.where}, {got.ranks} {got.ranks === 1 ? "rank" : "ranks"}.</p>
        <table class="plain"><thead><tr><th>part</th><th class="n">mean over ranks</th><th class="n">least</th><th class="n">most</th></tr></thead><tbody>{Object.entries(got.parts_ms).map(([k, v]) => <tr key={k}><td>{names[k] ?? k.replaceAll("_", " ")}</td><td class="n">{ms(v.mean)}</td><td class="n">{ms(v.least)}</td><td class="n">{ms(v.most)}</td></tr>)}</tbody></table>
        <NotesView notes={got.assumptions} /></div>}
    </section>
  );
}

function Tables({ store, profile, looked }: { store: Store; profile: Profile; looked: Looked }) {
  const [rank] = useKept<number>("traces.rank", 0);
  const r = profile.ranks[Math.min(rank, profile.ranks.length - 1)];
  const without = async (name: string) => {
    const remove = [regex(name)];
    setKept<WhatIf>("traces.form", (w) => ({ ...w, remove }), FIRST);
    const answer = await store.connection.ask("replay", { files: looked.files, remove });
    if (answer.type === "replay") setKept<Replay | null>("traces.whatif", answer.result as Replay, null);
    else setKept("traces.whatif.failure", why(answer), "");
    document.getElementById("run-whatif")?.scrollIntoView({ block: "center" });
  };
  return (
    <>
      <section>
        <h2>Kernels and copies</h2>
        <div class="scroll tall" tabIndex={0} role="region" aria-label="Kernels"><table id="trace-kernels">
          <thead><tr><th>name</th><th class="n">calls</th><th class="n">total</th><th class="n">mean</th><th class="n">least .. most</th><th class="n">occupancy</th><th /></tr></thead>
          <tbody>{r.kernels.slice(0, MOST_ROWS).map((k) => <tr key={k.name}><td class="cut" title={k.name}>{k.name}</td><td class="n">{count(k.calls)}</td><td class="n">{ms(k.total_ms)}</td><td class="n">{ms(k.total_ms / Math.max(1, k.calls))}</td><td class="n">{ms(k.min_us / 1000)} .. {ms(k.max_us / 1000)}</td><td class="n">{k.occupancy === null ? "" : percent(k.occupancy, 0)}</td><td>{looked.replay && <button class="quiet" onClick={() => void without(k.name)} aria-label={`Replay without ${k.name}`}>without</button>}</td></tr>)}</tbody>
        </table></div>
        {r.kernels.length > MOST_ROWS && <p class="small soft">{r.kernels.length - MOST_ROWS} more; `distsim profile --json` has all.</p>}
      </section>
      {r.ops.length > 0 && <section>
        <h2>Ops by shape</h2>
        <div class="scroll tall" tabIndex={0} role="region" aria-label="Ops by shape"><table>
          <thead><tr><th>op</th><th>shapes</th><th class="n">calls</th><th class="n">device time</th><th class="n">TFLOP/s</th><th class="n">GB/s</th></tr></thead>
          <tbody>{r.ops.slice(0, MOST_ROWS).map((o, i) => <tr key={i}><td>{o.op}</td><td class="cut" title={o.shapes}>{o.shapes}</td><td class="n">{count(o.calls)}</td><td class="n">{ms(o.device_ms)}</td><td class="n">{o.tflops ? digits(o.tflops) : ""}</td><td class="n">{o.GBps ? digits(o.GBps) : ""}</td></tr>)}</tbody>
        </table></div>
      </section>}
      {profile.collectives.length > 0 && <section>
        <h2>Collectives</h2>
        <div class="scroll" tabIndex={0} role="region" aria-label="Measured collectives"><table>
          <thead><tr><th>kind</th><th class="n">ranks</th><th class="n">size</th><th class="n">calls</th><th class="n">mean</th><th class="n">transfer</th><th class="n">skew</th><th class="n">bus bandwidth</th></tr></thead>
          <tbody>{profile.collectives.slice(0, MOST_ROWS).map((c, i) => <tr key={i}><td>{c.kind}</td><td class="n">{c.group_size}</td><td class="n">{c.bytes === null ? "" : bytes(c.bytes)}</td><td class="n">{count(c.calls)}</td><td class="n">{ms(c.mean_us / 1000)}</td><td class="n">{c.transfer_us === null ? "" : ms(c.transfer_us / 1000)}</td><td class="n">{c.skew_median_us === null ? "" : ms(c.skew_median_us / 1000)}</td><td class="n">{c.busbw_GBps ? `${digits(c.busbw_GBps)} GB/s` : ""}</td></tr>)}</tbody>
        </table></div>
      </section>}
      <section>
        <h2>Host overheads</h2>
        <table class="plain"><thead><tr><th>between</th><th class="n">count</th><th class="n">median</th><th class="n">mean</th><th class="n">90th percentile</th></tr></thead>
          <tbody>{Object.entries({ T1: "two ops of a thread (T1)", T2: "an op's start and its first launch (T2)", T3: "its last launch and its end (T3)", T4: "begin and end of a launching call (T4)", T5: "two launches of an op (T5)" }).filter(([k]) => (r.host_overheads[k]?.count ?? 0) > 0).map(([k, name]) => { const o = r.host_overheads[k]; return <tr key={k}><td>{name}</td><td class="n">{count(o.count)}</td><td class="n">{ms(o.median_us / 1000)}</td><td class="n">{ms(o.mean_us / 1000)}</td><td class="n">{ms(o.p90_us / 1000)}</td></tr>; })}</tbody></table>
      </section>
    </>
  );
}
