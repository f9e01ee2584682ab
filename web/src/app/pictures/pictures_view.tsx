// Network and schedule of what is shown; asked for while their view is open, the last ones stay meanwhile.
import { useEffect, useRef, useState } from "preact/hooks";
import { Store } from "../store";
import { why } from "../problems";
import { Report } from "../types";
import { LinkLoads, NetworkView } from "./network";
import { Schedule, ScheduleView } from "./schedule";

interface Pictures { text: string; links: LinkLoads | null; schedule: Schedule | null; problem: string }

export function PicturesView({ store, report }: { store: Store; report: Report }) {
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
