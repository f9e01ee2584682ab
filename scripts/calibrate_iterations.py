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
import math
import os
import pathlib
import shutil
import sys
import tempfile

import numpy as np

from calibration.fit import Fit, Runner, informs, validate
from calibration.profiles import PARAMETERS, ROOT, Profiles, device_of_system, family_of_device, set_value, sharers
from calibration.ranges import extra_of_a_generation, range_table, uncertainties, widths_needed
from calibration.tables import KINDS, folds_of, markdown_table, print_families, print_table, table

WIDE = {"torchrec"}  # profiles that no run identifies: `uncertainty` stays as chosen


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
family, that it is judged on; so are the fitted factors. A framework of which the rest has no rows gets the width that 80 % of the frameworks do not exceed
({stranger:.2f} with all rows), and one of few systems comes close to it. On a GPU of which no row is known, {extra:.2f} is added in squares.

{ranges}
The picture, and the table by family, system and number of nodes as `distsim validate` prints it with the fitted values, are in
[validation.md](validation.md).

## Fitted parameters

{parameters}"""


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
    widths = uncertainties(rows, needed, np.full(len(rows), True))
    stranger = widths.pop(None)
    for f, w in widths.items():
        print(f"{f:<28} uncertainty {w:.3f}")
    print(f"{'a framework without rows':<28} uncertainty {stranger:.3f}")  # the default of FrameworkSpec
    extra = extra_of_a_generation(rows, widths_needed(final, results["generation"], measured[known]), needed)
    print(f"{'a GPU without rows':<28} adds {extra:.3f} in squares")  # kUnknownGeneration, sim/pipeline/experiment_inputs.cpp
    ranges = range_table(rows, results, measured[known], final)
    print("\n" + ranges)
    if args.write:
        tables = [markdown_table(f"{kind.capitalize()} held out", table(rows, results[kind], measured[known])) for kind in KINDS]
        tables += [markdown_table("Without any fit", prior_table)]
        tables += [markdown_table("Fitted on all cases", table(rows, np.exp(base[known]), measured[known]))]
        text = DOCUMENT.format(count=len(rows), parameters=parameter_table(profiles, x, widths), tables="\n".join(tables), ranges=ranges, stranger=stranger, extra=extra)
        (ROOT / "docs/calibration.md").write_text(text)
        profiles.write(x, ROOT / "configs")
        write_rest(rows, widths, profiles)


if __name__ == "__main__":
    main()
