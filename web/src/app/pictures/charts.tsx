// Pictures of studies: curves, a heat map, all keys at once, and the table of a sweep; and what would help most.
import { useMemo, useState } from "preact/hooks";
import { axisTexts, scaleOf, useChartWidth, WIDE, within } from "../chart";
import { bytes, count, cut, digits, gigabytes, ms, percent, signedNumber, Text, tick } from "../format";
import { Picture } from "./picture";
import { breakable, Scroll } from "../report/see";

// A point: the place of its value on each axis, its figures, and 0: predicted, 1: does not fit, 2: an error, 3: predicted, of
// a load above what can be served. Null: no figure.
export interface Sweep { axes: { key: string; name: string; values: string[] }[]; figures: { name: string; head: string }[]; points: (number | null)[][] }

const ABOVE_CAPACITY = 3;
const whole = (v: number) => v.toLocaleString("en");
const TEXTS: Record<string, (v: number) => string> = { utilisation: (v) => percent(v), requests: whole, violations: whole, offered_per_s: count, throughput_per_s: count, goodput_per_s: count, mfu: (v) => percent(v), memory_gb: (v) => bytes(v * 1e9), scaling_efficiency: (v) => percent(v), samples_per_s: count, tokens_per_s_per_gpu: count, gpus: count };
export const figureText = (name: string): ((v: number) => string) => TEXTS[name] ?? (name.endsWith("_ms") ? ms : (v) => digits(v, 4));
// On an axis, where all values are of one figure.
const axisText = (name: string): Text => (name.endsWith("_ms") ? tick : name === "memory_gb" ? gigabytes : name in TEXTS ? TEXTS[name] : (v) => digits(v, 4));
// "iteration ms" of a table of bare numbers: here each number has its unit.
const headOf = (head: string) => head.replace(/ (ms|GB|GB\/s)$/, "");
const LESS_IS_BETTER = /_ms$|^memory_gb$|^violations$/, MOST_LINES = 16, COLOURS = 8, MOST_ROWS = 500;

const SCALES: Record<string, number> = { T: 1e12, G: 1e9, M: 1e6, K: 1e3, k: 1e3 };
function numberIn(text: string): number {
  const m = /^([\d.eE+-]+)\s*([TGMKk])?i?[bB]?(\/s)?$/.exec(text.trim());
  return m ? Number(m[1]) * (SCALES[m[2] ?? ""] ?? 1) : Number.NaN;
}
const numbersOf = (values: string[]): number[] | null => { const all = values.map(numberIn); return all.every(Number.isFinite) ? all : null; };

// A colour for each line; from the ninth on they are dashed.
const lineOf = (line: number) => `line-${line % COLOURS}${line >= COLOURS ? " dashes" : ""}`;

class Points {
  constructor(readonly sweep: Sweep) {}
  predicted(p: (number | null)[]) { return p[p.length - 1] === 0 || this.isAboveCapacity(p); }
  isAboveCapacity(p: (number | null)[]) { return p[p.length - 1] === ABOVE_CAPACITY; }
  value(p: (number | null)[], figure: number): number | null { return figure < 0 ? null : p[this.sweep.axes.length + figure]; }
  figure(name: string) { return this.sweep.figures.findIndex((f) => f.name === name); }
  word(p: (number | null)[]) { return ["", "memory", "error"][p[p.length - 1] ?? 2]; }
  name(p: (number | null)[], but = -1) { return this.sweep.axes.map((a, i) => (i === but ? "" : `${a.name} ${a.values[p[i]!]}`)).filter(Boolean).join(", "); }
}

export function SweepCharts({ sweep, onOpen }: { sweep: Sweep; onOpen?: (point: number) => void }) {
  const shown = sweep.figures.map((f, i) => ({ ...f, i })).filter((f) => !["low_ms", "high_ms"].includes(f.name));
  const [figure, setFigure] = useState(shown[0]?.i ?? 0);
  const all = useMemo(() => new Points(sweep), [sweep]);
  if (!sweep.points.some((p) => all.predicted(p))) return <p class="soft">No point has a prediction.</p>;
  return (
    <>
      <div class="toolbar"><label>Figure <select id="sweep-figure" value={String(figure)} onChange={(e) => setFigure(Number(e.currentTarget.value))}>{shown.map((f) => <option key={f.name} value={String(f.i)}>{headOf(f.head)}</option>)}</select></label></div>
      {sweep.axes.length === 2 && <HeatMap all={all} figure={figure} onOpen={onOpen} />}
      {sweep.axes.length > 2 && <Parallel all={all} figure={figure} />}
      {sweep.axes.length > 0 && <Curves all={all} figure={figure} onOpen={onOpen} />}
    </>
  );
}

// Along the axis with most numbers, a curve for each combination of the others; scales are logarithmic where values are spread.
function Curves({ all, figure, onOpen }: { all: Points; figure: number; onOpen?: (point: number) => void }) {
  const width = useChartWidth();
  const { axes, figures, points } = all.sweep, text = figureText(figures[figure].name);
  const along = axes.map((a, i) => ({ i, n: numbersOf(a.values) ? a.values.length : 0 })).sort((a, b) => b.n - a.n)[0].i;
  const names = axes[along].values, xs = numbersOf(names);
  const good = points.map((p, index) => ({ p, index, v: all.value(p, figure) })).filter((g) => all.predicted(g.p) && g.v !== null) as { p: (number | null)[]; index: number; v: number }[];
  if (good.length === 0) return <p class="soft">No point has this figure.</p>;
  const low = xs ? Math.min(...xs) : 0, high = xs ? Math.max(...xs) : 1, logX = xs !== null && low > 0 && high / low >= 4;
  const L = 92, R = width - 20, T = 28, B = 270;
  const place = (i: number) => {
    if (!xs) return L + ((i + 0.5) / names.length) * (R - L);
    if (high === low) return (L + R) / 2;
    return L + (logX ? Math.log(xs[i] / low) / Math.log(high / low) : (xs[i] - low) / (high - low)) * (R - L);
  };
  const band = figures[figure].name === "iteration_ms" ? ([all.figure("low_ms"), all.figure("high_ms")] as const) : ([-1, -1] as const);
  const values = good.flatMap((g) => [g.v, all.value(g.p, band[0]) ?? g.v, all.value(g.p, band[1]) ?? g.v]);
  const least = Math.min(...values), logY = least > 0 && Math.max(...values) / least > 30;
  const scale = scaleOf(values, B, T, logY, !logY), y = scale.at, tickTexts = axisTexts(scale, axisText(figures[figure].name)), head = headOf(figures[figure].head);
  const groups = new Map<string, typeof good>();
  for (const g of good) { const k = all.name(g.p, along); groups.set(k, [...(groups.get(k) ?? []), g]); }
  const lines = [...groups].slice(0, MOST_LINES);
  const order = names.map((_, i) => i).sort((a, b) => place(a) - place(b));
  const shortName = (i: number) => cut(names[i], 30);
  let lastLabel = -Infinity;
  const labelled = order.filter((i) => { const at = place(i); if (at - lastLabel < 12 + 7 * shortName(i).length) return false; lastLabel = at; return true; });
  return (
    <Picture name={`${head} over ${axes[along].key}`} why="sweep">
      <figure>
        <svg class="chart" id="sweep-chart" viewBox={`0 0 ${width} 310`} role="group" aria-label={`${head} over ${axes[along].key}`}>
          {scale.ticks.map((t, i) => <g key={t}><line class="grid" x1={L} x2={R} y1={y(t)} y2={y(t)} /><text class="t soft" x={L - 8} y={y(t) + 4} text-anchor="end">{tickTexts[i]}</text></g>)}
          <text class="t soft" x={L} y="12">{head}</text>
          {labelled.map((i) => <text key={i} class="t soft" x={Math.max(3.6 * shortName(i).length, Math.min(width - 4 - 3.6 * shortName(i).length, place(i)))} y={B + 18} text-anchor="middle">{shortName(i)}<title>{names[i]}</title></text>)}
          <text class="t soft" x={(L + R) / 2} y="305" text-anchor="middle">{axes[along].key}</text>
          {lines.map(([name, list], line) => {
            const sorted = [...list].sort((a, b) => place(a.p[along]!) - place(b.p[along]!));
            const path = (f: (g: (typeof good)[number]) => number) => sorted.map((g) => `${place(g.p[along]!).toFixed(1)},${y(f(g)).toFixed(1)}`);
            return (
              <g key={name} class={lineOf(line)}>
                {band[0] >= 0 && lines.length <= 3 && <polygon class="band" points={[...path((g) => all.value(g.p, band[0]) ?? g.v), ...path((g) => all.value(g.p, band[1]) ?? g.v).reverse()].join(" ")} />}
                <polyline points={path((g) => g.v).join(" ")} />
                {(sorted.length <= 60 || onOpen) && sorted.map((g) => {
                  const above = all.isAboveCapacity(g.p), said = `${all.name(g.p)}: ${text(g.v)}${above ? ", above capacity" : ""}`;
                  return onOpen
                    ? <circle key={g.index} cx={place(g.p[along]!)} cy={y(g.v)} r="5" tabIndex={0} role="button" aria-label={`${said}; open`} onClick={() => onOpen(g.index)} onKeyDown={(e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); onOpen(g.index); } }}><title>{said}</title></circle>
                    : <circle key={g.index} class={above ? "hollow" : ""} cx={place(g.p[along]!)} cy={y(g.v)} r="4"><title>{said}</title></circle>;
                })}
              </g>
            );
          })}
        </svg>
        {lines.length > 1 && <figcaption class="legend small">{lines.map(([name], i) => <span key={name}><svg class={`swatch ${lineOf(i)}`} viewBox="0 0 10 10" aria-hidden="true"><circle cx="5" cy="5" r="5" /></svg> {name}</span>)}{groups.size > lines.length && <span>the first {lines.length} of {groups.size} curves; all are in the table</span>}</figcaption>}
        {good.some((g) => all.isAboveCapacity(g.p)) && <p class="small soft">Rings: above capacity, latencies grow with the length of the run.</p>}
      </figure>
    </Picture>
  );
}

function HeatMap({ all, figure, onOpen }: { all: Points; figure: number; onOpen?: (point: number) => void }) {
  const { axes, figures, points } = all.sweep, text = figureText(figures[figure].name), [down, across] = axes, width = useChartWidth();
  const values = points.filter((p) => all.predicted(p)).map((p) => all.value(p, figure)).filter((v) => v !== null);
  const low = Math.min(...values), high = Math.max(...values);
  const L = width === WIDE ? 136 : 84, W = width - 12 - L, cellW = W / across.values.length, cellH = Math.max(8, Math.min(34, 380 / down.values.length)), H = cellH * down.values.length;
  const few = points.length <= 150 && cellW > 44 && cellH > 15, every = (n: number, room: number) => Math.max(1, Math.ceil(n / Math.max(1, room)));
  const isLog = low > 0 && high / low > 30, share = (v: number) => (isLog ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));
  const strength = (v: number) => (high > low ? 0.1 + 0.9 * share(v) : 0.5);
  const acrossEvery = every(across.values.length, W / 60);
  const isStaggered = Math.max(...across.values.map((v) => 7.5 * Math.min(14, v.length))) > cellW * acrossEvery && 2 * cellW * acrossEvery > 105;  // names on two lines
  const acrossRoom = Math.max(4, Math.floor(((isStaggered ? 2 : 1) * cellW * acrossEvery) / 7.6));
  return (
    <Picture name={`Heat map of ${headOf(figures[figure].head)}`} why="sweep">
      <figure>
        <svg class="chart" id="heat-map" viewBox={`0 0 ${width} ${H + (isStaggered ? 78 : 62)}`} role="img" aria-label={`${headOf(figures[figure].head)} over ${down.key} and ${across.key}: ${text(low)} to ${text(high)}`}>
          {points.map((p, i) => {
            const v = all.predicted(p) ? all.value(p, figure) : null, x = L + p[1]! * cellW, y = 6 + p[0]! * cellH, word = v === null ? all.word(p) : text(v);
            return (
              <g key={i} onClick={onOpen && v !== null ? () => onOpen(i) : undefined}>
                <rect class={v === null ? "cell-none" : "c-compute"} fill-opacity={v === null ? 1 : strength(v)} x={x} y={y} width={Math.max(0.5, cellW - 1)} height={Math.max(0.5, cellH - 1)}><title>{`${all.name(p)}: ${word || "no figure"}`}</title></rect>
                {few && <text class={`t tiny ${v !== null && strength(v) > 0.6 ? "on" : ""}`} x={x + cellW / 2} y={y + cellH / 2 + 4} text-anchor="middle">{word}</text>}
              </g>
            );
          })}
          {down.values.map((v, i) => i % every(down.values.length, H / 14) === 0 && <text key={i} class="t soft small" x={L - 8} y={6 + (i + 0.5) * cellH + 4} text-anchor="end">{cut(v, Math.floor((L - 12) / 7.6))}<title>{v}</title></text>)}
          {across.values.map((v, i) => i % acrossEvery === 0 && <text key={i} class="t soft small" x={Math.min(L + (i + 0.5) * cellW, width - 4 - 4 * Math.min(acrossRoom, v.length))} y={H + 24 + (isStaggered ? 16 * ((i / acrossEvery) % 2) : 0)} text-anchor="middle">{cut(v, acrossRoom)}<title>{v}</title></text>)}
          <text class="t soft small" x={L + W / 2} y={H + (isStaggered ? 62 : 46)} text-anchor="middle">across: {across.key}; down: {down.key}</text>
        </svg>
        <figcaption class="small soft">From {text(low)} (pale) to {text(high)} (strong).{points.some((p) => !all.predicted(p)) && " Grey cells have no prediction; the table says why."}</figcaption>
      </figure>
    </Picture>
  );
}

// Each line is a point; drag along an axis to keep the lines that pass there.
function Parallel({ all, figure }: { all: Points; figure: number }) {
  const width = useChartWidth(), margin = width === WIDE ? 70 : 40, span = width - 2 * margin;
  const { axes, figures, points } = all.sweep;
  const [brush, setBrush] = useState<Map<number, [number, number]>>(new Map());
  const [from, setFrom] = useState<{ axis: number; y: number } | null>(null);
  const extra = [...new Set([figure, ...["iteration_ms", "samples_per_s", "memory_gb"].map((n) => all.figure(n))])].filter((i) => i >= 0);
  const good = points.filter((p) => all.predicted(p));
  const T = 34, B = 270, scales = [
    ...axes.map((a, i) => ({ name: a.name, y: (p: (number | null)[]) => B - ((p[i]! + 0.5) / a.values.length) * (B - T), ends: [a.values[0], a.values[a.values.length - 1]] })),
    ...extra.map((f) => {
      const values = good.map((p) => all.value(p, f)).filter((v) => v !== null), low = Math.min(...values), high = Math.max(...values), text = figureText(figures[f].name);
      return { name: headOf(figures[f].head), y: (p: (number | null)[]) => B - ((((all.value(p, f) ?? low) - low) / (high - low || 1)) * 0.94 + 0.03) * (B - T), ends: [text(low), text(high)] };
    }),
  ];
  const x = (i: number) => margin + (i * span) / Math.max(1, scales.length - 1), room = Math.floor(Math.min(2 * margin, span / Math.max(1, scales.length - 1)) / 7.6);
  const passes = (p: (number | null)[]) => [...brush].every(([i, [a, b]]) => { const at = scales[i].y(p); return at >= Math.min(a, b) && at <= Math.max(a, b); });
  const values = good.map((p) => all.value(p, figure) ?? 0), low = Math.min(...values), high = Math.max(...values);
  const yOf = (e: PointerEvent) => { const box = (e.currentTarget as SVGElement).ownerSVGElement!.getBoundingClientRect(); return ((e.clientY - box.top) / box.height) * 300; };
  const kept = good.filter(passes).length;
  return (
    <Picture name="All keys at once" why="sweep">
      <figure>
        <svg class="chart" id="parallel" viewBox={`0 0 ${width} 300`} role="img" aria-label={`All keys at once: ${good.length} points, coloured by ${headOf(figures[figure].head)}`}>
          {good.map((p, i) => <polyline key={i} class={`par ${passes(p) ? "" : "par-out"} par-${high > low ? Math.min(3, Math.floor((4 * ((all.value(p, figure) ?? low) - low)) / (high - low))) : 1}`} points={scales.map((s, a) => `${x(a).toFixed(1)},${s.y(p).toFixed(1)}`).join(" ")} />)}
          {scales.map((s, a) => (
            <g key={a}>
              <line class="axis" x1={x(a)} x2={x(a)} y1={T} y2={B} />
              {brush.has(a) && <rect class="brush" x={x(a) - 6} width="12" y={Math.min(...brush.get(a)!)} height={Math.abs(brush.get(a)![1] - brush.get(a)![0])} />}
              <rect class="brush-hit" x={x(a) - 14} y={T} width="28" height={B - T}
                onPointerDown={(e) => { (e.currentTarget as SVGElement).setPointerCapture(e.pointerId); setFrom({ axis: a, y: yOf(e) }); setBrush((b) => { const n = new Map(b); n.delete(a); return n; }); }}
                onPointerMove={(e) => { if (from?.axis === a) { const y = yOf(e); setBrush((b) => new Map(b).set(a, [from.y, y])); } }} onPointerUp={() => setFrom(null)} />
              <text class="t small" x={x(a)} y="14" text-anchor="middle">{cut(s.name, room)}<title>{s.name}</title></text>
              <text class="t tiny soft" x={x(a)} y={T - 5} text-anchor="middle">{cut(s.ends[1], room)}</text><text class="t tiny soft" x={x(a)} y={B + 14} text-anchor="middle">{cut(s.ends[0], room)}</text>
            </g>
          ))}
        </svg>
        <figcaption class="small soft">Each line is a point, stronger with more {headOf(figures[figure].head)}. Drag along an axis to keep the lines that pass there. {brush.size > 0 && <>{kept} of {good.length} kept. <button class="quiet" onClick={() => setBrush(new Map())}>Show all</button></>}</figcaption>
      </figure>
    </Picture>
  );
}

export function SweepTable({ sweep, reasons, onOpen }: { sweep: Sweep; reasons?: (point: number) => string; onOpen?: (point: number) => void }) {
  const [sort, setSort] = useState<{ column: number; descending: boolean } | null>(null);
  const all = useMemo(() => new Points(sweep), [sweep]), { axes, figures } = sweep;
  const rows = useMemo(() => {
    const list = sweep.points.map((p, index) => ({ p, index }));
    if (!sort) return list;
    const ticks = sort.column < axes.length ? numbersOf(axes[sort.column].values) : null;
    const key = (p: (number | null)[]) => (sort.column < axes.length ? (ticks ? ticks[p[sort.column]!] : axes[sort.column].values[p[sort.column]!]) : all.predicted(p) ? p[sort.column] : null);
    const sign = sort.descending ? -1 : 1;
    return list.sort((a, b) => { const [x, y] = [key(a.p), key(b.p)]; return x === null || y === null ? Number(x === null) - Number(y === null) : x < y ? -sign : x > y ? sign : 0; });
  }, [sweep, sort]);
  const heads = [...axes.map((a) => a.name), ...figures.map((f) => headOf(f.head))];
  const press = (column: number) => setSort((s) => ({ column, descending: s?.column === column ? !s.descending : column >= axes.length && !LESS_IS_BETTER.test(figures[column - axes.length].name) }));
  return (
    <Scroll label="Points" tall>
      <table id="sweep-table">
        <thead class="wrapped"><tr>{onOpen && <td />}{heads.map((h, i) => <th key={i} class="n" aria-sort={sort?.column === i ? (sort.descending ? "descending" : "ascending") : "none"}><button class="quiet" onClick={() => press(i)}>{h}{sort?.column === i && (sort.descending ? " ↓" : " ↑")}</button></th>)}</tr></thead>
        <tbody>{rows.slice(0, MOST_ROWS).map(({ p, index }) => {
          const why = all.predicted(p) ? "" : reasons?.(index) || all.word(p);
          return (
            <tr key={index} class={why ? "soft" : ""}>{onOpen && <td><button class="quiet" aria-label={`Open ${all.name(p)}`} onClick={() => onOpen(index)}>open</button></td>}{axes.map((a, i) => <td key={i} class="n breaks">{breakable(a.values[p[i]!])}{i === axes.length - 1 && all.isAboveCapacity(p) && <span class="worse"> above capacity</span>}</td>)}
              {why ? <td colSpan={figures.length} class="wrap reason">{why}</td> : figures.map((f, i) => { const v = all.value(p, i); return <td key={f.name} class="n">{v === null ? "" : figureText(f.name)(v)}</td>; })}
            </tr>
          );
        })}</tbody>
      </table>
      {rows.length > MOST_ROWS && <p class="small soft">The first {MOST_ROWS} of {rows.length} points.</p>}
    </Scroll>
  );
}

export interface Resource { resource: string; level: string; keys: string; elasticity: number | null; note: string; points: { factor: number | "inf"; iteration_ms?: number; delta_percent?: number; limited_by?: string; error?: string }[] }
export interface Sensitivity { title?: string; iteration_ms: number; resources: Resource[]; pairs: { resources: [string, string]; iteration_ms: number; alone_ms: [number, number] }[] }

const PROPER: Record<string, string> = { nic: "NIC", pcie: "PCIe", l2: "L2", nvlink: "NVLink", hbm: "HBM", flops: "FLOP/s", gpu: "GPU" };
export const words = (name: string) => name.split("_").map((w) => PROPER[w] ?? w).join(" ");
const change = (percentage: number) => (Math.abs(percentage) < 0.05 ? "0" : `${percentage > 0 ? "+" : "−"}${Math.abs(percentage).toFixed(1)} %`);
const factorName = (f: number | "inf") => (f === "inf" ? "no limit" : `x${f}`);

export function Tornado({ found }: { found: Sensitivity }) {
  const rows = found.resources, at = (r: Resource, factor: number | "inf") => r.points.find((p) => p.factor === factor);
  const changes = rows.flatMap((r) => [at(r, 0.5), at(r, 2), at(r, "inf")].map((p) => Math.max(-100, Math.min(100, p?.delta_percent ?? 0))));
  const most = Math.max(1, ...changes), least = Math.min(-1, ...changes);
  const width = useChartWidth(), isWide = width === WIDE;  // a narrow one has its texts above each bar
  const row = isWide ? 26 : 40, left = isWide ? 160 : 4, bar = isWide ? 4 : 20, scale = (isWide ? 400 : width - 8) / (most - least), middle = left - least * scale, above = ms(found.iteration_ms);
  const x = (delta: number) => middle + Math.max(-100, Math.min(100, delta)) * scale;
  if (rows.length === 0) return null;
  return (
    <Picture name="What would help most" why="sensitivity">
      <svg class="chart" id="tornado" viewBox={`0 0 ${width} ${24 + rows.length * row}`} role="img" aria-label={rows.map((r) => `${words(r.resource)} twice as good: ${(at(r, 2)?.delta_percent ?? 0).toFixed(1)} %`).join("; ")}>
        <text class="t soft" x={within(middle, above, width)} y="12" text-anchor="middle">{above}</text>
        {rows.map((r, i) => {
          const y = 20 + i * row, half = at(r, 0.5)?.delta_percent ?? 0, twice = at(r, 2)?.delta_percent ?? 0, best = at(r, "inf")?.delta_percent ?? 0;
          return (
            <g key={r.resource}>
              <text class="t" x={isWide ? left - 12 : left} y={y + 16} text-anchor={isWide ? "end" : "start"}>{words(r.resource)}<title>{`${r.keys}${r.note ? `; ${r.note}` : ""}`}</title></text>
              <rect class="c-pale" x={Math.min(middle, x(best))} y={y + bar} width={Math.abs(x(best) - middle)} height={row - bar - 4}><title>{`without limit ${best.toFixed(1)} %`}</title></rect>
              <rect class="c-compute" x={Math.min(middle, x(twice))} y={y + bar} width={Math.abs(x(twice) - middle)} height={row - bar - 4}><title>{`twice as good ${twice.toFixed(1)} %`}</title></rect>
              <rect class="c-comm" x={Math.min(middle, x(half))} y={y + bar} width={Math.abs(x(half) - middle)} height={row - bar - 4}><title>{`half as good ${half.toFixed(1)} %`}</title></rect>
              <text class="t small" x={isWide ? 574 : width - 4} y={y + 16} text-anchor={isWide ? "start" : "end"}>twice {change(twice)}, half {change(half)}</text>
            </g>
          );
        })}
        {isWide ? <line class="axis" x1={middle} x2={middle} y1="18" y2={24 + rows.length * row} /> : rows.map((_, i) => <line key={i} class="axis" x1={middle} x2={middle} y1={20 + i * row + bar - 2} y2={20 + (i + 1) * row - 2} />)}
      </svg>
      <p class="legend small">{[["c-compute", "twice as good"], ["c-pale", "without limit"], ["c-comm", "half as good"]].map(([c, n]) => <span key={n}><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class={c} width="10" height="10" /></svg> {n}</span>)}</p>
    </Picture>
  );
}

export function SensitivityTable({ found }: { found: Sensitivity }) {
  const factors = [...new Set(found.resources.flatMap((r) => r.points.map((p) => p.factor)))];
  return (
    <Scroll label="Change of the iteration"><table>
      <thead><tr><th>resource</th>{factors.map((f) => <th key={String(f)} class="n">{factorName(f)}</th>)}<th class="n">elasticity</th><th>at x2 limited by</th></tr></thead>
      <tbody>{found.resources.map((r) => <tr key={r.resource}><td title={r.keys}>{words(r.resource)}</td>{factors.map((f) => { const p = r.points.find((q) => q.factor === f); return <td key={String(f)} class="n" title={p?.error}>{p?.delta_percent === undefined ? "–" : change(p.delta_percent)}</td>; })}<td class="n">{r.elasticity === null ? "–" : signedNumber(r.elasticity)}</td><td>{r.points.find((p) => p.factor === 2)?.limited_by}</td></tr>)}</tbody>
    </table></Scroll>
  );
}
