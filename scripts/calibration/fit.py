"""Runs of `distsim validate` with other parameters, and the fit of the parameters to what was measured."""
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

from .profiles import family_of_device, device_of_system, set_value

ROW_ERROR, GROUP_ERROR = 0.10, 0.10  # relative; that of a row, and what the rows of one model, framework and system share
MOST_OF_ONE = 6  # rows that all of one framework on one system weigh together
EXPERIMENT_FITTED = ("torchrec_",)  # models, by the beginning of their name

# Rows whose pace is set by what no mechanism here describes (docs/validation.md, known weaknesses): no factor of kernels may make up for it.
NOT_MODELLED = (
    {"framework_id": "tf1_horovod", "model_id": "transformer_xl_.*"},  # FP16 three times as slow as in PyTorch, TF32 faster than predicted
    {"model_id": "resnet50_v1b", "precision": "FP16.*"},  # 2,900 images per second and node, however many GPUs: decoding
    {"model_id": "resnet50_.*", "system_id": "v100_sxm2_16gb_8x_1edr", "nodes": "[2-9].*"},  # steps grow with the batch, not with the gradients
)


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
