// The steps of the critical cycle on the timeline's clock.
import { PathStep, Report } from "../../types";
import { firstAfter } from "./windows";

export class CycleSteps {
  shift = 0;  // where the cycle begins within the period
  steps: PathStep[] = [];
  places: string[] = [];  // of each, "RANK STREAM"
  private starts = new Float64Array(0); private ends = new Float64Array(0);
  private report: Report | null = null; private made = "";

  // In order of time within the period; the cycle may begin within it and goes round.
  of(report: Report | null, period: number) {
    const key = `${period} ${this.shift}`;
    if (this.report === report && this.made === key) return;
    this.report = report;
    this.made = key;
    const found: { step: PathStep; start: number; end: number }[] = [];
    const folded = Math.max(0, (report?.iteration_ms ?? 0) * 1e9 - period);
    for (const step of report?.critical_path ?? []) {
      const begin = step.start_ms * 1e9 - folded;  // of a folded iteration the last micro-steps are drawn
      if (begin < -1e-6 * period) continue;
      const start = (((this.shift + begin) % period) + period) % period, end = start + step.time_ms * 1e9;
      found.push({ step, start, end: Math.min(end, period) });
      if (end > period) found.push({ step, start: 0, end: end - period });
    }
    found.sort((a, b) => a.start - b.start);
    this.steps = found.map((f) => f.step);
    this.places = this.steps.map((s) => `${s.rank} ${s.stream}`);
    this.starts = Float64Array.from(found, (f) => f.start);
    this.ends = Float64Array.from(found, (f) => f.end);
  }

  // Those that reach into a window, in order of time. Neighbours on one stream that are shorter than `least` are one where `joins`,
  // and else left out.
  visit(from: number, to: number, least: number, each: (step: number, start: number, end: number) => void, joins = true) {
    const { starts, ends, places } = this;
    let first = -1, begin = 0, end = 0;
    const flush = () => { if (first >= 0) each(first, begin, end); first = -1; };
    for (let i = firstAfter(ends, from); i < starts.length && starts[i] < to; ++i) {
      if (ends[i] - starts[i] >= least) { flush(); each(i, starts[i], ends[i]); continue; }
      if (!joins) continue;
      if (first >= 0 && (starts[i] - end >= least || end - begin >= least || places[i] !== places[first])) flush();
      if (first < 0) { first = i; begin = starts[i]; }
      end = ends[i];
    }
    flush();
  }

  at(time: number, slack: number): PathStep | null {
    const i = firstAfter(this.ends, time - slack);
    return i < this.starts.length && this.starts[i] <= time + slack ? this.steps[i] : null;
  }
}
