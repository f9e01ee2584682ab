// Measured traces: dropped on the page or named on the command line; their profile, measured against replayed, what-ifs.
import { useEffect } from "preact/hooks";
import { Answer } from "./connection";
import { why, wholeNumber } from "./problems";
import { bytes, ms, signed } from "./format";
import { AsItWas } from "./as_it_was";
import { setKept, useKept } from "./kept";
import { NotesView, Profile, ProfileSteps, ProfileTables, Replay } from "./report/profile_view";
import { save } from "./save";
import { Store } from "./store";

interface Sent { name: string; bytes: number; done: number; id?: string; failure?: string }
interface Chakra { makespan_ms: number; ranks: number; where: string; parts_ms: Record<string, { mean: number; least: number; most: number }>; assumptions: string[] }
interface Looked { files: string[]; names: string[]; format: string; profile?: Profile; replay?: Replay; no_replay?: string }
interface WhatIf { moved: boolean; on: string; remove: string[]; fuse: string; sets: string; ranks: string }

const FIRST: WhatIf = { moved: false, on: "", remove: [], fuse: "", sets: "", ranks: "" };
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
          <label class="file-button">Choose files<input type="file" id="trace-files" multiple onChange={(e) => { const files = [...(e.currentTarget.files ?? [])]; if (files.length > 0) void sendFiles(store, files); }} /></label>
          {(given?.length ?? 0) > 0 && <button onClick={() => void look(store, [], given!, steps)}>Those of the command line</button>}
          <label class="wide">Iterations are marked by <input value={steps} placeholder="ProfilerStep#N" spellcheck={false} title="Regular expression of the annotations that mark an iteration" onInput={(e) => setSteps(e.currentTarget.value)} /></label>
          {looked && <button class="quiet" onClick={() => void look(store, looked.files, looked.names, steps)}>read again</button>}
        </div>
        {sent.some((s) => !s.id) && <ul class="sent">{sent.map((s, i) => <li key={i}>{s.name}, {bytes(s.bytes)} {s.failure ? <span class="problem">{s.failure}</span> : s.id ? "" : <progress value={s.done} max={s.bytes} aria-label={`Sending ${s.name}`} />}</li>)}</ul>}
        {running && <p class="progress"><progress aria-label={running.what} /> {running.what} <button onClick={() => store.connection.cancel(running.id)}>Cancel</button></p>}
        {failure && <p class="problem" role="alert">{failure}</p>}
      </section>
      {looked && <p class="small">{failure && "Still shown: "}<span id="trace-names">{looked.names.join(", ")}</span></p>}
      {looked?.format === "chakra" && <ChakraView store={store} looked={looked} />}
      {looked?.profile && <ProfileOf store={store} looked={looked} profile={looked.profile} />}
    </>
  );
}

function bodyOf(store: Store, looked: Looked, w: WhatIf): Record<string, unknown> {
  const body: Record<string, unknown> = { files: looked.files, remove: w.remove, fuse: w.fuse.trim() ? [w.fuse.trim()] : [], sets: w.moved ? w.sets.split(";").map((s) => s.trim()).filter(Boolean) : [] };
  if (w.moved) {
    body.text = store.shown?.text ?? store.text;
    if (w.on.trim()) body.measured_on = w.on.trim();
    body.ranks = wholeNumber("ranks", w.ranks).value;
  }
  return body;
}

function WhatIfView({ store, looked }: { store: Store; looked: Looked }) {
  const [w, set] = useKept<WhatIf>("traces.form", FIRST);
  const [got, setGot] = useKept<Replay & { text?: string } | null>("traces.whatif", null);  // with the experiment that it was moved to
  const [failure, setFailure] = useKept<string>("traces.whatif.failure", "");
  const [busy, setBusy] = useKept<number>("traces.whatif.id", 0);
  const change = (more: Partial<WhatIf>) => set((now) => ({ ...now, ...more }));
  const run = async (timeline = false) => {
    const wrong = w.moved ? wholeNumber("ranks", w.ranks).problem : "";
    setFailure(wrong);
    if (wrong) return setGot(null);
    const body = bodyOf(store, looked, w);
    const question = store.connection.ask("replay", { ...body, timeline });
    setBusy(question.id);
    const answer = await question;
    setBusy(0);
    if (answer.type !== "replay") { setGot(null); return setFailure(why(answer)); }
    if (timeline) save(`${answer.path as string}?token=${encodeURIComponent(store.token)}`, "replay.json");
    else setGot({ ...(answer.result as Replay), text: body.text as string | undefined });
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
          <AsItWas store={store} text={got.text ?? ""} />
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
    const asked = wholeNumber("ranks", ranks);
    if (asked.problem) { setGot(null); return setFailure(asked.problem); }
    const answer = await store.connection.ask("replay", { files: looked.files, text, ranks: asked.value });
    if (answer.type === "replay") { setGot(answer.result as Chakra); setFailure(""); } else { setGot(null); setFailure(why(answer)); }
  };
  useEffect(() => { if (text) { const timer = setTimeout(() => void run(), 250); return () => clearTimeout(timer); } }, [text, ranks, looked]);
  const names: Record<string, string> = { compute: "compute", exposed_comm: "exposed communication", waiting: "waiting", host: "host", idle: "idle", total_comm: "communication in all" };
  return (
    <section>
      <h2>Chakra job on the experiment's cluster</h2>
      <p class="soft small">The sliders on the left move it: the job is played again on the cluster of the experiment.</p>
      {looked.names.length === 1 && <div class="toolbar"><label>on so many ranks <input class="short" value={ranks} placeholder="1" inputMode="numeric" onInput={(e) => setRanks(e.currentTarget.value)} /></label></div>}
      {failure && <p class="problem" role="alert">{failure}</p>}
      {got && <div id="chakra"><p><b>{ms(got.makespan_ms)}</b> {got.where}, {got.ranks} {got.ranks === 1 ? "rank" : "ranks"}.</p>
        <table class="plain"><thead><tr><th>part</th><th class="n">mean over ranks</th><th class="n">least</th><th class="n">most</th></tr></thead><tbody>{Object.entries(got.parts_ms).map(([k, v]) => <tr key={k}><td>{names[k] ?? k.replaceAll("_", " ")}</td><td class="n">{ms(v.mean)}</td><td class="n">{ms(v.least)}</td><td class="n">{ms(v.most)}</td></tr>)}</tbody></table>
        <NotesView notes={got.assumptions} /></div>}
    </section>
  );
}

function ProfileOf({ store, looked, profile }: { store: Store; looked: Looked; profile: Profile }) {
  const [rank, setRank] = useKept<number>("traces.rank", 0);
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
      <ProfileSteps profile={profile} rank={rank} onRank={setRank} replay={looked.replay} noReplay={looked.no_replay} />
      <WhatIfView store={store} looked={looked} />
      <ProfileTables profile={profile} rank={rank} onWithout={looked.replay ? (name) => void without(name) : undefined} />
    </>
  );
}
