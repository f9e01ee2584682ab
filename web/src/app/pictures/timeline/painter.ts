// A picture of one window of a timeline. Steps are not drawn one by one: a stream is a row of pixels, each of the colour of what
// takes its time, and is stretched to its height. So a frame costs the same however many steps there are.
import { tick } from "../../format";
import { PathStep, Report, SliceName } from "../../types";
import { SvgRecorder } from "../picture";
import { CycleSteps } from "./cycle";
import { firstAfter, Stream } from "./windows";

export const ROW = 18, HEAD = 16, TICKS = 22, LANE = 20, AXIS = TICKS + LANE, GUTTER = 96, MOST_ROWS = 48;
type Drawing = CanvasRenderingContext2D | SvgRecorder;
export const PHASES: Record<string, string> = { forward: "compute", backward: "memory", exchange: "comm", gradient_sync: "comm", optimizer: "waiting", input: "idle", waiting: "pause", host: "host", other: "idle" };
const COLOURS = ["compute", "memory", "comm", "waiting", "idle", "pause", "host", "text", "soft", "line", "card", "mark", "on"];
const LABEL = 40, LETTER = 6.9, LEAST = 0.6, FAINT = 0.25, JOINT_EVERY = 12;

export interface Row { track: number; rank: number; thread: string; y: number; isHead: boolean; title: string }

// What runs on a stream of communication is communication, whichever pass it belongs to.
const isComm = (thread: string) => /^(comm|p2p)/.test(thread);
const colourOf = (category: string, comm: boolean) => (comm && category !== "waiting" ? "comm" : (PHASES[category] ?? "idle"));

export const categoryOf = (name: number, names: SliceName[], categories: string[]) => (name >= 0 ? names[name]?.category : categories[-1 - name]) ?? "other";

// A row of pixels, each as transparent as it is uncovered.
class Strip {
  private r = new Float32Array(0); private g = new Float32Array(0); private b = new Float32Array(0); private covered = new Float32Array(0);
  constructor(readonly columns: number) {
    this.r = new Float32Array(columns); this.g = new Float32Array(columns); this.b = new Float32Array(columns); this.covered = new Float32Array(columns);
  }
  clear() { this.r.fill(0); this.g.fill(0); this.b.fill(0); this.covered.fill(0); }
  private part(column: number, share: number, red: number, green: number, blue: number) {
    const room = Math.min(share, 1 - this.covered[column]);
    if (!(room > 0)) return;
    this.covered[column] += room;
    this.r[column] += room * red; this.g[column] += room * green; this.b[column] += room * blue;
  }
  add(x0: number, x1: number, rgb: number) {
    const red = rgb >> 16, green = (rgb >> 8) & 255, blue = rgb & 255;
    if (x1 - x0 < LEAST) x1 = x0 + LEAST;
    if (x0 < 0) x0 = 0;
    if (x1 > this.columns) x1 = this.columns;
    if (x1 <= x0) return;
    const first = Math.floor(x0), last = Math.ceil(x1) - 1;
    if (first === last) return this.part(first, x1 - x0, red, green, blue);
    this.part(first, first + 1 - x0, red, green, blue);
    for (let c = first + 1; c < last; ++c) { this.r[c] = red; this.g[c] = green; this.b[c] = blue; this.covered[c] = 1; }
    this.part(last, x1 - last, red, green, blue);
  }
  // As pixels, 0xAABBGGRR: what is not covered lets the grid through.
  into(out: Uint32Array, at: number) {
    const { r, g, b, covered } = this;
    for (let c = 0; c < this.columns; ++c) {
      const share = covered[c];
      out[at + c] = share === 0 ? 0 : (Math.round(255 * share) << 24) | ((b[c] / share) << 16) | ((g[c] / share) << 8) | (r[c] / share);
    }
  }
}

const numberOf = (css: string) => { const m = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})/i.exec(css); return m ? parseInt(m[1] + m[2] + m[3], 16) : 0x888888; };
const mixed = (a: number, b: number, share: number) => { let out = 0; for (const s of [16, 8, 0]) out |= Math.round(((a >> s) & 255) * share + ((b >> s) & 255) * (1 - share)) << s; return out; };

export class Painter {
  from = 0; to = 1; top = 0;
  width = 1; height = 1;  // of the canvas, in pixels of the page
  streams: Stream[] = [];
  period = 0;
  names: SliceName[] = [];
  categories: string[] = [];
  rows: Row[] = [];
  hover: { track: number; start: number } | null = null;
  found: Set<number> | null = null;  // names that a search matches; null: no search
  readonly cycle = new CycleSteps();
  private css = new Map<string, string>(); private parsed = new Map<string, number>();
  private ofName: Int32Array[] = []; private ofCategory: Int32Array[] = [];  // colours, on streams of communication and on others
  private strip = new Strip(0);
  private pixels: ImageData | null = null;
  private readonly buffer = document.createElement("canvas");
  private readonly titles = document.createElement("canvas");
  private titlesOf = "";

  constructor(readonly canvas: HTMLCanvasElement) {}

  readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of COLOURS) { const css = style.getPropertyValue(`--${name}`).trim(); this.css.set(name, css); this.parsed.set(name, numberOf(css)); }
    this.titlesOf = "";
    this.colourNames();
  }
  colour(name: string) { return this.css.get(name) ?? "#888888"; }
  private rgbOf(name: string) { return this.parsed.get(name) ?? 0x888888; }
  // After the names, the search or the colours have changed.
  colourNames() {
    const card = this.rgbOf("card"), shown = (category: string, comm: boolean, faint: boolean) => { const rgb = this.rgbOf(colourOf(category, comm)); return faint ? mixed(rgb, card, FAINT) : rgb; };
    this.ofName = [false, true].map((comm) => Int32Array.from(this.names, (n, i) => shown(n.category, comm, this.found !== null && !this.found.has(i))));
    this.ofCategory = [false, true].map((comm) => Int32Array.from(this.categories, (c) => shown(c, comm, this.found !== null)));
  }
  private rgb(name: number, comm: number) { return name >= 0 ? this.ofName[comm][name] : this.ofCategory[comm][-1 - name]; }

  resize() { this.width = this.canvas.clientWidth; this.height = this.canvas.clientHeight; }
  get room() { return this.width - GUTTER; }
  x(time: number) { return GUTTER + ((time - this.from) / (this.to - this.from)) * this.room; }
  time(x: number) { return this.from + ((x - GUTTER) / this.room) * (this.to - this.from); }

  layOut(only: string) {
    this.rows = [];
    this.titlesOf = "";
    let y = AXIS, rank = -1;
    this.streams.forEach((s, track) => {
      if (only !== "" && String(s.rank) !== only) return;
      if (s.rank !== rank) { this.rows.push({ track, rank: s.rank, thread: "", y, isHead: true, title: s.like !== undefined ? `${s.process}, like rank ${s.like}` : s.alike > 1 ? `${s.process}, and ${s.alike - 1} with the same times` : s.process }); y += HEAD; rank = s.rank; }
      this.rows.push({ track, rank: s.rank, thread: s.thread, y, isHead: false, title: s.thread });
      y += ROW;
    });
    return y + 4;
  }
  // Rows of streams that can be seen; those above and below come before and after.
  seen(): Row[] { return this.rows.filter((r) => !r.isHead && r.y - this.top <= this.height && r.y - this.top + ROW >= AXIS); }

  draw(report: Report | null) {
    const ratio = devicePixelRatio || 1, { width, height, canvas } = this;
    if (width <= GUTTER || height <= 0) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      this.titlesOf = "";
    }
    const g = canvas.getContext("2d", { alpha: false })!, rows = this.seen();
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.imageSmoothingEnabled = false;
    this.drawTitles(g, ratio);  // and the background
    this.drawGrid(g, height);
    this.cycle.of(report, this.period);
    this.drawStrips(g, rows, ratio);
    g.save();
    g.beginPath();
    g.rect(GUTTER, AXIS, this.room, height - AXIS);
    g.clip();
    this.drawLabels(g, rows);
    this.drawHover(g, rows);
    this.drawCycle(g);
    g.restore();
    this.drawLane(g);
    this.drawTicks(g);
  }

  // The names of the rows change only when they move.
  private drawTitles(g: CanvasRenderingContext2D, ratio: number) {
    const { titles } = this, key = `${this.top} ${this.width} ${this.height} ${ratio}`;
    if (this.titlesOf !== key) {
      this.titlesOf = key;
      titles.width = Math.round(this.width * ratio);
      titles.height = Math.round(this.height * ratio);
      const t = titles.getContext("2d", { alpha: false })!;
      t.setTransform(ratio, 0, 0, ratio, 0, 0);
      t.fillStyle = this.colour("card");
      t.fillRect(0, 0, this.width, this.height);
      this.writeTitles(t, this.height);
      t.fillStyle = this.colour("card");
      t.fillRect(0, 0, this.width, AXIS);
    }
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.drawImage(titles, 0, 0);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  private writeTitles(g: Drawing, height: number) {
    this.setFont(g);
    g.fillStyle = this.colour("soft");
    for (const row of this.rows) {
      const y = row.y - this.top;
      if (y <= height && y + ROW >= AXIS) g.fillText(row.title, row.isHead ? 4 : 12, y + (row.isHead ? HEAD : ROW) / 2);
    }
  }
  private setFont(g: Drawing) { g.font = "12px system-ui, sans-serif"; g.textBaseline = "middle"; }

  // All rows and the lane of the critical cycle, each a line of one image.
  private drawStrips(g: CanvasRenderingContext2D, rows: Row[], ratio: number) {
    const columns = Math.round(this.room * ratio), lines = MOST_ROWS + 4, scale = columns / (this.to - this.from);
    if (this.strip.columns !== columns || !this.pixels) {
      this.strip = new Strip(columns);
      this.buffer.width = columns;
      this.buffer.height = lines;
      this.pixels = new ImageData(columns, lines);
    }
    const b = this.buffer.getContext("2d", { willReadFrequently: true })!, out = new Uint32Array(this.pixels.data.buffer), shown = rows.slice(0, lines - 1);
    shown.forEach((row, line) => {
      const { starts, ends, names } = this.streams[row.track], comm = Number(isComm(row.thread));
      this.strip.clear();
      for (let i = firstAfter(ends, this.from); i < starts.length && starts[i] < this.to; ++i) this.strip.add((starts[i] - this.from) * scale, (ends[i] - this.from) * scale, this.rgb(names[i], comm));
      this.strip.into(out, line * columns);
    });
    this.strip.clear();
    this.cycle.visit(this.from, this.to, 0, (i, start, end) => this.strip.add((start - this.from) * scale, (end - this.from) * scale, this.rgbOf(this.phaseOf(this.cycle.steps[i]))));
    this.strip.into(out, shown.length * columns);
    b.putImageData(this.pixels, 0, 0, 0, 0, columns, shown.length + 1);
    g.save();
    g.beginPath();
    g.rect(GUTTER, AXIS, this.room, this.height - AXIS);
    g.clip();
    shown.forEach((row, line) => g.drawImage(this.buffer, 0, line, columns, 1, GUTTER, row.y - this.top + 1, this.room, ROW - 2));
    g.restore();
    g.drawImage(this.buffer, 0, shown.length, columns, 1, GUTTER, TICKS + 1, this.room, LANE - 3);
  }
  private phaseOf(step: PathStep) { return colourOf(step.phase, isComm(step.stream)); }

  private write(g: Drawing, name: string, x0: number, x1: number, y: number, fewest: number) {
    const left = Math.max(x0, GUTTER), room = Math.floor((Math.min(x1, this.width) - left - 6) / LETTER);
    if (room > fewest) g.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, left + 3, y);
  }
  private drawLabels(g: Drawing, rows: Row[]) {
    const least = (LABEL * (this.to - this.from)) / this.room;
    this.setFont(g);
    for (const waits of [false, true]) {  // whose colour is pale
      g.fillStyle = this.colour(waits ? "text" : "on");
      for (const row of rows) {
        const { starts, ends, names } = this.streams[row.track];
        for (let i = firstAfter(ends, this.from); i < starts.length && starts[i] < this.to; ++i)
          if (names[i] >= 0 && ends[i] - starts[i] > least && (this.names[names[i]].category === "waiting") === waits) this.write(g, this.names[names[i]].name, this.x(starts[i]), this.x(ends[i]), row.y - this.top + ROW / 2, 3);
      }
    }
  }
  private drawHover(g: Drawing, rows: Row[]) {
    const { hover } = this, row = hover && rows.find((r) => r.track === hover.track);
    if (!row) return;
    const { starts, ends } = this.streams[row.track], i = starts.indexOf(hover!.start);
    if (i < 0) return;
    g.strokeStyle = this.colour("text");
    g.lineWidth = 1;
    g.strokeRect(this.x(starts[i]) + 0.5, row.y - this.top + 1.5, Math.max(1, this.x(ends[i]) - this.x(starts[i]) - 1), ROW - 3);
  }

  // The steps outlined where their rank and stream are shown, joined by a line from each to the next where that can be read.
  private drawCycle(g: Drawing) {
    const rows = new Map(this.rows.filter((r) => !r.isHead).map((r) => [`${r.rank} ${r.thread}`, r])), { height } = this;
    const joints: [number, number, number][] = [];
    let before: { x: number; y: number } | null = null, run: { x0: number; x1: number; y: number } | null = null;
    g.fillStyle = this.colour("mark");
    const flush = () => {
      if (run && run.y > AXIS - ROW && run.y < height && run.x1 - run.x0 >= 1) for (const y of [run.y, run.y + ROW - 2]) g.fillRect(run.x0, y, run.x1 - run.x0, 2);
      run = null;
    };
    this.cycle.visit(this.from, this.to, (0.5 * (this.to - this.from)) / this.room, (i, start, end) => {
      const row = rows.get(this.cycle.places[i]), x0 = Math.round(this.x(start)), x1 = Math.round(this.x(end));
      if (!row) { before = null; return flush(); }
      const y = row.y - this.top;
      if (before && before.y !== y && x0 - before.x < 3) joints.push([x0, before.y + ROW / 2, y + ROW / 2]);
      before = { x: x1, y };
      if (run && (run.y !== y || x0 - run.x1 > 1)) flush();
      if (!run) run = { x0, x1, y }; else run.x1 = x1;
      if (x1 - x0 >= 5 && y > AXIS - ROW && y < height) { g.fillRect(x0 - 1, y, 2, ROW); g.fillRect(x1 - 1, y, 2, ROW); }
    });
    flush();
    if (joints.length <= this.room / JOINT_EVERY) for (const [x, y0, y1] of joints) g.fillRect(x - 0.75, Math.min(y0, y1), 1.5, Math.abs(y1 - y0));
  }

  // All of the cycle in a row of its own, whichever ranks are shown.
  private drawLane(g: Drawing) {
    this.setFont(g);
    g.fillStyle = this.colour("text");
    g.fillText("critical cycle", 4, TICKS + LANE / 2);
    g.fillStyle = this.colour("on");
    this.cycle.visit(this.from, this.to, (LABEL * (this.to - this.from)) / this.room, (i, start, end) => {
      const step = this.cycle.steps[i];
      this.write(g, step.name, this.x(start), this.x(end), TICKS + LANE / 2, 5);
    }, false);
  }

  private ticks(): number[] {
    if (this.period === 0) return [];
    const wanted = (this.to - this.from) / Math.max(2, this.room / 110);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= wanted)!;
    const out: number[] = [];
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) out.push(t);
    return out;
  }
  private drawGrid(g: Drawing, height: number) {
    g.fillStyle = this.colour("line");
    for (const t of this.ticks()) if (this.x(t) >= GUTTER) g.fillRect(Math.round(this.x(t)), TICKS, 1, height - TICKS);
  }
  private drawTicks(g: Drawing) {
    g.fillStyle = this.colour("soft");
    const ticks = this.ticks(), texts = tick.axis!(ticks.map((t) => t / 1e9));
    ticks.forEach((t, i) => { if (this.x(t) >= GUTTER && this.x(t) < this.width - 50) g.fillText(texts[i], this.x(t) + 3, TICKS / 2); });
  }

  // The same as SVG, with all rows: neighbours of one colour that are narrower than a pixel or two are one rectangle.
  svg(report: Report | null) {
    const rows = this.rows.filter((r) => !r.isHead), last = rows[rows.length - 1], height = (last ? last.y + ROW : AXIS) + 4, kept = { top: this.top, height: this.height };
    const g = new SvgRecorder(this.width, height, this.colour("card")), hex = (rgb: number) => `#${rgb.toString(16).padStart(6, "0")}`;
    this.top = 0;
    this.height = height;
    this.cycle.of(report, this.period);
    this.drawGrid(g, height);
    this.writeTitles(g, height);
    let x0 = 0, x1 = -1, colour = -1, line = 0;
    const flush = (top: number, tall: number) => { if (x1 >= 0) { g.fillStyle = hex(colour); g.fillRect(x0, top, Math.max(LEAST, x1 - x0), tall); } x1 = -1; };
    const add = (begin: number, end: number, rgb: number, top: number, tall: number) => {
      const from = Math.max(GUTTER, this.x(begin)), to = Math.min(this.width, this.x(end));
      if (x1 >= 0 && rgb === colour && line === top && to - from < 1.5 && from - x1 < LEAST) { x1 = to; return; }
      flush(line, tall);
      [x0, x1, colour, line] = [from, to, rgb, top];
    };
    for (const row of rows) {
      const { starts, ends, names } = this.streams[row.track];
      for (let i = firstAfter(ends, this.from); i < starts.length && starts[i] < this.to; ++i) add(starts[i], ends[i], this.rgb(names[i], Number(isComm(row.thread))), row.y + 1, ROW - 2);
      flush(line, ROW - 2);
    }
    this.cycle.visit(this.from, this.to, 0, (i, start, end) => add(start, end, this.rgbOf(this.phaseOf(this.cycle.steps[i])), TICKS + 1, LANE - 3));
    flush(line, LANE - 3);
    this.drawLabels(g, rows);
    this.drawCycle(g);
    this.drawLane(g);
    this.drawTicks(g);
    this.top = kept.top;
    this.height = kept.height;
    return { text: g.svg, width: this.width, height };
  }

  cycleAt(x: number, y: number): PathStep | null {
    if (y < TICKS || y >= AXIS || x < GUTTER) return null;
    return this.cycle.at(this.time(x), (this.to - this.from) / this.room);
  }
  at(x: number, y: number): { row: Row; index: number } | null {
    const row = this.rows.find((r) => !r.isHead && y + this.top >= r.y && y + this.top < r.y + ROW);
    if (!row || x < GUTTER || y < AXIS) return null;
    const { starts, ends } = this.streams[row.track], time = this.time(x), slack = (this.to - this.from) / this.room, i = firstAfter(ends, time - slack);
    return i < starts.length && starts[i] <= time + slack ? { row, index: i } : null;
  }
}
