// The schedule of a pipeline: a row for each stage, as it was played. Boxes of one colour and row are one path, so that thousands stay quick.
import { useMemo, useRef, useState } from "preact/hooks";
import { ms, percent, tick } from "../format";
import { Picture } from "./picture";
import { Swatch } from "../report/see";

export interface Schedule { begin: number; end: number; idle: number; stages: number; chunks: number; micro_batches: number; in_iteration: number; works: string[]; rows: { stage: number; slices: number[]; stacks: number[] }[] }

// Of each kind of work its colour; colours differ by 10 or more (CIE76) with every kind of colour blindness, light and dark.
const COLOURS: Record<string, string> = { forward: "c-compute", recompute: "c-again", backward: "c-memory", weights: "c-weights", communication: "c-comm", optimizer: "c-waiting" };
const NAMES: Record<string, string> = { forward: "forward", recompute: "forward computed again", backward: "backward", weights: "backward of weights", communication: "communication", optimizer: "optimizer" };
const LEFT = 66, WIDTH = 1080, TOP = 22, SLICE = 5;

export function ScheduleView({ schedule: s }: { schedule: Schedule }) {
  const [view, setView] = useState<[number, number]>([0, s.end]);
  const [pointed, setPointed] = useState("");
  const svg = useRef<SVGSVGElement>(null);
  const high = Math.max(10, Math.min(30, Math.floor(480 / s.rows.length))), row = high + 2, height = TOP + row * s.rows.length + 4;
  const [from, to] = [Math.min(view[0], s.end), Math.min(view[1], s.end)];
  const stack = s.works.length + 2, colours = s.works.map((w) => COLOURS[w]), again = s.works.indexOf("recompute");
  const x = (t: number) => LEFT + ((t - from) / (to - from)) * (WIDTH - LEFT - 4);
  const used = s.works.filter((_, w) => s.rows.some((r) => r.slices.some((v, i) => i % SLICE === 2 && v === w) || r.stacks.some((v, i) => i % stack === w + 2 && v > 0)));
  const drawn = useMemo(() => s.rows.map((r, i) => {
    const y = TOP + i * row, paths = new Map<string, string>(), labels: { x: number; text: string; dark: boolean }[] = [];
    const add = (key: string, x0: number, x1: number, top: number, tall: number) => paths.set(key, `${paths.get(key) ?? ""}M${x0.toFixed(2)} ${top.toFixed(2)}H${x1.toFixed(2)}V${(top + tall).toFixed(2)}H${x0.toFixed(2)}Z`);
    for (let j = 0; j < r.slices.length; j += SLICE) {
      const [begin, length, work, micro, chunk] = r.slices.slice(j, j + SLICE);
      if (begin + length < from || begin > to) continue;
      const x0 = Math.max(LEFT, x(begin)), x1 = Math.min(WIDTH - 4, x(begin + length));
      add(`${colours[work]}${chunk % 2 === 1 ? " later" : ""}`, x0, Math.max(x0 + 0.3, x1 - (x1 - x0 > 4 ? 0.8 : 0)), y, high);
      if (micro > 0 && work !== again && x1 - x0 > 6 * String(micro).length + 4) labels.push({ x: (x0 + x1) / 2, text: String(micro), dark: colours[work] === "c-weights" });
    }
    for (let j = 0; j < r.stacks.length; j += stack) {
      const [begin, length] = r.stacks.slice(j, j + 2);
      if (begin + length < from || begin > to) continue;
      const x0 = Math.max(LEFT, x(begin)), x1 = Math.min(WIDTH - 4, x(begin + length));
      let top = y;
      for (let w = 0; w < s.works.length; ++w) { const tall = (high * r.stacks[j + 2 + w]) / 1000; if (tall > 0.05) add(colours[w], x0, Math.max(x0 + 0.3, x1), top, tall); top += tall; }
    }
    return { stage: r.stage, y, paths, labels };
  }), [s, from, to]);
  const show = (a: number, b: number) => { const w = Math.max(s.end / 2000, Math.min(s.end, b - a)), begin = Math.max(0, Math.min(s.end - w, a)); setView([begin, begin + w]); };
  const zoom = (f: number) => show((from + to) / 2 - ((to - from) / 2) * f, (from + to) / 2 + ((to - from) / 2) * f);
  const keys = (e: KeyboardEvent) => {
    const act: Record<string, () => void> = { w: () => zoom(0.6), s: () => zoom(1.6), "+": () => zoom(0.6), "-": () => zoom(1.6), a: () => show(from - 0.2 * (to - from), to - 0.2 * (to - from)), d: () => show(from + 0.2 * (to - from), to + 0.2 * (to - from)), "0": () => show(0, s.end) };
    act.ArrowLeft = act.a; act.ArrowRight = act.d;
    if (e.ctrlKey || e.metaKey || !act[e.key]) return;
    e.preventDefault();
    act[e.key]();
  };
  const point = (e: PointerEvent) => {
    const box = svg.current!.getBoundingClientRect(), px = ((e.clientX - box.left) / box.width) * WIDTH, py = ((e.clientY - box.top) / box.height) * height;
    const r = s.rows[Math.floor((py - TOP) / row)], t = from + ((px - LEFT) / (WIDTH - LEFT - 4)) * (to - from);
    if (!r || px < LEFT) return setPointed("");
    for (let j = 0; j < r.slices.length; j += SLICE) {
      const [begin, length, work, micro, chunk] = r.slices.slice(j, j + SLICE);
      if (t >= begin && t < begin + length) return setPointed(`Stage ${r.stage}, ${NAMES[s.works[work]]}${micro > 0 ? ` of micro-batch ${micro}` : ""}${s.chunks > 1 && micro > 0 ? ` in chunk ${chunk + 1}` : ""}: ${ms(length / 1e9)} from ${ms(begin / 1e9)}.`);
    }
    for (let j = 0; j < r.stacks.length; j += stack)
      if (t >= r.stacks[j] && t < r.stacks[j] + r.stacks[j + 1]) return setPointed(`Stage ${r.stage}, several short steps: ${s.works.map((w, i) => [NAMES[w], r.stacks[j + 2 + i]] as const).filter(([, v]) => v > 0).map(([n, v]) => `${n} ${percent(v / 1000, 0)}`).join(", ")}.`);
    setPointed(`Stage ${r.stage}, idle: the pipeline's bubble.`);
  };
  const step = (() => { const wanted = (to - from) / 9, power = 10 ** Math.floor(Math.log10(wanted)); return [1, 2, 5, 10].map((m) => m * power).find((v) => v >= wanted)!; })();
  const ticks: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) ticks.push(t);
  const tickTexts = tick.axis!(ticks.map((t) => t / 1e9));
  const part = s.micro_batches < s.in_iteration;
  return (
    <section class="schedule">
      <h2>Schedule of the pipeline</h2>
      <div class="toolbar"><button onClick={() => zoom(0.5)} aria-label="Zoom in">+</button><button onClick={() => zoom(2)} aria-label="Zoom out">−</button><button onClick={() => show(0, s.end)}>All of it</button><span class="small soft">Idle, the bubble: {percent(s.idle)} of what is drawn{part && ", less in the whole iteration"}</span></div>
      <p class="legend small">{used.map((w) => <span key={w}><Swatch colour={COLOURS[w]} /> {w === "backward" && used.includes("weights") ? "backward, of inputs" : NAMES[w]}</span>)}<span><Swatch colour="net-idle" /> idle</span>{s.chunks > 1 && <span>paler: every other chunk of a stage</span>}</p>
      <Picture name="Pipeline schedule" why="schedule">
        <div class="scroll" tabIndex={0} role="region" aria-label="Picture of the schedule" onKeyDown={keys}>
          <svg class="chart wide-chart" id="schedule" ref={svg} viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={`Schedule: ${s.stages} stages, ${s.in_iteration} micro-batches, idle ${percent(s.idle)}`} onPointerMove={point} onClick={(e) => point(e as unknown as PointerEvent)} onPointerLeave={() => setPointed("")}>
            {ticks.map((t, i) => <g key={t}><line class="grid" x1={x(t)} x2={x(t)} y1={TOP - 6} y2={height} /><text class="t tiny soft" x={Math.min(x(t) + 3, WIDTH - 2 - 6.6 * tickTexts[i].length)} y={TOP - 8}>{tickTexts[i]}</text></g>)}
            {drawn.map((r) => (
              <g key={r.stage}>
                <text class="t tiny" x="2" y={r.y + high / 2 + 4}>stage {r.stage}</text>
                <rect class="net-idle" x={LEFT} y={r.y} width={WIDTH - LEFT - 4} height={high} />
                {[...r.paths].map(([key, d]) => <path key={key} class={key} d={d} />)}
                {r.labels.map((l, i) => <text key={i} class={`on-box ${l.dark ? "dark" : ""}`} x={l.x} y={r.y + high / 2 + 3.5} text-anchor="middle">{l.text}</text>)}
              </g>
            ))}
          </svg>
        </div>
      </Picture>
      <p class="pointed-line small" aria-live="polite">{pointed || <span class="soft">{s.rows.length < s.stages ? `${s.rows.length} of ${s.stages} stages` : `${s.stages} stages`}, {part && `the first ${s.micro_batches} of `}{s.in_iteration} micro-batches; the first rank of each stage. Point at a box for its time; W S A D and 0 while it has the focus.</span>}</p>
    </section>
  );
}
