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

from its model, system, framework, precision, batch and accumulation alone. *in range*: share of measured times inside [low, high], which is meant as the 10th
to 90th percentile. No row is left out. These are figures of a fit: the parameters of the profiles were found on the same rows. What a fit that has not seen a
series, or a system, says of it stands in [calibration.md](calibration.md).

![Predicted against measured iteration, and every scaling series](images/validation.svg)

```
{summary}```

`distsim validate --explain CASE_ID` prints the terms of one prediction, their bases and ranges, and which of them could account for its error.

What stays bad, and what is known of why:

- **Transformer-XL in TensorFlow 1**: the published V100 rows in FP16 take three times as long as the same model in PyTorch, those on A100 in TF32 less than
  predicted. One profile cannot do both; the sources do not say what differed (XLA, input pipeline).
- **ResNet-50 v1b in MXNet on the one-EDR V100 cluster, FP16**: 2,900 images a second a node whatever the number of GPUs, which is what 24 cores decode
  without DALI. distsim does not model the decoding of images.
- **Several nodes of that cluster** (one EDR port for eight GPUs): ResNet-50 steps grow with the batch, by 30 to 55 %, far more than their gradients take
  on the wire.
- **One-hot DLRM in HugeCTR 2022-04** (MLPerf v2.0): 15 % above on one node and 20 to 30 % on 8 and 14, where 0.6 ms leave no room: later fusions of its
  MLP kernels and its own all-reduce over InfiniBand are not modelled.
- **BERT-base in TensorFlow 1 without XLA, FP16**: three times slower than with it. The profile is that of XLA.
"""


def main():
    binary, cases = sys.argv[1:3]
    picture = ROOT / "docs/images/validation.svg"
    summary = subprocess.run([binary, "validate", "--cases", cases, "--plot", str(picture), "--jobs", "2"], check=True, capture_output=True, text=True).stdout
    (ROOT / "docs/validation.md").write_text(TEXT.format(summary=summary))


if __name__ == "__main__":
    main()
