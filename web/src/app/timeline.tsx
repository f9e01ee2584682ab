// The timeline of the last iteration, on a canvas: the server cuts it to the window, so that a frame draws what can be seen.
import { useEffect, useRef, useState } from "preact/hooks";
import { ms, tick } from "./format";
import { Store } from "./store";
import { Report, SliceName, Timeline } from "./types";

const ROW = 18, HEAD = 16, AXIS = 22, GUTTER = 96, MOST_ROWS = 48;
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
  private colours = new Map<string, string>();

  constructor(readonly canvas: HTMLCanvasElement) {}

  readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["compute", "memory", "comm", "waiting", "idle", "pause", "host", "text", "soft", "line", "card", "mark", "many", "on"]) this.colours.set(name, style.getPropertyValue(`--${name}`).trim());
  }
  colour(name: string) { return this.colours.get(name) ?? "#888"; }
  get width() { return this.canvas.clientWidth; }
  get columns() { return Math.max(64, Math.min(4096, this.width - GUTTER)); }
  x(time: number) { return GUTTER + ((time - this.from) / (this.to - this.from)) * (this.width - GUTTER); }
  time(x: number) { return this.from + ((x - GUTTER) / (this.width - GUTTER)) * (this.to - this.from); }

  layOut(only: string) {
    this.rows = [];
    let y = AXIS, rank = -1;
    this.data?.tracks.forEach((t, track) => {
      if (only !== "" && String(t.rank) !== only) return;
      if (t.rank !== rank) { this.rows.push({ track, rank: t.rank, thread: "", y, isHead: true, title: t.process }); y += HEAD; rank = t.rank; }
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
    const g = this.canvas.getContext("2d")!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    this.drawAxis(g, height);
    for (const row of this.rows) {
      const y = row.y - this.top;
      if (y > height || y + ROW < AXIS) continue;
      if (row.isHead) { g.fillStyle = this.colour("soft"); g.fillText(row.title, 4, y + HEAD / 2); continue; }
      this.drawRow(g, row, y);
    }
    if (report?.cycle_closed && this.data) this.drawCycle(g, report, height);
    g.fillStyle = this.colour("card");
    g.fillRect(0, 0, width, AXIS);
    this.drawTicks(g);
  }

  private drawRow(g: CanvasRenderingContext2D, row: Row, y: number) {
    const right = this.width;
    g.fillStyle = this.colour("soft");
    g.fillText(row.title, 12, y + ROW / 2);
    const slices = this.data!.tracks[row.track].slices ?? [];
    g.save();
    g.beginPath();
    g.rect(GUTTER, AXIS, right - GUTTER, 1e5);
    g.clip();
    for (let i = 0; i < slices.length; i += 3) {
      const x0 = this.x(slices[i]), x1 = this.x(slices[i] + slices[i + 1]);
      if (x1 < GUTTER || x0 > right) continue;
      const name = slices[i + 2] >= 0 ? this.names[slices[i + 2]] : null;
      const found = this.query !== "" && name !== null && matches(name, this.query);
      g.globalAlpha = this.query !== "" && !found ? 0.25 : 1;
      g.fillStyle = this.colour(name ? (PHASES[name.category] ?? "idle") : "many");
      const w = Math.max(0.6, x1 - x0);
      g.fillRect(x0, y + 1, w, ROW - 2);
      if (this.hover && this.hover.track === row.track && this.hover.start === slices[i]) { g.strokeStyle = this.colour("text"); g.strokeRect(x0 + 0.5, y + 1.5, Math.max(1, w - 1), ROW - 3); }
      if (name && w > 40) {
        g.fillStyle = this.colour("on");
        const room = Math.floor((Math.min(x1, right) - Math.max(x0, GUTTER) - 6) / 6.5);
        if (room > 3) g.fillText(name.name.length > room ? `${name.name.slice(0, room - 1)}…` : name.name, Math.max(x0, GUTTER) + 3, y + ROW / 2);
      }
    }
    g.globalAlpha = 1;
    g.restore();
  }

  // Steps of the critical cycle, outlined where their rank and stream are shown; it may begin within the window and go round.
  private drawCycle(g: CanvasRenderingContext2D, report: Report, height: number) {
    const { period, cycle_start: shift } = this.data!;
    if (Math.abs(report.iteration_ms * 1e9 - period) > 1e-3 * period) return;  // only a part of the iteration is drawn
    const rows = new Map(this.rows.filter((r) => !r.isHead).map((r) => [`${r.rank} ${r.thread}`, r]));
    g.strokeStyle = this.colour("mark");
    g.lineWidth = 2;
    for (const step of report.critical_path) {
      const row = rows.get(`${step.rank} ${step.stream}`);
      if (!row) continue;
      const start = (shift + step.start_ms * 1e9) % period, y = row.y - this.top;
      if (y < AXIS - ROW || y > height) continue;
      for (const at of [start, start - period]) {
        const x0 = Math.max(GUTTER, this.x(at)), x1 = this.x(at + step.time_ms * 1e9);
        if (x1 > GUTTER && x0 < this.width && x1 - x0 >= 0.5) g.strokeRect(x0, y + 1, x1 - x0, ROW - 2);
      }
    }
    g.lineWidth = 1;
  }

  private ticks(): number[] {
    const wanted = (this.to - this.from) / Math.max(2, (this.width - GUTTER) / 110);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= wanted)!;
    const out: number[] = [];
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) out.push(t);
    return out;
  }
  private drawAxis(g: CanvasRenderingContext2D, height: number) {
    g.strokeStyle = this.colour("line");
    g.beginPath();
    for (const t of this.ticks()) { const x = Math.round(this.x(t)) + 0.5; g.moveTo(x, AXIS); g.lineTo(x, height); }
    g.stroke();
  }
  private drawTicks(g: CanvasRenderingContext2D) {
    g.fillStyle = this.colour("soft");
    for (const t of this.ticks()) if (this.x(t) < this.width - 50) g.fillText(tick(t / 1e9), this.x(t) + 3, AXIS / 2);
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

export function TimelineView({ store }: { store: Store }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter | null>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [query, setQuery] = useState("");
  const [only, setOnly] = useState("");
  const [height, setHeight] = useState(300);
  const [said, setSaid] = useState("");
  const flight = useRef({ busy: false, again: false, text: "", frame: 0 });
  const text = store.shown?.text ?? "";

  const redraw = () => {
    cancelAnimationFrame(flight.current.frame);
    flight.current.frame = requestAnimationFrame(() => painter.current?.draw(store.report));
  };
  const fetchWindow = async () => {
    const p = painter.current, f = flight.current;
    if (!p || !store.shown) return;
    if (f.busy) { f.again = true; return; }
    f.busy = true;
    const now = store.shown.text, isNew = f.text !== now;
    const answer = await store.connection.ask("timeline", { text: now, names: isNew, from: isNew ? 0 : Math.round(p.from), to: isNew ? 0 : Math.round(p.to), columns: Math.round(p.columns), first: firstTrack(p), count: 64 });
    f.busy = false;
    if (answer.type === "timeline") {
      const t = answer as unknown as Timeline;
      p.data = t;
      if (isNew) { p.names = t.names ?? []; p.from = 0; p.to = t.period; f.text = now; }
      setHeight(Math.min(p.layOut(onlyRef.current), AXIS + MOST_ROWS * ROW));
      setSaid(t.left_out);
      redraw();
    }
    if (f.again || (store.shown && store.shown.text !== f.text)) { f.again = false; void fetchWindow(); }
  };
  const onlyRef = useRef(only);
  onlyRef.current = only;
  const firstTrack = (p: Painter) => Math.max(0, (p.rows.find((r) => !r.isHead && r.y - p.top + ROW > 0)?.track ?? 0) - 2);

  const show = (from: number, to: number) => {
    const p = painter.current;
    if (!p?.data) return;
    const period = p.data.period, least = 1e3;
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
  useEffect(() => { void fetchWindow(); }, [text]);
  useEffect(() => { const p = painter.current; if (p) { p.query = query.trim().toLowerCase(); redraw(); } }, [query]);
  useEffect(() => { const p = painter.current; if (p) { p.top = 0; setHeight(Math.min(p.layOut(only), AXIS + MOST_ROWS * ROW)); redraw(); } }, [only]);
  useEffect(redraw, [height]);

  const point = (x: number, y: number) => {
    const p = painter.current!, hit = p.at(x, y);
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
      ArrowUp: () => scroll(-ROW * 3), ArrowDown: () => scroll(ROW * 3), "0": () => painter.current?.data && show(0, painter.current.data.period) };
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
      <h2>Timeline of one iteration</h2>
      <div class="toolbar">
        <label>Search <input type="search" id="timeline-search" value={query} onInput={(e) => setQuery(e.currentTarget.value)} placeholder="op or collective" /></label>
        {found >= 0 && <span class="soft small">{found} name{found === 1 ? "" : "s"}</span>}
        <label>Rank <select value={only} onChange={(e) => setOnly(e.currentTarget.value)}><option value="">all shown</option>{ranks.map((r) => <option key={r} value={String(r)}>{r}</option>)}</select></label>
        <button onClick={() => zoom(0.5)} aria-label="Zoom in">+</button><button onClick={() => zoom(2)} aria-label="Zoom out">−</button>
        <button onClick={() => painter.current?.data && show(0, painter.current.data.period)}>Whole iteration</button>
      </div>
      <Legend />
      <canvas ref={canvas} id="timeline" tabIndex={0} role="img" aria-label="Timeline: streams of the ranks over one iteration. W and S zoom, A and D move, arrow keys scroll, 0 shows all." height={height}
        onPointerDown={down} onPointerMove={move} onPointerUp={() => (drag.current = null)} onPointerLeave={() => { if (!drag.current) { painter.current!.hover = null; setPointed(null); redraw(); } }} onKeyDown={keys} />
      <CanvasHeight canvas={canvas} height={height} />
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
