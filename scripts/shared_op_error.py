#!/usr/bin/env python3
"""How much of an op model's error all shapes have in common: the origin of kSharedError (sim/report/report.hpp).

    scripts/shared_op_error.py BINARY MEASURED.csv[.gz] ...

Each file has the columns of `distsim cost op --input` and latency_us. Its rows are priced, and grouped by GPU, op, pass, type and framework. Of the
variance of log(measured / predicted), the mean square of the groups' means is common to all shapes, the mean of their variances is not.
"""
import collections
import csv
import gzip
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

LEAST_US = 20  # below it launches and timers decide
LEAST_ROWS = 10  # of a group
OTHER_OP = 1.5  # in the logarithm: a row that is further off was timed as something else


def errors_by_group(binary, path):
    groups = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        plain, priced = pathlib.Path(folder, "in.csv"), pathlib.Path(folder, "out.csv")
        plain.write_bytes((gzip.open if path.endswith(".gz") else open)(path, "rb").read())
        subprocess.run([binary, "cost", "op", "--input", plain, "--csv", priced], check=True, stderr=subprocess.DEVNULL)
        with open(priced, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if not row["predicted_us"] or float(row["latency_us"]) < LEAST_US:
                    continue
                error = math.log(float(row["latency_us"]) / float(row["predicted_us"]))
                if abs(error) <= OTHER_OP:
                    groups[row["gpu"], row["op"], row["pass"], row["dtype"], row["framework"]].append(error)
    return [errors for errors in groups.values() if len(errors) >= LEAST_ROWS]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for path in sys.argv[2:]:
        groups = errors_by_group(sys.argv[1], path)
        if not groups:
            print(f"{pathlib.Path(path).name}: no group of {LEAST_ROWS} rows from {LEAST_US} us")
            continue
        shared = statistics.fmean(statistics.fmean(errors) ** 2 for errors in groups)
        own = statistics.fmean(statistics.pvariance(errors) for errors in groups)
        print(f"{pathlib.Path(path).name}: {len(groups)} groups, common to all shapes {shared / (shared + own):.2f} of the variance")


if __name__ == "__main__":
    main()
