// Pages of their own: the views of distsim serve over data that the page holds.
import { ComponentChildren, render } from "preact";
import { useState } from "preact/hooks";
import { Sensitivity, SensitivityTable, Sweep, SweepCharts, SweepTable, Tornado } from "./pictures/charts";
import { WaterfallChart } from "./compare";
import { count, ms, msRange } from "./format";
import { LinkLoads, NetworkView } from "./pictures/network";
import { joined, Plan, PlanView } from "./pictures/plan_view";
import { Schedule, ScheduleView } from "./pictures/schedule";
import { Basis, Causes, Cycle, Headline, Overview, PARTS, Ranks, Scroll, Tables } from "./report/see";
import { TimelineView } from "./pictures/timeline/timeline";
import { TimelineSource } from "./pictures/timeline/windows";
import { About, Frame, goTo } from "./pages/frame";
import { HugectrData, HugectrPage } from "./pages/hugectr_page";
import { ProfileData, ProfilePage } from "./pages/profile_page";
import { ServingData, ServingPage } from "./pages/serving_page";
import { ServingSweepData, ServingSweepPage } from "./pages/serving_sweep_page";
import { Report, Timeline } from "./types";
import { WhyId, WhyOpen, WhyPanel } from "./report/why";

interface Told { report: Report; causes: Causes; timeline: Timeline }
interface ReportData extends Told { kind: "report"; schedule: Schedule | null; links: LinkLoads | null }
interface Side extends Told { letter: string; name: string; ratio: { value: number; low: number; high: number; text: string }; scaled_ms: number; parts: { name: string; first_ms: number; ms: number }[] }
interface CompareData { kind: "compare"; per_sample: boolean; inputs: { key: string; values: string[] }[]; sides: Side[] }
interface SweepData extends Sweep { kind: "sweep"; title: string; facts: string; note: string; reasons: string }
interface SensitivityData { kind: "sensitivity"; title: string; sentences: string[]; result: Sensitivity }
interface PlanData { kind: "plan"; title: string; summary: string[]; columns: { key: string; head: string }[]; plan: Plan }
type PageData = ReportData | CompareData | SweepData | SensitivityData | PlanData | ProfileData | ServingData | ServingSweepData | HugectrData;

// Numbers within it say what they rest on in this report.
function Rests({ report, onAll, children }: { report: Report; onAll: () => void; children: ComponentChildren }) {
  const [why, setWhy] = useState<WhyId | null>(null);
  return <WhyOpen.Provider value={setWhy}>{children}<WhyPanel report={report} id={why} close={() => setWhy(null)} onAll={onAll} /></WhyOpen.Provider>;
}

const held = (timeline: Timeline): TimelineSource => Object.assign(() => Promise.resolve(timeline), { isWhole: true });
const machine = (r: Report) => `${r.context.nodes} x ${r.context.gpus_per_node} ${r.context.device}`;

function ReportPage({ data }: { data: ReportData }) {
  const r = data.report, c = r.context;
  return (
    <Frame title={c.title || (c.model ? `${c.model} on ${c.system}` : "Training iteration")} under={[machine(r), c.system, c.model, c.framework].filter(Boolean).join(" · ")}>
      <Rests report={r} onAll={goTo("basis")}>
      <Headline report={r} old={false} waiting="" onBasis={goTo("basis")} />
      <Overview report={r} causes={data.causes} />
      <TimelineView report={r} id="held" source={held(data.timeline)} />
      {data.schedule && <ScheduleView schedule={data.schedule} />}
      <Cycle report={r} />
      {data.links && <NetworkView loads={data.links} iteration={r.iteration_ms} limitedBy={r.limited_by} />}
      <Tables report={r} />
      <Ranks report={r} />
      <Basis report={r} />
      </Rests>
    </Frame>
  );
}

function ComparePage({ data }: { data: CompareData }) {
  const { sides } = data, first = sides[0], axis = Math.max(...sides.map((s) => s.timeline.period));
  const colour = (name: string) => PARTS.find((p) => p.name === name || p.name.startsWith(name.slice(0, 4)))?.colour ?? "c-idle";
  return (
    <Frame title="Comparison" under={sides.map((s) => `${s.letter}: ${s.name}`).join(" · ")}>
      <section>
        <h2>Experiments</h2>
        <Scroll label="Experiments"><table id="sides">
          <thead><tr><td /><th>experiment</th><th class="n">iteration</th><th class="n">range</th><th class="n">samples/s</th><th>limited by</th><th>time over that of A</th></tr></thead>
          <tbody>{sides.map((s) => <tr key={s.letter}><th scope="row">{s.letter}</th><td>{s.name}</td><td class="n">{ms(s.report.iteration_ms)}</td><td class="n">{msRange(s.report.low_ms, s.report.high_ms, " .. ")}</td><td class="n">{count(s.report.samples_per_second)}</td><td>{s.report.limited_by}</td><td>{s.ratio.text}</td></tr>)}</tbody>
        </table></Scroll>
        {data.per_sample && <p class="small soft">The batches differ: ratios and differences are per sample, for the samples of A.</p>}
      </section>
      {sides.slice(1).map((s) => <Rests key={s.letter} report={s.report} onAll={goTo(`rests-${s.letter}`)}><section><WaterfallChart from="A" to={s.letter} first={first.report.iteration_ms} last={s.scaled_ms} steps={s.parts.map((p) => ({ name: p.name, colour: colour(p.name), change: p.ms - p.first_ms }))} /></section></Rests>)}
      {sides.map((s) => <Rests key={s.letter} report={s.report} onAll={goTo(`rests-${s.letter}`)}><TimelineView report={s.report} id={s.letter} name={`timeline-${s.letter}`} source={held(s.timeline)} title={`Timeline of ${s.letter}, ${s.name}`} axis={axis} /></Rests>)}
      <section>
        <h2>Inputs that differ</h2>
        {data.inputs.length === 0 ? <p class="soft">All the same.</p> : (
          <Scroll label="Inputs that differ"><table><thead><tr><th>key</th>{sides.map((s) => <th key={s.letter}>{s.letter}</th>)}</tr></thead><tbody>{data.inputs.map((d) => <tr key={d.key}><th scope="row">{d.key}</th>{d.values.map((v, i) => <td key={i}>{v}</td>)}</tr>)}</tbody></table></Scroll>
        )}
      </section>
      {sides.map((s) => <section key={s.letter}><h2>What {s.letter} rests on</h2><Basis report={s.report} id={`rests-${s.letter}`} /></section>)}
    </Frame>
  );
}

function SweepPage({ data }: { data: SweepData }) {
  return (
    <Frame title={data.title} under={data.facts}>
      <section><SweepCharts sweep={data} /></section>
      <section><h2>Points</h2><SweepTable sweep={data} />{data.note && <p class="small soft">{data.note}</p>}{data.reasons.trim() && <pre>{data.reasons.trim()}</pre>}</section>
      <About>Each point is a prediction of its own. The band around a curve of the iteration is the range of each prediction, about the 10th to 90th percentile of where a measurement would fall. What a point rests on stands in its report: <code>distsim --set KEY=VALUE --html report.html</code> with the values of the point.</About>
    </Frame>
  );
}

function SensitivityPage({ data }: { data: SensitivityData }) {
  return (
    <Frame title={data.title} under={`${ms(data.result.iteration_ms)} per iteration`}>
      <section><ul>{data.sentences.map((s) => <li key={s}>{s}</li>)}</ul><Tornado found={data.result} /></section>
      <section><h2>Change of the iteration</h2><SensitivityTable found={data.result} /></section>
      <About>Each figure is a prediction of the whole experiment with one resource half as good, twice as good, or without limit. The elasticity is the change of the iteration in percent for one percent of the resource.</About>
    </Frame>
  );
}

function PlanPage({ data }: { data: PlanData }) {
  return (
    <Frame title={data.title}>
      <section>{joined(data.summary).map((line) => <p key={line}>{line}</p>)}</section>
      <PlanView plan={data.plan} columns={data.columns} />
      <About>Each row is a prediction of the whole experiment with these keys. What a row rests on stands in its report: <code>distsim --html report.html</code> with the row's keys as <code>--set</code>.</About>
    </Frame>
  );
}

export function renderPage(place: Element, text: string) {
  const data = JSON.parse(text) as PageData;
  switch (data.kind) {
    case "report": return render(<ReportPage data={data} />, place);
    case "compare": return render(<ComparePage data={data} />, place);
    case "sweep": return render(<SweepPage data={data} />, place);
    case "sensitivity": return render(<SensitivityPage data={data} />, place);
    case "plan": return render(<PlanPage data={data} />, place);
    case "profile": return render(<ProfilePage data={data} />, place);
    case "serving": return render(<ServingPage data={data} />, place);
    case "serving_sweep": return render(<ServingSweepPage data={data} />, place);
    case "hugectr": return render(<HugectrPage data={data} />, place);
  }
}
