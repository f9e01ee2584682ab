#!/usr/bin/env python3
"""Fits the few parameters of framework and device profiles on measured iterations, and cross-validates the fit.

    scripts/calibrate_iterations.py BINARY CASES.csv              print the fit and its cross-validation
    scripts/calibrate_iterations.py BINARY CASES.csv --write      also write the values to configs/ and the table to docs/calibration.md

Model: log(predicted) is linear in the parameters near their prior. Each sensitivity is one run of `distsim validate` with that parameter changed in
every profile (a case has one framework and one device, so one run serves all of them). Fit: generalised least squares on a robust loss (pseudo-Huber at
10 %), with a prior on every parameter (PARAMETERS below). Rows of one model, framework and system share an error of 10 % besides their own (GROUP_ERROR),
and all rows of one framework on one system weigh no more than MOST_OF_ONE: a hundred rows of one system say little more about a framework than a few, so
that a parameter leaves its prior as far as several systems agree.
Parameters act on what bounds a kernel (matrix units; memory and plain lanes) or on the host, and belong to frameworks and device families, never to cases,
models or systems. Everything else is a mechanism with a source and is not fitted here.

Cross-validation holds out whole systems one at a time, model families one at a time, generations of GPUs one at a time, and whole series in 6 groups; series
that share a configuration are in the same group. Each fold starts from the priors, in the linear model around the priors, and corrects that by a real run;
the errors on the held-out cases come from real runs. Rows of EXPERIMENT_FITTED have constants of their experiment that were fitted to them, those of NOT_MODELLED a cause that no parameter
describes: they are predicted and counted, and take no part in the fit.
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

Parameter = collections.namedtuple("Parameter", "scope key prior spread log low high")
PARAMETERS = [
    # scope, path of the key, prior, spread of the prior (relative where log), in the logarithm?, bounds
    Parameter("framework", "kernels.matrix", 1.0, 0.10, True, 0.7, 1.5),
    Parameter("framework", "kernels.memory", 1.0, 0.15, True, 0.7, 1.5),
    Parameter("framework", "host.scale", 1.0, 0.25, True, 0.5, 2.0),
    Parameter("device", "calibration.matrix_16bit", 1.0, 0.10, True, 0.7, 1.5),
    Parameter("device", "calibration.matrix_32bit", 1.0, 0.10, True, 0.7, 1.5),
    Parameter("device", "calibration.memory", 1.0, 0.05, True, 0.8, 1.3),  # op benchmarks know streaming rates well
    Parameter("device", "calibration.speed_variation", 0.015, 0.01, False, 0.0, 0.05),
]
ROW_ERROR, GROUP_ERROR = 0.10, 0.10  # relative; that of a row, and what the rows of one model, framework and system share
MOST_OF_ONE = 6  # rows that all of one framework on one system weigh together
INSIDE = 0.8  # share of the measured times that [low, high] is meant to hold
OTHERS = 12  # rows that all other frameworks weigh together where the width of one is found
NO_TWO_ALIKE = 0.05  # no two machines are closer than that
EXPERIMENT_FITTED = ("torchrec_",)  # models, by the beginning of their name

KINDS = ("system", "family", "generation", "series")  # what cross-validation holds out

# Rows whose pace is set by what no mechanism here describes (docs/validation.md, known weaknesses): no factor of kernels may make up for it.
NOT_MODELLED = (
    {"framework_id": "tf1_horovod", "model_id": "transformer_xl_.*"},  # FP16 three times as slow as in PyTorch, TF32 faster than predicted
    {"model_id": "resnet50_v1b", "precision": "FP16.*"},  # 2,900 images per second and node, however many GPUs: decoding
    {"model_id": "resnet50_.*", "system_id": "v100_sxm2_16gb_8x_1edr", "nodes": "[2-9].*"},  # steps grow with the batch, not with the gradients
)
WIDE = {"torchrec"}  # profiles that no run identifies: `uncertainty` stays as chosen


def family_of_device(name):
    return next((f for f, starts in FAMILIES.items() if name.startswith(starts)), None)


def device_of_system(system):
    text = (ROOT / "configs/systems" / f"{system}.yaml").read_text()
    return re.search(r"^device:\s*(\S+)", text, re.M).group(1)


def set_value(text, path, value):
    """YAML text with the key at `path` ("uncertainty", "kernels.matrix") set. Keys keep their place and their comment; a new one is put at the end of its
    section, a new section or top-level key before `source`."""
    *section, key = path.split(".")
    lines = text.splitlines()
    top = {m.group(1): i for i, line in enumerate(lines) if (m := re.match(r"(\w+):", line))}
    written = f"{'  ' * len(section)}{key}: {value if isinstance(value, str) else format(value, '.3g')}"
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


# Profiles that share a parameter because they share what it describes: PyTorch has one eager dispatch and one set of kernels (Megatron brings kernels of its
# own), and neighbouring releases of HugeCTR and of TensorFlow 2 have the same kernels.
PYTORCH = ("pytorch", "pytorch_apex", "pytorch_dlrm", "torchrec")
KERNELS = [PYTORCH, ("hugectr", "hugectr_2021_05"), ("tf2", "tf2_distributed_embeddings")]
SHARED = {"host.scale": [PYTORCH + ("megatron",)], "kernels.matrix": KERNELS, "kernels.memory": KERNELS}


def sharers(key, owner, owners):
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
        return np.array([math.log(p.prior) if p.log else p.prior for p, _ in self.names])

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

    def some_cases(self, mask, folder):
        """A case file with the rows of `mask`."""
        with open(self.cases, newline="") as f:
            header, *rows = csv.reader(f)
        path = pathlib.Path(folder) / "cases.csv"
        with open(path, "w", newline="") as f:
            csv.writer(f).writerows([header] + [r for r, m in zip(rows, mask) if m])
        return path

    def rows(self, x, mask=None):
        with tempfile.TemporaryDirectory() as temp:
            cases = self.cases if mask is None else self.some_cases(mask, temp)
            folder = pathlib.Path(temp) / "configs"
            shutil.copytree(self.configs, folder)
            self.profiles.write(x, folder)
            for f in (folder / "frameworks").glob("*.yaml"):  # only the ranges of the costs; see uncertainties()
                f.write_text(set_value(f.read_text(), "uncertainty", 0))
            rows = validate(self.binary, cases, folder)
            failed = [r["error"] for r in rows if not r["predicted_ms"]]
            if mask is None and len(failed) > len(rows) // 10:
                sys.exit(f"{len(failed)} of {len(rows)} cases were not predicted: {failed[0]}")
            return rows

    def log_predicted(self, x, mask=None):
        return np.array([math.log(float(r["predicted_ms"])) if r["predicted_ms"] else np.nan for r in self.rows(x, mask)])


def jacobian(runner, x, base):
    """One run per kind of parameter: the owners of one kind share no cases."""
    names = runner.profiles.names
    columns = np.zeros((len(base), len(x)))
    for p in {p for p, _ in names}:
        moved = x.copy()
        step = 0.05 if p.log else 0.005
        of_kind = [i for i, (q, _) in enumerate(names) if q is p]
        moved[of_kind] += step
        change = (runner.log_predicted(moved) - base) / step
        for i in of_kind:
            owners = names[i][1]
            mine = np.array([(r["framework"] if p.scope == "framework" else family_of_device(device_of_system(r["system_id"]))) in owners
                             for r in runner.all_rows])
            columns[mine, i] = change[mine]
    return columns


def informs(row):
    """Whether a row takes part in the fit."""
    unmodelled = any(all(re.fullmatch(expression, row[column]) for column, expression in cause.items()) for cause in NOT_MODELLED)
    return not unmodelled and not row["model_id"].startswith(EXPERIMENT_FITTED)


def groups_of(rows):
    """Rows that share an error, as arrays of indices."""
    out = collections.defaultdict(list)
    for i, r in enumerate(rows):
        out[r["model_id"], r["framework"], r["system_id"]].append(i)
    return [np.array(members) for members in out.values()]


def weights_of(rows):
    count = collections.Counter((r["framework"], r["system_id"]) for r in rows)
    return np.array([min(1.0, MOST_OF_ONE / count[r["framework"], r["system_id"]]) for r in rows])


def normal_equations(slopes, residual, weight, groups):
    """A' V^-1 A and A' V^-1 r with V = diag(ROW_ERROR^2 / weight) + GROUP_ERROR^2 within each group (Sherman and Morrison)."""
    own = weight / ROW_ERROR**2
    normal, right = slopes.T @ (slopes * own[:, None]), slopes.T @ (own * residual)
    for members in groups:
        d = own[members]
        shrink = GROUP_ERROR**2 / (1 + GROUP_ERROR**2 * d.sum())
        sums = slopes[members].T @ d
        normal -= shrink * np.outer(sums, sums)
        right -= shrink * sums * (d @ residual[members])
    return normal, right


def solve(base, slopes, x0, target, mask, profiles, groups):
    """Robust linear fit from x0 with priors, on the cases by their weight in `mask`."""
    prior, spread = profiles.prior(), profiles.spread()
    groups = [members[mask[members] > 0] for members in groups]
    x = x0.copy()
    for _ in range(60):
        residual = base + slopes @ (x - x0) - target
        weight = mask / np.sqrt(1 + (residual / ROW_ERROR) ** 2)
        normal, right = normal_equations(slopes, residual, weight, groups)
        x = profiles.clip(x - np.linalg.solve(normal + np.diag(1 / spread**2), right + (x - prior) / spread**2))
    return x


class Fit:
    """Fits from the priors, in the linear model around the priors, corrected by real runs."""

    def __init__(self, runner, target):
        self.runner, self.target, self.x0 = runner, target, runner.profiles.prior()
        base = runner.log_predicted(self.x0)
        self.known = np.isfinite(base)
        self.base = np.where(self.known, base, target)
        self.slopes = np.nan_to_num(jacobian(runner, self.x0, self.base))
        self.groups = groups_of(runner.all_rows)
        self.weight = weights_of(runner.all_rows)
        self.fitted = self.known & np.array([informs(r) for r in runner.all_rows])

    def solve(self, base, x, mask):
        return solve(base, self.slopes, x, self.target, (mask & self.fitted) * self.weight, self.runner.profiles, self.groups)

    def predicted(self, x):
        return np.where(self.known, self.runner.log_predicted(x), self.target)

    def run(self, mask, corrections=1):
        """Parameters fitted to the cases of `mask`."""
        x = self.solve(self.base, self.x0, mask)
        for _ in range(corrections):
            x = self.solve(self.predicted(x), x, mask)
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
        ("recommenders of all kinds, several nodes", lambda r: r["model_id"].startswith(RECOMMENDERS + ("wide_deep",)) and int(r["nodes"]) > 1),
        ("several nodes, all families", lambda r: int(r["nodes"]) > 1),
    ]
    lines = [(name, *quantiles(error[[i for i, r in enumerate(rows) if belongs(r)]])) for name, belongs in sets]
    lines.append(("scaling ratios within a series", *quantiles(scaling_errors(rows, predicted, measured))))
    return lines


def print_table(title, lines, out):
    print(f"\n{title}", file=out)
    for name, n, median, p90, worst in lines:
        print(f"  {name:<54} {n:>4}  median {median:5.1f} %  p90 {p90:5.1f} %  worst {worst:5.0f} %", file=out)


def configuration(r):
    return (r["model_id"], r["framework_id"], r["system_id"], r["precision"], r["nodes"], r["gpus"], r["global_batch"], r["accum"])


def series_groups(rows):
    """For each row the first of all rows that are connected to it by a series or an equal configuration."""
    first = list(range(len(rows)))

    def find(i):
        while first[i] != i:
            i = first[i]
        return i

    seen = {}
    for i, r in enumerate(rows):
        for key in (("series", r["series"]), configuration(r)):
            first[find(i)] = find(seen.setdefault(key, i))
    return [find(i) for i in range(len(rows))]


def folds_of(rows, kind):
    if kind == "system":
        return [r["system_id"] for r in rows]
    if kind == "family":
        return [family_of_model(r["model_id"]) for r in rows]
    if kind == "generation":
        return [str(family_of_device(device_of_system(r["system_id"]))) for r in rows]
    groups = series_groups(rows)
    order = {g: i % 6 for i, g in enumerate(sorted(set(groups)))}
    return [order[g] for g in groups]


def cross_validate(fit, kind):
    folds = np.array(folds_of(fit.runner.all_rows, kind))
    out = np.full(len(folds), np.nan)
    for fold in sorted(set(folds)):
        x = fit.run(folds != fold)
        out[folds == fold] = fit.runner.log_predicted(x, folds == fold)
        print(f"{kind} {fold} held out", file=sys.stderr)
    return np.exp(out)


def evidence(rows, owners, of):
    """What the parameters of a framework or device family rest on, as the profile says it."""
    mine = [r for r in rows if of(r) in owners and informs(r)]
    return f"{{rows: {len(mine)}, systems: {len({r['system_id'] for r in mine})}}}"


def weighted_quantile(values, weights, share):
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, share * reached[-1])])


def widths_needed(rows, predicted, measured):
    """Half-width u of each row with which the end of [low, high] = hypot(u, range of the costs) lies on what was measured. `rows` carry low_ms and high_ms
    from the costs only, of predictions with other factors: their relative widths count."""
    costs = np.array([1 - float(r["low_ms"]) / float(r["predicted_ms"]) if m < p else float(r["high_ms"]) / float(r["predicted_ms"]) - 1
                      for r, p, m in zip(rows, predicted, measured)])
    return np.sqrt(np.maximum(0, (measured / predicted - 1) ** 2 - costs**2))


def uncertainty_of(framework, rows, needed, taking_part):
    """The half-width that holds INSIDE of the rows that take part: those of the framework by their weight, and those of all others, which together count as
    OTHERS rows. A framework that no row knows has the width of all."""
    weight = weights_of(rows) * taking_part
    own = np.array([r["framework"] == framework for r in rows])
    rest = weight * ~own
    if rest.sum() > 0:
        rest *= OTHERS / rest.sum()
    return max(NO_TWO_ALIKE, weighted_quantile(needed, np.where(own, weight, rest), INSIDE))


def inside(rows, needed, folds):
    """Whether each row is within its range, the width of its framework found without its fold."""
    out = np.zeros(len(rows), bool)
    for fold in sorted(set(folds)):
        mine = folds == fold
        widths = {f: uncertainty_of(f, rows, needed, ~mine) for f in {r["framework"] for r, m in zip(rows, mine) if m}}
        out[mine] = [needed[i] <= widths[rows[i]["framework"]] for i in np.flatnonzero(mine)]
    return out


def range_table(rows, results, measured, costs_of):
    """Markdown: share of the measured times in the range, by family, with systems and with families held out."""
    families = np.array([family_of_model(r["model_id"]) for r in rows])
    held = {}
    for kind in ("system", "family"):
        held[kind] = inside(rows, widths_needed(costs_of, results[kind], measured), np.array(folds_of(rows, kind)))
    out = ["| family | cases | systems held out | families held out |", "|---|---|---|---|"]
    for name, mine in [("all", np.full(len(rows), True))] + [(f, families == f) for f in sorted(set(families))]:
        out.append(f"| {name} | {mine.sum()} | " + " | ".join(f"{100 * held[kind][mine].mean():.0f} %" for kind in ("system", "family")) + " |")
    return "\n".join(out) + "\n"


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
- **Family held out**: each model family by a fit on all others. This is the closest to what to expect of a model of your own.
- **Generation held out**: V100, A100 and H100 or H200 in turn: what to expect on a new generation of GPUs.
- **Series held out**: six groups of whole series, each predicted by a fit on the others. Other series of the same system remain in the fit.
- **Without any fit**: every factor at 1, mechanisms and data sheets alone.
- **Fitted on all cases**: the error of the shipped parameters on the cases that they were fitted to.

43 cases take no part in any fit, but are counted: 40 whose pace is set by something that is not modelled (image decoding, steps that grow
with the batch, Transformer-XL in TensorFlow 1; [validation.md](validation.md)), and 3 of TorchRec, whose loader's times are fitted to them.

Only these parameters are held out. The mechanisms of the model were chosen with all cases in view, so a model or system that nobody has looked at may fare
worse.

{tables}
## Inside the range

Share of the measured times within [low, high], which is meant to be 80 %. The half-width of a framework's own range is found without the system, or the
family, that it is judged on; so are the fitted factors.

{ranges}
The picture, and the table by family, system and number of nodes as `distsim validate` prints it with the fitted values, are in
[validation.md](validation.md).

## Fitted parameters

{parameters}"""


def family_of_model(name):
    """"bert", "resnet50"; two words where one says too little."""
    words = name.split("_")
    return "_".join(words[: 2 if words[0] in ("dle", "transformer", "tfde", "wide") or name.startswith("dlrm_dcnv2") else 1])


def print_families(title, rows, predicted, measured, out):
    error = np.abs(predicted / measured - 1)
    families = [family_of_model(r["model_id"]) for r in rows]
    lines = [(f, *quantiles(error[[i for i, mine in enumerate(families) if mine == f]])) for f in sorted(set(families))]
    print_table(title + ", by family", lines, out)


def write_rest(rows, widths, profiles):
    """Half-widths of the frameworks' ranges, and what the fits rest on."""
    for f, w in widths.items():
        path = ROOT / "configs/frameworks" / f"{f}.yaml"
        text = path.read_text() if f in WIDE else set_value(path.read_text(), "uncertainty", min(w, 0.6))
        path.write_text(set_value(text, "evidence", evidence(rows, sharers("kernels.matrix", f, profiles.frameworks), lambda r: r["framework"])))
    for path in (ROOT / "configs/devices").glob("*.yaml"):
        if (family := family_of_device(path.stem)) in profiles.families:
            known = evidence(rows, [family], lambda r: family_of_device(device_of_system(r["system_id"])))
            path.write_text(set_value(path.read_text(), "calibration.evidence", known))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("cases")
    parser.add_argument("--write", action="store_true", help="write the values to configs/ and the table to docs/calibration.md")
    parser.add_argument("--rounds", type=int, default=2)
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

    fit = Fit(runner, target)
    known = fit.known
    rows = [r for r, k in zip(all_rows, known) if k]
    prior_table = table(rows, np.exp(fit.base[known]), measured[known])
    x = fit.run(np.full(len(all_rows), True), args.rounds)
    base = fit.predicted(x)

    for (p, owners), value in zip(profiles.names, x):
        print(f"{'+'.join(owners):<60} {p.key:<29} {math.exp(value) if p.log else value:.3f}")
    print_table("without any fit", prior_table, sys.stdout)
    print_table("fitted on all cases", table(rows, np.exp(base[known]), measured[known]), sys.stdout)
    results = {}
    for kind in KINDS:
        results[kind] = cross_validate(fit, kind)[known]
        print_table(f"{kind} held out", table(rows, results[kind], measured[known]), sys.stdout)
    print_families("system held out", rows, results["system"], measured[known], sys.stdout)
    final = [r for r, k in zip(runner.rows(x), known) if k]
    needed = widths_needed(final, results["system"], measured[known])
    widths = {f: uncertainty_of(f, rows, needed, np.full(len(rows), True)) for f in profiles.frameworks}
    for f, w in widths.items():
        print(f"{f:<28} uncertainty {w:.3f}")
    stranger = widths_needed(final, results["generation"], measured[known])
    usual, new = (weighted_quantile(n, weights_of(rows), INSIDE) for n in (needed, stranger))
    print(f"width that holds {INSIDE:.0%}: {usual:.3f} with systems held out, {new:.3f} with generations held out")
    ranges = range_table(rows, results, measured[known], final)
    print("\n" + ranges)
    if args.write:
        tables = [markdown_table(f"{kind.capitalize()} held out", table(rows, results[kind], measured[known])) for kind in KINDS]
        tables += [markdown_table("Without any fit", prior_table)]
        tables += [markdown_table("Fitted on all cases", table(rows, np.exp(base[known]), measured[known]))]
        text = DOCUMENT.format(count=len(rows), parameters=parameter_table(profiles, x, widths), tables="\n".join(tables), ranges=ranges)
        (ROOT / "docs/calibration.md").write_text(text)
        profiles.write(x, ROOT / "configs")
        write_rest(rows, widths, profiles)


if __name__ == "__main__":
    main()
