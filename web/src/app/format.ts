// Numbers for people, and quantities as an experiment's text has them.
export function digits(value: number, count = 3): string {
  if (!Number.isFinite(value)) return "";
  if (value === 0) return "0";
  const places = Math.max(0, count - 1 - Math.floor(Math.log10(Math.abs(value))));
  return places > 8 ? value.toExponential(count - 1) : value.toFixed(Math.min(places, 6));
}

export function ms(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 ms";
  if (size < 0.1) return `${digits(value * 1000)} us`;
  if (size < 10_000) return `${digits(value, 4)} ms`;
  return `${digits(value / 1000, 4)} s`;
}

// The same on an axis, without zeros that say nothing.
export const tick = (value: number) => ms(value).replace(/(\.\d*?)0+ /, "$1 ").replace(/\. /, " ");

const STEPS: [number, string][] = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
export function count(value: number): string {
  if (Math.abs(value) < 1000) return Number.isInteger(value) ? String(value) : digits(value);
  const [scale, letter] = STEPS.find(([s]) => Math.abs(value) >= s)!;
  return `${digits(value / scale, 4).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")} ${letter}`;  // 2 k, not 2.000 k
}
export const bytes = (value: number) => `${count(value)}${value >= 1000 ? "" : " "}B`;
export const percent = (share: number, places = 1) => `${(100 * share).toFixed(places)} %`;
export const signed = (share: number) => `${share > 0 ? "+" : share < 0 ? "−" : ""}${Math.abs(100 * share).toFixed(1)} %`;

const UNITS: Record<string, [number, string][]> = {
  "bytes/s": [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1, "B/s"]],
  bytes: [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]],
  time: [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]],
  "FLOP/s": [[1e15, "PFLOP/s"], [1e12, "TFLOP/s"], [1e9, "GFLOP/s"]],
  Hz: [[1e9, "GHz"], [1e6, "MHz"], [1, "Hz"]],
  W: [[1e3, "KW"], [1, "W"]],
};

export const unitOf = (type: string) => (type.startsWith("map to ") ? type.slice(7) : type);
export const isQuantity = (type: string) => unitOf(type) in UNITS;

// "25 GB/s": what the text of an experiment says for a number in SI units.
export function quantity(value: number, type: string): string {
  if (type === "integer") return String(Math.round(value));
  const units = UNITS[unitOf(type)];
  if (!units) return String(Number(value.toPrecision(4)));
  const [scale, unit] = units.find(([s]) => value >= s * 0.9999) ?? units[units.length - 1];
  return `${Number((value / scale).toPrecision(4))} ${unit}`;
}
