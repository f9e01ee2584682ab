// Numbers for people, and quantities as an experiment's text has them.
export function digits(value: number, count = 3): string {
  if (!Number.isFinite(value)) return "";
  if (value === 0) return "0";
  const places = Math.max(0, count - 1 - Math.floor(Math.log10(Math.abs(Number(value.toPrecision(count))))));  // as rounded: 999.96 is 1000
  return places > 8 ? value.toExponential(count - 1) : value.toFixed(Math.min(places, 6));
}

// `axis`: the ticks of a linear axis, all in the unit of the largest and as exact as their distance asks for.
export interface Text { (value: number): string; axis?: (ticks: number[]) => string[] }
type Units = [number, string][];

const trimmed = (text: string) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
const unitFor = (units: Units, value: number) => units.find(([s]) => Math.abs(value) >= s * 0.99995) ?? units[units.length - 1];
function inOneUnit(ticks: number[], units: Units): string[] {
  const [scale, unit] = unitFor(units, Math.max(...ticks.map(Math.abs)));
  const step = Math.min(...ticks.slice(1).map((t, i) => Math.abs(t - ticks[i])).filter((d) => d > 0), Infinity);
  const places = Number.isFinite(step) ? Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-6))) : 3;
  return ticks.map((t) => (t === 0 ? "0" : `${(t / scale).toFixed(places)}${unit && ` ${unit}`}`));
}
const text = (units: Units, write: (value: number) => string): Text => Object.assign(write, { axis: (ticks: number[]) => inOneUnit(ticks, units) });

export function ms(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 ms";
  if (size < 1e-3) return `${digits(value * 1e6)} ns`;
  if (size < 0.1) return `${digits(value * 1000)} us`;
  if (size < 999.95) return `${digits(value, 4)} ms`;
  return `${digits(value / 1000, 4)} s`;
}

// "7.538 s to 11.77 s": both in the unit of the larger.
export function msRange(low: number, high: number, between = " to "): string {
  const unit = ms(high).split(" ")[1], scale = unit === "s" ? 1000 : unit === "us" ? 1e-3 : unit === "ns" ? 1e-6 : 1;
  return `${ms(low).endsWith(` ${unit}`) ? ms(low) : `${digits(low / scale, 4)} ${unit}`}${between}${ms(high)}`;
}

// On an axis, in milliseconds: each power of ten of a logarithmic one in its own unit.
const TIMES: Units = [[1000, "s"], [1, "ms"], [1e-3, "us"], [1e-6, "ns"]];
export const tick = text(TIMES, (value) => { const [scale, unit] = unitFor(TIMES, value); return value === 0 ? "0" : `${trimmed(digits(value / scale, 4))} ${unit}`; });

// Whole numbers are written out up to a million.
const COUNTS: Units = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"]];
export const count = text([...COUNTS, [1, ""]], (value) => {
  const size = Math.abs(value);
  if (size < 1000) return Number.isInteger(value) ? String(value) : digits(value);
  if (size < 999_999.5) return Math.round(value).toLocaleString("en");
  const [scale, letter] = unitFor(COUNTS, value);
  const shown = digits(value / scale, 4);
  return `${Number.isInteger(value) && Number(shown) * scale === value ? trimmed(shown) : shown} ${letter}`;
});

const BYTES: Units = [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
const BINARY: Units = [[2 ** 50, "PiB"], [2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const RATES: Units = BYTES.map(([scale, unit]) => [scale, `${unit}/s`]);
const scaled = (units: Units, value: number, exact: number) => { const [scale, unit] = unitFor(units, value); return `${scale === 1 ? trimmed(digits(value, 4)) : digits(value / scale, exact)} ${unit}`; };
export const bytes = text(BYTES, (value) => scaled(BYTES, value, 4));
export const gigabytes = text(BYTES.map(([scale, unit]) => [scale / 1e9, unit]), (value) => bytes(value * 1e9));
// Sizes that are powers of two, as nccl-tests has them.
export const binary = text(BINARY, (value) => { const [scale, unit] = unitFor(BINARY, value); return `${trimmed(digits(value / scale, 4))} ${unit}`; });
export const rate = text(RATES, (value) => scaled(RATES, value, 3));
export const percent = (share: number, places = 1) => `${(100 * share).toFixed(places)} %`;
// "+2.0 %", "−0.04 %".
export const signed = (share: number) => { const size = Math.abs(100 * share), shown = size.toFixed(size < 0.05 ? 2 : 1); return Number(shown) === 0 ? "0.0 %" : `${share > 0 ? "+" : "−"}${shown} %`; };
// "−0.38", "0": what rounds to nothing has no sign.
export const signedNumber = (value: number, places = 2) => { const shown = Math.abs(value).toFixed(places); return Number(shown) === 0 ? "0" : `${value < 0 ? "−" : ""}${shown}`; };
export const plural = (n: number, one: string, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
// The end is cut, and says so.
export const cut = (name: string, most: number) => (name.length > most ? `${name.slice(0, Math.max(1, most - 1))}…` : name);
// A source that begins with the word of its basis does not say it twice.
export const sourceText = (basis: string, source: string) => (source.startsWith(`${basis} `) ? source.slice(basis.length + 1) : source);

const UNITS: Record<string, Units> = {
  "bytes/s": [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1, "B/s"]],
  bytes: [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
  time: [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]],
  "FLOP/s": [[1e15, "PFLOP/s"], [1e12, "TFLOP/s"], [1e9, "GFLOP/s"]],
  Hz: [[1e9, "GHz"], [1e6, "MHz"], [1, "Hz"]],
  W: [[1e3, "kW"], [1, "W"]],
};
// Other families of units in which a value may have been written.
const BITS: Units = [[1.25e11, "Tb/s"], [1.25e8, "Gb/s"], [1.25e5, "Mb/s"], [0.125, "b/s"]];
const BINARY_RATES: Units = BINARY.map(([scale, unit]) => [scale, `${unit}/s`]);

export const unitOf = (type: string) => (type.startsWith("map to ") ? type.slice(7) : type);
export const isQuantity = (type: string) => unitOf(type) in UNITS;

// "25 GB/s": what the text of an experiment says for a number in SI units. `like`: what it said before, whose family of units stays.
export function quantity(value: number, type: string, like = ""): string {
  if (type === "integer") return String(Math.round(value));
  const kind = unitOf(type), si = UNITS[kind];
  if (!si) return String(Number(value.toPrecision(4)));
  const units = kind === "bytes/s" && /(b|bit)\/s$|bps$/.test(like) ? BITS : kind === "bytes/s" && /iB\/s$/.test(like) ? BINARY_RATES : kind === "bytes" && /iB$/.test(like) ? BINARY : si;
  const [scale, unit] = unitFor(units, value);
  return `${Number((value / scale).toPrecision(4))} ${unit}`;
}
