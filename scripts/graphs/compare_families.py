#!/usr/bin/env python3
"""Compares captured models with distsim's own families: the figures of docs/graph_format.md.

usage: compare_families.py DISTSIM
Needs torch >= 1.13. Models: scripts/graphs/models.py; system: a DGX A100 with framework pytorch."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROWS = 100_000  # of DLRM's largest tables, so that one GPU holds them
IDS = "x128:int64"
CASES = [  # name, captured inputs, samples of a GPU, own family
    ("resnet50", ["64x3x224x224", "--loss", "cross_entropy"], 64, {"name": "resnet50_v1_5"}),  # its fp16 family has channels last
    ("resnet50", ["64x3x224x224", "--loss", "cross_entropy", "--channels-last"], 64, {"name": "resnet50_v1_5"}),
    ("bert_large", ["8" + IDS, "--input", "8" + IDS, "--input", "8x128", "--input", "8x20:int64"], 8, {"name": "bert_large_seq128"}),
    ("bert_large", ["8" + IDS, "--input", "8" + IDS, "--input", "8x128", "--input", "8x20:int64"], 64, {"name": "bert_large_seq128"}),
    ("gpt2", ["8x1024:int64", "--loss", "cross_entropy"], 8, {"name": "gpt2_small"}),
    ("dlrm_small", ["2048x13", "--input", "2048x26:int64"], 2048, None),
]


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def predict(distsim, folder, model, gpus):
    path = folder / "experiment.json"
    cluster = {"system": "dgx_a100_80gb", "nodes": 1} | ({"gpus_per_node": 1} if gpus == 1 else {})
    path.write_text(json.dumps({"cluster": cluster, "framework": {"name": "pytorch"}, "model": model}))
    return json.loads(run([distsim, "--config", str(path), "--json", "-"]))


def dlrm_family():
    sys.path.insert(0, str(HERE))
    from models import MLPERF_TABLES
    return {"kind": "dlrm", "optimizer": "sgd", "dlrm": {
        "dense_features": 13, "embedding_dim": 128, "bottom_mlp": [512, 256, 128], "interaction": "dot",
        "top_mlp": [1024, 1024, 512, 256, 1], "embedding_optimizer": "sgd", "index_skew": 1.0,
        "tables": [{"rows": min(ROWS, rows)} for rows in MLPERF_TABLES]}}


def flops(report):
    return report["achieved_tflops_per_gpu"] * report["iteration_ms"]


def main():
    distsim = sys.argv[1]
    print(f"{'model':12} {'samples':>7} {'precision':9} {'GPUs':>4} {'FLOPs':>8} {'graph ms':>9} {'family ms':>9} {'difference':>10}  limited by")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model, inputs, samples, family in CASES:
            graph = folder / f"{model}{'_last' if '--channels-last' in inputs else ''}.graph"
            if not graph.exists():
                run([sys.executable, "-m", "distsim_capture", f"models:{model}", "--input", *inputs, "-o", str(graph)], cwd=HERE,
                    env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
            only = {"resnet50": ("fp16",) if "--channels-last" in inputs else ("fp32",)}
            for precision in only.get(model, ("fp32", "fp16")):
                gpus = 1 if family is None else 8
                optimizer = {"resnet50": "momentum", "gpt2": "adam", "bert_large": "lamb"}.get(model, "sgd")
                common = {"per_gpu_batch": samples, "precision": precision, "optimizer": optimizer}
                own = predict(distsim, folder, (family or dlrm_family()) | common, gpus)
                ours = predict(distsim, folder, {"kind": "graph", "graph": {"file": str(graph)}} | common, gpus)
                a, b = ours["iteration_ms"], own["iteration_ms"]
                print(f"{model:12} {samples:7} {precision:9} {gpus:4} {flops(ours) / flops(own) - 1:+8.2%} {a:9.2f} {b:9.2f} {a / b - 1:+10.1%}  "
                      f"{ours['limited_by']} / {own['limited_by']}", flush=True)


if __name__ == "__main__":
    main()
