// The measured iterations that come with distsim against their predictions; each leads to why, and to its experiment.
import { useEffect } from "preact/hooks";
import { Chart, Mark } from "./chart";
import { why } from "./problems";
import { ms, percent, signed, tick } from "./format";
import { useKept } from "./kept";
import { Explanation } from "./report/explanation";
import { Store } from "./store";

interface Case { id: string; family: string; tier: string; source: string; notes: string; measured_ms: number | null; failure?: string; framework?: string; model?: string; system?: string; precision?: string; nodes?: number; gpus?: number; predicted_ms?: number; low_ms?: number; high_ms?: number; error?: number; basis?: string; limited_by?: string }
interface Explained { case: string; explanation: string; text?: string }

export function ValidationView({ store }: { store: Store }) {
  const [cases, setCases] = useKept<Case[]>("validation.cases", []);
  const [summary, setSummary] = useKept<string>("validation.summary", "");
  const [running, setRunning] = useKept<{ id: number; done: number; total: number } | null>("validation.running", null);
  const [failure, setFailure] = useKept<string>("validation.failure", "");
  const [chosen, setChosen] = useKept<Explained | null>("validation.chosen", null);
  const run = async () => {
    setFailure("");
    const question = store.connection.ask("cases", {}, (p) => setRunning({ id: question.id, done: p.done as number, total: p.total as number }));
    setRunning({ id: question.id, done: 0, total: 1 });
    const answer = await question;
    setRunning(null);
    if (answer.type !== "cases") return setFailure(why(answer));
    setCases(answer.cases as Case[]);
    setSummary(answer.summary as string);
  };
  useEffect(() => { if (cases.length === 0 && !running && !failure) void run(); }, []);
  const choose = async (id: string) => {
    const answer = await store.connection.ask("case", { case: id });
    if (answer.type === "case") setChosen(answer as unknown as Explained);
    else setFailure(why(answer));
  };
  const good = cases.filter((c) => c.measured_ms && c.predicted_ms);
  const families = [...new Set(good.map((c) => c.family))];
  const times = good.flatMap((c) => [c.measured_ms!, c.predicted_ms!]);
  const low = Math.min(...times), high = Math.max(...times);
  const one = cases.find((c) => c.id === chosen?.case);
  return (
    <section>
      <h2>Measured iterations</h2>
      <p class="soft small">Published times of whole iterations that come with distsim, and what it predicts of the same experiments. A point opens its explanation.</p>
      {running && <p class="progress"><progress value={running.done} max={running.total} aria-label="Progress" /> {running.done} of {running.total} <button onClick={() => store.connection.cancel(running.id)}>Cancel</button></p>}
      {failure && <p class="problem" role="alert">{failure} <button onClick={() => void run()}>Try again</button></p>}
      {good.length > 0 && (
        <figure>
          <Chart id="validation-chart" label="Predicted over measured time of an iteration" x={[low, high]} y={[low, high, ...good.flatMap((c) => [c.low_ms!, c.high_ms!])]} logX logY xName="measured iteration" yName="predicted iteration" xText={tick} yText={tick}>
            {(x, y) => (
              <>
                <line class="axis" x1={x(low)} y1={y(low)} x2={x(high)} y2={y(high)} />
                <line class="axis dashed" x1={x(low)} y1={y(low * 1.2)} x2={x(high)} y2={y(high * 1.2)} /><line class="axis dashed" x1={x(low)} y1={y(low * 0.8)} x2={x(high)} y2={y(high * 0.8)} />
                {good.map((c) => (
                  <g key={c.id} class={`line-${families.indexOf(c.family) % 8}`}>
                    <line class="whisker" x1={x(c.measured_ms!)} x2={x(c.measured_ms!)} y1={y(c.low_ms!)} y2={y(c.high_ms!)} />
                    <Mark kind={c.id === chosen?.case ? "chosen" : ""} x={x(c.measured_ms!)} y={y(c.predicted_ms!)} title={`${c.id}: measured ${ms(c.measured_ms!)}, predicted ${ms(c.predicted_ms!)} (${signed(c.error ?? 0)})`} open={() => void choose(c.id)} />
                  </g>
                ))}
              </>
            )}
          </Chart>
          <figcaption class="legend small">{families.map((f, i) => <span key={f}><svg class={`swatch line-${i % 8}`} viewBox="0 0 10 10" aria-hidden="true"><circle cx="5" cy="5" r="5" /></svg> {f}</span>)}<span>line: equal; dashed: 20 % more or less; bars: the range that is stated</span></figcaption>
        </figure>
      )}
      {chosen && (
        <div id="case-explanation">
          <h3 class="long">{chosen.case}</h3>
          {one && <p class="small long">{one.source && <span>Published in {one.source}. </span>}{one.notes}</p>}
          <Explanation text={chosen.explanation} />
          {chosen.text && <button id="open-case" onClick={() => { store.open(chosen.text!); store.say("The case is the experiment now. Undo goes back."); }}>Open this experiment</button>}
        </div>
      )}
      {cases.length > 0 && (
        <div class="scroll tall" tabIndex={0} role="region" aria-label="Cases"><table id="validation-table">
          <thead><tr><th>case</th><th class="n">measured</th><th class="n">predicted</th><th class="n">error</th><th>in range</th><th class="n">GPUs</th><th>model and system</th><th>precision</th></tr></thead>
          <tbody>{cases.map((c) => (
            <tr key={c.id} aria-current={c.id === chosen?.case ? "true" : undefined}><td class="cut" title={c.id}>{c.failure ? c.id : <button class="link" aria-label={`Explain ${c.id}`} onClick={() => void choose(c.id)}>{c.id}</button>}<div class="small soft">{c.family}</div></td><td class="n">{c.measured_ms ? ms(c.measured_ms) : ""}</td>
              {c.failure ? <td colSpan={3} class="wrap">{c.failure}</td> : <><td class="n">{ms(c.predicted_ms!)}</td><td class="n">{c.error !== undefined ? signed(c.error) : ""}</td><td>{c.measured_ms && c.measured_ms >= c.low_ms! && c.measured_ms <= c.high_ms! ? "yes" : "no"}</td></>}
              <td class="n">{c.gpus}</td><td class="cut" title={`${c.model}, ${c.system}`}>{c.model}<div class="small soft">{c.system}</div></td><td>{c.precision}</td></tr>
          ))}</tbody>
        </table></div>
      )}
      {summary && <details><summary>Errors in numbers</summary><Explanation text={summary} label="Errors in numbers" /></details>}
      {good.length > 0 && <p class="small soft">{percent(good.filter((c) => c.measured_ms! >= c.low_ms! && c.measured_ms! <= c.high_ms!).length / good.length, 0)} of {good.length} measurements lie in the range that was stated.</p>}
    </section>
  );
}
