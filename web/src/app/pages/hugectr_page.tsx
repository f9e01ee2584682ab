// The page of `distsim hugectr scaling --html`: runs beside each other.
import { useChartWidth, WIDE } from "../chart";
import { ms } from "../format";
import { Picture } from "../pictures/picture";
import { Bar, Scroll } from "../report/see";
import { About, Frame } from "./frame";

export interface HugectrData { kind: "hugectr"; runs: { name: string; iteration_ms: number; slowest_ms: number; notes: string[] }[]; events: { label: string; mean_ms: (number | null)[]; max_ms: (number | null)[] }[] }

const LINE = 22, KINDS = 8;

export function HugectrPage({ data }: { data: HugectrData }) {
  const { runs, events } = data, across = useChartWidth(), isWide = across === WIDE;
  const LEFT = isWide ? 190 : 130, RIGHT = across - (isWide ? 100 : 76), ABOVE = isWide ? 0 : LINE;  // of a narrow one, the run's name
  const sum = (list: "mean_ms" | "max_ms", run: number) => events.reduce((total, e) => total + (e[list][run] ?? 0), 0);
  const most = Math.max(1e-9, ...runs.flatMap((r, i) => [r.iteration_ms, sum("mean_ms", i), sum("max_ms", i)]));
  const width = (v: number) => ((RIGHT - LEFT) * v) / most;
  const longest = Math.max(1e-9, ...events.flatMap((e) => e.mean_ms.map((v) => v ?? 0)));
  const notes = runs.flatMap((r) => r.notes.map((n) => `Run ${r.name}: ${n}.`));
  return (
    <Frame title="HugeCTR runs" under={runs.map((r) => r.name).join(", ")} made="Measured; read by distsim hugectr.">
      <section>
        <h2>Iterations and their events</h2>
        <Picture name="Iterations and their events">
          <figure>
            <svg class="chart" id="hugectr-chart" viewBox={`0 0 ${across} ${runs.length * (3 * LINE + ABOVE + 14) + 6}`} role="img" aria-label={runs.map((r, i) => `${r.name}: iteration ${ms(r.iteration_ms)}, events ${ms(sum("mean_ms", i))}, their maxima ${ms(sum("max_ms", i))}`).join("; ")}>
              {runs.map((r, i) => {
                const y = 4 + i * (3 * LINE + ABOVE + 14);
                return (
                  <g key={r.name}>
                    <text class="t" x="0" y={y + 15}>{r.name.length > 14 ? `${r.name.slice(0, 13)}…` : r.name}<title>{r.name}</title></text>
                    {([["iteration", null], ["events, mean", "mean_ms"], ["events, maximum", "max_ms"]] as const).map(([head, list], k) => {
                      let x = LEFT;
                      const at = y + ABOVE + k * LINE, total = list === null ? r.iteration_ms : sum(list, i);
                      return (
                        <g key={head}>
                          <text class="t soft small" x={LEFT - 8} y={at + 15} text-anchor="end">{head}</text>
                          {list === null ? <rect class="c-fill" x={LEFT} y={at + 2} width={width(total)} height={LINE - 5} />
                            : events.map((e, n) => { const v = e[list][i] ?? 0, from = x; x += width(v); return v > 0 && <rect key={e.label} class={`fill line-${n % KINDS}`} x={from} y={at + 2} width={Math.max(0.3, width(v) - 0.6)} height={LINE - 5}><title>{`${e.label}: ${ms(v)}`}</title></rect>; })}
                          <text class="t small" x={LEFT + width(total) + 6} y={at + 15}>{ms(total)}</text>
                        </g>
                      );
                    })}
                  </g>
                );
              })}
            </svg>
            <figcaption class="small soft">Events within others are left out: their time is in their parents'. Point at a part for its name.</figcaption>
          </figure>
        </Picture>
      </section>
      <section>
        <h2>Events</h2>
        <Scroll label="Events of the runs"><table id="hugectr-table">
          <thead><tr><th>event: mean / maximum</th>{runs.map((r) => [<th key={r.name} class="n">{r.name}</th>, <td key={`${r.name} bar`} />])}</tr></thead>
          <tbody>
            <tr><th scope="row">iteration: mean of hosts / slowest</th>{runs.map((r) => [<td key={r.name} class="n">{ms(r.iteration_ms)} / {ms(r.slowest_ms)}</td>, <td key={`${r.name} bar`} />])}</tr>
            {events.map((e, n) => <tr key={n}><th scope="row" class="cut" title={e.label}>{e.label}</th>{runs.map((r, i) => { const mean = e.mean_ms[i]; return mean === null ? [<td key={r.name} class="n">–</td>, <td key={`${r.name} bar`} />] : [<td key={r.name} class="n">{ms(mean)} / {ms(e.max_ms[i] ?? mean)}</td>, <td key={`${r.name} bar`} class="tiny-bar"><Bar share={mean / longest} /></td>]; })}</tr>)}
          </tbody>
        </table></Scroll>
        {notes.length > 0 && <ul class="small">{notes.map((n) => <li key={n}>{n}</li>)}</ul>}
      </section>
      <About>Times are those that HugeCTR's own profiler wrote: mean and maximum over hosts, devices and streams, each the median of its repetitions.</About>
    </Frame>
  );
}
