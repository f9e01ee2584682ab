// What is answered: the headline, where the time goes, tables, and what it rests on.
import { useState } from "preact/hooks";
import { bytes, count, digits, ms, percent } from "./format";
import { Store } from "./store";
import { Report, Split } from "./types";

export const PARTS: { key: keyof Split; name: string; colour: string; doc: string }[] = [
  { key: "compute_ms", name: "compute", colour: "c-compute", doc: "a kernel or copy runs" },
  { key: "exposed_comm_ms", name: "exposed communication", colour: "c-comm", doc: "what the iteration would be shorter by if communication took no time" },
  { key: "waiting_ms", name: "waiting for other ranks", colour: "c-waiting", doc: "at a collective, for its last member" },
  { key: "host_bound_ms", name: "host", colour: "c-host", doc: "the host has not yet launched the next step" },
  { key: "idle_ms", name: "idle", colour: "c-idle", doc: "none of these, such as the bubble of a pipeline" },
];

export function fullest(report: Report): number { return Math.max(0, ...report.memory.used_bytes_per_rank); }

function Figure({ name, value, note }: { name: string; value: string; note?: string }) {
  return <div class="figure"><dt>{name}</dt><dd>{value}{note && <span class="soft small"> {note}</span>}</dd></div>;
}

export function Headline({ store, onBasis }: { store: Store; onBasis: () => void }) {
  const r = store.report;
  if (!r) return <div class="headline"><p class="soft">{store.problem ? "No prediction yet." : "Predicting ..."}</p></div>;
  const best = Object.entries(r.basis_share).sort((a, b) => b[1] - a[1]);
  const used = fullest(r), share = r.memory.capacity_bytes > 0 ? used / r.memory.capacity_bytes : 0;
  return (
    <div class={`headline ${store.problem ? "old" : ""}`} aria-live="polite" aria-atomic="true">
      <div class="main-figure">
        <span id="iteration">{ms(r.iteration_ms)}</span> <span class="unit">per iteration</span>
        <div class="range" id="range">likely {ms(r.low_ms)} to {ms(r.high_ms)}</div>
      </div>
      <dl class="figures">
        {r.tokens ? <Figure name="tokens/s per GPU" value={count(r.tokens.tokens_per_second_per_gpu)} note={`${count(r.tokens.tokens_per_second)} in all`} /> : <Figure name="samples/s" value={count(r.samples_per_second)} note={`${r.context.ranks} GPU${r.context.ranks === 1 ? "" : "s"}`} />}
        {r.mfu > 0 && <Figure name="MFU" value={percent(r.mfu)} note={`${digits(r.achieved_tflops_per_gpu)} TFLOP/s per GPU`} />}
        <Figure name="limited by" value={r.limited_by ?? "nothing"} note={r.runner_up ? `then ${r.runner_up}, ${ms(r.slack_ms)} shorter` : ""} />
        <div class="figure">
          <dt>memory, fullest GPU</dt>
          <dd>{bytes(used)}<span class="soft small"> of {bytes(r.memory.capacity_bytes)}</span></dd>
          <div class={`meter ${share > 1 ? "over" : ""}`} role="meter" aria-label="Memory of the fullest GPU" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(100 * share)}><Bar share={share} /></div>
        </div>
        <div class="figure"><dt>basis</dt><dd><button class="link" id="basis-button" onClick={onBasis}>{best.slice(0, 2).map(([name, s]) => `${name} ${percent(s, 0)}`).join(", ")}</button></dd></div>
      </dl>
    </div>
  );
}

// A share of the width: an SVG, since styles in attributes are not allowed.
function Bar({ share, colour = "c-fill" }: { share: number; colour?: string }) {
  return <svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true"><rect class={colour} x="0" y="0" width={Math.max(0, Math.min(1, share)) * 1000} height="10" /></svg>;
}

function Stack({ parts, total, label }: { parts: { name: string; value: number; colour: string }[]; total: number; label: string }) {
  let x = 0;
  return (
    <svg class="stack" viewBox="0 0 1000 28" preserveAspectRatio="none" role="img" aria-label={`${label}: ${parts.map((p) => `${p.name} ${percent(p.value / total, 0)}`).join(", ")}`}>
      {parts.filter((p) => p.value > 0).map((p) => {
        const width = (1000 * p.value) / total, at = x;
        x += width;
        return <rect key={p.name} class={p.colour} x={at} y="0" width={Math.max(0, width - 1)} height="28"><title>{`${p.name} ${ms(p.value)}`}</title></rect>;
      })}
    </svg>
  );
}

const CYCLE: Record<string, string> = { "host loop": "c-host", network: "c-comm", compute: "c-compute", memory: "c-memory", input: "c-idle" };

export function Overview({ report: r }: { report: Report }) {
  const parts = PARTS.map((p) => ({ ...p, value: r.breakdown[p.key] }));
  const total = r.iteration_ms || 1;
  const top = [...r.critical_path].sort((a, b) => b.time_ms - a.time_ms).slice(0, 12);
  return (
    <div class="panes">
      <section>
        <h2>Where the time goes</h2>
        <Stack parts={parts} total={total} label="Mean over ranks" />
        <table class="plain">
          <thead><tr><th colSpan={2}>Part of an iteration</th><th class="n">time</th><th class="n">share</th></tr></thead>
          <tbody>{parts.filter((p) => p.value > 0).map((p) => <tr key={p.name}><td class="swatch"><Swatch colour={p.colour} /></td><td>{p.name}<div class="small soft">{p.doc}</div></td><td class="n">{ms(p.value)}</td><td class="n">{percent(p.value / total)}</td></tr>)}</tbody>
        </table>
        <p class="small soft">Communication takes {ms(r.breakdown.comm_ms)}, of which {ms(r.breakdown.hidden_comm_ms)} runs beside compute.</p>
      </section>
      <section>
        <h2>What sets it: the critical cycle</h2>
        <Stack parts={r.cycle.map((c) => ({ name: c.resource, value: c.time_ms, colour: CYCLE[c.resource] ?? "c-idle" }))} total={total} label="Critical cycle" />
        <table class="plain">
          <thead><tr><th>Longest steps on it</th><th>kind</th><th class="n">rank</th><th class="n">time</th><th>basis</th></tr></thead>
          <tbody>{top.map((s, i) => <tr key={i}><td class="cut" title={s.name}>{s.name}</td><td>{s.kind}</td><td class="n">{s.rank}</td><td class="n">{ms(s.time_ms)}</td><td>{s.basis}</td></tr>)}</tbody>
        </table>
      </section>
    </div>
  );
}

function Swatch({ colour }: { colour: string }) { return <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class={colour} width="10" height="10" /></svg>; }

export function Tables({ report: r }: { report: Report }) {
  const longest = Math.max(1e-12, ...r.collectives.map((c) => c.transfer_ms), ...r.ops.map((o) => o.time_ms));
  return (
    <>
      <section>
        <h2>Collectives</h2>
        {r.collectives.length === 0 ? <p class="soft">None.</p> : (
          <div class="scroll" tabIndex={0} role="region" aria-label="Collectives"><table>
            <thead><tr><th>name</th><th>kind</th><th class="n">ranks</th><th class="n">calls</th><th class="n">size</th><th class="n">transfer</th><th /><th class="n">exposed</th><th class="n">bus bandwidth</th><th>basis and source</th></tr></thead>
            <tbody>{r.collectives.map((c) => (
              <tr key={c.name + c.kind + c.group_size}><td class="cut" title={c.name}>{c.name}</td><td>{c.kind}</td><td class="n">{c.group_size}</td><td class="n">{count(c.calls)}</td><td class="n">{bytes(c.bytes)}</td><td class="n">{ms(c.transfer_ms)}</td>
                <td class="tiny-bar"><Bar share={c.transfer_ms / longest} colour="c-comm" /></td><td class="n">{ms(c.exposed_ms)}</td><td class="n">{digits(c.busbw_GBps)} GB/s</td><td class="source"><span class={`basis ${c.basis}`}>{c.basis}</span> <span class="small soft">{c.source}</span></td></tr>
            ))}</tbody>
          </table></div>
        )}
      </section>
      <section>
        <h2>Ops</h2>
        <div class="scroll" tabIndex={0} role="region" aria-label="Ops"><table>
          <thead><tr><th>kind</th><th class="n">kernels</th><th class="n">time</th><th /><th class="n">useful TFLOP/s</th></tr></thead>
          <tbody>{r.ops.map((o) => <tr key={o.kind}><td>{o.kind}</td><td class="n">{count(o.kernels)}</td><td class="n">{ms(o.time_ms)}</td><td class="tiny-bar"><Bar share={o.time_ms / longest} colour="c-compute" /></td><td class="n">{o.tflops > 0 ? digits(o.tflops) : ""}</td></tr>)}</tbody>
        </table></div>
      </section>
    </>
  );
}

export function Ranks({ report: r }: { report: Report }) {
  const used = r.memory.used_bytes_per_rank, times = r.ranks.times;
  const kinds = r.tokens?.memory[0];
  return (
    <div class="panes">
      <section>
        <h2>Memory</h2>
        <p>{bytes(fullest(r))} of {bytes(r.memory.capacity_bytes)} on the fullest GPU{used.length > 1 ? `, ${bytes(Math.min(...used))} on the emptiest` : ", the same on all"}.</p>
        {kinds && <table class="plain"><thead><tr><th>What rank {kinds.rank} holds</th><th class="n">bytes</th></tr></thead><tbody>{Object.entries(kinds.bytes).filter(([, b]) => b > 0).sort((a, b) => b[1] - a[1]).map(([what, b]) => <tr key={what}><td>{what}</td><td class="n">{bytes(b)}</td></tr>)}</tbody></table>}
        {used.length > 1 && <Columns values={used} label="Memory by rank" text={bytes} />}
      </section>
      <section>
        <h2>Ranks</h2>
        {r.ranks.alike ? <p>All {r.context.ranks} ranks take the same time.</p> : (
          <>
            <p>Slowest in compute: rank {r.ranks.slowest}; fastest: rank {r.ranks.fastest}.</p>
            {times.length > 1 ? <Columns values={times.map((t) => t.compute_ms)} label="Compute by rank" text={ms} /> : <p class="soft">The times of {r.context.ranks} ranks are in the JSON report.</p>}
            {times.length > 1 && <Columns values={times.map((t) => t.waiting_ms + t.idle_ms)} label="Waiting and idle by rank" text={ms} />}
          </>
        )}
        {r.context.placement && <><h3>Placement</h3><p class="small soft placement" tabIndex={0} role="region" aria-label="Placement">{r.context.placement}</p></>}
      </section>
    </div>
  );
}

function Columns({ values, label, text }: { values: number[]; label: string; text: (v: number) => string }) {
  const most = Math.max(...values, 1e-12), width = 1000 / values.length;
  return (
    <figure>
      <figcaption class="small soft">{label}: {text(Math.min(...values))} to {text(Math.max(...values))}</figcaption>
      <svg class="columns" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label={`${label}: ${text(Math.min(...values))} to ${text(Math.max(...values))}`}>
        {values.map((v, i) => <rect key={i} class="c-compute" x={i * width} y={100 - (100 * v) / most} width={Math.max(0.5, width * 0.85)} height={(100 * v) / most}><title>{`rank ${i}: ${text(v)}`}</title></rect>)}
      </svg>
    </figure>
  );
}

export function Basis({ store, report: r }: { store: Store; report: Report }) {
  const [all, setAll] = useState(false);
  const given = Object.entries(store.values).filter(([, v]) => all || v[1].startsWith(`${store.file}:`));
  return (
    <div class="panes">
      <section>
        <h2>What the figures rest on</h2>
        <table class="plain"><thead><tr><th>Basis</th><th class="n">share of the critical cycle</th></tr></thead><tbody>{Object.entries(r.basis_share).map(([name, share]) => <tr key={name}><td><span class={`basis ${name}`}>{name}</span></td><td class="n">{percent(share)}</td></tr>)}</tbody></table>
        <p class="small soft">In order of trust: measured, interpolated, extrapolated, scaled, learned, analytic. The range is that of the costs on the critical cycle and of the framework's profile.</p>
        <h2>Assumptions</h2>
        <ul>{r.assumptions.map((a, i) => <li key={i}>{a} <span class="soft small">({r.assumption_kinds[i]})</span></li>)}</ul>
        {store.idle.length > 0 && <><h2>Keys without effect</h2><ul>{store.idle.map((k) => <li key={k.key}>{k.key} <span class="soft small">{k.where}</span></li>)}</ul></>}
      </section>
      <section>
        <h2>Values and where they come from</h2>
        <label class="small"><input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> also those of the files that the experiment names</label>
        <div class="scroll tall" tabIndex={0} role="region" aria-label="Values"><table class="plain"><thead><tr><th>key</th><th>value</th><th>from</th></tr></thead><tbody>{given.map(([key, v]) => <tr key={key}><td>{key}</td><td class="cut" title={v[0]}>{v[0]}</td><td class="small soft">{v[1]}</td></tr>)}</tbody></table></div>
      </section>
    </div>
  );
}
