#!/usr/bin/env python3
"""No family of models may be predicted worse than it was: the median error of each over the shipped samples of measured iterations
stays within the 90 % confidence interval of the one that is written down in tests/data/family_errors.csv, and row by row the errors
have not grown, in no family and not on the whole.

accuracy_test.py DISTSIM            compares
accuracy_test.py DISTSIM --update   writes the table anew, after a change of predictions that is meant; the diff is what it cost
"""
import argparse
import csv
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = ROOT / "tests/data/iteration_times/core_visible.csv"
TABLE = ROOT / "tests/data/family_errors.csv"
RESAMPLES = 2000
ENDS = (0.05, 0.95)
# By how much a median may grow, in points, where the interval is narrower: rows that agree by chance within less than a measurement does.
LEAST = 1.0


def errors_by_family(binary) -> dict[str, dict[str, float]]:
    """|error| in percent of every case, by the families of the printed summary."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out.csv")
        r = subprocess.run([binary, "validate", "--cases", CASES, "--csv", out], capture_output=True, text=True, check=True)
        rows = list(csv.DictReader(out.open()))
    families = re.findall(r"^  (\w+)", r.stdout.split("by family\n")[1].split("\nby ")[0], re.M)
    found = {f: {} for f in families}
    for row in rows:
        family = max((f for f in families if row["model_id"].startswith(f)), key=len)
        if not row["error_percent"]:
            sys.exit(f"{row['case_id']}: {row['error']}")
        found[family][row["case_id"]] = abs(float(row["error_percent"]))
    return found


def interval(values, statistic):
    """Percentile bootstrap, with a seed: the same rows give the same interval."""
    generator = random.Random(14)
    drawn = sorted(statistic(generator.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return tuple(drawn[int(e * (RESAMPLES - 1))] for e in ENDS)


def write_table(found):
    with TABLE.open("w", encoding="utf-8") as out:
        out.write("family,case_id,error_percent\n")
        for family, errors in sorted(found.items()):
            out.writelines(f"{family},{case},{error:.2f}\n" for case, error in sorted(errors.items()))


def read_table():
    known = {}
    for row in csv.DictReader(TABLE.open(encoding="utf-8")):
        known.setdefault(row["family"], {})[row["case_id"]] = float(row["error_percent"])
    return known


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    found = errors_by_family(options.binary)
    if options.update:
        write_table(found)
        return
    known, problems = read_table(), []
    if {f: set(e) for f, e in found.items()} != {f: set(e) for f, e in known.items()}:
        sys.exit(f"{TABLE.name} has other families or cases than {CASES.name}: run with --update")
    print(f"{'family':<18}{'rows':>5}{'median':>9}{'was':>9}   90 % interval of what it was")
    for family, errors in sorted(found.items()):
        before = list(known[family].values())
        now, was = statistics.median(errors.values()), statistics.median(before)
        low, high = interval(before, statistics.median)
        print(f"{family:<18}{len(errors):>5}{now:>8.1f}%{was:>8.1f}%   {low:.1f} to {high:.1f} %")
        if now > max(high, was + LEAST):
            problems.append(f"{family}: a median error of {now:.1f} %, {was:.1f} % before; expected at most {max(high, was + LEAST):.1f} %")
        # Row by row, which is far sharper: most of an error's scatter is the row's own.
        low, _ = interval([errors[c] - known[family][c] for c in errors], statistics.median)
        if low > LEAST:
            problems.append(f"{family}: the errors of its rows grew by at least {low:.1f} points in the median; expected at most {LEAST:.1f}")
    growth = [found[f][c] - known[f][c] for f in found for c in found[f]]
    low, high = interval(growth, statistics.fmean)
    print(f"all {len(growth)} rows: errors grew by {statistics.fmean(growth):+.2f} points, 90 % interval {low:+.2f} to {high:+.2f}")
    if low > 0.25:
        problems.append(f"errors grew by {statistics.fmean(growth):.2f} points in the mean over all rows, at least {low:.2f}; expected no growth")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
