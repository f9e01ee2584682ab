import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Ask } from "./ask";
import { Compare } from "./compare";
import { ExploreView } from "./explore_views";
import { digits } from "./format";
import { Basis, Headline, Overview, Ranks, Tables } from "./see";
import { Store } from "./store";
import { TimelineView } from "./timeline";
import { DropZone, TracesView } from "./traces";

const TABS = ["Overview", "Timeline", "Ops and collectives", "Memory and ranks", "Basis", "Compare", "Explore", "Traces"] as const;
type Tab = (typeof TABS)[number];
const idOf = (tab: Tab) => `tab-${tab.toLowerCase().replaceAll(" ", "-")}`;

function App({ store }: { store: Store }) {
  const [, tick] = useState(0);
  const [tab, setTab] = useState<Tab>("Overview");
  useEffect(() => { const off = store.subscribe(() => tick((n) => n + 1)); return () => void off(); }, []);
  useEffect(() => {
    const keys = (e: KeyboardEvent) => {
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test((e.target as HTMLElement).tagName) && (e.target as HTMLInputElement).type !== "range";
      if (typing || !(e.ctrlKey || e.metaKey) || e.key.toLowerCase() !== "z") return;
      e.preventDefault();
      if (e.shiftKey) store.redo(); else store.undo();
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  useEffect(() => {
    if (store.notice === "") return;
    const timer = setTimeout(() => store.say(""), 6000);
    return () => clearTimeout(timer);
  }, [store.notice]);
  const tabKeys = (e: KeyboardEvent) => {
    const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length];
    setTab(next);
    document.getElementById(idOf(next))?.focus();
  };
  const r = store.report;
  return (
    <>
      <header>
        <div><h1>{r ? `${r.context.model} on ${r.context.nodes} x ${r.context.gpus_per_node} ${r.context.system}` : "distsim"}</h1>{r && <div class="small soft">{r.context.title}</div>}</div>
        <div class="actions">
          <button onClick={() => store.undo()} disabled={!store.canUndo} id="undo">Undo</button>
          <button onClick={() => store.redo()} disabled={!store.canRedo} id="redo">Redo</button>
          <button onClick={() => store.pin()} disabled={!r} id="pin">Pin</button>
          <button onClick={() => void store.link()}>Copy link</button>
          <details class="menu"><summary>Download</summary><div>
            <button onClick={() => store.downloadText()}>Experiment (YAML)</button><button onClick={() => void store.download("json")} id="download-json">Report (JSON)</button><button onClick={() => void store.download("csv")}>Figures (CSV)</button>
            <button onClick={() => void store.download("html")}>Page that works offline (HTML)</button><button onClick={() => void store.download("trace")}>Timeline for Perfetto (JSON)</button>
          </div></details>
        </div>
      </header>
      {!store.connected && <p class="problem" role="alert">No connection to the server. It answers again once distsim serve runs; the page tries by itself.</p>}
      <DropZone store={store} onFiles={() => setTab("Traces")} />
      <div class="notice" role="status">{store.notice}</div>
      <div class="body">
        <Ask store={store} />
        <main>
          <Headline store={store} onBasis={() => setTab("Basis")} />
          <div class="tabs" role="tablist" aria-label="Views of the prediction" onKeyDown={tabKeys}>
            {TABS.map((t) => <button key={t} id={idOf(t)} role="tab" aria-selected={t === tab} tabIndex={t === tab ? 0 : -1} aria-controls="view" onClick={() => setTab(t)}>{t}{t === "Compare" && store.pins.length > 0 ? ` (${store.pins.length})` : ""}</button>)}
          </div>
          <div id="view" role="tabpanel" aria-labelledby={idOf(tab)} class={store.problem ? "old" : ""}>
            {r && tab === "Overview" && <Overview report={r} />}
            {r && tab === "Timeline" && <TimelineView store={store} />}
            {r && tab === "Ops and collectives" && <Tables report={r} />}
            {r && tab === "Memory and ranks" && <Ranks report={r} />}
            {r && tab === "Basis" && <Basis store={store} report={r} />}
            {tab === "Compare" && <Compare store={store} />}
            {tab === "Explore" && <ExploreView store={store} />}
            {tab === "Traces" && <TracesView store={store} />}
          </div>
        </main>
      </div>
      <footer class="small soft">{r && `${r.context.device}, ${r.context.framework}. `}{store.latency > 0 && `The last answer took ${digits(store.latency, 2)} ms. `}Everything stays on the machine that runs distsim.</footer>
    </>
  );
}

const token = new URLSearchParams(location.search).get("token") ?? "";
render(<App store={new Store(token)} />, document.getElementById("app")!);
