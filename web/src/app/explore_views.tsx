// What can be explored from here: studies, plans, single costs, and how well measured iterations are met.
import { SensitivityView, SweepView } from "./explore";
import { useKept } from "./kept";
import { later } from "./later";
import { Store } from "./store";
import { tabFor } from "./tabs";

const PlanView = later(() => import("./plan").then((m) => m.PlanView));
const CalculatorView = later(() => import("./calculator").then((m) => m.CalculatorView));
const ValidationView = later(() => import("./validation").then((m) => m.ValidationView));

const VIEWS = ["Sensitivity and sweeps", "Plan", "Calculator", "Measured iterations"] as const;
type View = (typeof VIEWS)[number];
const idOf = (view: View) => `explore-${view.toLowerCase().replaceAll(" ", "-")}`;

export function ExploreView({ store }: { store: Store }) {
  const [view, setView] = useKept<View>("explore.view", VIEWS[0]);
  const keys = (e: KeyboardEvent) => {
    const next = tabFor(e.key, VIEWS, view);
    if (next === null) return;
    e.preventDefault();
    e.stopPropagation();
    setView(next);
    document.getElementById(idOf(next))?.focus();
  };
  return (
    <>
      <div class="tabs inner" role="tablist" aria-label="What to explore" onKeyDown={keys}>
        {VIEWS.map((v) => <button key={v} id={idOf(v)} role="tab" aria-selected={v === view} tabIndex={v === view ? 0 : -1} aria-controls="explore-view" onClick={() => setView(v)}>{v}</button>)}
      </div>
      <div id="explore-view" role="tabpanel" aria-labelledby={idOf(view)}>
        {view === "Sensitivity and sweeps" && <><SensitivityView store={store} /><SweepView store={store} /></>}
        {view === "Plan" && <PlanView store={store} />}
        {view === "Calculator" && <CalculatorView store={store} />}
        {view === "Measured iterations" && <ValidationView store={store} />}
      </div>
    </>
  );
}
