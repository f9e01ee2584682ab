// Plans: the search for the best way to run the experiment, started here; every layout that was played leads to its experiment.
import { Chart, Mark } from "./chart";
import { Answer } from "./connection";
import { why } from "./explore";
import { bytes, count, digits, ms, percent, tick } from "./format";
import { useKept } from "./kept";
import { Store } from "./store";

interface PlanRow { keys: Record<string, string>; baseline: boolean; fits: boolean; error: string; iteration_ms?: number; low_ms?: number; high_ms?: number; samples_per_s?: number; tokens_per_s_per_gpu?: number; mfu?: number; memory_gb?: number; limited_by?: string; why_slower?: string; cost?: number; set?: string[] }
interface Found { text: string; keys: string[]; summary: string[]; placement?: string; result: { subject: string; objective: string; rows: PlanRow[] } }
interface Played { set: string[]; iteration_ms: number; memory_gb: number; value: number | null }
interface Running { id: number; considered: number; done: number }
interface Unfinished { why: string; done: number; considered: number }
interface Asked { objective: string; second: string; gpus: string; vary: string; price: string }

const OBJECTIVES = ["time", "cost", "energy", "memory"];
const FIRST: Asked = { objective: "time", second: "", gpus: "", vary: "", price: "" };
const MOST_DOTS = 1500, MOST_PARTIAL = 20;

// "KEY=VALUE; KEY=VALUE": lists of values may hold commas.
const parts = (text: string) => text.split(";").map((t) => t.trim()).filter(Boolean);

// Those that nothing beats in both time and memory.
function frontOf(points: Played[]): Played[] {
  let least = Infinity;
  return [...points].sort((a, b) => a.iteration_ms - b.iteration_ms || a.memory_gb - b.memory_gb).filter((p) => { const better = p.memory_gb < least; least = Math.min(least, p.memory_gb); return better; });
}

const shortSets = (sets: string[]) => sets.map((s) => s.replace("parallel.", "")).filter((s) => !/=(1|0|false|automatic|none|\[\]|-)$/.test(s)).join(", ");

export function PlanView({ store }: { store: Store }) {
  const [asked, setAsked] = useKept<Asked>("plan.asked", FIRST);
  const [running, setRunning] = useKept<Running | null>("plan.running", null);
  const [found, setFound] = useKept<Found | null>("plan.found", null);
  const [played, setPlayed] = useKept<Played[]>("plan.played", []);
  const [base, setBase] = useKept<string>("plan.base", "");
  const [failure, setFailure] = useKept<string>("plan.failure", "");
  const [partial, setPartial] = useKept<Unfinished | null>("plan.partial", null);
  const change = (more: Partial<Asked>) => setAsked((a) => ({ ...a, ...more }));
  const run = async () => {
    const text = store.shown?.text ?? store.text;
    setBase(text); setFailure(""); setFound(null); setPlayed([]); setPartial(null);
    const body: Record<string, unknown> = { text, objective: asked.second ? `${asked.objective},${asked.second}` : asked.objective, vary: parts(asked.vary), top: 20 };
    if (asked.gpus.trim()) body.gpus = asked.gpus.trim();
    if (asked.price.trim()) body.price = Number(asked.price);
    let last = { considered: 0, done: 0 }, points = 0;
    const take = (p: Answer) => {
      const fresh = (p.points as Played[] | undefined) ?? [];
      points += fresh.length;
      setPlayed((now) => [...now, ...fresh]);
      last = { considered: p.considered as number, done: p.done as number };
      setRunning({ id: question.id, ...last });
    };
    const question = store.connection.ask("plan", body, take);
    setRunning({ id: question.id, considered: 0, done: 0 });
    const answer = await question;
    setRunning(null);
    if (answer.type === "plan") setFound(answer as unknown as Found);
    else if (points > 0) setPartial({ why: why(answer), ...last });
    else setFailure(why(answer));
  };
  const open = (sets: string[]) => {
    store.open(base);
    if (sets.length > 0) store.edit(sets.map((s) => ({ key: s.slice(0, s.indexOf("=")), value: s.slice(s.indexOf("=") + 1) })));
    store.say("The layout is the experiment now. Undo goes back.");
  };
  return (
    <section>
      <h2>Plan: the best way to run it</h2>
      <p class="soft small">Language models: every layout of tensor, pipeline, expert, context and data parallelism, schedules, sharding and recomputation that fits, as <code>distsim plan</code> searches them. Recommenders: where the tables lie. Others: buckets, compression, algorithms, accumulation.</p>
      <div class="toolbar">
        <label>Least <select id="plan-objective" value={asked.objective} onChange={(e) => change({ objective: e.currentTarget.value })}>{OBJECTIVES.map((o) => <option key={o} value={o}>{o}</option>)}</select></label>
        <label>against <select id="plan-second" value={asked.second} onChange={(e) => change({ second: e.currentTarget.value })}><option value="">nothing else</option>{OBJECTIVES.filter((o) => o !== asked.objective).map((o) => <option key={o} value={o}>{o}</option>)}</select></label>
        <label>GPUs <input id="plan-gpus" class="short" value={asked.gpus} placeholder="as they are" spellcheck={false} title="64,96 or 64..1024 in powers of two" onInput={(e) => change({ gpus: e.currentTarget.value })} /></label>
        <label>price per GPU and hour <input class="short" value={asked.price} inputMode="decimal" onInput={(e) => change({ price: e.currentTarget.value })} /></label>
        <label class="wide">also vary <input value={asked.vary} spellcheck={false} placeholder="model.precision=bf16,fp8; parallel.tensor=1,2,4" onInput={(e) => change({ vary: e.currentTarget.value })} /></label>
        {!running && <button id="run-plan" onClick={() => void run()} disabled={!store.report}>Search</button>}
      </div>
      {running && <p class="progress" id="plan-progress"><progress aria-label="Searching" /> {count(running.done)} played of {count(running.considered)} considered; bounds leave out the rest <button id="cancel-plan" onClick={() => store.connection.cancel(running.id)}>Cancel</button></p>}
      {failure && <p class="problem" role="alert">{failure}</p>}
      {partial && <p class="partial" role="alert" id="plan-partial">{partial.why} What was found before that stays: {count(partial.done)} of {count(partial.considered)} layouts had been played, and better ones may be among the rest.</p>}
      {(played.length > 0 || found) && <Picture played={played} found={found} open={open} />}
      {found && <Rows found={found} open={open} store={store} />}
      {partial && <PartialRows played={played} objective={asked.objective} open={open} />}
    </section>
  );
}

function Picture({ played, found, open }: { played: Played[]; found: Found | null; open: (sets: string[]) => void }) {
  const rows = (found?.result.rows ?? []).filter((r) => !r.error && r.iteration_ms !== undefined);
  const front = frontOf([...played, ...rows.map((r) => ({ set: r.set ?? [], iteration_ms: r.iteration_ms!, memory_gb: r.memory_gb ?? 0, value: null }))]);
  const every = Math.max(1, Math.ceil(played.length / MOST_DOTS)), dots = played.filter((_, i) => i % every === 0);
  const all = [...dots, ...front];
  const xs = [...all.map((p) => p.memory_gb), ...rows.map((r) => r.memory_gb ?? 0)], ys = [...all.map((p) => p.iteration_ms), ...rows.map((r) => r.iteration_ms!)];
  if (xs.length === 0) return null;
  const logY = Math.max(...ys) / Math.min(...ys) > 4;
  const text = (p: Played) => `${ms(p.iteration_ms)}, ${bytes(p.memory_gb * 1e9)}: ${shortSets(p.set) || "as it is"}`;
  return (
    <figure>
      <Chart id="plan-chart" label="Layouts that were played: time of an iteration over the memory of the fullest GPU" x={xs} y={ys} logY={logY} xName="memory of the fullest GPU" yName="iteration" xText={(v) => bytes(v * 1e9)} yText={tick}>
        {(x, y) => (
          <>
            <polyline class="line-1 front" points={front.flatMap((p, i) => (i === 0 ? [] : [`${x(front[i - 1].memory_gb)},${y(p.iteration_ms)}`]).concat(`${x(p.memory_gb)},${y(p.iteration_ms)}`)).join(" ")} />
            <g class="line-5 pale-dots">{dots.map((p, i) => <circle key={i} cx={x(p.memory_gb)} cy={y(p.iteration_ms)} r="3" onClick={() => open(p.set)}><title>{text(p)}</title></circle>)}</g>
            <g class="line-1">{front.map((p, i) => <Mark key={i} x={x(p.memory_gb)} y={y(p.iteration_ms)} title={text(p)} open={() => open(p.set)} />)}</g>
            <g class="line-0">{rows.map((r, i) => <Mark key={i} kind={r.baseline ? "hollow" : ""} x={x(r.memory_gb ?? 0)} y={y(r.iteration_ms!)} r={r.baseline ? 8 : 5} title={`${r.baseline ? "the experiment as it is: " : ""}${ms(r.iteration_ms!)}, ${bytes((r.memory_gb ?? 0) * 1e9)}`} open={() => open(r.set ?? [])} />)}</g>
          </>
        )}
      </Chart>
      <figcaption class="legend small"><span><Swatch n={5} /> played{every > 1 ? ` (one of ${every} shown)` : ""}</span><span><Swatch n={1} /> nothing played is better in both</span>{found && <><span><Swatch n={0} /> rows of the table</span><span>ring: the experiment as it is</span></>}</figcaption>
    </figure>
  );
}

function Swatch({ n }: { n: number }) { return <svg class={`swatch line-${n}`} viewBox="0 0 10 10" aria-hidden="true"><circle cx="5" cy="5" r="5" /></svg>; }

// The best of what was played until a search was cancelled.
function PartialRows({ played, objective, open }: { played: Played[]; objective: string; open: (sets: string[]) => void }) {
  const best = [...played].sort((a, b) => (a.value ?? Infinity) - (b.value ?? Infinity)).slice(0, MOST_PARTIAL);
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label="Partial plan"><table id="plan-partial-table">
      <caption class="small">Partial: the least {objective} among {count(played.length)} layouts that were played</caption>
      <thead><tr><td /><th class="n">iteration</th><th class="n">memory</th><th>layout</th><td /></tr></thead>
      <tbody>{best.map((p, i) => <tr key={i}><th scope="row">{i + 1}</th><td class="n">{ms(p.iteration_ms)}</td><td class="n">{bytes(p.memory_gb * 1e9)}</td><td>{shortSets(p.set) || "as it is"}</td><td><button class="quiet" onClick={() => open(p.set)}>open</button></td></tr>)}</tbody>
    </table></div>
  );
}

function Rows({ found, open, store }: { found: Found; open: (sets: string[]) => void; store: Store }) {
  const rows = found.result.rows, first = rows[0];
  const tokens = (first?.tokens_per_s_per_gpu ?? 0) > 0, cost = rows.some((r) => (r.cost ?? 0) > 0);
  const short = (key: string) => key.split(".").pop()!.replaceAll("_", " ");
  const shown = found.keys.filter((k) => rows.some((r) => r.keys[k] !== rows[0].keys[k]) || rows[0].keys[k] !== "automatic");
  return (
    <>
      <p class="small" id="plan-summary">{found.summary.join(" · ")}</p>
      {found.placement && <p class="small"><a href={`${found.placement}?token=${encodeURIComponent(store.token)}`} download="placement.csv">Download the placement of the tables</a> (kept for two minutes), for <code>parallel.placement_file</code>.</p>}
      <div class="scroll tall" tabIndex={0} role="region" aria-label="Rows of the plan"><table id="plan-table">
        <thead><tr><td /><th class="n">iteration</th><th class="n">range</th>{shown.map((k) => <th key={k} class="n" title={k}>{short(k)}</th>)}<th class="n">{tokens ? "tokens/s per GPU" : "samples/s"}</th><th class="n">MFU</th><th class="n">memory</th>{cost && <th class="n">cost</th>}<th>limited by</th><th>slower by, most</th><td /></tr></thead>
        <tbody>{rows.map((r, i) => (
          <tr key={i} class={r.error ? "soft" : ""}><td>{r.baseline ? "as it is" : i + 1}</td>
            <td class="n">{r.iteration_ms !== undefined ? ms(r.iteration_ms) : ""}</td><td class="n">{r.low_ms !== undefined ? `${ms(r.low_ms)} .. ${ms(r.high_ms!)}` : ""}</td>
            {shown.map((k) => <td key={k} class="n cut" title={r.keys[k]}>{r.keys[k]}</td>)}
            <td class="n">{r.error ? "" : count((tokens ? r.tokens_per_s_per_gpu : r.samples_per_s) ?? 0)}</td><td class="n">{r.mfu ? percent(r.mfu) : ""}</td><td class="n">{r.memory_gb !== undefined ? bytes(r.memory_gb * 1e9) : ""}</td>
            {cost && <td class="n">{r.cost ? digits(r.cost, 4) : ""}</td>}
            <td>{r.limited_by}</td><td>{r.error ? (r.fits ? r.error : "does not fit") : r.why_slower}</td>
            <td>{!r.error && <button class="quiet" onClick={() => open(r.set ?? [])}>open</button>}</td></tr>
        ))}</tbody>
      </table></div>
    </>
  );
}
