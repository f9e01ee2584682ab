// The state of the page: an experiment's text, the last prediction that it gave, and what led here.
import { Answer, Connection } from "./connection";
import { fromLink, toLink } from "./link";
import { why } from "./problems";
import { save, saveText } from "./save";
import { Edit, KeyDoc, Lists, Problem, Report, Section, Shown, Value, Values } from "./types";

export interface Pin { id: number; name: string; shown: Shown }

const MOST_UNDO = 200, SAME_MOVE_MS = 800;
export const MOST_PINS = 6;
const PATIENCE_MS = 300;  // after which an answer that is still awaited gives way to a newer question

interface Question { edits: Map<string, string | null>; text: string | null; values: boolean }

export class Store {
  text = "";                      // as the server last had it
  draft: string | null = null;    // the editor's text, where it is another one
  shown: Shown | null = null;     // the last good answer
  problem: Problem | null = null;
  idle: { key: string; where: string }[] = [];  // keys without effect
  sections: Section[] = [];
  keys = new Map<string, KeyDoc>();
  lists: Lists | null = null;
  file = "";
  first = "";                     // the experiment that distsim serve was started with
  connected = false;
  busy = false;
  latency = 0;                    // of the last answer, in ms
  answers = 0;
  pins: Pin[] = [];
  notice = "";

  private undoTexts: string[] = [];
  private redoTexts: string[] = [];
  private lastMove = { key: "", time: 0 };
  private pending: Question | null = null;
  private asked: Question | null = null;  // what an answer is awaited to
  private askedAt = 0;
  private turn = 0;
  private impatience = 0;
  private listeners = new Set<() => void>();
  private nextPin = 1;
  private linkTimer = 0;
  private effectsTimer = 0;
  readonly connection: Connection;

  constructor(readonly token: string) {
    this.connection = new Connection(token, (connected) => {
      const again = connected && !this.connected && this.sections.length > 0;
      this.connected = connected;
      if (again) this.request(new Map(), this.text, true);
      this.changed();
    });
    void this.start();
    addEventListener("hashchange", () => void this.follow());  // a link that is pasted into the open page
  }

  subscribe(listener: () => void) { this.listeners.add(listener); return () => this.listeners.delete(listener); }
  changed() { for (const listener of this.listeners) listener(); }

  // The text of the link in the address bar. Where it is damaged, `instead` says what is shown.
  private async linked(instead: string) {
    try {
      return await fromLink(location.hash);
    } catch {
      this.say(`This link is damaged or cut off. Shown is ${instead}.`);
      return null;
    }
  }

  private async follow() {
    const text = await this.linked("what was shown before");
    if (text !== null && text !== this.text) this.open(text);
  }

  private async start() {
    const linked = await this.linked("the experiment that distsim serve was started with");
    const schema = await this.connection.ask("schema");
    if (schema.type !== "schema") { setTimeout(() => void this.start(), 1000); return; }
    this.sections = schema.sections as Section[];
    for (const section of this.sections) for (const doc of section.keys) this.keys.set(doc.key, doc);
    this.file = schema.file as string;
    this.first = schema.text as string;
    this.text = linked ?? this.first;
    this.request(new Map(), this.text, true);
    this.changed();
    const lists = await this.connection.ask("lists");
    if (lists.type === "lists") this.lists = lists as unknown as Lists;
    this.changed();
  }

  // Of the text; `shown.values` are those of the figures, of another text where this one has an error.
  get values(): Values { return this.told ?? this.shown?.values ?? {}; }
  // Of a text with an error, else null.
  told: Values | null = null;
  get report(): Report | null { return this.shown?.report ?? null; }
  get canUndo() { return this.undoTexts.length > 0; }
  get canRedo() { return this.redoTexts.length > 0; }

  // Remembers the text as it is, once for all moves of one slider.
  private remember(key: string) {
    const now = performance.now();
    const same = key !== "" && key === this.lastMove.key && now - this.lastMove.time < SAME_MOVE_MS;
    this.lastMove = { key, time: now };
    if (same) return;
    this.undoTexts.push(this.text);
    if (this.undoTexts.length > MOST_UNDO) this.undoTexts.shift();
    this.redoTexts = [];
  }

  // `values`: the answer brings the values of all keys, as after a change of model; a slider's move only that of its key.
  edit(edits: Edit[], values = true) {
    this.remember(edits.length === 1 ? edits[0].key : "");
    this.draft = null;
    this.request(new Map(edits.map((e) => [e.key, e.value])), null, values);
  }

  setText(text: string) {
    if (text === this.text && this.draft === null) return;
    this.remember("(text)");
    this.draft = text;
    this.request(new Map(), text, true);
    this.changed();
  }

  private go(from: string[], to: string[]) {
    const text = from.pop();
    if (text === undefined) return;
    to.push(this.text);
    this.lastMove = { key: "", time: 0 };
    this.draft = null;
    this.request(new Map(), text, true);
  }
  undo() { this.go(this.undoTexts, this.redoTexts); }
  redo() { this.go(this.redoTexts, this.undoTexts); }
  open(text: string) { this.remember(""); this.draft = null; this.request(new Map(), text, true); }

  // One request is under way; what is asked meanwhile is one more, the newest value of each key.
  private request(edits: Map<string, string | null>, text: string | null, values: boolean) {
    if (!this.pending || text !== null) this.pending = { edits, text, values: values || (this.pending?.values ?? false) };
    else {
      for (const [key, value] of edits) this.pending.edits.set(key, value);
      this.pending.values ||= values;
    }
    if (!this.busy) return void this.send();
    if (this.impatience) return;
    this.impatience = window.setTimeout(() => { this.impatience = 0; if (this.busy && this.pending) this.overtake(); }, Math.max(0, PATIENCE_MS - (performance.now() - this.askedAt)));
  }

  // The server stops the prediction that is under way: what it was asked goes into the newer question.
  private overtake() {
    const old = this.asked!, next = this.pending!;
    if (next.text === null) this.pending = { edits: new Map([...old.edits, ...next.edits]), text: old.text, values: old.values || next.values };
    else next.values ||= old.values;
    void this.send();
  }

  private async send() {
    const next = this.pending;
    if (!next) return;
    this.pending = null;
    this.busy = true;
    this.asked = next;
    const turn = ++this.turn;
    const began = performance.now();
    this.askedAt = began;
    const edits = [...next.edits].map(([key, value]) => ({ key, value }));
    const base = next.text ?? this.text;
    const answer = await this.connection.ask("predict", { text: base, edits, values: next.values || !this.shown || this.told !== null });
    if (turn !== this.turn) return;
    this.busy = false;
    this.latency = performance.now() - began;
    this.take(answer, next.edits, base);
    if (this.problem && !this.shown) await this.showAnother();
    this.answers += 1;
    document.documentElement.dataset.answers = String(this.answers);
    document.documentElement.dataset.latency = this.latency.toFixed(2);
    this.changed();
    if (this.answers === 1) performance.mark("first figures");
    if (this.pending) void this.send();
    else this.afterwards();
  }

  private take(answer: Answer, edits: Map<string, string | null>, base: string) {
    if (answer.type === "prediction") {
      this.text = answer.text as string;
      if (this.draft === this.text) this.draft = null;
      let values = (answer.values as Values | undefined) ?? { ...this.values };
      if (!answer.values) for (const key of edits.keys()) this.moveValue(values, key, edits.get(key) ?? null);
      this.shown = { text: this.text, report: answer.report as Report, values };
      this.told = null;
      this.problem = null;
      this.noteKeys();
      this.rememberGood();
    } else if (answer.type === "error") {
      if (typeof answer.text === "string") {
        this.text = answer.text;
        if (this.draft === this.text) this.draft = null;
        this.told = { ...this.values };
        for (const [key, value] of edits) this.moveValue(this.told, key, value);
        this.given = (answer.given as Values | undefined) ?? null;
        this.takeGiven();
      }
      this.problem = answer.error as Problem;
    } else if (answer.type !== "lost") {
      this.problem = { text: answer.type === "timeout" ? "This prediction takes more than 30 s." : `No answer: ${answer.type}.`, what: "", where: "", hint: "" };
    } else if (!this.pending) {
      this.pending = { edits, text: base, values: true };
    }
  }

  // The controls hold what the text says, also where it is wrong; of keys that it does not name, what was shown last.
  private given: Values | null = null;
  private takeGiven() {
    if (!this.given) return;
    const known = { ...this.shown?.values, ...this.told }, kept = Object.entries(known).filter(([, v]) => !v[1].startsWith(`${this.file}:`));
    const told = Object.entries(this.given).map(([key, v]): [string, Value] => [key, [v[0], v[1], v[2] ?? known[key]?.[2]]]);
    this.told = Object.fromEntries([...kept, ...told]);
  }

  // Where the first experiment of the page cannot be predicted, as after a reload: the figures of the last one that could be, in
  // this tab, else of the one that distsim serve was started with.
  private async showAnother() {
    const last = sessionStorage.getItem(this.goodKey);
    for (const text of [last, this.first]) {
      if (text === null || text === this.text || this.shown) continue;
      const answer = await this.connection.ask("predict", { text, edits: [], values: true });
      if (answer.type === "prediction" && !this.shown) this.shown = { text: answer.text as string, report: answer.report as Report, values: answer.values as Values };
    }
    this.noteKeys();
    this.takeGiven();
  }
  // Keys that had a number since the model was chosen: one that is taken out of the text keeps its control.
  readonly seen = new Set<string>();
  private seenOf = "";
  private noteKeys() {
    if (!this.shown) return;
    const { model, framework } = this.shown.report.context, of = `${model} ${framework}`;
    if (of !== this.seenOf) this.seen.clear();
    this.seenOf = of;
    for (const [key, value] of Object.entries(this.shown.values)) if (value[2] !== undefined) this.seen.add(key);
  }
  private get goodKey() { return `distsim.good.${this.token}`; }
  private goodTimer = 0;
  private rememberGood() {
    clearTimeout(this.goodTimer);
    this.goodTimer = window.setTimeout(() => { try { sessionStorage.setItem(this.goodKey, this.shown?.text ?? ""); } catch { /* a browser that keeps nothing */ } }, 400);
  }

  // A slider stays where it was while its box holds what is no number: it can be corrected there.
  private moveValue(values: Values, key: string, value: string | null) {
    if (value === null) delete values[key];
    else values[key] = [value, `${this.file}:0`, this.numbers.get(`${key}=${value}`) ?? values[key]?.[2]];
  }
  // Numbers of texts that sliders made.
  readonly numbers = new Map<string, number>();

  // When the user pauses: the link, and which keys change nothing.
  private afterwards() {
    clearTimeout(this.linkTimer);
    clearTimeout(this.effectsTimer);
    const text = this.text;
    this.linkTimer = window.setTimeout(async () => history.replaceState(null, "", location.pathname + location.search + (await toLink(text))), 400);
    if (this.problem) return;
    this.effectsTimer = window.setTimeout(async () => {
      const answer = await this.connection.ask("effects", { text });
      if (answer.type !== "effects" || this.text !== text) return;
      this.idle = answer.without_effect as { key: string; where: string }[];
      this.changed();
    }, 900);
  }

  pin() {
    if (!this.shown) return;
    const { context } = this.shown.report;
    if (this.pins.length >= MOST_PINS) return this.say(`Not pinned: ${MOST_PINS} states are kept already, and the first is what the others are compared with. Unpin one under Compare.`);
    this.pins = [...this.pins, { id: this.nextPin++, name: `${context.nodes} x ${context.gpus_per_node} ${context.system}`, shown: this.shown }];
    this.say(`Pinned. ${this.pins.length} of ${MOST_PINS} states are kept; see Compare.`);
  }
  unpin(id: number) { this.pins = this.pins.filter((p) => p.id !== id); this.changed(); }
  rename(id: number, name: string) { this.pins = this.pins.map((p) => (p.id === id ? { ...p, name } : p)); this.changed(); }

  say(notice: string) { this.notice = notice; this.changed(); }

  async download(kind: "json" | "csv" | "html" | "trace") {
    const answer = await this.connection.ask("file", { text: this.shown?.text ?? this.text, kind });
    if (answer.type !== "file") return this.say(`The file could not be made. ${why(answer)}`);
    save(`${answer.path as string}?token=${encodeURIComponent(this.token)}`, "");
  }
  downloadText() { saveText(this.text, "experiment.yaml", "text/yaml"); }
  async link() {
    const hash = await toLink(this.text);
    await navigator.clipboard.writeText(hash).then(
      () => this.say("Copied. Whoever appends this to the URL that their own distsim serve prints sees this experiment."),
      () => this.say("The browser does not allow copying here; the same link stands in the address bar behind #."));
  }
}
