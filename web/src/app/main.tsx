import { render } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Ask } from "./ask";
import { DropZone } from "./drop_zone";
import { digits } from "./format";
import { later } from "./later";
import { Basis, Cycle, Headline, Overview, Ranks, Tables } from "./report/see";
import { Store } from "./store";
import { told } from "./problems";
import { tabFor } from "./tabs";
import { TimelineSource } from "./pictures/timeline/windows";
import { Timeline } from "./types";
import { WhyId, WhyOpen, WhyPanel } from "./report/why";

const TimelineView = later(() => import("./pictures/timeline/timeline").then((m) => m.TimelineView));
const PicturesView = later(() => import("./pictures/pictures_view").then((m) => m.PicturesView));
const Compare = later(() => import("./compare").then((m) => m.Compare));
const ExploreView = later(() => import("./explore_views").then((m) => m.ExploreView));
const TracesView = later(() => import("./traces").then((m) => m.TracesView));
const send = (store: Store, files: File[]) => import("./traces").then((m) => m.sendFiles(store, files), () => store.say("The files could not be sent: no connection to the server."));

const TABS = ["Overview", "Timeline", "Network", "Ops and collectives", "Memory and ranks", "Basis", "Compare", "Explore", "Traces"] as const;
type Tab = (typeof TABS)[number];
const OWN: Tab[] = ["Compare", "Explore", "Traces"];  // which are more than what is shown of the prediction
const idOf = (tab: Tab) => `tab-${tab.toLowerCase().replaceAll(" ", "-")}`;

// An experiment without a title has the name of its file, which says nothing once it is another one.
const titleOf = (title: string, file: string) => (title === file.split("/").pop()?.replace(/\.ya?ml$/, "") ? "" : title);

function closeMenu(menu: HTMLDetailsElement, focus: boolean) {
  if (!menu.open) return;
  menu.open = false;
  if (focus) menu.querySelector("summary")?.focus();
}

function timelineOf(store: Store): TimelineSource {
  return async (request) => {
    if (!store.shown) return null;
    const answer = await store.connection.ask("timeline", { text: store.shown.text, ...request });
    return answer.type === "timeline" ? (answer as unknown as Timeline) : null;
  };
}

function App({ store }: { store: Store }) {
  const [, tick] = useState(0);
  const [tab, setTab] = useState<Tab>("Overview");
  const [asked, setAsked] = useState<WhyId | null>(null);
  useLayoutEffect(() => { const off = store.subscribe(() => tick((n) => n + 1)); return () => void off(); }, []);
  useEffect(() => {
    const keys = (e: KeyboardEvent) => {
      const at = e.composedPath()[0] as HTMLElement;  // within the editor too
      const typing = at.isContentEditable || (/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) && (at as HTMLInputElement).type !== "range");
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
    const next = tabFor(e.key, TABS, tab);
    if (next === null) return;
    e.preventDefault();
    setTab(next);
    document.getElementById(idOf(next))?.focus();
  };
  const r = store.report;
  return (
    <WhyOpen.Provider value={setAsked}>
      <header>
        <div class="long"><h1>{r ? `${r.context.model} on ${r.context.nodes} x ${r.context.gpus_per_node} ${r.context.system}` : "distsim"}</h1>{r && titleOf(r.context.title, store.file) && <div class="small soft title" title={r.context.title}>{r.context.title}</div>}</div>
        <div class="actions">
          <button onClick={() => store.undo()} disabled={!store.canUndo} id="undo">Undo</button>
          <button onClick={() => store.redo()} disabled={!store.canRedo} id="redo">Redo</button>
          <button onClick={() => store.pin()} disabled={!r} id="pin">Pin</button>
          <button onClick={() => void store.link()}>Copy link</button>
          <details class="menu" onKeyDown={(e) => { if (e.key === "Escape") closeMenu(e.currentTarget, true); }} onFocusOut={(e) => { if (!e.currentTarget.contains(e.relatedTarget as Node | null)) closeMenu(e.currentTarget, false); }}><summary>Download</summary><div onClick={(e) => closeMenu(e.currentTarget.parentElement as HTMLDetailsElement, true)}>
            <button onClick={() => store.downloadText()}>Experiment (YAML)</button><button onClick={() => void store.download("json")} id="download-json">Report (JSON)</button><button onClick={() => void store.download("csv")}>Figures (CSV)</button>
            <button onClick={() => void store.download("html")}>Page that works offline (HTML)</button><button onClick={() => void store.download("trace")}>Timeline for Perfetto (JSON)</button>
          </div></details>
        </div>
      </header>
      {!store.connected && <p class="problem" role="alert">No connection to the server. It answers again once distsim serve runs; the page tries by itself.</p>}
      <DropZone onFiles={(files) => { setTab("Traces"); void send(store, files); }} />
      <div class="notice" role="status">{store.notice}</div>
      <div class="body">
        <Ask store={store} />
        <main>
          {store.problem && <p class="print-only"><b>These figures are of another experiment than the page's text, which has an error:</b> {told(store.problem)}</p>}
          <Headline report={r} old={store.problem !== null} waiting={store.problem ? "No prediction yet." : "Predicting ..."} onBasis={() => setTab("Basis")} />
          <div class="tabs" role="tablist" aria-label="Views of the prediction" onKeyDown={tabKeys}>
            {TABS.map((t) => <button key={t} id={idOf(t)} role="tab" aria-selected={t === tab} tabIndex={t === tab ? 0 : -1} aria-controls="view" onClick={() => setTab(t)}>{t}{t === "Compare" && store.pins.length > 0 ? ` (${store.pins.length})` : ""}</button>)}
          </div>
          <div id="view" role="tabpanel" aria-labelledby={idOf(tab)} class={store.problem && !OWN.includes(tab) ? "old" : ""}>
            {r && tab === "Overview" && <Overview report={r} />}
            {r && tab === "Timeline" && <><TimelineView report={r} id={store.shown?.text ?? ""} source={timelineOf(store)} /><Cycle report={r} /></>}
            {r && tab === "Network" && <PicturesView store={store} report={r} />}
            {r && tab === "Ops and collectives" && <Tables report={r} />}
            {r && tab === "Memory and ranks" && <Ranks report={r} />}
            {r && tab === "Basis" && <Basis report={r} values={store.shown!.values} file={store.file} idle={store.idle} />}
            {tab === "Compare" && <Compare store={store} />}
            {tab === "Explore" && <ExploreView store={store} />}
            {tab === "Traces" && <TracesView store={store} />}
          </div>
        </main>
      </div>
      <footer class="small soft">{r && `${r.context.device}, ${r.context.framework}. `}{store.latency > 0 && `The last answer took ${digits(store.latency, 2)} ms. `}Everything stays on the machine that runs distsim.</footer>
      {r && <WhyPanel report={r} id={asked} close={() => setAsked(null)} onAll={() => { setTab("Basis"); document.getElementById(idOf("Basis"))?.focus(); }} />}
    </WhyOpen.Provider>
  );
}

const place = document.getElementById("app")!;
place.replaceChildren();  // what index.html shows until here
render(<App store={new Store(new URLSearchParams(location.search).get("token") ?? "")} />, place);
