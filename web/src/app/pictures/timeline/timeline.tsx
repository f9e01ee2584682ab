// The timeline of the last iteration, on a canvas.
import { useEffect, useRef, useState } from "preact/hooks";
import { count, ms } from "../../format";
import { Picture } from "../picture";
import { Report, SliceName } from "../../types";
import { AXIS, categoryOf, MOST_ROWS, Painter, ROW } from "./painter";
import { nextRequest, streamOf, TimelineSource } from "./windows";

const PAUSE_MS = 20;  // between two answers, so that frames come between them

// By its name, or by what it is: "all_reduce 25 MiB over 8 ranks".
const matches = (n: SliceName, query: string) => n.name.toLowerCase().includes(query) || (n.args.op ?? "").toLowerCase().includes(query);
const foundIn = (names: SliceName[], query: string) => (query === "" ? null : new Set(names.flatMap((n, i) => (matches(n, query) ? [i] : []))));

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
  const [drawn, setDrawn] = useState(0);  // the period, in milliseconds
  const flight = useRef({ busy: false, text: "", frame: 0 });
  const shownReport = useRef(report), wanted = useRef(id), ask = useRef(source), typed = useRef(query);
  shownReport.current = report;
  wanted.current = id;
  ask.current = source;
  typed.current = query;

  const redraw = () => {
    cancelAnimationFrame(flight.current.frame);
    flight.current.frame = requestAnimationFrame(() => painter.current?.draw(shownReport.current));
  };
  // Another iteration: all of it, with the names.
  const fetchAll = async (p: Painter) => {
    const now = wanted.current, columns = Math.round(Math.max(64, Math.min(4096, p.room / 1.1)));
    const t = await ask.current({ names: true, from: 0, to: 0, columns, first: 0, count: 64 });
    if (!t) return;
    flight.current.text = now;
    const whole = Math.max(p.period, axis), part = p.period > 0 ? [p.from / whole, p.to / whole] : [0, 1];  // the same part of it as before
    p.period = t.period;
    p.names = (t.names ?? []).map(([word, category, args]) => ({ name: word, category: t.categories[category], args: args === undefined ? {} : (t.arg_sets?.[args] ?? {}) }));
    p.categories = t.categories;
    p.streams = t.tracks.map((track) => streamOf(track, ask.current.isWhole ? { from: 0, to: t.period, least: 0 } : { from: t.from, to: t.to, least: (t.to - t.from) / t.columns }));
    p.cycle.shift = t.cycle_start;
    [p.from, p.to] = part.map((share) => share * Math.max(t.period, axis));
    p.found = foundIn(p.names, typed.current.trim().toLowerCase());
    p.hover = null;
    p.colourNames();
    setHeight(Math.min(p.layOut(onlyRef.current), AXIS + MOST_ROWS * ROW));
    setDrawn(t.period / 1e9);
    setSaid([`${count(t.total)} steps`, t.left_out].filter(Boolean).join("; "));
  };
  // What a view lacks, a few streams at a time. True: there may be more.
  const fetchPart = async (p: Painter) => {
    const seen = p.seen(), streams = p.streams;
    if (seen.length === 0) return false;
    const request = nextRequest(streams, { from: p.from, to: p.to, pixels: p.room, period: p.period, first: seen[0].track, last: seen[seen.length - 1].track + 1 });
    if (!request) return false;
    const t = await ask.current(request);
    if (!t || p.streams !== streams) return false;
    const asked = { from: request.from, to: request.to, least: (request.to - request.from) / request.columns };
    for (let i = request.first; i < request.first + request.count; ++i) streams[i] = t.tracks[i].slices ? streamOf(t.tracks[i], asked) : { ...streams[i], asked };
    return true;
  };
  // One question at a time; meanwhile the last answer is drawn, at the scale of the window.
  const fetchWindow = async () => {
    const p = painter.current, f = flight.current;
    if (!p || f.busy || p.room < 64) return;
    f.busy = true;
    for (;;) {
      if (wanted.current !== f.text) { await fetchAll(p); if (wanted.current !== f.text) break; } else if (!(await fetchPart(p))) break;
      redraw();
      await new Promise((r) => setTimeout(r, PAUSE_MS));
      if (painter.current !== p) break;
    }
    f.busy = false;
  };
  const onlyRef = useRef(only);
  onlyRef.current = only;

  const show = (from: number, to: number) => {
    const p = painter.current;
    if (!p || p.period === 0) return;
    const period = Math.max(p.period, axis), least = 1e3;
    const width = Math.max(least, Math.min(1.5 * period, to - from));
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
    p.resize();
    const size = new ResizeObserver(() => { p.resize(); redraw(); void fetchWindow(); });
    size.observe(canvas.current!);
    const wheel = (e: WheelEvent) => {
      if (e.shiftKey || (!e.ctrlKey && Math.abs(e.deltaX) > Math.abs(e.deltaY))) { e.preventDefault(); pan((e.deltaX || e.deltaY) / 800); }
      else if (e.ctrlKey || e.metaKey || document.activeElement === canvas.current) { e.preventDefault(); zoom(1.0015 ** e.deltaY, e.offsetX); }
    };
    canvas.current!.addEventListener("wheel", wheel, { passive: false });
    return () => { painter.current = null; dark.removeEventListener("change", again); size.disconnect(); cancelAnimationFrame(flight.current.frame); };
  }, []);
  useEffect(() => { void fetchWindow(); }, [id]);
  useEffect(() => { const p = painter.current; if (p) { p.found = foundIn(p.names, query.trim().toLowerCase()); p.colourNames(); redraw(); } }, [query]);
  useEffect(() => { const p = painter.current; if (p) { p.top = 0; setHeight(Math.min(p.layOut(only), AXIS + MOST_ROWS * ROW)); redraw(); void fetchWindow(); } }, [only]);
  useEffect(redraw, [height]);

  const point = (x: number, y: number) => {
    const p = painter.current!, onCycle = p.cycleAt(x, y), hit = onCycle ? null : p.at(x, y);
    if (onCycle) return setPointed({ name: onCycle.name, time: onCycle.time_ms * 1e9, start: onCycle.start_ms * 1e9, rank: onCycle.rank, thread: onCycle.stream, args: { basis: onCycle.basis }, category: `${onCycle.kind}, on the critical cycle` });
    const s = hit && p.streams[hit.row.track], start = s ? s.starts[hit.index] : 0;
    if (hit?.row.track !== p.hover?.track || start !== p.hover?.start) redraw();
    p.hover = hit && { track: hit.row.track, start };
    if (!hit || !s) return setPointed(null);
    const n = s.names[hit.index], name = n >= 0 ? p.names[n] : null, category = categoryOf(n, p.names, p.categories);
    setPointed({ name: name?.name ?? "several short steps; zoom in to see them apart", time: s.ends[hit.index] - start, start, rank: hit.row.rank, thread: hit.row.thread, args: name?.args ?? {}, category: name ? category : `mostly ${category}` });
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
    const shift = ((d.x - e.offsetX) / p.room) * (d.to - d.from);
    const last = p.rows[p.rows.length - 1];
    p.top = Math.max(0, Math.min((last ? last.y + ROW : 0) - height, d.top + d.y - e.offsetY));
    show(d.from + shift, d.to + shift);
  };
  const keys = (e: KeyboardEvent) => {
    const act: Record<string, () => void> = { w: () => zoom(0.7), s: () => zoom(1.4), a: () => pan(-0.2), d: () => pan(0.2), "+": () => zoom(0.7), "-": () => zoom(1.4), ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1),
      ArrowUp: () => scroll(-ROW * 3), ArrowDown: () => scroll(ROW * 3), "0": () => painter.current && show(0, Math.max(axis, painter.current.period)) };
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
  const ranks = [...new Set(painter.current?.streams.map((t) => t.rank) ?? [])].sort((a, b) => a - b);
  const found = query.trim() === "" ? -1 : (painter.current?.names.filter((n) => matches(n, query.trim().toLowerCase())).length ?? 0);
  return (
    <section class="timeline">
      <h2>{title}</h2>
      <div class="toolbar">
        <label>Search <input type="search" id={`${name}-search`} value={query} onInput={(e) => setQuery(e.currentTarget.value)} placeholder="op or collective" /></label>
        {found >= 0 && <span class="soft small">{found} name{found === 1 ? "" : "s"}</span>}
        <label>Rank <select value={only} onChange={(e) => setOnly(e.currentTarget.value)}><option value="">all shown</option>{ranks.map((r) => <option key={r} value={String(r)}>{r}</option>)}</select></label>
        <button onClick={() => zoom(0.5)} aria-label="Zoom in">+</button><button onClick={() => zoom(2)} aria-label="Zoom out">−</button>
        <button onClick={() => painter.current && show(0, Math.max(axis, painter.current.period))}>Whole iteration</button>
      </div>
      <Folded report={report} drawn={drawn} />
      <Legend />
      {drawn === 0 && <p class="soft">Reading the timeline ...</p>}
      <Picture name={title} why="timeline" draw={() => painter.current!.svg(shownReport.current)}>
      <canvas ref={canvas} id={name} tabIndex={0} role="img" aria-label="Timeline: streams of the ranks over one iteration. W and S zoom, A and D move, arrow keys scroll, 0 shows all." height={height}
        onPointerDown={down} onPointerMove={move} onPointerUp={() => (drag.current = null)} onPointerLeave={() => { if (!drag.current) { painter.current!.hover = null; setPointed(null); redraw(); } }} onKeyDown={keys} />
      <CanvasHeight canvas={canvas} height={height} />
      </Picture>
      <div class="pointed" aria-live="polite">
        {pointed ? <><b>{pointed.name}</b> {ms(pointed.time / 1e9)} from {ms(pointed.start / 1e9)} on rank {pointed.rank}, {pointed.thread}{pointed.category && `, ${pointed.category.replaceAll("_", " ")}`}
          <dl>{Object.entries(pointed.args).map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl></> : <span class="soft">Point at a step; drag to move, Ctrl and wheel to zoom, W S A D while it has the focus. {said && `${said}.`}</span>}
      </div>
    </section>
  );
}

// Of an iteration of many equal micro-steps only some are played, and drawn.
function Folded({ report: r, drawn }: { report: Report; drawn: number }) {
  if (drawn === 0 || drawn >= 0.999 * r.iteration_ms) return null;
  const why = r.assumptions.filter((_, i) => r.assumption_kinds[i] === "folding").join("; ");
  return <p class="partial" id="folded">Drawn are {ms(drawn)} of the iteration's {ms(r.iteration_ms)}{why && `: ${why}`}.</p>;
}

function CanvasHeight({ canvas, height }: { canvas: { current: HTMLCanvasElement | null }; height: number }) {
  useEffect(() => { if (canvas.current) canvas.current.style.height = `${height}px`; }, [height]);
  return null;
}

function Legend() {
  const names: [string, string][] = [["compute", "forward"], ["memory", "backward"], ["comm", "communication"], ["waiting", "optimizer"], ["host", "host"], ["pause", "waiting for members"]];
  return <p class="legend small">{names.map(([c, n]) => <span key={n}><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class={`c-${c}`} width="10" height="10" /></svg> {n}</span>)}<span><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="outline" x="1" y="1" width="8" height="8" /></svg> critical cycle</span></p>;
}
