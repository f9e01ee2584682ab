#!/usr/bin/env python3
"""Compares the activations that distsim counts of a captured graph with what PyTorch's allocator held in a real training step on the CPU.

usage: measure_memory.py DISTSIM [MODEL,...] [IMAGES]       IMAGES: number and edge, default 8x128
Needs torch >= 1.13; models of torchvision where that is installed. A step runs first, so that gradients are there; of a second one the
most that was allocated beyond what was there before it is compared. Dropout is off: on a CPU its mask is four bytes an element, on a GPU
one. So is oneDNN, whose convolutions copy a filter's gradient from a layout of their own, which no GPU does. Fused kernels of a GPU's
libraries have workspaces besides."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

import models  # noqa: E402
from distsim_capture import InputSpec, capture  # noqa: E402


def vision(name):
    def build():
        import torchvision
        return getattr(torchvision.models, name)(num_classes=100)
    return build


def without_dropout(module):
    for child in module.modules():
        if isinstance(child, nn.Dropout):
            child.p = 0.0
    return module


IMAGE_COUNT, IMAGE_EDGE = map(int, (sys.argv[3] if len(sys.argv) > 3 else "8x128").split("x"))
IMAGES = [InputSpec((IMAGE_COUNT, 3, IMAGE_EDGE, IMAGE_EDGE))]
CASES = {  # builder, inputs, loss
    "resnet18": (vision("resnet18"), IMAGES, "cross_entropy"),
    "resnet50": (lambda: models.resnet50(), IMAGES, "cross_entropy"),
    "vgg11_bn": (vision("vgg11_bn"), IMAGES, "cross_entropy"),
    "densenet121": (vision("densenet121"), IMAGES, "cross_entropy"),
    "mobilenet_v2": (vision("mobilenet_v2"), IMAGES, "cross_entropy"),
    "squeezenet1_1": (vision("squeezenet1_1"), IMAGES, "cross_entropy"),
    "bert": (lambda: models.Bert(layers=3, width=64, heads=4, words=300, positions=128),
             [InputSpec((8, 128), "int64"), InputSpec((8, 128), "int64"), InputSpec((8, 128)), InputSpec((8, 20), "int64")], "sum"),
    "gpt": (lambda: models.Gpt(layers=3, width=64, heads=4, words=300, positions=128), [InputSpec((4, 128), "int64")], "cross_entropy"),
    "dlrm": (lambda: models.Dlrm((1000, 50, 3000, 700)), [InputSpec((64, 13))] + [InputSpec((64,), "int64")] * 4, "sum"),
}


def loss_of(outputs, kind):
    tensor = outputs if torch.is_tensor(outputs) else outputs[0]
    if kind == "sum":
        return tensor.sum()
    target = torch.zeros(tensor.shape[:-1], dtype=torch.int64)
    return nn.functional.cross_entropy(tensor.reshape(-1, tensor.shape[-1]), target.reshape(-1))


def measured(module, inputs, loss):
    """Most bytes allocated during a step beyond what was there at its beginning."""
    tensors = [torch.zeros(s.shape, dtype=getattr(torch, s.dtype)) for s in inputs]
    with torch.backends.mkldnn.flags(enabled=False):
        loss_of(module(*tensors), loss).backward()
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            loss_of(module(*tensors), loss).backward()
    now = most = 0
    for event in sorted((e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"), key=lambda e: e.start_us()):
        now += event.nbytes()
        most = max(most, now)
    return most


def predicted(distsim, build, inputs, loss, folder):
    graph = folder / "model.json"
    graph.write_text(json.dumps(capture(build, inputs, loss=loss, any_batch=False)))
    experiment = folder / "experiment.yaml"
    experiment.write_text(json.dumps({
        "cluster": {"system": "dgx_a100_80gb", "nodes": 1, "gpus_per_node": 1}, "framework": {"name": "pytorch"},
        "model": {"kind": "graph", "per_gpu_batch": inputs[0].shape[0], "precision": "fp32", "optimizer": "sgd", "graph": {"file": str(graph)}}}))
    done = subprocess.run([distsim, "--config", str(experiment), "--json", "-"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    report = json.loads(done.stdout)
    parameters = int(report["context"]["placement"].split(" parameters")[0].split()[-1])
    return report["memory"]["used_bytes_per_rank"][0] - 8 * parameters  # weights and gradients


def main():
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    chosen = sys.argv[2].split(",") if len(sys.argv) > 2 else list(CASES)
    print("| model | measured MB | predicted MB | error |\n|---|---|---|---|")
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            build, inputs, loss = CASES[name]
            held = measured(without_dropout(build()).train(), inputs, loss)
            counted = predicted(sys.argv[1], lambda: without_dropout(build()), inputs, loss, pathlib.Path(folder))
            worst = max(worst, abs(counted / held - 1))
            print(f"| {name} | {held / 1e6:.1f} | {counted / 1e6:.1f} | {counted / held - 1:+.1%} |", flush=True)
    print(f"worst: {worst:.1%}")


if __name__ == "__main__":
    main()
