// Pictures that can be taken along: PNG and SVG of what is drawn, with its colours as they are on the page.
import { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { saveBlob } from "../save";
import { Why, WhyId } from "../report/why";

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "font-family", "text-anchor", "dominant-baseline"];
const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

// A copy that needs no style sheet, on the page's background.
export function standalone(svg: SVGSVGElement): { text: string; width: number; height: number } {
  const box = svg.viewBox.baseVal, shown = svg.getBoundingClientRect();
  const stretched = svg.getAttribute("preserveAspectRatio") === "none";
  const width = Math.round(stretched ? shown.width : box?.width || shown.width), height = Math.round(stretched ? shown.height : box?.height || shown.height);
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element), target = to[i];
    for (const name of KEPT) { const value = style.getPropertyValue(name); if (value !== "") target.setAttribute(name, value); }
    for (const name of ["class", "style", "tabindex", "role", "id", "aria-label", "aria-hidden"]) target.removeAttribute(name);
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const [x, y, w, h] = box && box.width > 0 ? [box.x, box.y, box.width, box.height] : [0, 0, width, height];
  for (const [name, value] of Object.entries({ x, y, width: w, height: h, fill: getComputedStyle(document.body).backgroundColor })) back.setAttribute(name, String(value));
  copy.insertBefore(back, copy.firstChild);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

export async function rasterized(svg: string, width: number, height: number, scale = 2): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}

// `draw`: the picture as SVG, where what is on the page is none.
export function Picture({ name, why, draw, children }: { name: string; why?: WhyId; draw?: () => { text: string; width: number; height: number }; children: ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null);
  const made = () => (draw ? draw() : standalone(place.current!.querySelector("svg:not(.swatch)")!));
  const file = name.replaceAll(/[^\w]+/g, "_");
  return (
    <div class="picture" ref={place}>
      {children}
      <p class="take small">
        {why && <Why id={why} label={`basis of ${name}`}>basis</Why>}
        <button type="button" class="quiet" aria-label={`PNG of ${name}`} onClick={async () => { const p = made(); saveBlob(await rasterized(p.text, p.width, p.height), `${file}.png`); }}>PNG</button>
        <button type="button" class="quiet" aria-label={`SVG of ${name}`} onClick={() => saveBlob(new Blob([made().text], { type: "image/svg+xml" }), `${file}.svg`)}>SVG</button>
      </p>
    </div>
  );
}

// What a drawing on a canvas would be as SVG: the part of the interface that the timeline uses.
export class SvgRecorder {
  fillStyle = "#000"; strokeStyle = "#000"; lineWidth = 1; globalAlpha = 1; font = ""; textBaseline = "";
  private parts: string[] = [];
  private path = "";
  private clips = 0;
  private depth: number[] = [];
  private pending = "";
  constructor(readonly width: number, readonly height: number, readonly background: string) {}
  setTransform() { /* one unit is one pixel of the page */ }
  clearRect() { /* the background is drawn first */ }
  private alpha() { return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : ""; }
  private n(v: number) { return String(Math.round(v * 100) / 100); }
  fillRect(x: number, y: number, w: number, h: number) { this.parts.push(`<rect x="${this.n(x)}" y="${this.n(y)}" width="${this.n(w)}" height="${this.n(h)}" fill="${this.fillStyle}"${this.alpha()}/>`); }
  strokeRect(x: number, y: number, w: number, h: number) { this.parts.push(`<rect x="${this.n(x)}" y="${this.n(y)}" width="${this.n(w)}" height="${this.n(h)}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"/>`); }
  fillText(text: string, x: number, y: number) { this.parts.push(`<text x="${this.n(x)}" y="${this.n(y)}" font-family="system-ui, sans-serif" font-size="12" dominant-baseline="central" fill="${this.fillStyle}"${this.alpha()}>${escaped(text)}</text>`); }
  beginPath() { this.path = ""; this.pending = ""; }
  moveTo(x: number, y: number) { this.path += `M${this.n(x)} ${this.n(y)}`; }
  lineTo(x: number, y: number) { this.path += `L${this.n(x)} ${this.n(y)}`; }
  stroke() { this.parts.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"/>`); }
  rect(x: number, y: number, w: number, h: number) { this.pending = `<rect x="${this.n(x)}" y="${this.n(y)}" width="${this.n(w)}" height="${this.n(h)}"/>`; }
  clip() { this.parts.push(`<clipPath id="c${++this.clips}">${this.pending}</clipPath><g clip-path="url(#c${this.clips})">`); if (this.depth.length > 0) this.depth[this.depth.length - 1] += 1; }
  save() { this.depth.push(0); }
  restore() { const opened = this.depth.pop() ?? 0; this.parts.push("</g>".repeat(opened)); }
  get svg() { return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"><rect width="100%" height="100%" fill="${this.background}"/>${this.parts.join("")}</svg>`; }
}
