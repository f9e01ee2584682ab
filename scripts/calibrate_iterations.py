#!/usr/bin/env python3
"""Fits the few parameters of framework and device profiles on measured iterations, and cross-validates the fit.

    scripts/calibrate_iterations.py BINARY CASES.csv              print the fit and its cross-validation
    scripts/calibrate_iterations.py BINARY CASES.csv --write      also write the values to configs/ and the table to docs/calibration.md

Model: log(predicted) is linear in the parameters near their current values. Each sensitivity is one run of `distsim validate` with that parameter
changed in every profile (a case has one framework and one device, so one run serves all of them). Fit: Gauss-Newton on a robust loss (pseudo-Huber at
10 %), with a prior on every parameter (PARAMETERS below), so that a parameter stays near its prior where few cases depend on it. Parameters belong to
frameworks and device families, never to cases, models or systems.

Cross-validation holds out whole systems one at a time, and whole series in 12 groups. Each fold is fitted with the same priors, in the linear model around
the fit to all cases; the errors on the held-out cases come from real runs, not from the linear model.
"""
import argparse
import collections
import csv
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAMILIES = {"volta": ("v100",), "ampere": ("a100", "a30"), "hopper": ("h100", "h200", "h20")}

# Priors of single frameworks. HugeCTR's exchanges and one-shot all-reduce run in its CUDA graph on a few thread blocks, designed to overlap.
PRIORS = {("hugectr", "kernels.overlap_cost"): 0.15}

Parameter = collections.namedtuple("Parameter", "scope key prior spread log low high")
PARAMETERS = [
    # scope, path of the key, prior, spread of the prior (relative where log), in the logarithm?, bounds
    Parameter("framework", "kernels.scale_16bit", 1.0, 0.15, True, 0.5, 3.0),
    Parameter("framework", "kernels.scale_32bit", 1.0, 0.10, True, 0.5, 3.0),
    Parameter("framework", "kernels.overlap_cost", 0.5, 0.30, False, 0.0, 1.0),
    Parameter("framework", "kernels.transfer_overlap_cost", 0.1, 0.10, False, 0.0, 1.0),
    Parameter("framework", "host.scale", 1.0, 0.25, True, 0.4, 2.5),
    Parameter("device", "calibration.kernels_16bit", 1.0, 0.20, True, 0.5, 3.0),
    Parameter("device", "calibration.kernels_32bit", 1.0, 0.10, True, 0.5, 3.0),
    Parameter("device", "calibration.speed_variation", 0.015, 0.01, False, 0.0, 0.05),
]


def family_of_device(name):
    return next((f for f, starts in FAMILIES.items() if name.startswith(starts)), None)


def device_of_system(system):
    text = (ROOT / "configs/systems" / f"{system}.yaml").read_text()
    return re.search(r"^device:\s*(\S+)", text, re.M).group(1)


def set_value(text, path, value):
    """YAML text with the key at `path` ("uncertainty", "kernels.scale_16bit") set. Keys keep their place and their comment; a new one is put at the end of its
    section, a new section or top-level key before `source`."""
    *section, key = path.split(".")
    lines = text.splitlines()
    top = {m.group(1): i for i, line in enumerate(lines) if (m := re.match(r"(\w+):", line))}
    written = f"{'  ' * len(section)}{key}: {value:.3g}"
    if section and section[0] not in top:
        new = [f"{section[0]}:   # fitted to measured iterations, docs/calibration.md", written]
        return "\n".join(lines[: top["source"]] + new + lines[top["source"] :]) + "\n"
    first = top[section[0]] + 1 if section else 0
    last = next((i for i in range(first, len(lines)) if re.match(r"\w", lines[i])), len(lines)) if section else len(lines)
    for i in range(first, last):
        if m := re.match(rf"{'  ' * len(section)}{key}:[^#]*?(\s+#.*)?$", lines[i]):
            lines[i] = written + (m.group(1) or "")
            return "\n".join(lines) + "\n"
    at = last if section else top["source"]
    return "\n".join(lines[:at] + [written + "   # fitted, docs/calibration.md"] + lines[at:]) + "\n"


# Profiles that share a parameter because they share what it describes: the eager dispatch of PyTorch (one source for its host times), how much the
# all-reduces of Horovod's fusion buffer or DDP's buckets slow kernels down, and the kernels of neighbouring releases of HugeCTR.
SHARED = {
    "host.scale": [("pytorch", "pytorch_apex", "megatron")],
    "kernels.scale_16bit": [("hugectr", "hugectr_2021_05")],
    "kernels.overlap_cost": [("hugectr", "hugectr_2021_05"), ("mxnet_horovod", "tf1_horovod", "tf2", "tf2_distributed_embeddings"), ("pytorch", "pytorch_apex", "pytorch_dlrm", "torchrec")],
}


# How much kernels slow down overlapping collectives depends on the machine, not on the framework.
OF_ALL = {"kernels.transfer_overlap_cost"}


def sharers(key, owner, owners):
    if key in OF_ALL:
        return tuple(owners)
    return next((group for group in SHARED.get(key, []) if owner in group), (owner,))


class Profiles:
    """The parameters by (scope, owner, key) and how they are written to a copy of configs/. `rows` are those of `distsim validate --csv`."""

    def __init__(self, rows):
        self.frameworks = sorted({r["framework"] for r in rows} - {""})
        self.families = sorted({family_of_device(device_of_system(r["system_id"])) for r in rows} - {None})
        self.names = []
        for p in PARAMETERS:
            owners = self.frameworks if p.scope == "framework" else self.families
            groups = dict.fromkeys(tuple(o for o in sharers(p.key, owner, owners) if o in owners) for owner in owners)
            self.names += [(p, group) for group in groups]

    def prior(self):
        values = [PRIORS.get((owners[0], p.key), p.prior) for p, owners in self.names]
        return np.array([math.log(v) if p.log else v for v, (p, _) in zip(values, self.names)])

    def spread(self):
        return np.array([p.spread for p, _ in self.names])

    def clip(self, x):
        low = np.array([math.log(p.low) if p.log else p.low for p, _ in self.names])
        high = np.array([math.log(p.high) if p.log else p.high for p, _ in self.names])
        return np.clip(x, low, high)

    def write(self, x, folder):
        for (p, owners), value in zip(self.names, x):
            value = math.exp(value) if p.log else value
            if p.scope == "framework":
                files = [folder / "frameworks" / f"{owner}.yaml" for owner in owners]
            else:
                files = [f for f in (folder / "devices").glob("*.yaml") if family_of_device(f.stem) in owners]
            for f in files:
                text = f.read_text()
                f.write_text(set_value(text, p.key, value))


def validate(binary, cases, configs):
    """The rows of `distsim validate` with the configuration folder `configs`."""
    with tempfile.TemporaryDirectory() as temp:
        out = pathlib.Path(temp) / "out.csv"
        subprocess.run([binary, "validate", "--cases", cases, "--csv", out, "--jobs", "2"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "DISTSIM_CONFIGS": str(configs)})
        with open(out, newline="") as f:
            return list(csv.DictReader(f))


class Runner:
    def __init__(self, binary, cases, profiles, configs):
        self.binary, self.cases, self.profiles, self.configs = binary, cases, profiles, configs

    def rows(self, x):
        with tempfile.TemporaryDirectory() as temp:
            folder = pathlib.Path(temp) / "configs"
            shutil.copytree(self.configs, folder)
            self.profiles.write(x, folder)
            for f in (folder / "frameworks").glob("*.yaml"):  # only the ranges of the costs; see uncertainties()
                f.write_text(set_value(f.read_text(), "uncertainty", 0))
            rows = validate(self.binary, self.cases, folder)
            failed = [r["error"] for r in rows if not r["predicted_ms"]]
            if len(failed) > len(rows) // 10:
                sys.exit(f"{len(failed)} of {len(rows)} cases were not predicted: {failed[0]}")
            return rows

    def log_predicted(self, x):
        return np.array([math.log(float(r["predicted_ms"])) if r["predicted_ms"] else np.nan for r in self.rows(x)])


def jacobian(runner, x, base):
    """One run per kind of parameter: the owners of one kind share no cases."""
    names = runner.profiles.names
    columns = np.zeros((len(base), len(x)))
    for p in {p for p, _ in names}:
        moved = x.copy()
        step = 0.05 if p.log else (0.05 if p.key.endswith("overlap_cost") else 0.005)
        of_kind = [i for i, (q, _) in enumerate(names) if q is p]
        moved[of_kind] += step
        change = (runner.log_predicted(moved) - base) / step
        for i in of_kind:
            owners = names[i][1]
            mine = np.array([(r["framework"] if p.scope == "framework" else family_of_device(device_of_system(r["system_id"]))) in owners
                             for r in runner.all_rows])
            columns[mine, i] = change[mine]
    return columns


def solve(base, slopes, x0, target, mask, profiles):
    """Robust linear fit from x0 with priors, on the cases of `mask`."""
    prior, spread = profiles.prior(), profiles.spread()
    x = x0.copy()
    for _ in range(60):
        residual = (base + slopes @ (x - x0) - target)[mask] / 0.10
        weight = 1 / np.sqrt(1 + residual**2)
        a = slopes[mask] / 0.10
        normal = a.T @ (a * weight[:, None]) + np.diag(1 / spread**2)
        right = -(a.T @ (weight * residual)) - (x - prior) / spread**2
        x = profiles.clip(x + np.linalg.solve(normal, right))
    return x


def quantiles(errors):
    return (len(errors), 100 * np.median(errors), 100 * np.quantile(errors, 0.9), 100 * errors.max()) if len(errors) else (0, 0, 0, 0)


def series_key(r):
    return (r["series"], r["model_id"], r["framework_id"], r["system_id"], r["precision"], r["accum"])


def scaling_errors(rows, predicted, measured):
    groups = collections.defaultdict(list)
    for i, r in enumerate(rows):
        groups[series_key(r)].append(i)
    out = []
    for members in groups.values():
        members.sort(key=lambda i: int(rows[i]["gpus"]))
        first = members[0]
        for i in members[1:]:
            if int(rows[i]["gpus"]) > int(rows[first]["gpus"]):
                out.append(abs(predicted[i] / predicted[first] / (measured[i] / measured[first]) - 1))
    return np.array(out)


RECOMMENDERS = ("dle_dlrm", "dle_dcnv2", "dlrm", "tfde", "torchrec")


def table(rows, predicted, measured):
    error = np.abs(predicted / measured - 1)
    sets = [
        ("all rows", lambda r: True),
        ("tier A", lambda r: r["tier"] == "A"),
        ("DLRM, DCNv2 and synthetic recommenders, several GPUs", lambda r: r["model_id"].startswith(RECOMMENDERS) and int(r["gpus"]) > 1),
        ("several nodes, all families", lambda r: int(r["nodes"]) > 1),
    ]
    lines = [(name, *quantiles(error[[i for i, r in enumerate(rows) if belongs(r)]])) for name, belongs in sets]
    lines.append(("scaling ratios within a series", *quantiles(scaling_errors(rows, predicted, measured))))
    return lines


def print_table(title, lines, out):
    print(f"\n{title}", file=out)
    for name, n, median, p90, worst in lines:
        print(f"  {name:<54} {n:>4}  median {median:5.1f} %  p90 {p90:5.1f} %  worst {worst:5.0f} %", file=out)


def folds_of(rows, kind):
    if kind == "system":
        return [r["system_id"] for r in rows]
    order = {s: i % 12 for i, s in enumerate(sorted({r["series"] for r in rows}))}
    return [order[r["series"]] for r in rows]


def cross_validate(runner, base, slopes, x_star, target, known, kind):
    folds = np.array(folds_of(runner.all_rows, kind))
    out = np.full(len(base), np.nan)
    for fold in sorted(set(folds)):
        x = solve(base, slopes, x_star, target, known & (folds != fold), runner.profiles)
        predicted = runner.log_predicted(x)
        out[folds == fold] = predicted[folds == fold]
    return np.exp(out)


def uncertainties(rows, predicted, measured, profiles):
    """Half-widths u for which [low, high] = hypot(u, range of the costs) holds 80 % of the cross-validated errors: a framework's own where it has 20 cases
    or more, else that of all. `rows` carry low_ms and high_ms from the costs only."""
    error = predicted / measured - 1
    costs = np.array([1 - float(r["low_ms"]) / float(r["predicted_ms"]) if e > 0 else float(r["high_ms"]) / float(r["predicted_ms"]) - 1
                      for r, e in zip(rows, error)])
    off = np.abs(measured / predicted - 1)
    needed = np.sqrt(np.maximum(0, off**2 - costs**2))
    everyone = float(np.quantile(needed, 0.8))
    out = {}
    for f in profiles.frameworks:
        own = needed[[i for i, r in enumerate(rows) if r["framework"] == f]]
        out[f] = max(0.03, float(np.quantile(own, 0.8)) if len(own) >= 20 else everyone)  # no two machines are closer than that
    return out


def markdown_table(title, lines):
    out = [f"### {title}", "", "| set | cases | median | 90th percentile | worst |", "|---|---|---|---|---|"]
    out += [f"| {name} | {n} | {median:.1f} % | {p90:.1f} % | {worst:.0f} % |" for name, n, median, p90, worst in lines]
    return "\n".join(out) + "\n"


def parameter_table(profiles, x, widths):
    frameworks = [p for p in PARAMETERS if p.scope == "framework"]
    values = {(p.key, owner): math.exp(v) if p.log else v for (p, owners), v in zip(profiles.names, x) for owner in owners}
    out = ["| framework | " + " | ".join(f"`{p.key}`" for p in frameworks) + " | `uncertainty` |", "|---" * (len(frameworks) + 2) + "|"]
    for f in profiles.frameworks:
        out.append(f"| {f} | " + " | ".join(f"{values[(p.key, f)]:.2f}" for p in frameworks) + f" | {widths[f]:.2f} |")
    devices = [p for p in PARAMETERS if p.scope == "device"]
    out += ["", "| device family | " + " | ".join(f"`{p.key}`" for p in devices) + " |", "|---" * (len(devices) + 1) + "|"]
    for d in profiles.families:
        out.append(f"| {d} | " + " | ".join(f"{values[(p.key, d)]:.3f}" for p in devices) + " |")
    return "\n".join(out) + "\n"


DOCUMENT = """# Calibration of profiles, and its cross-validation

Written by `scripts/calibrate_iterations.py`; do not edit. {count} published training iterations (sources in [data_sources.md](data_sources.md)), of 13 model
families on V100 to H200, 1 to 512 GPUs, were predicted with the op and collective models unchanged. The few parameters below were then fitted to all of
them at once, with a prior on each; the method and the priors are documented in the script. The parameters belong to frameworks and device families, never
to a case, a model or a system.

## Absolute error of the predicted iteration

- **System held out**: each system is predicted by a fit that has seen no case of it. This is the closest to what to expect on a cluster of your own.
- **Series held out**: twelve groups of whole series, each predicted by a fit on the others. Other series of the same system remain in the fit.
- **Fitted on all cases**: the error of the shipped parameters on the cases that they were fitted to.

Only these parameters are held out. The mechanisms of the model were chosen with all cases in view, so a model or system that nobody has looked at may fare
worse.

{tables}
The picture, and the table by family, system and number of nodes as `distsim validate` prints it with the fitted values, are in
[validation.md](validation.md).

## Fitted parameters

{parameters}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("cases")
    parser.add_argument("--write", action="store_true", help="write the values to configs/ and the table to docs/calibration.md")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()

    frozen = tempfile.TemporaryDirectory()  # later changes to configs/ do not matter
    configs = pathlib.Path(frozen.name) / "configs"
    shutil.copytree(ROOT / "configs", configs)
    binary, cases = os.path.abspath(args.binary), os.path.abspath(args.cases)
    all_rows = validate(binary, cases, configs)
    profiles = Profiles(all_rows)
    runner = Runner(binary, cases, profiles, configs)
    runner.all_rows = all_rows
    measured = np.array([float(r["measured_ms"]) for r in all_rows])
    target = np.log(measured)

    x = profiles.prior()
    for _ in range(args.rounds):
        base = runner.log_predicted(x)
        known = np.isfinite(base)
        base = np.where(known, base, target)
        slopes = np.nan_to_num(jacobian(runner, x, base))
        x_new = solve(base, slopes, x, target, known, profiles)
        print("move", float(np.abs(x_new - x).max()), file=sys.stderr)
        x = x_new
    base = np.where(known, runner.log_predicted(x), target)
    rows = [r for r, k in zip(all_rows, known) if k]

    for (p, owners), value in zip(profiles.names, x):
        print(f"{'+'.join(owners):<60} {p.key:<29} {math.exp(value) if p.log else value:.3f}")
    print_table("fitted on all cases", table(rows, np.exp(base[known]), measured[known]), sys.stdout)
    results = {}
    for kind in ("series", "system"):
        results[kind] = cross_validate(runner, base, slopes, x, target, known, kind)[known]
        print_table(f"{kind} held out", table(rows, results[kind], measured[known]), sys.stdout)
    final = [r for r, k in zip(runner.rows(x), known) if k]
    widths = uncertainties(final, results["series"], measured[known], profiles)
    for f, w in widths.items():
        print(f"{f:<28} uncertainty {w:.3f}")
    if args.write:
        tables = [markdown_table(f"{kind.capitalize()} held out", table(rows, results[kind], measured[known])) for kind in ("system", "series")]
        tables += [markdown_table("Fitted on all cases", table(rows, np.exp(base[known]), measured[known]))]
        (ROOT / "docs/calibration.md").write_text(DOCUMENT.format(count=len(rows), parameters=parameter_table(profiles, x, widths), tables="\n".join(tables)))
        profiles.write(x, ROOT / "configs")
        for f, w in widths.items():
            path = ROOT / "configs/frameworks" / f"{f}.yaml"
            path.write_text(set_value(path.read_text(), "uncertainty", min(w, 0.6)))


if __name__ == "__main__":
    main()
