// The page of `distsim sweep --html` of a serving experiment: policies over the keys that are swept.
import { Sweep, SweepCharts, SweepTable } from "../pictures/charts";
import { About, Frame } from "./frame";

export interface ServingSweepData extends Sweep { kind: "serving_sweep"; title: string; facts: string; note: string; reasons: string }

export function ServingSweepPage({ data }: { data: ServingSweepData }) {
  return (
    <Frame title={data.title} under={data.facts} made="Emulated by distsim.">
      <section><SweepCharts sweep={data} /></section>
      <section><h2>Points</h2><SweepTable sweep={data} />{data.note && <p class="small soft">{data.note}</p>}{data.reasons.trim() && <pre>{data.reasons.trim()}</pre>}</section>
      <About>Every policy sees the same requests, at the same times, with the same seed. Latency is from the arrival of a request to its answer; goodput counts answers within their deadline. Above capacity, latencies grow with the length of the run. Where latencies come from, and what is left out, is in docs/serving.md; <code>distsim serving --set KEY=VALUE --html page.html</code> with the values of a point shows all of its latencies.</About>
    </Frame>
  );
}
