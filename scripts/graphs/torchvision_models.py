#!/usr/bin/env python3
"""Captures 24 models of torchvision with random weights and predicts a training step of each (docs/graph_format.md).

usage: torchvision_models.py DISTSIM [--models NAME,...] [--batch N] [--precision fp32]
Needs torchvision (Debian: python3-torchvision). Ends with 1 where one is not captured, not priced, or has a call without a model."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ("alexnet vgg11 vgg13 vgg16 vgg19 vgg11_bn vgg13_bn vgg16_bn vgg19_bn resnet18 resnet34 resnet50 resnet101 resnet152 "
          "squeezenet1_0 squeezenet1_1 densenet121 densenet161 densenet169 densenet201 googlenet inception_v3 shufflenet_v2_x1_0 "
          "mobilenet_v2").split()


def capture(name, batch, out):
    side = 299 if name == "inception_v3" else 224
    command = [sys.executable, "-m", "distsim_capture", f"torchvision.models:{name}", "--input", f"{batch}x3x{side}x{side}",
               "--loss", "cross_entropy", "-o", str(out)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "python")})


def predict(distsim, graph, batch, precision):
    experiment = graph.with_suffix(".yaml")
    experiment.write_text(json.dumps({
        "cluster": {"system": "dgx_a100_80gb", "nodes": 1}, "framework": {"name": "pytorch"},
        "model": {"kind": "graph", "per_gpu_batch": batch, "precision": precision, "optimizer": "momentum", "graph": {"file": str(graph)}}}))
    return subprocess.run([distsim, "--config", str(experiment), "--json", "-"], capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("distsim")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--precision", default="fp32")
    options = parser.parse_args()
    failed = []
    print(f"{'model':20} {'calls':>6} {'parameters':>12} {'capture s':>9} {'step ms':>9} {'own model':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models.split(","):
            graph = pathlib.Path(folder) / f"{name}.graph"
            begin = time.monotonic()
            done = capture(name, options.batch, graph)
            took = time.monotonic() - begin
            if done.returncode != 0:
                print(f"{name:20} {done.stderr.strip().splitlines()[-1]}")
                failed.append(name)
                continue
            found = re.search(r": (\d+) calls, ([\d,]+) trained", done.stdout)
            predicted = predict(options.distsim, graph, options.batch, options.precision)
            if predicted.returncode != 0:
                print(f"{name:20} {predicted.stderr.strip()}")
                failed.append(name)
                continue
            report = json.loads(predicted.stdout)
            covered = next(m for m in (re.search(r"graph: (\d+) of (\d+) kernels?", a) for a in report["assumptions"]) if m)
            share = int(covered.group(1)) / int(covered.group(2))
            if share < 1:
                failed.append(name)
            print(f"{name:20} {found.group(1):>6} {found.group(2):>12} {took:9.1f} {report['iteration_ms']:9.2f} {share:9.1%}", flush=True)
    print(f"{len(options.models.split(',')) - len(failed)} of {len(options.models.split(','))} captured and priced")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
