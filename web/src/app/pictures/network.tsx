// The cluster as a picture: GPUs, NICs, leaf switches and spine, each link coloured by how long it is busy in one iteration.
// Nodes, leaves and pods with equal loads are one box with their number, so that a thousand GPUs stay readable.
import { useState } from "preact/hooks";
import { bytes, count, ms, percent, plural, rate } from "../format";
import { Picture } from "./picture";
import { Scroll } from "../report/see";
import { Why, WhyRow } from "../report/why";

export type Load = [bytes: number, busyMs: number];
type Level = "gpu" | "nic" | "leaf" | "pod";
export interface NodeClass { first: number; count: number; merged: boolean; gpus: Load[]; nics: Load[] }
export interface SwitchClass { first: number; count: number; merged: boolean; uplinks: Load }
export interface LinkLoads {
  nodes: number; gpus_per_node: number; nics_per_node: number; domain_nodes: number; leaves: number; pods: number; gpu_links: string; fabric: string; rails: boolean;
  levels: { level: Level; name: string; count: number; bandwidth: number; bytes: number; busiest: Load; busiest_name: string }[];
  node_classes: NodeClass[]; leaf_classes: SwitchClass[]; pod_classes: SwitchClass[];
  limiting: { level: Level; node: number; index: number; name: string; collectives: string[]; needs_ms: number; cycle_ms: number } | null;
}

const STEPS: [number, string][] = [[0, "not used"], [0.01, "below 1 %"], [0.1, "below 10 %"], [0.3, "below 30 %"], [0.6, "below 60 %"], [Infinity, "60 % and more"]];
const heat = (share: number) => (share <= 0 ? 0 : STEPS.findIndex(([most]) => share < most));
const rounded = (share: number) => (share > 0 && share < 0.01 ? "< 1 %" : percent(share, 0));
const SIDE = 34;         // of a box, for the names of its rows
const MOST_DRAWN = 16;  // GPUs or NICs of a node

interface Shown { x: number; y: number; width: number; nodes: NodeClass }

const classTitle = (c: { first: number; count: number; merged: boolean }, one: string, many: string) => (c.count === 1 ? `${one} ${c.first}` : c.merged ? `${c.count} other ${many}, mean` : `${c.count} ${many} alike, such as ${c.first}`);

export function NetworkView({ loads: l, iteration, limitedBy }: { loads: LinkLoads; iteration: number; limitedBy: string | null }) {
  const [pointed, setPointed] = useState("");
  const share = (load: Load) => (iteration > 0 ? load[1] / iteration : 0);
  const words = (what: string, load: Load) => `${what}: ${bytes(load[0])}, busy for ${ms(load[1])}, ${percent(share(load))} of the iteration`;
  const isNetwork = limitedBy === "network";
  const mark = l.limiting;
  const hit = (text: string) => ({ onPointerEnter: () => setPointed(text), onClick: () => setPointed(text) });

  const perBox = Math.min(MOST_DRAWN, Math.max(l.gpus_per_node, l.nics_per_node, 1));
  const boxWidth = Math.max(170, 26 * perBox + 24 + SIDE), gap = 18, fit = Math.max(1, Math.floor(1170 / (boxWidth + gap)));
  const rows = Math.ceil(l.node_classes.length / fit), across = Math.ceil(l.node_classes.length / rows), hasFabric = l.leaves > 0 && l.nodes > 1, boxHeight = l.gpus_per_node > 1 ? 138 : 102, rowHeight = boxHeight + 52;
  const width = Math.max(960, across * (boxWidth + gap) - gap + 20);
  const leafY = 78, podY = 14, top = hasFabric ? 134 : 12;
  const height = top + rows * rowHeight + 6;
  const boxes: Shown[] = l.node_classes.map((nodes, i) => {
    const row = Math.floor(i / across), inRow = Math.min(across, l.node_classes.length - row * across);
    const left = (width - inRow * (boxWidth + gap) + gap) / 2;
    return { x: left + (i % across) * (boxWidth + gap), y: top + row * rowHeight, width: boxWidth, nodes };
  });
  // Classes begin with their lowest number, and the limiting link is the lowest of equals; else it is one of those that were merged.
  const marked = mark && (mark.level === "gpu" || mark.level === "nic") ? (l.node_classes.find((c) => c.first === mark.node) ?? l.node_classes.find((c) => c.merged)) : undefined;

  const link = (x0: number, y0: number, x1: number, y1: number, load: Load, what: string, isMarked: boolean) => {
    const h = heat(share(load));
    return (
      <g {...hit(words(what, load))}>
        {isMarked && <line class="link-mark" x1={x0} y1={y0} x2={x1} y2={y1} />}
        <line class={`link heat-${h}`} x1={x0} y1={y0} x2={x1} y2={y1} stroke-width={2 + 1.3 * h} />
        <line class="link-hit" x1={x0} y1={y0} x2={x1} y2={y1}><title>{words(what, load)}</title></line>
      </g>
    );
  };
  const nodeBox = ({ x, y, width: w, nodes: c }: Shown) => {
    const gpus = c.gpus.slice(0, MOST_DRAWN), nics = c.nics.slice(0, MOST_DRAWN);
    const gpuX = (i: number) => x + 12 + SIDE + ((i + 0.5) * (w - 24 - SIDE)) / gpus.length, nicX = (i: number) => x + 12 + SIDE + ((i + 0.5) * (w - 24 - SIDE)) / Math.max(1, nics.length);
    const gpuY = y + 78, nicY = y + 26, busY = y + 118, size = Math.min(20, (w - 24 - SIDE) / gpus.length - 3);
    const where = c.count === 1 ? ` of node ${c.first}` : ` of ${c.merged ? "the others, on average" : "each"}`;
    const isMarked = (level: Level, index: number) => mark !== null && c === marked && mark.level === level && mark.index === index;
    return (
      <g key={c.first}>
        <rect class="net-box" x={x} y={y} width={w} height={boxHeight} rx="6" />
        <text class="t small" x={x + 8} y={y + boxHeight + 15}>{classTitle(c, "node", "nodes")}{(l.gpus_per_node > MOST_DRAWN || l.nics_per_node > MOST_DRAWN) && `, the first ${MOST_DRAWN}`}</text>
        {hasFabric && nics.map((load, i) => link(nicX(i), nicY - 8, nicX(i), y - 26, load, `NIC ${i}${where}`, isMarked("nic", i)))}
        {Array.from({ length: nics.length > 0 ? Math.max(gpus.length, nics.length) : 0 }, (_, i) => { const [gpu, nic] = nics.length > gpus.length ? [Math.floor((i * gpus.length) / nics.length), i] : [i, Math.floor((i * nics.length) / gpus.length)]; return <line key={i} class="net-wire" x1={gpuX(gpu)} y1={gpuY - size / 2} x2={nicX(nic)} y2={nicY + 8} />; })}
        {nics.map((load, i) => <g key={i} {...hit(words(`NIC ${i}${where}`, load))}><rect class="net-nic" x={nicX(i) - Math.min(9, size / 2)} y={nicY - 8} width={Math.min(18, size)} height="16" rx="2" /><title>{words(`NIC ${i}${where}`, load)}</title></g>)}
        {gpus.length > 1 && gpus.map((load, i) => link(gpuX(i), gpuY + size / 2, gpuX(i), busY, load, `links of GPU ${i}${where}`, isMarked("gpu", i)))}
        {gpus.length > 1 && <><rect class="net-bus" x={x + 12 + SIDE} y={busY} width={w - 24 - SIDE} height="14" rx="3" /><text class="t tiny" x={x + (w + SIDE) / 2} y={busY + 11} text-anchor="middle">{l.gpu_links.replaceAll("_", " ")}</text></>}
        {gpus.map((load, i) => <g key={i} {...hit(words(`links of GPU ${i}${where}`, load))}><rect class="net-gpu" x={gpuX(i) - size / 2} y={gpuY - size / 2} width={size} height={size} rx="3" />{size >= 14 && <text class="t tiny" x={gpuX(i)} y={gpuY + 3.5} text-anchor="middle">{i}</text>}</g>)}
        {nics.length > 0 && <text class="t tiny soft" x={x + 8} y={nicY + 4}>NICs</text>}
        <text class="t tiny soft" x={x + 8} y={gpuY + 4}>GPUs</text>
      </g>
    );
  };
  const switches = (classes: SwitchClass[], y: number, level: Level, one: string, many: string) => {
    const each = Math.min(200, (width - 40) / classes.length - 10), left = (width - classes.length * (each + 10) + 10) / 2;
    return classes.map((c, i) => {
      const x = left + i * (each + 10), isMarked = mark?.level === level && c === (classes.find((o) => o.first === mark.index) ?? classes.find((o) => o.merged));
      const title = classTitle(c, one, many);
      const up = level === "leaf" ? l.leaves > 1 : l.pods > 1;
      return (
        <g key={c.first}>
          {up && link(x + each / 2, y, x + each / 2, y - (level === "leaf" ? 36 : 8), c.uplinks, `uplinks of ${title}`, isMarked)}
          <rect class="net-switch" x={x} y={y} width={each} height="24" rx="4" />
          <text class="t tiny" x={x + each / 2} y={y + 15.5} text-anchor="middle">{each > 6.2 * title.length ? title : c.count === 1 ? c.first : `${c.count} others`}<title>{title}</title></text>
        </g>
      );
    });
  };
  const spine = l.leaves > 1 && (l.pods > 1 ? switches(l.pod_classes, podY, "pod", "pod", "pods") : <g><rect class="net-switch" x={20} y={podY} width={width - 40} height="28" rx="4" /><text class="t small" x={width / 2} y={podY + 18} text-anchor="middle">spine</text></g>);
  const busiest = [...l.levels].sort((a, b) => b.busiest[1] - a.busiest[1])[0];
  const label = `Network: ${plural(l.nodes, "node", "nodes")} of ${plural(l.gpus_per_node, "GPU", "GPUs")} and ${plural(l.nics_per_node, "NIC", "NICs")}; busiest: ${busiest ? `${busiest.busiest_name}, ${percent(share(busiest.busiest))} of the iteration` : "none"}`;
  return (
    <section class="network">
      <h2>Network: load of the links in one iteration</h2>
      {mark && (
        <p id="limiting-link"><b>{isNetwork ? "Limited by " : "Most needed on the critical cycle: "}<Why id="link">{mark.name}</Why>.</b> {mark.collectives.slice(0, 3).join(", ")}{mark.collectives.length > 3 && ` and ${mark.collectives.length - 3} more`} {mark.collectives.length === 1 ? "takes" : "take"} {ms(mark.cycle_ms)} of the critical cycle; at full rate this link needs {ms(mark.needs_ms)} for {mark.collectives.length === 1 ? "its" : "their"} bytes{mark.needs_ms > mark.cycle_ms ? ", counted as a ring; the algorithm that is priced sends less" : `, ${percent(mark.needs_ms / mark.cycle_ms, 0)} of that`}.</p>
      )}
      {!mark && <p class="soft">{l.levels.some((x) => x.bytes > 0) ? "No collective is on the critical cycle: a faster network would not make the iteration shorter." : "Nothing is sent between GPUs."}</p>}
      <Picture name="Network" why="link">
        <div class="scroll" tabIndex={0} role="region" aria-label="Picture of the network">
          <svg class={`chart net ${width > 1280 ? "widest" : width > 960 ? "wider" : ""}`} id="network" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
            {hasFabric && <><rect class="net-band" x="10" y={leafY - 6} width={width - 20} height="36" rx="6" />{spine}{switches(l.leaf_classes, leafY, "leaf", "leaf", "leaves")}</>}
            {boxes.map(nodeBox)}
          </svg>
        </div>
      </Picture>
      <p class="pointed-line small" aria-live="polite">{pointed || <span class="soft">Point at a link for its bytes and busy time. {l.domain_nodes > 1 && `NVLink joins ${l.domain_nodes} nodes.`}</span>}</p>
      <p class="legend small">{STEPS.map(([, name], i) => <span key={name}><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class={`heat-fill-${i}`} width="10" height="10" /></svg> {name}</span>)}{mark && <span><svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class="outline" x="1" y="1" width="8" height="8" /></svg> {isNetwork ? "limited by" : "most needed"}</span>}<span>busy, as a share of the iteration</span></p>
      <Scroll label="Links by level"><table id="link-levels">
        <thead><tr><th>link</th><th class="n">of the iteration</th><th class="n">busy</th><th class="n">bytes</th><th>busiest</th><th class="n">number</th><th class="n">bandwidth</th><th class="n">bytes, all</th></tr></thead>
        <tbody>{l.levels.filter((x) => x.level !== "gpu" || l.gpus_per_node > 1 || l.domain_nodes > 1 || x.bytes > 0).map((x) => <WhyRow key={x.level} id="link"><td><Why id="link">{x.name}</Why></td><td class="n">{rounded(share(x.busiest))}</td><td class="n">{ms(x.busiest[1])}</td><td class="n">{bytes(x.busiest[0])}</td><td class="wrap">{x.bytes > 0 ? x.busiest_name : "none is used"}</td><td class="n">{count(x.count)}</td><td class="n">{rate(x.bandwidth)}</td><td class="n">{bytes(x.bytes)}</td></WhyRow>)}</tbody>
      </table></Scroll>
    </section>
  );
}
