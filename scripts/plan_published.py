#!/usr/bin/env python3
"""plan_published.py DISTSIM CASES [--every N] [--draws N] [--jobs N]: searches layouts for published steps of language models, and
compares with the layout that the authors chose: how much faster the best one is predicted to be, and which share of the layouts that
fit, drawn at random, is predicted to be faster than theirs. --every: of the cases, each N-th."""
import argparse
import concurrent.futures
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECTIONS = ("cluster", "model", "framework", "parallel")
WITHIN = 0.10  # of the layouts: the share that may be faster than an expert's


def experiment_of(case: dict) -> str:
    """The keys of a case as an experiment file."""
    out = {s: [] for s in SECTIONS}
    for column, value in case.items():
        section, _, key = column.partition(".")
        if column == "cluster.device" and case["cluster.system"]:
            continue  # the system says it
        if section in out and key and value.strip():
            quoted = json.dumps(value) if ":" in value or "+" in value else value
            if column == "parallel.sequence_parallel":
                quoted = "true" if value == "1" else "false"
            out[section].append((key, quoted))
    lines = []
    for section, keys in out.items():
        if not keys:
            continue
        lines.append(f"{section}:")
        nested = {}
        for key, value in keys:
            head, _, tail = key.partition(".")
            nested.setdefault(head, []).append((tail, value))
        for head, values in nested.items():
            if values[0][0]:
                lines.append(f"  {head}: {{" + ", ".join(f"{t}: {v}" for t, v in values) + "}")
            else:
                lines.append(f"  {head}: {values[0][1]}")
    return "\n".join(lines) + "\n"


def plan(distsim: str, case: dict, draws: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "case.yaml")
        path.write_text(experiment_of(case))
        r = subprocess.run([distsim, "plan", "--config", path, "--top", "1", "--draws", str(draws), "--json", "-"], capture_output=True,
                           text=True, cwd=ROOT)
    if r.returncode != 0:
        return {"error": (r.stderr.strip().splitlines() or ["?"])[-1]}
    return json.loads(r.stdout)


def line_of(case: dict, found: dict) -> tuple[str, float | None, float | None]:
    """A line, the predicted time of theirs over the best, and the share of drawn layouts that are faster than theirs."""
    name = case["case_id"]
    if "error" in found:
        return f"{name}: {found['error'][:150]}", None, None
    theirs = next(r for r in found["rows"] if r["baseline"])
    best = found["rows"][0]
    if theirs["error"]:
        return f"{name}: theirs: {theirs['error'][:100]}", None, None
    ratio = theirs["iteration_ms"] / best["iteration_ms"]
    drawn = found["drawn"]
    share = drawn["faster_than_baseline"] / drawn["layouts"] if drawn["layouts"] else None
    differing = [f"{k.split('.')[-1]} {theirs['keys'][k]}->{v}" for k, v in best["keys"].items() if theirs["keys"].get(k) != v]
    faster = "" if share is None else f", {100 * share:.0f} % of {drawn['layouts']} drawn are faster"
    return f"{name}: {theirs['iteration_ms']:.1f} ms, best {best['iteration_ms']:.1f} ({ratio:.2f}x){faster}; {', '.join(differing)}", ratio, share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("distsim")
    parser.add_argument("cases")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    with open(args.cases, newline="") as f:
        cases = [c for c in csv.DictReader(f) if int(c["gpus"]) > 1][::args.every]
    ratios, shares, failed = [], [], 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for case, found in zip(cases, pool.map(lambda c: plan(args.distsim, c, args.draws), cases)):
            text, ratio, share = line_of(case, found)
            print(text, flush=True)
            failed += ratio is None
            ratios += [ratio] if ratio is not None else []
            shares += [share] if share is not None else []
    ratios.sort()
    if not ratios:
        sys.exit("no case could be planned")
    print(f"\n{len(ratios)} cases ({failed} not planned): the best is at least as fast on {sum(r >= 1 for r in ratios)}; "
          f"predicted gain median {ratios[len(ratios) // 2]:.2f}x, largest {ratios[-1]:.2f}x; "
          f"theirs within the fastest {100 * WITHIN:.0f} % of layouts that fit on {sum(s <= WITHIN for s in shares)} of {len(shares)}")


if __name__ == "__main__":
    main()
