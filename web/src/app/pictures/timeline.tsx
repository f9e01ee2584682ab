// The timeline of the last iteration, on a canvas: whoever holds it cuts it to the window, so that a frame draws what can be seen.
import { useEffect, useRef, useState } from "preact/hooks";
import { ms, tick } from "../format";
import { Picture, SvgRecorder } from "./picture";
import { PathStep, Report, SliceName, Timeline } from "../types";

// Of a window, in picoseconds; `to` 0: the whole period, with the names.
export interface TimelineRequest { names: boolean; from: number; to: number; columns: number; first: number; count: number }
export type TimelineSource = (request: TimelineRequest) => Promise<Timeline | null>;

const PAUSE_MS = 100;  // between two windows that are asked for while the timeline moves
const ROW = 18, HEAD = 16, TICKS = 22, LANE = 20, AXIS = TICKS + LANE, GUTTER = 96, MOST_ROWS = 48;
type Drawing = CanvasRenderingContext2D | SvgRecorder;
const PHASES: Record<string, string> = { forward: "compute", backward: "memory", exchange: "comm", gradient_sync: "comm", optimizer: "waiting", input: "idle", waiting: "pause", host: "host", other: "idle" };

// By its name, or by what it is: "all_reduce 25 MiB over 8 ranks".
const matches = (n: SliceName, query: string) => n.name.toLowerCase().includes(query) || (n.args.op ?? "").toLowerCase().includes(query);

interface Row { track: number; rank: number; thread: string; y: number; isHead: boolean; title: string }

// A picture of one window: all that drawing needs.
class Painter {
  from = 0; to = 1; top = 0;
  data: Timeline | null = null;
  names: SliceName[] = [];
  rows: Row[] = [];
  hover: { track: number; start: number } | null = null;
  query = "";
  found = new Set<number>();  // names that match it
  private colours = new Map<string, string>();

  constructor(readonly canvas: HTMLCanvasElement) {}

  readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["compute", "memory", "comm", "waiting", "idle", "pause", "host", "text", "soft", "line", "card", "mark", "many", "on"]) this.colours.set(name, style.getPropertyValue(`--${name}`).trim());
  }
  colour(name: string) { return this.colours.get(name) ?? "#888"; }
  get width() { return this.canvas.clientWidth; }
  get columns() { return Math.max(64, Math.min(4096, (this.width - GUTTER) / 1.5)); }
  x(time: number) { return GUTTER + ((time - this.from) / (this.to - this.from)) * (this.width - GUTTER); }
  time(x: number) { return this.from + ((x - GUTTER) / (this.width - GUTTER)) * (this.to - this.from); }

  layOut(only: string) {
    this.rows = [];
    let y = AXIS, rank = -1;
    this.data?.tracks.forEach((t, track) => {
      if (only !== "" && String(t.rank) !== only) return;
      if (t.rank !== rank) { this.rows.push({ track, rank: t.rank, thread: "", y, isHead: true, title: (t.alike ?? 1) > 1 ? `${t.process}, and ${t.alike! - 1} with the same times` : t.process }); y += HEAD; rank = t.rank; }
      this.rows.push({ track, rank: t.rank, thread: t.thread, y, isHead: false, title: t.thread });
      y += ROW;
    });
    return y + 4;
  }

  draw(report: Report | null) {
    const ratio = devicePixelRatio || 1, { width } = this, height = this.canvas.clientHeight;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const g = this.canvas.getContext("2d", { alpha: false })!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = this.colour("card");
    g.fillRect(0, 0, width, height);
    this.paint(g, report, height);
  }

  // The same as SVG, with all rows.
  svg(report: Report | null) {
    const last = this.rows[this.rows.length - 1], height = (last ? last.y + ROW : AXIS) + 4, top = this.top;
    const g = new SvgRecorder(this.width, height, this.colour("card"));
    this.top = 0;
    this.paint(g, report, height);
    this.top = top;
    return { text: g.svg, width: this.width, height };
  }

  private paint(g: Drawing, report: Report | null, height: number) {
    const { width } = this;
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    this.drawAxis(g, height);
    g.save();
    g.beginPath();
    g.rect(0, AXIS, width, Math.max(0, height - AXIS));
    g.clip();
    g.fillStyle = this.colour("soft");
    for (const row of this.rows) {
      const y = row.y - this.top;
      if (y > height || y + ROW < AXIS) continue;
      if (row.isHead) g.fillText(row.title, 4, y + HEAD / 2);
      else g.fillText(row.title, 12, y + ROW / 2);
    }
    g.beginPath();
    g.rect(GUTTER, AXIS, width - GUTTER, Math.max(0, height - AXIS));
    g.clip();
    for (const row of this.rows) {
      const y = row.y - this.top;
      if (!row.isHead && y <= height && y + ROW >= AXIS) this.drawRow(g, row, y);
    }
    const cycle = this.cycleOf(report);
    this.drawCycle(g, cycle, height);
    g.restore();
    this.drawLane(g, cycle);
    this.drawTicks(g);
  }

  private fill(g: Drawing, colour: string) { const c = this.colour(colour); if (g.fillStyle !== c) g.fillStyle = c; }

  // Neighbours of one colour that are narrower than a pixel or two are one rectangle.
  private drawRow(g: Drawing, row: Row, y: number) {
    const right = this.width, slices = this.data!.tracks[row.track].slices ?? [], hovered = this.hover && this.hover.track === row.track ? this.hover.start : null;
    let begin = 0, end = -1, colour = "", faint = false;
    const flush = () => {
      if (end < 0) return;
      if (faint) g.globalAlpha = 0.25;
      this.fill(g, colour);
      g.fillRect(begin, y + 1, Math.max(0.6, end - begin), ROW - 2);
      if (faint) g.globalAlpha = 1;
      end = -1;
    };
    const labels: [string, number, number][] = [];
    for (let i = 0; i < slices.length; i += 3) {
      let x0 = this.x(slices[i]), x1 = this.x(slices[i] + slices[i + 1]);
      if (x1 < GUTTER) continue;
      if (x0 > right) break;
      x0 = Math.max(x0, GUTTER - 2);
      x1 = Math.min(x1, right + 2);
      const name = slices[i + 2] >= 0 ? this.names[slices[i + 2]] : null;
      const isFaint = this.query !== "" && !(name !== null && this.found.has(slices[i + 2]));
      const c = name ? (PHASES[name.category] ?? "idle") : "many";
      if (end >= 0 && c === colour && isFaint === faint && x1 - x0 < 1.5 && x0 - end < 0.6) end = Math.max(end, x1);
      else { flush(); begin = x0; end = x1; colour = c; faint = isFaint; }
      if (hovered === slices[i]) { flush(); g.strokeStyle = this.colour("text"); g.strokeRect(x0 + 0.5, y + 1.5, Math.max(1, x1 - x0 - 1), ROW - 3); }
      if (name && x1 - x0 > 40) labels.push([name.name, x0, x1]);
    }
    flush();
    if (labels.length > 0) this.fill(g, "on");
    for (const [name, x0, x1] of labels) {
      const left = Math.max(x0, GUTTER), room = Math.floor((x1 - left - 6) / 6.5);
      if (room > 3) g.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, left + 3, y + ROW / 2);
    }
  }

  private cycle: { report: Report | null; data: Timeline | null; steps: { step: PathStep; start: number; end: number }[] } = { report: null, data: null, steps: [] };

  // Steps of the critical cycle in order of time within the period; the cycle may begin within it and goes round.
  private cycleSteps(report: Report) {
    const data = this.data!, known = this.cycle;
    if (known.report === report && known.data?.period === data.period && known.data.cycle_start === data.cycle_start) return known.steps;
    const { period, cycle_start: shift } = data, folded = Math.max(0, report.iteration_ms * 1e9 - period), steps: typeof known.steps = [];
    for (const step of report.critical_path) {
      const begin = step.start_ms * 1e9 - folded;  // of a folded iteration the last micro-steps are drawn
      if (begin < -1e-6 * period) continue;
      const start = (((shift + begin) % period) + period) % period, end = start + step.time_ms * 1e9;
      steps.push({ step, start, end });
      if (end > period) steps.push({ step, start: start - period, end: end - period });
    }
    steps.sort((x, y) => x.start - y.start);
    this.cycle = { report, data, steps };
    return steps;
  }

  // What of it can be seen; short neighbours on one stream are one.
  private cycleOf(report: Report | null): { step: PathStep; x0: number; x1: number }[] {
    if (!report || !this.data) return [];
    const out: { step: PathStep; x0: number; x1: number }[] = [];
    for (const { step, start, end } of this.cycleSteps(report)) {
      if (end < this.from) continue;
      if (start > this.to) break;
      const x0 = Math.max(this.x(start), GUTTER), x1 = Math.min(this.x(end), this.width), last = out[out.length - 1];
      if (x1 <= GUTTER) continue;
      if (last && x1 - x0 < 0.5 && x0 - last.x1 < 0.5 && last.x1 - last.x0 < 1 && last.step.stream === step.stream) last.x1 = x1;
      else out.push({ step, x0, x1 });
    }
    return out;
  }

  // The steps outlined where their rank and stream are shown, joined by a line from each to the next.
  private drawCycle(g: Drawing, cycle: { step: PathStep; x0: number; x1: number }[], height: number) {
    const rows = new Map(this.rows.filter((r) => !r.isHead).map((r) => [`${r.rank} ${r.thread}`, r]));
    g.strokeStyle = this.colour("mark");
    g.lineWidth = 2;
    let before: { x: number; y: number } | null = null, drawn = -1;
    const joints: [number, number, number, number][] = [];
    for (const { step, x0, x1 } of cycle) {
      const row = rows.get(`${step.rank} ${step.stream}`);
      if (!row) { before = null; continue; }
      const y = row.y - this.top, middle = y + ROW / 2;
      if (before && before.y !== middle && x0 - before.x < 3) joints.push([before.x, before.y, x0, middle]);
      before = { x: x1, y: middle };
      if (y < AXIS - ROW || y > height || x1 - x0 < 0.7 || (x1 - x0 < 2 && x0 - drawn < 1)) continue;
      drawn = x1;
      g.strokeRect(x0, y + 1, x1 - x0, ROW - 2);
    }
    g.beginPath();
    for (const [x0, y0, x1, y1] of joints.slice(0, 4000)) { g.moveTo(x0, y0); g.lineTo(x1, y1); }
    g.lineWidth = 1.5;
    g.stroke();
    g.lineWidth = 1;
  }

  // All of the cycle in a row of its own, whichever ranks are shown.
  private drawLane(g: Drawing, cycle: { step: PathStep; x0: number; x1: number }[]) {
    const y = TICKS + 1;
    g.fillStyle = this.colour("card");
    g.fillRect(0, 0, this.width, AXIS);
    g.fillStyle = this.colour("text");
    g.fillText("critical cycle", 4, y + LANE / 2 - 1);
    let begin = 0, end = -1, colour = "";
    const flush = () => { if (end >= 0) { this.fill(g, colour); g.fillRect(begin, y, Math.max(0.6, end - begin), LANE - 3); } end = -1; };
    for (const { step, x0, x1 } of cycle) {
      const c = PHASES[/^(comm|p2p)/.test(step.stream) ? "exchange" : step.phase] ?? "idle";
      if (end >= 0 && c === colour && x1 - x0 < 1.5 && x0 - end < 0.6) end = x1;
      else { flush(); begin = x0; end = x1; colour = c; }
      if (x1 - x0 > 4) { flush(); }
    }
    flush();
    this.fill(g, "on");
    for (const { step, x0, x1 } of cycle) {
      const room = Math.floor((x1 - x0 - 6) / 6.5);
      if (room > 5) g.fillText(step.name.length > room ? `${step.name.slice(0, room - 1)}…` : step.name, x0 + 3, y + LANE / 2 - 1);
    }
  }

  cycleAt(report: Report | null, x: number, y: number): PathStep | null {
    if (y < TICKS || y >= AXIS || x < GUTTER) return null;
    return this.cycleOf(report).find((c) => x >= c.x0 - 1 && x <= c.x1 + 1)?.step ?? null;
  }

  private ticks(): number[] {
    const wanted = (this.to - this.from) / Math.max(2, (this.width - GUTTER) / 110);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= wanted)!;
    const out: number[] = [];
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) out.push(t);
    return out;
  }
  private drawAxis(g: Drawing, height: number) {
    g.strokeStyle = this.colour("line");
    g.lineWidth = 1;
    g.beginPath();
    for (const t of this.ticks()) { const x = Math.round(this.x(t)) + 0.5; g.moveTo(x, TICKS); g.lineTo(x, height); }
    g.stroke();
  }
  private drawTicks(g: Drawing) {
    g.fillStyle = this.colour("soft");
    for (const t of this.ticks()) if (this.x(t) < this.width - 50) g.fillText(tick(t / 1e9), this.x(t) + 3, TICKS / 2);
  }

  at(x: number, y: number): { row: Row; index: number } | null {
    const row = this.rows.find((r) => !r.isHead && y + this.top >= r.y && y + this.top < r.y + ROW);
    if (!row || x < GUTTER || y < AXIS) return null;
    const slices = this.data?.tracks[row.track].slices ?? [], time = this.time(x), slack = (this.to - this.from) / this.columns;
    for (let i = 0; i < slices.length; i += 3) if (time >= slices[i] - slack && time <= slices[i] + slices[i + 1] + slack) return { row, index: i };
    return null;
  }
}

interface Pointed { name: string; time: number; start: number; rank: number; thread: string; args: Record<string, string>; category: string }

// `id`: of what is shown; the timeline is fetched anew where it changes. `period`: of the axis, where several timelines share one.
export function TimelineView({ report, id, source, name = "timeline", title = "Timeline of one iteration", axis = 0 }: { report: Report; id: string; source: TimelineSource; name?: string; title?: string; axis?: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter | null>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [query, setQuery] = useState("");
  const [only, setOnly] = useState("");
  const [height, setHeight] = useState(300);
  const [said, setSaid] = useState("");
  const flight = useRef({ busy: false, again: false, text: "", frame: 0 });
  const shownReport = useRef(report), wanted = useRef(id), ask = useRef(source);
  shownReport.current = report;
  wanted.current = id;
  ask.current = source;

  const redraw = () => {
    cancelAnimationFrame(flight.current.frame);
    flight.current.frame = requestAnimationFrame(() => painter.current?.draw(shownReport.current));
  };
  const fetchWindow = async () => {
    const p = painter.current, f = flight.current;
    if (!p) return;
    if (f.busy) { f.again = true; return; }
    f.busy = true;
    const now = wanted.current, isNew = f.text !== now;
    const t = await ask.current({ names: isNew, from: isNew ? 0 : Math.round(p.from), to: isNew ? 0 : Math.round(p.to), columns: Math.round(p.columns), first: firstTrack(p), count: isNew ? 64 : MOST_ROWS });
    f.busy = false;
    if (t) {
      p.data = t;
      if (isNew) { p.names = t.names ?? []; p.from = 0; p.to = Math.max(t.period, axis); f.text = now; }
      setHeight(Math.min(p.layOut(onlyRef.current), AXIS + MOST_ROWS * ROW));
      setSaid(t.left_out);
      redraw();
    }
    if (f.again || (t && wanted.current !== f.text)) {  // meanwhile the last answer is drawn, at the scale of the window
      f.again = false;
      f.busy = true;
      setTimeout(() => { f.busy = false; void fetchWindow(); }, PAUSE_MS);
    }
  };
  const onlyRef = useRef(only);
  onlyRef.current = only;
  const firstTrack = (p: Painter) => Math.max(0, (p.rows.find((r) => !r.isHead && r.y - p.top + ROW > 0)?.track ?? 0) - 2);

  const show = (from: number, to: number) => {
    const p = painter.current;
    if (!p?.data) return;
    const period = Math.max(p.data.period, axis), least = 1e3;
    let width = Math.max(least, Math.min(1.5 * period, to - from));
    p.from = Math.max(-0.25 * period, Math.min(from, 1.25 * period - width));
    p.to = p.from + width;
    redraw();
    void fetchWindow();
  };
  const zoom = (factor: number, x?: number) => {
    const p = painter.current;
    if (!p) return;
    const centre = x === undefined ? (p.from + p.to) / 2 : p.time(x);
    show(centre - (centre - p.from) * factor, centre + (p.to - centre) * factor);
  };
  const pan = (share: number) => { const p = painter.current; if (p) show(p.from + share * (p.to - p.from), p.to + share * (p.to - p.from)); };

  useEffect(() => {
    const p = (painter.current = new Painter(canvas.current!));
    p.readColours();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const again = () => { p.readColours(); redraw(); };
    dark.addEventListener("change", again);
    const size = new ResizeObserver(() => { redraw(); void fetchWindow(); });
    size.observe(canvas.current!);
    const wheel = (e: WheelEvent) => {
      if (e.shiftKey || (!e.ctrlKey && Math.abs(e.deltaX) > Math.abs(e.deltaY))) { e.preventDefault(); pan((e.deltaX || e.deltaY) / 800); }
      else if (e.ctrlKey || e.metaKey || document.activeElement === canvas.current) { e.preventDefault(); zoom(1.0015 ** e.deltaY, e.offsetX); }
    };
    canvas.current!.addEventListener("wheel", wheel, { passive: false });
    return () => { dark.removeEventListener("change", again); size.disconnect(); cancelAnimationFrame(flight.current.frame); };
  }, []);
  useEffect(() => { void fetchWindow(); }, [id]);
  useEffect(() => { const p = painter.current; if (p) { p.query = query.trim().toLowerCase(); p.found = new Set(p.names.flatMap((n, i) => (matches(n, p.query) ? [i] : []))); redraw(); } }, [query]);
  useEffect(() => { const p = painter.current; if (p) { p.top = 0; setHeight(Math.min(p.layOut(only), AXIS + MOST_ROWS * ROW)); redraw(); } }, [only]);
  useEffect(redraw, [height]);

  const point = (x: number, y: number) => {
    const p = painter.current!, onCycle = p.cycleAt(shownReport.current, x, y), hit = onCycle ? null : p.at(x, y);
    if (onCycle) return setPointed({ name: onCycle.name, time: onCycle.time_ms * 1e9, start: onCycle.start_ms * 1e9, rank: onCycle.rank, thread: onCycle.stream, args: { basis: onCycle.basis }, category: `${onCycle.kind}, on the critical cycle` });
    const slices = hit ? p.data!.tracks[hit.row.track].slices! : [];
    p.hover = hit ? { track: hit.row.track, start: slices[hit.index] } : null;
    redraw();
    if (!hit) return setPointed(null);
    const n = slices[hit.index + 2], name = n >= 0 ? p.names[n] : null;
    setPointed({ name: name?.name ?? "several short steps; zoom in to see them apart", time: slices[hit.index + 1], start: slices[hit.index], rank: hit.row.rank, thread: hit.row.thread, args: name?.args ?? {}, category: name?.category ?? "" });
  };
  const drag = useRef<{ x: number; y: number; from: number; to: number; top: number } | null>(null);
  const down = (e: PointerEvent) => {
    const p = painter.current!;
    canvas.current!.setPointerCapture(e.pointerId);
    drag.current = { x: e.offsetX, y: e.offsetY, from: p.from, to: p.to, top: p.top };
  };
  const move = (e: PointerEvent) => {
    const p = painter.current!, d = drag.current;
    if (!d) return point(e.offsetX, e.offsetY);
    const shift = ((d.x - e.offsetX) / (p.width - GUTTER)) * (d.to - d.from);
    const last = p.rows[p.rows.length - 1];
    p.top = Math.max(0, Math.min((last ? last.y + ROW : 0) - height, d.top + d.y - e.offsetY));
    show(d.from + shift, d.to + shift);
  };
  const keys = (e: KeyboardEvent) => {
    const act: Record<string, () => void> = { w: () => zoom(0.7), s: () => zoom(1.4), a: () => pan(-0.2), d: () => pan(0.2), "+": () => zoom(0.7), "-": () => zoom(1.4), ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1),
      ArrowUp: () => scroll(-ROW * 3), ArrowDown: () => scroll(ROW * 3), "0": () => painter.current?.data && show(0, Math.max(axis, painter.current.data.period)) };
    if (e.ctrlKey || e.metaKey || !act[e.key]) return;
    e.preventDefault();
    act[e.key]();
  };
  const scroll = (by: number) => {
    const p = painter.current!, last = p.rows[p.rows.length - 1];
    p.top = Math.max(0, Math.min((last ? last.y + ROW : 0) - height, p.top + by));
    redraw();
    void fetchWindow();
  };
  const ranks = [...new Set(painter.current?.data?.tracks.map((t) => t.rank) ?? [])];
  const found = query.trim() === "" ? -1 : (painter.current?.names.filter((n) => matches(n, query.trim().toLowerCase())).length ?? 0);
  return (
    <section class="timeline">
      <h2>{title}</h2>
      <div class="toolbar">
        <label>Search <input type="search" id={`${name}-search`} value={query} onInput={(e) => setQuery(e.currentTarget.value)} placeholder="op or collective" /></label>
        {found >= 0 && <span class="soft small">{found} name{found === 1 ? "" : "s"}</span>}
        <label>Rank <select value={only} onChange={(e) => setOnly(e.currentTarget.value)}><option value="">all shown</option>{ranks.map((r) => <option key={r} value={String(r)}>{r}</option>)}</select></label>
        <button onClick={() => zoom(0.5)} aria-label="Zoom in">+</button><button onClick={() => zoom(2)} aria-label="Zoom out">−</button>
        <button onClick={() => painter.current?.data && show(0, Math.max(axis, painter.current.data.period))}>Whole iteration</button>
      </div>
      <Legend />
      <Picture name={title} why="timeline" draw={() => painter.current!.svg(shownReport.current)}>
      <canvas ref={canvas} id={name} tabIndex={0} role="img" aria-label="Timeline: streams of the ranks over one iteration. W and S zoom, A and D move, arrow keys scroll, 0 shows all." height={height}
        onPointerDown={down} onPointerMove={move} onPointerUp={() => (drag.current = null)} onPointerLeave={() => { if (!drag.current) { painter.current!.hover = null; setPointed(null); redraw(); } }} onKeyDown={keys} />
      <CanvasHeight canvas={canvas} height={height} />
      </Picture>
      <div class="pointed" aria-live="polite">
        {pointed ? <><b>{pointed.name}</b> {ms(pointed.time / 1e9)} from {ms(pointed.start / 1e9)} on rank {pointed.rank}, {pointed.thread}{pointed.category && `, ${pointed.category.replace("_", " ")}`}
          <dl>{Object.entries(pointed.args).map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl></> : <span class="soft">Point at a step; drag to move, Ctrl and wheel to zoom, W S A D while it has the focus. {said && `${said}.`}</span>}
      </div>
    </section>
  );
}

function CanvasHeight({ canvas, height }: { canvas: { current: HTMLCanvasElement | null }; height: number }) {
  useEffect(() => { if (canvas.current) canvas.current.style.height = `${height}px`; }, [height]);
  return null;
}

function Legend() {
  const names: [string, string][] = [["compute", "forward"], ["memory", "backward"], ["comm", "communication"], ["waiting", "optimizer"], ["host", "host"], ["pause", "waiting for members"], ["many", "several short steps"]];
  return <p class="legend small">{names.map(([c, n]) => <span key={n}><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class={`c-${c}`} width="10" height="10" /></svg> {n}</span>)}<span><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="outline" x="1" y="1" width="8" height="8" /></svg> critical cycle</span></p>;
}
