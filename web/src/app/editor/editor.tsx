// The experiment's text in CodeMirror. In a shadow root: there its style sheets are objects, which the page's Content-Security-Policy
// allows, and not elements, which it does not.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, Transaction } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import { Store } from "../store";
import { complete, hoverHelp } from "./yaml_help";

const TYPING_MS = 250;  // without a key pressed, after which what is typed is predicted

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.comment, tags.lineComment, tags.meta, tags.punctuation, tags.separator], color: "var(--soft)" },
]);

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--field)", fontSize: "13px", border: "1px solid var(--line)", borderRadius: "5px", minHeight: "24rem", maxHeight: "80vh" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace', lineHeight: "1.5", minHeight: "24rem" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--field)", color: "var(--soft)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--page)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--pale)" },
  ".cm-tooltip": { color: "var(--text)", backgroundColor: "var(--card)", border: "1px solid var(--line)", borderRadius: "5px", maxWidth: "26rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "inherit", maxHeight: "16rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "var(--on)", background: "var(--accent)" },
  ".cm-completionDetail": { fontStyle: "normal", color: "var(--soft)" },
  "li[aria-selected] .cm-completionDetail": { color: "var(--on)" },
  ".cm-tooltip-hover .help, .cm-completionInfo": { padding: ".4rem .6rem", fontSize: "13px", fontFamily: "system-ui, sans-serif" },
  ".soft": { color: "var(--soft)" },
  ".cm-diagnostic": { fontFamily: "system-ui, sans-serif" },
});

// The least change that makes `now` of `old`, so that the cursor stays where it was.
function changeTo(old: string, now: string) {
  let from = 0, end = 0;
  const most = Math.min(old.length, now.length);
  while (from < most && old[from] === now[from]) ++from;
  while (end < most - from && old[old.length - 1 - end] === now[now.length - 1 - end]) ++end;
  return { from, to: old.length - end, insert: now.slice(from, now.length - end) };
}

function diagnosticsOf(store: Store, state: EditorState): Diagnostic[] {
  const p = store.problem;
  if (!p?.line || p.line > state.doc.lines) return [];
  const line = state.doc.line(p.line), from = Math.min(line.to, line.from + (p.column ?? 1) - 1);
  return [{ from, to: Math.max(from, line.from + line.text.trimEnd().length), severity: "error", message: (p.what || p.text) + (p.hint ? `; ${p.hint}` : "") }];
}

class Writer {
  readonly view: EditorView;
  private timer = 0;
  private isUnsent = false;
  private said = "";  // the problem that is marked
  private readonly scheme = matchMedia("(prefers-color-scheme: dark)");
  private readonly dark = new Compartment();
  private readonly onScheme = () => this.view.dispatch({ effects: this.dark.reconfigure(EditorView.darkTheme.of(this.scheme.matches)) });

  constructor(host: HTMLElement, private readonly store: Store) {
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open", delegatesFocus: true });
    this.view = new EditorView({ root, parent: root, state: EditorState.create({ doc: this.text(), extensions: this.extensions() }) });
    this.scheme.addEventListener("change", this.onScheme);
  }

  private extensions() {
    return [
      lintGutter(), lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), history(), drawSelection(), EditorView.lineWrapping, indentOnInput(), bracketMatching(), closeBrackets(), indentUnit.of("  "), yaml(),
      autocompletion({ override: [complete(this.store)], icons: false }), hoverHelp(this.store), syntaxHighlighting(colours), look, this.dark.of(EditorView.darkTheme.of(this.scheme.matches)),
      EditorView.contentAttributes.of({ "aria-label": "The experiment as YAML", tabindex: "0", spellcheck: "false", autocorrect: "off", autocapitalize: "off" }),
      keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap, { key: "Escape", run: (view) => { view.setTabFocusMode(true); return true; } }, indentWithTab]),
      EditorView.domEventHandlers({
        keydown: (e, view) => { if (!["Escape", "Tab", "Shift"].includes(e.key)) view.setTabFocusMode(false); return false; },
        focus: (_, view) => { view.setTabFocusMode(false); return false; },
      }),
      EditorView.updateListener.of((update) => { if (update.transactions.some((t) => t.docChanged && t.annotation(Transaction.remote) !== true)) this.typed(); }),
    ];
  }

  private text() { return this.store.draft ?? this.store.text; }

  private typed() {
    this.isUnsent = true;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.send(), TYPING_MS);
  }
  private send() {
    clearTimeout(this.timer);
    if (!this.isUnsent) return;
    this.isUnsent = false;
    this.store.setText(this.view.state.doc.toString());
  }

  // What the controls, or an answer, changed. Not while somebody types: that is sent first.
  follow() {
    if (this.isUnsent) return;
    const old = this.view.state.doc.toString(), now = this.text();
    if (old !== now) this.view.dispatch({ changes: changeTo(old, now), annotations: [Transaction.remote.of(true), Transaction.addToHistory.of(false)] });
    const found = diagnosticsOf(this.store, this.view.state), said = JSON.stringify(found);
    if (said === this.said) return;
    this.said = said;
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }

  goTo(line: number, column: number) {
    const at = this.view.state.doc.line(Math.min(line, this.view.state.doc.lines));
    this.view.dispatch({ selection: { anchor: Math.min(at.to, at.from + column - 1) }, scrollIntoView: true });
    this.view.focus();
  }

  end() {
    this.send();
    this.scheme.removeEventListener("change", this.onScheme);
    this.view.destroy();
  }
}

export function Editor({ store }: { store: Store }) {
  const host = useRef<HTMLDivElement>(null), writer = useRef<Writer | null>(null);
  useEffect(() => {
    writer.current = new Writer(host.current!, store);
    writer.current.follow();
    return () => writer.current?.end();
  }, []);
  useEffect(() => writer.current?.follow());
  const line = store.problem?.line;
  return (
    <div class="editor-box">
      <p class="small soft">The experiment as YAML; the controls change it in place. Ctrl-Space completes; Tab indents; Escape, then Tab leaves the text.</p>
      <div id="experiment-text" class="editor" ref={host} />
      {line !== undefined && <button class="quiet" onClick={() => writer.current?.goTo(line, store.problem?.column ?? 1)}>Go to line {line}</button>}
    </div>
  );
}
