#!/usr/bin/env python3
"""Trains one learned op model and writes its file. Runs offline: distsim itself needs neither this script nor its packages.

    distsim calibrate features --kernel product16 --input gemm_bf16.csv --csv rows.csv
    scripts/train_op_models.py --kernel product16 --data "what it was measured on" --out configs/op_models/product16.forest rows.csv...
    scripts/train_op_models.py --kernel product16 --leave A100-SXM4-80GB,A100-80GB rows.csv...      # only prints the errors on the GPUs left out

Needs python3-numpy and python3-xgboost (Debian: apt install --no-install-recommends python3-xgboost).

What is learned is r in   measured = launch + max(other + exp(r) * seconds, tail),   the ratio of a kernel's measured to its analytic time, by gradient
boosted trees on its features; the loss is a smooth |log(predicted / measured)|. One shape of ten is held back, by a hash of its sizes: neither the
model nor its percentiles see it, so that the errors printed here and by test_opmodels are honest. The two small forests of the 10th and 90th
percentile come from the errors on another fifth of the rows, by a model that has not seen those.
The file format is that of opmodels/learned/forest_file.hpp.
"""
import argparse
import csv
import json
import struct
import sys
import zlib

import numpy as np
import xgboost as xgb

# Trees, leaves a tree, learning rate, smallest leaf; chosen by the errors on held-back shapes, the 2 us that a price may take, and by doing no worse on GPUs
# left out. `rows` and `columns`: share of the rows and features that a tree sees, where not the usual 0.8 and 0.7.
SETTINGS = {
    "product16": dict(trees=80, leaves=3000, depth=15, eta=0.17, rows_a_leaf=2),
    "product8": dict(trees=72, leaves=512, depth=10, eta=0.2, rows_a_leaf=4),
    "product_lanes": dict(trees=128, leaves=1024, depth=14, eta=0.115, rows_a_leaf=2),
    "convolution": dict(trees=400, leaves=128, depth=9, eta=0.05, rows_a_leaf=4, rows=0.7, columns=0.35),
    "streaming": dict(trees=64, leaves=128, depth=8, eta=0.15, rows_a_leaf=10),
    "rowwise": dict(trees=64, leaves=128, depth=8, eta=0.15, rows_a_leaf=10),
}
# Sizes: outside of what was seen of these, trust falls. All are log2 but the taps and the stride.
BOUNDED = {
    "product16": ["m", "n", "k", "batch"],
    "product8": ["m", "n", "k", "batch"],
    "product_lanes": ["m", "n", "k", "batch"],
    "convolution": ["images", "channels", "filters", "groups", "height", "width", "taps_high", "taps_wide", "stride", "dilation"],
    "streaming": ["per_sm", "reads", "writes"],
    "rowwise": ["rows_per_sm", "cols"],
}
ANALYTIC = ("MI", "AMD_")  # how the names of AMD's GPUs begin, which have the analytic models only (docs/op_models.md)
REFERENCE_ROWS = 100  # of one width of elements (bytes) that make a GPU a reference for kernels of that width (opmodels/learned/references.hpp) ...
REFERENCES = {  # ... except where another GPU of the architecture was measured far better
    "A100-PCIE-80GB": [], "A100-PG509-200": [], "A100-SXM4-80GB": [2], "A100-80GB": [2], "V100-SXM2-16GB": [2], "V100-SXM2-32GB": [2],
    "H100-SXM5-80GB": [2, 4], "H100-80GB": [2, 4],
}
SMALL = dict(trees=24, leaves=16, depth=5, eta=0.25, rows_a_leaf=60)  # the forests of the two percentiles
DEVICE = ["sms", "balance", "l2_balance", "sm_rate", "l2_per_sm", "capability"]  # the last features of every kernel


class Rows:
    """The rows of several files, as arrays."""

    def __init__(self, paths, kernel):
        self.names, self.gpu, self.group, self.held_back = None, [], [], []
        numbers, features, scale = [], [], []
        for path in paths:
            with open(path, newline="") as file:
                reader = csv.reader(file)
                header = next(reader)
                if header[7:14] != ["hbm_GBps", "floor_us", "measured", "launch", "tail", "other", "seconds"]:
                    sys.exit(f"{path}: not written by `distsim calibrate features`")
                if self.names not in (None, header[14:]):
                    sys.exit(f"{path}: other features than the files before it")
                self.names = header[14:]
                for row in reader:
                    if row[0] != kernel:
                        sys.exit(f"{path}: found rows of {row[0]}, expected {kernel}")
                    if row[1].startswith(ANALYTIC):
                        continue
                    self.gpu.append(row[1])
                    self.group.append(" ".join(row[1:5]))
                    self.held_back.append(row[6] == "1")
                    scale.append((float(row[7]), float(row[8])))
                    numbers.append([float(v) for v in row[9:14]])
                    features.append(np.array(row[14:], dtype=np.float32))
        self.gpu, self.group, self.held_back = np.array(self.gpu), np.array(self.group), np.array(self.held_back)
        self.measured, self.launch, self.tail, self.other, self.seconds = np.array(numbers).T
        self.x, self.scale = np.array(features), np.array(scale)

    def predicted(self, log_ratio, rows):
        kernels = self.other[rows] + np.exp(log_ratio) * self.seconds[rows]
        return self.launch[rows] + np.maximum(kernels, self.tail[rows])


def train_median(rows, which, settings):
    def objective(log_ratio, _):
        kernel = np.exp(log_ratio) * rows.seconds[which]
        predicted = rows.predicted(log_ratio, which)
        hidden = rows.other[which] + kernel < rows.tail[which]  # in the shadow of the host: says nothing, unless measured far beyond it
        beyond = rows.measured[which] > 1.2 * (rows.launch[which] + rows.tail[which])
        share = np.where(hidden, np.where(beyond, 0.05, 0), kernel / predicted)  # d log(predicted) / d log_ratio
        error = np.log(predicted / rows.measured[which])
        gradient = error * share / np.sqrt(1 + (error / 0.1) ** 2)
        return gradient, np.maximum(share * share, 1e-3)

    return train(rows.x[which], objective, settings)


def train(x, objective, settings, base=0.0):
    parameters = dict(max_depth=settings["depth"], grow_policy="lossguide", max_leaves=settings["leaves"], eta=settings["eta"], tree_method="hist", max_bin=256,
                      min_child_weight=settings["rows_a_leaf"], subsample=settings.get("rows", 0.8), colsample_bytree=settings.get("columns", 0.7), base_score=base, nthread=1, seed=1)
    return xgb.train(parameters, xgb.DMatrix(x), num_boost_round=settings["trees"], obj=objective)


def log_ratio_of(booster, x):
    return np.clip(booster.predict(xgb.DMatrix(x), output_margin=True), -2, 2)


def train_percentile(x, error, share):
    """Forest of a percentile of log(measured / predicted) by the pinball loss, from the percentile of all rows on; and that percentile."""
    base = float(np.percentile(error, 100 * share))
    steepness = 1 / max(abs(base), 1e-3)

    def objective(guess, _):
        return np.where(error > guess, -share, 1 - share), np.full(len(error), steepness)

    return train(x, objective, SMALL, base), base


def nodes_of(booster):
    """Trees as nested dicts, thresholds as float32."""
    return [json.loads(tree) for tree in booster.get_dump(dump_format="json")]


def thresholds_of(trees, names):
    found = {i: set() for i in range(len(names))}

    def visit(node):
        if "leaf" not in node:
            found[int(node["split"][1:])].add(np.float32(node["split_condition"]))
            for child in node["children"]:
                visit(child)

    for tree in trees:
        visit(tree)
    return [np.array(sorted(found[i]), dtype=np.float32) for i in range(len(names))]


def snapped(x, thresholds):
    """x with every value replaced by the largest threshold that is not above it, so that trees grown on it split at the same thresholds."""
    out = np.empty_like(x)
    for i, values in enumerate(thresholds):
        padded = np.concatenate([[-1e30], values]).astype(np.float32)
        out[:, i] = padded[np.searchsorted(values, x[:, i], side="right")]
    return out


def tree_bytes(tree, thresholds, unit):
    out = bytearray()

    def visit(node):
        if "leaf" in node:
            out.extend(struct.pack("<Bh", 255, int(round(node["leaf"] / unit))))
            return
        feature = int(node["split"][1:])
        index = int(np.searchsorted(thresholds[feature], np.float32(node["split_condition"])))
        if index >= len(thresholds[feature]) or thresholds[feature][index] != np.float32(node["split_condition"]):
            raise ValueError("a split on a threshold that is not in the table")
        out.extend(struct.pack("<BB", feature, index))
        children = {child["nodeid"]: child for child in node["children"]}
        visit(children[node["yes"]])
        visit(children[node["no"]])

    visit(tree)
    return bytes(out)


def largest_leaf(trees):
    def visit(node):
        return abs(node["leaf"]) if "leaf" in node else max(visit(child) for child in node["children"])

    return max([visit(tree) for tree in trees] + [1e-6])


def forest_bytes(trees, base, thresholds):
    unit = np.float32(largest_leaf(trees) / 32000)
    return struct.pack("<ffI", base, unit, len(trees)) + b"".join(tree_bytes(tree, thresholds, float(unit)) for tree in trees)


def file_bytes(kernel, data, rows, forests):
    """`forests`: median, low and high, each with its base."""
    trees = [nodes_of(booster) for booster, _ in forests]
    thresholds = thresholds_of(trees[0], rows.names)
    for extra in trees[1:]:
        for mine, theirs in zip(thresholds, thresholds_of(extra, rows.names)):
            if not set(theirs) <= set(mine):
                raise ValueError("a percentile's tree has different splits")
    text = f"kernel {kernel}\ndata {data}\n"
    for i, name in enumerate(rows.names):
        bounds = f"{rows.x[:, i].min():.4f} {rows.x[:, i].max():.4f}" if name in BOUNDED[kernel] else "free"
        text += f"feature {name} {bounds}\n"
    columns = [rows.names.index(name) for name in DEVICE]
    known = np.column_stack([rows.x[:, columns], rows.scale])[~rows.held_back]
    width, gpu = rows.x[~rows.held_back, rows.names.index("element_bytes")], rows.gpu[~rows.held_back]
    for device in sorted({tuple(row) for row in known}):
        of_device = (known == device).all(axis=1)
        name = next((name for name in REFERENCES if name in gpu[of_device]), None)
        widths = REFERENCES[name] if name else [w for w in (1, 2, 4, 8) if (width[of_device] == w).sum() >= REFERENCE_ROWS]
        text += "device " + " ".join(f"{value:.7g}" for value in device) + " " + ("+".join(map(str, widths)) or "none") + "\n"
    out = b"dsforest" + struct.pack("<II", 1, len(text)) + text.encode()
    for values in thresholds:
        lowered = values - np.float32(2e-5) * np.maximum(np.abs(values), 1)  # a split lies on a value of the data: let its last digits not matter
        out += struct.pack("<H", len(values)) + lowered.astype("<f4").tobytes()
    out += b"".join(forest_bytes(t, base, thresholds) for t, (_, base) in zip(trees, forests))
    return out + struct.pack("<I", zlib.crc32(out))


def print_errors(rows, which, log_ratio):
    error = np.abs(rows.predicted(log_ratio, which) / rows.measured[which] - 1) * 100
    print(f"{'':52s} {'rows':>7s} {'mean':>6s} {'median':>6s} {'p90':>6s} | 100 us and up: {'rows':>6s} {'mean':>6s} {'median':>6s}")
    for group in ["all"] + sorted(set(rows.group[which])):
        chosen = np.full(len(which), True) if group == "all" else rows.group[which] == group
        large = error[chosen & (rows.measured[which] >= 100)]
        e = error[chosen]
        tail = f"{len(large):21d} {large.mean():6.1f} {np.median(large):6.1f}" if len(large) else ""
        print(f"{group:52s} {len(e):7d} {e.mean():6.1f} {np.median(e):6.1f} {np.percentile(e, 90):6.1f} | {tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+")
    parser.add_argument("--kernel", required=True, choices=sorted(SETTINGS))
    parser.add_argument("--data", default="", help="one line that describes the training data")
    parser.add_argument("--out", help="model file to write")
    parser.add_argument("--leave", help="GPUs (names as in the data) to leave out of training and to test on; writes nothing")
    parser.add_argument("--trees", type=int)
    flags = parser.parse_args()
    settings = dict(SETTINGS[flags.kernel])
    if flags.trees:
        settings["trees"] = flags.trees
    rows = Rows(flags.rows, flags.kernel)
    held = np.isin(rows.gpu, flags.leave.split(",")) if flags.leave else rows.held_back
    test, rest = np.where(held)[0], np.where(~held)[0]
    booster = train_median(rows, rest, settings)
    guess = log_ratio_of(booster, rows.x[test])
    for name, log_ratio in [("analytic", guess * 0), ("learned", guess)] + [("half of what was learned", guess / 2)] * bool(flags.leave):
        print(name)
        print_errors(rows, test, log_ratio)
    if flags.leave or not flags.out:
        return
    fifth = np.random.default_rng(1).random(len(rest)) < 0.2
    part, other = rest[fifth], rest[~fifth]
    without = train_median(rows, other, settings)
    thresholds = thresholds_of(nodes_of(booster), rows.names)
    residual = np.log(rows.measured[part] / rows.predicted(log_ratio_of(without, rows.x[part]), part))
    x = snapped(rows.x[part], thresholds)
    forests = [(booster, 0.0), train_percentile(x, residual, 0.1), train_percentile(x, residual, 0.9)]
    data = file_bytes(flags.kernel, flags.data, rows, forests)
    with open(flags.out, "wb") as file:
        file.write(data)
    print(f"{flags.out}: {len(data)} bytes")


if __name__ == "__main__":
    main()
