#!/usr/bin/env python3
"""Writes docs/validation.md and docs/images/validation.svg from `distsim validate` on a CSV of measured iterations.

    scripts/write_validation.py BINARY CASES.csv
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT = """# Predicted against measured

Written by `scripts/write_validation.py`; do not edit. Published training iterations (sources in [data_sources.md](data_sources.md)), each predicted by

    distsim validate --cases CASES.csv --plot validation.svg

from its model, system, framework, precision, batch and accumulation only. No case is left out. These are errors of a fit: the parameters of the profiles
were fitted to the same cases. [calibration.md](calibration.md) has the errors on systems and series that the fit has not seen.

![Predicted against measured iteration, and every scaling series](images/validation.svg)

| column | meaning |
|---|---|
| median, mean, p90, worst | absolute relative error of the predicted iteration time |
| bias | mean of the signed error; positive: predicted too slow |
| tier | A: the source describes the run completely; B: one point is unclear |
| in range | share of the measured times within [low, high], which is meant as the 10th to 90th percentile |

## All cases

```
{summary}```

`distsim validate --explain CASE_ID` prints the terms of one prediction, their bases and ranges, and which of them could explain its error.

## Known weaknesses

- **Transformer-XL in TensorFlow 1**: the published V100 rows in FP16 take three times as long as the same model in PyTorch; those on A100 in TF32 take less
  than predicted. One profile cannot fit both, and the sources do not say what differed (XLA, input pipeline).
- **ResNet-50 v1b in MXNet on the V100 cluster with one EDR port, FP16**: 2,900 images per second and node whatever the number of GPUs, which is what 24 cores
  decode without DALI. `framework.input.decode_rate` gives that rate; for these rows it is fitted to the one with eight GPUs.
- **Several nodes of that cluster** (one EDR port for eight GPUs): the time of ResNet-50 steps grows with the batch, by 30 to 55 %, far more than its gradients
  take on the wire.
- **One-hot DLRM in HugeCTR 2022-04** (MLPerf v2.0): predicted 15 % too slow on one node and 20 to 30 % too slow on 8 and 14 nodes, where a step takes 0.6 ms.
  Later fusions of its MLP kernels and its own all-reduce over InfiniBand are not modelled.
- **BERT-base in TensorFlow 1 without XLA, FP16**: three times slower than with XLA, which the profile assumes.

## The cases that ship with distsim

`distsim validate` without `--cases` predicts the ten cases of `configs/validation/cases.csv`:

<!-- validation output -->
```
{shipped}```
<!-- end of validation output -->
"""


def output_of(command):
    """What it prints, without spaces at the ends of lines, as scripts/update_readme.py compares it."""
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return "".join(line.rstrip() + "\n" for line in text.strip("\n").splitlines())


def main():
    binary, cases = (str(pathlib.Path(a).resolve()) for a in sys.argv[1:3])
    picture = ROOT / "docs/images/validation.svg"
    summary = output_of([binary, "validate", "--cases", cases, "--plot", str(picture), "--jobs", "2"])
    (ROOT / "docs/validation.md").write_text(TEXT.format(summary=summary, shipped=output_of([binary, "validate"])))


if __name__ == "__main__":
    main()
