// The places of a slider: around a value, on a logarithmic scale, within the range of its key.
import { KeyDoc } from "./types";

const FAR = 32, PLACES = 120;

export function placesOf(doc: KeyDoc, base: number): number[] {
  const min = doc.min ?? 0, max = doc.max ?? Number.MAX_VALUE;
  if (!(base > 0)) return [];
  if (doc.type === "integer") {
    const out = new Set<number>();
    for (let k = -10; k <= 5; ++k) {
      const value = base * 2 ** k;
      if (Number.isInteger(value) && value >= Math.max(1, min) && value <= max && value >= base / 1024) out.add(value);
    }
    if (base <= 16) for (let i = Math.max(1, min); i <= Math.min(8, max); ++i) out.add(i);
    return [...out].sort((a, b) => a - b);
  }
  const low = Math.max(min, base / FAR), high = Math.min(max, base * FAR);
  if (!(low > 0) || high <= low) return [];
  const out: number[] = [];
  for (let i = 0; i <= PLACES; ++i) out.push(Number((low * (high / low) ** (i / PLACES)).toPrecision(3)));
  return [...new Set([...out.filter((v) => v >= min && v <= max), base])].sort((a, b) => a - b);
}

export function nearestPlace(places: number[], value: number): number {
  let best = 0;
  places.forEach((p, i) => { if (Math.abs(Math.log(p / value)) < Math.abs(Math.log(places[best] / value))) best = i; });
  return best;
}
