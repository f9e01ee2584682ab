// What a number rests on, one click away from it: what it means, its basis and source, the assumptions that go into it.
import { ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useRef } from "preact/hooks";
import { bytes, count, ms, msRange, percent, sourceText } from "../format";
import { Report } from "../types";

export type WhyId = string;  // "iteration", "part compute_ms", "collective 3", ...
export const WhyOpen = createContext<(id: WhyId) => void>(() => undefined);

// A number, or a name in front of a row of numbers, that says what it rests on.
export function Why({ id, children, label }: { id: WhyId; children: ComponentChildren; label?: string }) {
  const open = useContext(WhyOpen);
  return <button type="button" class="why" aria-haspopup="dialog" aria-label={label} onClick={(e) => { e.stopPropagation(); open(id); }}>{children}</button>;
}

// A row of numbers: the pointer may press anywhere on it, the keyboard the Why in its first cell.
export function WhyRow({ id, children }: { id: WhyId; children: ComponentChildren }) {
  const open = useContext(WhyOpen);
  return <tr class="why-row" onClick={() => { if (getSelection()?.isCollapsed ?? true) open(id); }}>{children}</tr>;
}

export interface Explained { title: string; value?: string; text: string; basis: { name: string; share: number }[]; ofWhat?: string; source?: string; kinds: string[]; extra?: string[] }

const PART_TEXTS: Record<string, string> = {
  compute_ms: "Without communication: the time in which a kernel or copy runs, as a mean over the ranks. Times of kernels come from the op models of the GPU.",
  exposed_comm_ms: "What the iteration would be shorter by if all collectives and messages took no time: the iteration is played again without them.",
  waiting_ms: "Without communication: no compute runs, and the rank waits at a collective for its last member. A mean over the ranks.",
  host_bound_ms: "Without communication: the next kernel has not been launched yet, or its input is still being prepared. A mean over the ranks.",
  idle_ms: "Without communication: the rest, such as the bubble of a pipeline. A mean over the ranks.",
};
const ALL_KINDS = ["batch", "workload", "collectives", "network", "kernels", "contention", "interference", "folding"];

function sharesOf(steps: { basis: string; time_ms: number }[]): { name: string; share: number }[] {
  const total = steps.reduce((sum, s) => sum + s.time_ms, 0);
  const by = new Map<string, number>();
  for (const s of steps) by.set(s.basis, (by.get(s.basis) ?? 0) + s.time_ms);
  return [...by].map(([name, time]) => ({ name, share: total > 0 ? time / total : 0 })).sort((a, b) => b.share - a.share);
}

// Of a longer critical cycle a report may have the first steps only.
export const firstSteps = (r: Report) => `first ${count(r.critical_path.length)} of ${count(r.path_steps ?? r.critical_path.length)} steps of the critical cycle`;
const onCycle = (r: Report) => (r.path_steps ? `among the ${firstSteps(r)}` : "on the critical cycle");

// What `id` says of a report; the whole iteration where it is none that is known.
export function explain(r: Report, id: WhyId): Explained {
  const [kind, ...words] = id.split(" "), rest = words.join(" ");
  const cycle = Object.entries(r.basis_share).map(([name, share]) => ({ name, share }));
  const whole: Explained = {
    title: "Time per iteration", value: ms(r.iteration_ms), basis: cycle, ofWhat: "of the critical cycle", kinds: ALL_KINDS,
    text: "The steady-state period of training: several iterations are played until no stream falls behind, and the last period is taken. It is the length of the critical cycle, the steps that lead from a step to the same step of the next iteration.",
  };
  switch (kind) {
    case "range":
      return { ...whole, title: "Range", value: msRange(r.low_ms, r.high_ms), text: "About the 10th to 90th percentile of where a measurement would fall: the spreads of the costs on the critical cycle, partly shared among ops of one kind and basis, and what the framework's profile does not know." };
    case "rate":
      return { ...whole, title: "Throughput", value: r.tokens ? `${count(r.tokens.tokens_per_second)} tokens/s` : `${count(r.samples_per_second)} samples/s`, text: "Samples (tokens) of one iteration over all ranks, over the time per iteration." };
    case "mfu":
      return { ...whole, title: "MFU", value: percent(r.mfu), text: "Floating-point operations that the model needs, over iteration time and GPUs, as a share of the GPU's dense peak at the model's precision. Recomputation does not count." };
    case "limited":
      return { ...whole, title: `Limited by ${r.limited_by ?? "nothing"}`, text: `The resource with most time on the critical cycle.${r.runner_up ? ` If it took no time, the iteration would be ${ms(r.slack_ms)} shorter and limited by ${r.runner_up}; found by playing the iteration again with those times at zero.` : ""}` };
    case "memory":
      return { title: "Memory", value: bytes(Math.max(0, ...r.memory.used_bytes_per_rank)), text: "Weights, gradients, optimizer state, activations, embedding tables and buffers of a rank, counted from the model and its parallelism; the GPU's own reserve is not included.", basis: [], kinds: ["batch", "workload"] };
    case "part": {
      const time = r.breakdown[rest as keyof typeof r.breakdown] ?? 0;
      const names: Record<string, string> = { compute_ms: "Compute", exposed_comm_ms: "Exposed communication", waiting_ms: "Waiting for other ranks", host_bound_ms: "Host", idle_ms: "Idle", comm_ms: "Communication", hidden_comm_ms: "Communication beside compute" };
      const isComm = rest.includes("comm");
      const steps = r.critical_path.filter((s) => (rest === "host_bound_ms" ? s.stream === "host" : isComm ? /^(comm|p2p)/.test(s.stream) : /^(compute|copy)/.test(s.stream)));
      const basis = isComm && r.collectives.length > 0 ? sharesOf(r.collectives.map((c) => ({ basis: c.basis, time_ms: c.transfer_ms }))) : sharesOf(steps);
      return { title: names[rest] ?? rest, value: ms(time), text: PART_TEXTS[rest] ?? "Union of the times in which a collective or message transfers; a mean over the ranks.", basis, ofWhat: isComm && r.collectives.length > 0 ? "of all transfers" : `of such steps ${onCycle(r)}`, kinds: isComm ? ["collectives", "network", "contention"] : rest === "host_bound_ms" ? ["kernels", "interference"] : ["kernels", "interference", "batch"] };
    }
    case "cycle": {
      const time = r.cycle.find((c) => c.resource === rest)?.time_ms ?? 0;
      return { ...whole, title: `On the critical cycle: ${rest}`, value: ms(time), text: "The time of the steps of this resource on the critical cycle. A shorter step there means a shorter iteration." };
    }
    case "step": {
      const s = r.critical_path[Number(rest)];
      if (!s) return whole;
      const c = r.collectives.find((x) => x.name === s.name);
      return { title: s.name, value: ms(s.time_ms), text: `A step of the critical cycle: ${s.kind} on rank ${s.rank}, ${s.stream}, from ${ms(s.start_ms)}${s.steps > 1 ? `, ${s.steps} steps one after the other` : ""}.`, basis: [{ name: s.basis, share: 1 }], source: c?.source, kinds: /^(comm|p2p)/.test(s.stream) ? ["collectives", "network", "contention"] : s.stream === "host" ? ["kernels"] : ["kernels", "interference"] };
    }
    case "collective": {
      const c = r.collectives[Number(rest)];
      if (!c) return whole;
      return {
        title: c.name, value: ms(c.transfer_ms), text: `${c.kind} over ${c.group_size} ranks, ${bytes(c.bytes)} in ${count(c.calls)} call${c.calls === 1 ? "" : "s"}; transfer as a mean over ranks. Exposed: what the iteration would be shorter by if these calls took no time. The bus bandwidth is defined as in nccl-tests.`,
        basis: [{ name: c.basis, share: 1 }], ofWhat: "the least trusted call", source: c.source, kinds: ["collectives", "network", "contention"], extra: [`exposed ${ms(c.exposed_ms)}`, `waiting ${ms(c.waiting_ms)}`],
      };
    }
    case "op": {
      const o = r.ops.find((x) => x.kind === rest);
      const steps = r.critical_path.filter((s) => s.kind === rest);
      return { title: `Ops: ${rest}`, value: o ? ms(o.time_ms) : undefined, text: `All kernels of this kind in an iteration, as a mean over ranks.${steps.length === 0 ? ` None of them is ${onCycle(r)}, of which alone the report lists each step's basis.` : ""}`, basis: sharesOf(steps), ofWhat: `of those ${onCycle(r)}`, kinds: ["kernels", "interference", "batch"] };
    }
    case "ranks":
      return { ...whole, title: "Times of the ranks", value: undefined, text: "Each rank's iteration, split as the mean is. Ranks differ by what they hold and by the speed of their hardware." };
    case "link":
      return { title: "Load of the links", text: "Bytes: what the collectives and messages of one iteration send over a link, per direction, with the traffic of a ring (all_reduce, all_gather, reduce_scatter) or of equal shares to all (all_to_all). Busy: these bytes at the link's full rate, so the link is in use for at least so long; what a collective takes longer is latency, protocol or the slowest of its links.", basis: r.collectives.length > 0 ? sharesOf(r.collectives.map((c) => ({ basis: c.basis, time_ms: c.transfer_ms }))) : [], ofWhat: "of the transfers' times; bytes and busy time are counted, not modelled", kinds: ["network", "collectives", "contention", "folding"] };
    case "schedule":
      return { ...whole, title: "Schedule of the pipeline", value: undefined, text: "What the first rank of each stage did in the last iteration that was played, from the timeline itself. What a backward pass computes again, block by block, is drawn at its beginning: its kernels' share of the cost of the pass." };
    case "sweep":
      return { ...whole, title: "Points of a sweep", value: undefined, basis: [], kinds: [], text: "Each point is a prediction of its own; open it to see what it rests on. The band around a curve of the iteration is the range of each prediction, about the 10th to 90th percentile of where a measurement would fall." };
    case "sensitivity":
      return { ...whole, title: "What would help most", value: undefined, text: "The whole experiment predicted again with one resource half as good, twice as good, or without limit. What is below belongs to the experiment as it is." };
    case "timeline":
      return { ...whole, title: "Timeline", value: undefined, text: "One steady-state iteration as it was played. Point at a step for the basis and source of its cost." };
    default:
      return whole;
  }
}

export function WhyPanel({ report, id, close, onAll }: { report: Report; id: WhyId | null; close: () => void; onAll: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const d = dialog.current;
    if (id !== null && d && !d.open) d.showModal();
    if (id === null && d?.open) d.close();
  }, [id]);
  const e = id === null ? null : explain(report, id);
  const assumptions = e ? report.assumptions.filter((_, i) => e.kinds.includes(report.assumption_kinds[i])) : [];
  return (
    <dialog ref={dialog} class="why-panel" aria-labelledby="why-title" onClose={close} onClick={(event) => { if (event.target === dialog.current) dialog.current?.close(); }}>
      {e && (
        <div>
          <header><h2 id="why-title">{e.title}{e.value && <span class="soft"> {e.value}</span>}</h2><button type="button" class="quiet" onClick={() => dialog.current?.close()}>Close</button></header>
          <p>{e.text}</p>
          {e.extra && <p>{e.extra.join(", ")}.</p>}
          {e.basis.length > 0 && <p id="why-basis">Basis: {e.basis.map((b, i) => <span key={b.name}>{i > 0 && ", "}<span class={`basis ${b.name}`}>{b.name}</span>{e.basis.length > 1 && ` ${percent(b.share, 0)}`}</span>)} {e.ofWhat && <span class="soft small">({e.ofWhat})</span>}</p>}
          {e.source && <p class="small">Source: {e.basis.length === 1 ? sourceText(e.basis[0].name, e.source) : e.source}</p>}
          {assumptions.length > 0 && <><h3>Assumptions that go into it</h3><ul class="small">{assumptions.map((a, i) => <li key={i}>{a}</li>)}</ul></>}
          <p><button type="button" class="link" id="why-all" onClick={() => { dialog.current?.close(); onAll(); }}>All assumptions and sources</button></p>
        </div>
      )}
    </dialog>
  );
}
