#!/usr/bin/env python3
"""Errors on whole transformer workloads, beside those of the predictions that are stored with them.

    scripts/workload_errors.py build/bin/distsim WORKLOADS.csv                  # tables by mode, GPU and model
    scripts/workload_errors.py build/bin/distsim WORKLOADS.csv --rows           # and every row
    scripts/workload_errors.py build/bin/distsim WORKLOADS.csv --markdown       # as in docs/graph_correction.md

WORKLOADS.csv has the columns gpu, workload, model, mode, seq_len, batch, variant, measured_e2e_ms and neusight_ms, habitat_ms, li_micro_ms, roofline_ms
(tests/data/graph_level/workloads.csv is a sample). Only the Python standard library is needed.
"""
import argparse
import csv
import io
import statistics
import subprocess
import sys

OTHERS = {"neusight_ms": "NeuSight", "roofline_ms": "roofline", "li_micro_ms": "Li et al.", "habitat_ms": "Habitat"}


def predict(distsim, cases, jobs):
    run = subprocess.run([distsim, "validate", "--cases", cases, "--csv", "-", "--jobs", str(jobs)], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr.strip())
    return list(csv.DictReader(io.StringIO(run.stdout)))


def number(row, column):
    try:
        return float(row[column])
    except (KeyError, ValueError):
        return None


def errors(rows, column):
    """Absolute relative errors, in percent, of the rows that have one."""
    out = []
    for row in rows:
        predicted, measured = number(row, column), number(row, "measured_e2e_ms")
        if predicted is not None and measured:
            out.append(100 * abs(predicted / measured - 1))
    return out


def figures(values):
    if not values:
        return ["", "", ""]
    return [f"{statistics.mean(values):.1f}", f"{statistics.median(values):.1f}", f"{max(values):.1f}"]


def table(title, groups, columns, markdown):
    head = [title] + columns
    lines = [head] + groups
    if markdown:
        out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        return "\n".join(out + ["| " + " | ".join(line) + " |" for line in groups]) + "\n"
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths))) for line in lines) + "\n"


def grouped(rows, key):
    out = {}
    for row in rows:
        out.setdefault(key(row), []).append(row)
    return dict(sorted(out.items()))


def mode(row):
    words = {"train": "training", "inf": "inference"}
    return words.get(row["mode"], row["mode"]) + (", " + row["variant"] if row["variant"] else "")


def ours_by(rows, name, key, markdown):
    groups = []
    for group, members in grouped(rows, key).items():
        signed = [100 * (float(r["predicted_ms"]) / float(r["measured_e2e_ms"]) - 1) for r in members]
        groups.append([group, str(len(members))] + figures(errors(members, "predicted_ms")) + [f"{statistics.mean(signed):+.1f}"]
                      + figures(errors(members, "neusight_ms"))[:1])
    return table(name, groups, ["rows", "mean %", "median %", "worst %", "bias %", "NeuSight mean %"], markdown)


def beside_others(rows, markdown):
    """On the rows that each of the others has."""
    groups = []
    for kind in ("train", "inf"):
        for column, name in OTHERS.items():
            members = [r for r in rows if r["mode"] == kind and number(r, column) is not None]
            if members:
                groups.append([("training" if kind == "train" else "inference") + ", rows of " + name, str(len(members))] + figures(errors(members, column))
                              + figures(errors(members, "predicted_ms")))
    return table("published predictions", groups, ["rows", "its mean %", "median %", "worst %", "ours: mean %", "median %", "worst %"], markdown)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("distsim")
    parser.add_argument("cases")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    rows = predict(args.distsim, args.cases, args.jobs)
    failed = [r for r in rows if not number(r, "predicted_ms")]
    for row in failed:
        print(f"{row['gpu']} {row['workload']}: {row['error']}")
    rows = [r for r in rows if number(r, "predicted_ms")]
    print(table("all", [[kind, str(len(members))] + figures(errors(members, "predicted_ms")) for kind, members in grouped(rows, lambda r: {"train": "training", "inf": "inference"}.get(r["mode"], r["mode"])).items()],
                ["rows", "mean %", "median %", "worst %"], args.markdown))
    print(ours_by(rows, "mode", mode, args.markdown))
    print(ours_by(rows, "GPU", lambda r: r["gpu"] + ", " + r["mode"], args.markdown))
    print(ours_by(rows, "model", lambda r: r["model"] + ", " + r["mode"], args.markdown))
    print(beside_others(rows, args.markdown))
    if args.rows:
        groups = [[f"{r['gpu']} {r['workload']}", f"{float(r['measured_e2e_ms']):.1f}", f"{float(r['predicted_ms']):.1f}",
                   f"{100 * (float(r['predicted_ms']) / float(r['measured_e2e_ms']) - 1):+.1f}"]
                  + [f"{100 * (number(r, c) / float(r['measured_e2e_ms']) - 1):+.1f}" if number(r, c) else "" for c in OTHERS] for r in rows]
        print(table("row", groups, ["measured ms", "predicted ms", "error %"] + list(OTHERS.values()), args.markdown))


if __name__ == "__main__":
    main()
