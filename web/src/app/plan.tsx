// Plans: the search for the best way to run the experiment, started here; every layout that was played leads to its experiment.
import { Answer } from "./connection";
import { joined, PlanPicture, PlanRow, PlanTable, Played, shortSets } from "./pictures/plan_view";
import { why } from "./problems";
import { bytes, count, ms } from "./format";
import { AsItWas } from "./as_it_was";
import { useKept } from "./kept";
import { Store } from "./store";

interface Found { text: string; keys: string[]; summary: string[]; placement?: string; result: { subject: string; objective: string; rows: PlanRow[] } }
interface Running { id: number; considered: number; done: number }
interface Unfinished { why: string; done: number; considered: number }
interface Asked { objective: string; second: string; gpus: string; vary: string; price: string }

const OBJECTIVES = ["time", "cost", "energy", "memory"];
const FIRST: Asked = { objective: "time", second: "", gpus: "", vary: "", price: "" };
const MOST_PARTIAL = 20;

// "KEY=VALUE; KEY=VALUE": lists of values may hold commas.
const parts = (text: string) => text.split(";").map((t) => t.trim()).filter(Boolean);

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
    const price = asked.price.trim() === "" ? undefined : Number(asked.price.trim());
    if (price !== undefined && !(price >= 0)) return setFailure(`price per GPU and hour: found '${asked.price.trim()}', expected a number such as 2.50`);
    const text = store.shown?.text ?? store.text;
    setBase(text); setFailure(""); setFound(null); setPlayed([]); setPartial(null);
    const body: Record<string, unknown> = { text, objective: asked.second ? `${asked.objective},${asked.second}` : asked.objective, vary: parts(asked.vary), top: 20 };
    if (asked.gpus.trim()) body.gpus = asked.gpus.trim();
    if (price !== undefined) body.price = price;
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
        <label>price per GPU and hour <input class="short" id="plan-price" value={asked.price} inputMode="decimal" onInput={(e) => change({ price: e.currentTarget.value })} /></label>
        <label class="wide">also vary <input id="plan-vary" value={asked.vary} spellcheck={false} placeholder="model.precision=bf16,fp8; parallel.tensor=1,2,4" onInput={(e) => change({ vary: e.currentTarget.value })} /></label>
        {!running && <button id="run-plan" onClick={() => void run()} disabled={!store.report}>Search</button>}
      </div>
      {running && <p class="progress" id="plan-progress"><progress aria-label="Searching" /> {count(running.done)} played of {count(running.considered)} considered; bounds leave out the rest <button id="cancel-plan" onClick={() => store.connection.cancel(running.id)}>Cancel</button></p>}
      {failure && <p class="problem" role="alert">{failure}</p>}
      {partial && <p class="partial" role="alert" id="plan-partial">{partial.why} What was found before that stays: {count(partial.done)} of {count(partial.considered)} layouts had been played, and better ones may be among the rest.</p>}
      {(played.length > 0 || found) && <AsItWas store={store} text={base} />}
      {(played.length > 0 || found) && <PlanPicture rows={found?.result.rows ?? []} played={played} open={open} />}
      {found && <Rows found={found} open={open} store={store} />}
      {partial && <PartialRows played={played} objective={asked.objective} open={open} />}
    </section>
  );
}

// The best of what was played until a search was cancelled.
function PartialRows({ played, objective, open }: { played: Played[]; objective: string; open: (sets: string[]) => void }) {
  const best = [...played].sort((a, b) => (a.value ?? Infinity) - (b.value ?? Infinity)).slice(0, MOST_PARTIAL);
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label="Partial plan"><table id="plan-partial-table">
      <caption class="small">Partial: the least {objective} among {count(played.length)} layouts that were played</caption>
      <thead><tr><td /><th class="n">iteration</th><th class="n">memory</th><th>layout</th><td /></tr></thead>
      <tbody>{best.map((p, i) => <tr key={i}><th scope="row">{i + 1}</th><td class="n">{ms(p.iteration_ms)}</td><td class="n">{bytes(p.memory_gb * 1e9)}</td><td>{shortSets(p.set)}</td><td><button class="quiet" onClick={() => open(p.set)}>open</button></td></tr>)}</tbody>
    </table></div>
  );
}

function Rows({ found, open, store }: { found: Found; open: (sets: string[]) => void; store: Store }) {
  const rows = found.result.rows;
  const shown = found.keys.filter((k) => rows.some((r) => r.keys[k] !== rows[0].keys[k]) || rows[0].keys[k] !== "automatic");
  return (
    <>
      <ul class="small" id="plan-summary">{joined(found.summary).map((line) => <li key={line}>{line}</li>)}</ul>
      {found.placement && <p class="small"><a href={`${found.placement}?token=${encodeURIComponent(store.token)}`} download="placement.csv">Download the placement of the tables</a> (kept for two minutes), for <code>parallel.placement_file</code>.</p>}
      <PlanTable rows={rows} columns={shown.map((key) => ({ key, head: key.split(".").pop()!.replaceAll("_", " ") }))} open={open} />
    </>
  );
}
