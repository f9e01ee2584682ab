// A chart of points, lines and bands over two axes, each logarithmic where its values are spread.
import { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Text } from "./format";

export interface Scale { at: (value: number) => number; ticks: number[]; log: boolean }

const L = 84, T = 26, B = 300, LETTER = 7.4;

// Units across a chart. A unit of a narrow one is about a pixel of a phone, so that its texts can be read.
export const WIDE = 800, NARROW = 400;
const narrow = typeof matchMedia === "function" ? matchMedia("screen and (max-width: 40rem)") : null;
export function useChartWidth(): number {
  const [width, set] = useState(narrow?.matches ? NARROW : WIDE);
  useEffect(() => {
    const change = () => set(narrow?.matches ? NARROW : WIDE);
    narrow?.addEventListener("change", change);
    return () => narrow?.removeEventListener("change", change);
  }, []);
  return width;
}

// Of the ticks of an axis at these places, how many apart those are whose texts do not touch.
export function everyTick(places: number[], texts: string[]): number {
  const gap = Math.min(...places.slice(1).map((p, i) => Math.abs(p - places[i])), Infinity), widest = Math.max(0, ...texts.map((t) => t.length)) * LETTER + 8;
  return Number.isFinite(gap) ? Math.max(1, Math.ceil(widest / Math.max(1e-9, gap))) : 1;
}
// The middle of a text that stays within the chart.
export const within = (x: number, text: string, width: number) => { const half = (text.length * LETTER) / 2; return Math.max(half + 2, Math.min(width - half - 2, x)); };

// Without zeros that say nothing: "20.00 GB" as "20 GB".
const short = (text: string) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
// Of a linear axis in one unit; each power of ten of a logarithmic one in its own.
export const axisTexts = (scale: Scale, text: Text): string[] => (!scale.log && text.axis ? text.axis(scale.ticks) : scale.ticks.map((t) => short(text(t))));

// From pixel `from` to pixel `to`. `log`: as asked, where all values are positive. `isBinary`: ticks are powers of two.
export function scaleOf(values: number[], from: number, to: number, log: boolean, withZero = false, isBinary = false): Scale {
  const good = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  let low = Math.min(...good), high = Math.max(...good);
  if (good.length === 0) { low = log ? 1 : 0; high = 1; }
  if (log) {
    if (high / low < 1.5) { low /= 1.25; high *= 1.25; }
    const span = Math.log(high / low), pad = span * 0.03, a = Math.log(low) - pad, b = Math.log(high) + pad;
    const ticks: number[] = [];
    const first = Math.ceil(a / Math.LN2), last = Math.floor(b / Math.LN2);
    if (isBinary && last > first) {
      const every = [1, 2, 5, 10].find((n) => (last - first) / n < 8) ?? 10;
      for (let e = Math.ceil(first / every) * every; e <= last; e += every) ticks.push(2 ** e);
      return { at: (v) => from + ((Math.log(v) - a) / (b - a)) * (to - from), ticks, log };
    }
    const decades = (b - a) / Math.LN10, steps = decades > 5 ? [1] : decades > 1.6 ? [1, 3] : [1, 1.5, 2, 3, 4, 5, 7];
    for (let e = Math.floor(a / Math.LN10); e <= b / Math.LN10; ++e) for (const s of steps) { const v = s * 10 ** e; if (Math.log(v) >= a && Math.log(v) <= b) ticks.push(v); }
    const every = Math.ceil(ticks.length / 8);
    return { at: (v) => from + ((Math.log(v) - a) / (b - a)) * (to - from), ticks: ticks.filter((_, i) => i % every === 0), log };
  }
  if (withZero) low = Math.min(0, low);
  if (high === low) { high += Math.abs(high) || 1; }
  const pad = (high - low) * 0.04, a = withZero && low === 0 ? 0 : low - pad, b = high + pad;
  const raw = (b - a) / 6, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map((s) => s * power).find((s) => s >= raw)!;
  const ticks: number[] = [];
  for (let v = Math.ceil(a / step) * step; v <= b; v += step) ticks.push(Math.abs(v) < step / 1e6 ? 0 : v);
  return { at: (v) => from + ((v - a) / (b - a)) * (to - from), ticks, log };
}

interface Frame { id: string; label: string; x: number[]; y: number[]; logX?: boolean; logY?: boolean; zeroY?: boolean; xName: string; yName: string; xText: Text; yText: Text; binaryX?: boolean; children: (x: (v: number) => number, y: (v: number) => number) => ComponentChildren }

export function Chart({ id, label, x, y, logX = false, logY = false, zeroY = false, xName, yName, xText, yText, binaryX = false, children }: Frame) {
  const W = useChartWidth(), R = W - 20;
  const sx = scaleOf(x, L, R, logX, false, binaryX), sy = scaleOf(y, B, T, logY, zeroY), xs = axisTexts(sx, xText), ys = axisTexts(sy, yText);
  const every = everyTick(sx.ticks.map(sx.at), xs);
  return (
    <svg class="chart" id={id} viewBox={`0 0 ${W} 342`} role="group" aria-label={label}>
      {sy.ticks.map((t, i) => <g key={t}><line class="grid" x1={L} x2={R} y1={sy.at(t)} y2={sy.at(t)} /><text class="t soft" x={L - 8} y={sy.at(t) + 4} text-anchor="end">{ys[i]}</text></g>)}
      {sx.ticks.map((t, i) => <g key={t}><line class="grid" x1={sx.at(t)} x2={sx.at(t)} y1={T} y2={B} />{i % every === 0 && <text class="t soft" x={within(sx.at(t), xs[i], W)} y={B + 17} text-anchor="middle">{xs[i]}</text>}</g>)}
      <text class="t soft" x={(L + R) / 2} y="336" text-anchor="middle">{xName}</text>
      <text class="t soft" x={L - 8} y="12" text-anchor="start">{yName}</text>
      {children(sx.at, sy.at)}
    </svg>
  );
}

export interface Dot { x: number; y: number; title: string; open?: () => void; chosen?: boolean }

// A point that can be pressed, by mouse and keyboard.
export function Mark({ x, y, r = 5, title, open, kind = "" }: { x: number; y: number; r?: number; title: string; open?: () => void; kind?: string }) {
  return (
    <circle class={kind} cx={x} cy={y} r={r} tabIndex={open ? 0 : undefined} role={open ? "button" : undefined} aria-label={open ? `${title}; open` : undefined}
      onClick={open} onKeyDown={(e) => { if (open && (e.key === "Enter" || e.key === " ")) { e.preventDefault(); open(); } }}><title>{title}</title></circle>
  );
}

export const band = (points: { x: number; low: number; high: number }[], x: (v: number) => number, y: (v: number) => number) =>
  [...points.map((p) => `${x(p.x)},${y(p.high)}`), ...[...points].reverse().map((p) => `${x(p.x)},${y(p.low)}`)].join(" ");
export const line = (points: { x: number; y: number }[], x: (v: number) => number, y: (v: number) => number) => points.map((p) => `${x(p.x)},${y(p.y)}`).join(" ");
