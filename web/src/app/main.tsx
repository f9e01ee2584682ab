import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Ask } from "./ask";
import { Compare } from "./compare";
import { ExploreView } from "./explore_views";
import { digits } from "./format";
import { LinkLoads, NetworkView } from "./pictures/network";
import { renderPage } from "./page";
import { Schedule, ScheduleView } from "./pictures/schedule";
import { Basis, Cycle, Headline, Overview, Ranks, Tables } from "./report/see";
import { Store } from "./store";
import { tabFor } from "./tabs";
import { TimelineView } from "./pictures/timeline/timeline";
import { TimelineSource } from "./pictures/timeline/windows";
import { DropZone, TracesView } from "./traces";
import { told, why } from "./problems";
import { Report, Timeline } from "./types";
import { WhyId, WhyOpen, WhyPanel } from "./report/why";

const TABS = ["Overview", "Timeline", "Network", "Ops and collectives", "Memory and ranks", "Basis", "Compare", "Explore", "Traces"] as const;
type Tab = (typeof TABS)[number];
const OWN: Tab[] = ["Compare", "Explore", "Traces"];  // which are more than what is shown of the prediction
const idOf = (tab: Tab) => `tab-${tab.toLowerCase().replaceAll(" ", "-")}`;

// An experiment without a title has the name of its file, which says nothing once it is another one.
const titleOf = (title: string, file: string) => (title === file.split("/").pop()?.replace(/\.ya?ml$/, "") ? "" : title);

interface Pictures { text: string; links: LinkLoads | null; schedule: Schedule | null; problem: string }

// Network and schedule of what is shown; asked for while their view is open, the last ones stay meanwhile.
function PicturesView({ store, report }: { store: Store; report: Report }) {
  const [got, setGot] = useState<Pictures | null>(null);
  const busy = useRef(false), text = store.shown?.text ?? "";
  const fetch = async () => {
    const now = store.shown?.text;
    if (busy.current || now === undefined) return;
    busy.current = true;
    const a = await store.connection.ask("pictures", { text: now });
    busy.current = false;
    if (a.type === "pictures") setGot({ text: now, links: a.links as LinkLoads, schedule: a.schedule as Schedule | null, problem: "" });
    else setGot({ text: now, links: null, schedule: null, problem: why(a) });
    if (store.shown && store.shown.text !== now) void fetch();
  };
  useEffect(() => { void fetch(); }, [text]);
  if (!got) return <p class="soft">Counting bytes ...</p>;
  return (
    <div class={got.text === text ? "" : "old"}>
      {got.problem && <p class="problem" role="alert">{got.problem}</p>}
      {got.links && <NetworkView loads={got.links} iteration={report.iteration_ms} limitedBy={report.limited_by} />}
      {got.schedule && <ScheduleView schedule={got.schedule} />}
    </div>
  );
}

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
        <div class="long"><h1>{r ? `${r.context.model} on ${r.context.nodes} x ${r.context.gpus_per_node} ${r.context.system}` : "distsim"}</h1>{r && titleOf(r.context.title, store.file) && <div class="small soft">{r.context.title}</div>}</div>
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
      <DropZone store={store} onFiles={() => setTab("Traces")} />
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
            {r && tab === "Timeline" && <><TimelineView report={r} id={store.shown?.text ?? ""} source={timelineOf(store)} /><Cycle report={r} steps={r.critical_path.length} /></>}
            {r && tab === "Network" && <PicturesView store={store} report={r} />}
            {r && tab === "Ops and collectives" && <Tables report={r} />}
            {r && tab === "Memory and ranks" && <Ranks report={r} />}
            {r && tab === "Basis" && <Basis report={r} values={store.values} file={store.file} idle={store.idle} />}
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

const page = document.getElementById("page-data"), place = document.getElementById("app")!;
if (page) renderPage(place, page.textContent ?? "");
else render(<App store={new Store(new URLSearchParams(location.search).get("token") ?? "")} />, place);
