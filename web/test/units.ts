// Numbers, errors and tabs as people read and use them. Run by `npm test`, and by tests/pages_test.py.
import { axisTexts, scaleOf } from "../src/app/chart";
import { binary, bytes, count, cut, digits, gigabytes, ms, msRange, quantity, rate, signedNumber, sourceText, tick } from "../src/app/format";
import { CycleSteps } from "../src/app/pictures/timeline/cycle";
import { breakable, longestSteps } from "../src/app/report/see";
import { Report } from "../src/app/types";
import { told, wholeNumber } from "../src/app/problems";
import { tabFor } from "../src/app/tabs";

let wrong = 0;
function is(found: unknown, expected: unknown, what = "") {
  if (JSON.stringify(found) === JSON.stringify(expected)) return;
  ++wrong;
  console.error(`${what} found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
}
function check(holds: boolean, what: string) { if (!holds) { ++wrong; console.error(what); } }

is([0, 8, 999, 1000, 2000, 14208, 999_999, 1_000_000, 23_020_000, 122.04, 2250.4].map(count), ["0", "8", "999", "1,000", "2,000", "14,208", "999,999", "1 M", "23.02 M", "122", "2,250"], "counts");
is([0, 8, 999, 524_288, 16_777_216, 1.345e9].map(bytes), ["0 B", "8 B", "999 B", "524.3 kB", "16.78 MB", "1.345 GB"], "bytes");
is([1024, 65_536, 2 ** 30, 1.5 * 2 ** 20].map(binary), ["1 KiB", "64 KiB", "1 GiB", "1.5 MiB"], "sizes of nccl-tests");
is([128e3, 25e9, 19.2e12].map(rate), ["128 kB/s", "25.0 GB/s", "19.2 TB/s"], "rates");
is([-0.384, -0.004, 0, 0.004, 1.2].map((v) => signedNumber(v)), ["−0.38", "0", "0", "0", "1.20"], "elasticities");
is([0.000011, 0.0555, 0.2441, 9.9, 999.9, 999.96, 4720, 14_560].map(ms), ["11.0 ns", "55.5 us", "0.2441 ms", "9.900 ms", "999.9 ms", "1.000 s", "4.720 s", "14.56 s"], "times");
is([msRange(7538, 11_770), msRange(2.12, 3.739), msRange(0.05, 0.2)], ["7.538 s to 11.77 s", "2.120 ms to 3.739 ms", "0.05000 ms to 0.2000 ms"], "ranges");
is([0.03, 0.3, 3, 300, 1000, 10_000].map(tick), ["30 us", "300 us", "3 ms", "300 ms", "1 s", "10 s"], "times on a logarithmic axis");
is([sourceText("learned", "learned product16"), sourceText("scaled", "OCI 2023"), sourceText("learned", "learnedly")], ["product16", "OCI 2023", "learnedly"]);
is([cut("abc", 3), cut("abcd", 3)], ["abc", "ab…"]);
is([digits(999.96, 4), digits(1e-12)], ["1000", "1.00e-12"]);

// One unit on a linear axis, whatever its range, and no two ticks that read the same.
for (const [low, high] of [[0, 25_190], [0, 9026], [0, 0.2], [2595, 2905], [4116.2, 4116.4], [0, 1.2e6], [99_000, 101_000]] as const) {
  for (const text of [tick, bytes, gigabytes, count]) {
    const scale = scaleOf([low, high], 0, 500, false), texts = axisTexts(scale, text), units = new Set(texts.filter((t) => t !== "0").map((t) => t.replace(/^[\d.,]+/, "")));
    check(units.size === 1, `units ${[...units]} on one axis of ${low} to ${high}: ${texts}`);
    is(new Set(texts).size, texts.length, `ticks of ${low} to ${high}: ${texts};`);
  }
}
is(axisTexts(scaleOf([1024, 2 ** 30], 0, 500, true, false, true), binary), ["1 KiB", "32 KiB", "1 MiB", "32 MiB", "1 GiB"], "a binary axis");

// A slider says its value in the unit in which it was.
is(quantity(50e9, "bytes/s", "200 Gb/s"), "400 Gb/s");
is(quantity(50e9, "bytes/s", "25 GB/s"), "50 GB/s");
is(quantity(2 ** 35, "bytes", "80 GiB"), "32 GiB");
is(quantity(32_000, "bytes"), "32 kB");
is(quantity(5e10, "bytes/s", "100 GiB/s"), "46.57 GiB/s");
is(quantity(400, "W"), "400 W");
is(quantity(4, "integer", "8"), "4");

const problem = (what: string, where = "", hint = "") => ({ text: "", what, where, hint });
is(told(problem("gpus_per_node: found 9, expected a whole number from 1 to 8", "message")), "GPUs of a node: found 9, expected a whole number from 1 to 8");
is(told(problem("found 'x', expected 64,96", "--gpus")), "GPUs: found 'x', expected 64,96");
is(told(problem("model.precision: found 'nope', expected fp32", "--set model.precision", "did you mean 'fp8'?")), "model.precision: found 'nope', expected fp32; did you mean 'fp8'?");
is(wholeNumber("ranks", " 8 "), { value: 8, problem: "" });
is(wholeNumber("ranks", ""), { problem: "" });
for (const text of ["-3", "abc", "1.5", "0", "1e3", "٣"]) check(wholeNumber("ranks", text).problem.startsWith(`ranks: found '${text}'`), `ranks ${text}`);

// The critical cycle goes round: what lasts beyond the end of the period goes on at its beginning, and nothing lies outside.
const cycle = new CycleSteps();
cycle.shift = 7e9;
const pathStep = (name: string, start_ms: number, time_ms: number) => ({ name, kind: "", phase: "forward", stream: "compute", rank: 0, start_ms, time_ms, steps: 1, basis: "" });
cycle.of({ iteration_ms: 10, critical_path: [pathStep("a", 0, 2), pathStep("b", 2, 4), pathStep("c", 6, 4)] } as unknown as Report, 10e9);
const drawn: [string, number, number][] = [];
cycle.visit(-100e9, 100e9, 0, (i, start, end) => drawn.push([cycle.steps[i].name, start / 1e9, end / 1e9]));
is(drawn, [["b", 0, 3], ["c", 3, 7], ["a", 7, 9], ["b", 9, 10]], "the critical cycle");

is(longestSteps([pathStep("a", 0, 2), pathStep("b", 2, 3), { ...pathStep("a", 5, 4), rank: 1 }]).map((s) => [s.step.name, s.index, s.time, s.count, s.rank]), [["a", 2, 6, 2, null], ["b", 1, 3, 1, 0]], "equal steps are one");

is(["layer_preemptive", "framework.embedding.exchange=hierarchical", "0.25", "1.5 GB/s"].map((n) => breakable(n).filter((p) => typeof p === "string")),
  [["layer_", "preemptive"], ["framework.", "embedding.", "exchange=", "hierarchical"], ["0.25"], ["1.5 GB/s"]], "places where names are broken");

const tabs = ["a", "b", "c"] as const;
is(["ArrowRight", "ArrowLeft", "Home", "End", "x"].map((key) => tabFor(key, tabs, "c")), ["a", "b", "a", "c", null]);

if (wrong > 0) process.exit(1);
