#!/usr/bin/env python3
"""Compares captured models, and the same models exported to ONNX, with distsim's own families: the figures of docs/graph_format.md.

usage: compare_families.py DISTSIM [--only NAME,...] [--from captured,onnx] [--keep FOLDER] [--markdown]
Needs torch >= 1.13. Models: scripts/graphs/models.py; system: a DGX A100 with framework pytorch.

Both are asked the same question. Our families keep activations in 16 bits from end to end, so that in fp16 the graph is asked with amp: half
and the family without casts of weights; `autocast` shows what torch.autocast adds to that. Tables of DLRM are split in both."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROWS = 100_000  # of DLRM's largest tables, so that one GPU holds them
IDS = "x128:int64"
LENGTHS = {"bert_large": 128, "gpt2": 1024}
HALF = {"kernels": {"cast_weights": False}, "gradients": {"half_precision": True}}
BERT = ["8" + IDS, "--input", "8" + IDS, "--input", "8x128", "--input", "8x20:int64"]
DLRM = ["2048x13"] + ["--input", "2048:int64"] * 26
# Kernel by kernel, as eager code calls them.
BERT_CLASS = {"name": "bert_large_seq128", "llm": {"model_type": "bert"}}
GPT_CLASS = {"name": "gpt2_small", "llm": {"model_type": "gpt2"}}
RESNET = {"name": "resnet50_v1_5"}
CASES = [  # name, model, captured inputs, samples of a GPU, precision, what is asked of the graph, own family, GPUs, nodes
    ("ResNet-50", "resnet50", ["64x3x224x224", "--loss", "cross_entropy"], 64, "fp32", {}, RESNET, 8, 1),
    ("ResNet-50, channels last", "resnet50", ["64x3x224x224", "--loss", "cross_entropy", "--channels-last"], 64, "fp16", {}, RESNET, 8, 1),
    ("BERT-large, 8", "bert_large", BERT, 8, "fp32", {}, BERT_CLASS, 8, 1),
    ("BERT-large, 8", "bert_large", BERT, 8, "fp16", {"amp": "half"}, BERT_CLASS, 8, 1),
    ("BERT-large, 8, autocast", "bert_large", BERT, 8, "fp16", {}, BERT_CLASS, 8, 1),
    ("BERT-large, 64", "bert_large", BERT, 64, "fp32", {}, BERT_CLASS, 8, 1),
    ("BERT-large, 64", "bert_large", BERT, 64, "fp16", {"amp": "half"}, BERT_CLASS, 8, 1),
    ("BERT-large, 64, autocast", "bert_large", BERT, 64, "fp16", {}, BERT_CLASS, 8, 1),
    ("GPT-2 small, 8", "gpt2", ["8x1024:int64", "--loss", "cross_entropy"], 8, "fp32", {}, GPT_CLASS, 8, 1),
    ("GPT-2 small, 8", "gpt2", ["8x1024:int64", "--loss", "cross_entropy"], 8, "fp16", {"amp": "half"}, GPT_CLASS, 8, 1),
    ("GPT-2 small, 8, autocast", "gpt2", ["8x1024:int64", "--loss", "cross_entropy"], 8, "fp16", {}, GPT_CLASS, 8, 1),
    ("DLRM, small tables", "dlrm_small", DLRM, 2048, "fp32", {"tables": "found"}, "dlrm", 1, 1),
    ("DLRM, small tables", "dlrm_small", DLRM, 2048, "fp16", {"tables": "found", "amp": "half"}, "dlrm", 1, 1),
    ("DLRM, small tables", "dlrm_small", DLRM, 8192, "fp32", {"tables": "found"}, "dlrm", 8, 1),
    ("DLRM", "dlrm", DLRM, 8192, "fp16", {"tables": "found", "amp": "half"}, "dlrm_full", 8, 4),
]


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def predict(distsim, folder, model, gpus, nodes, framework):
    path = folder / "experiment.json"
    cluster = {"system": "dgx_a100_80gb", "nodes": nodes} | ({"gpus_per_node": 1} if gpus == 1 else {})
    path.write_text(json.dumps({"cluster": cluster, "framework": {"name": "pytorch"} | framework, "model": model}))
    return json.loads(run([distsim, "--config", str(path), "--json", "-"]))


def dlrm_family(full):
    sys.path.insert(0, str(HERE))
    from models import MLPERF_TABLES
    return {"kind": "dlrm", "dlrm": {
        "dense_features": 13, "embedding_dim": 128, "bottom_mlp": [512, 256, 128], "interaction": "dot",
        "top_mlp": [1024, 1024, 512, 256, 1], "embedding_optimizer": "sgd",
        "tables": [{"rows": rows if full else min(ROWS, rows)} for rows in MLPERF_TABLES]}}


def flops(report):
    return report["achieved_tflops_per_gpu"] * report["iteration_ms"]


def parameters(report):
    """Dense parameters, from the gradients that are summed or, on one GPU, from what the placement says."""
    text = report["context"]["placement"]
    found = re.search(r"([\d]+) parameters", text)
    return int(found.group(1)) if found else None


def traffic(report):
    return sum(c["bytes"] for c in report["collectives"]) or None


def ratio(a, b):
    return "" if not a or not b else f"{a / b - 1:+.2%}"


def graph_of(source, folder, model, inputs):
    last = "_last" if "--channels-last" in inputs else ""
    graph = folder / f"{model}{last}.{'graph' if source == 'captured' else 'onnx'}"
    if graph.exists():
        return graph
    if source == "captured":
        run([sys.executable, "-m", "distsim_capture", f"models:{model}", "--input", *inputs, "-o", str(graph)], cwd=HERE,
            env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
    else:
        run([sys.executable, str(HERE / "export_onnx.py"), model, str(graph)])
    return graph


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("distsim")
    parser.add_argument("--only", default="", help="models: resnet50, bert_large, gpt2, dlrm_small, dlrm")
    parser.add_argument("--from", dest="sources", default="captured", help="captured, onnx, or both")
    parser.add_argument("--keep", help="folder of the graphs, which are used again")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    optimizers = {"resnet50": "momentum", "gpt2": "adam", "bert_large": "lamb"}
    head = ["model", "samples", "precision", "GPUs", "from", "parameters", "FLOPs", "bytes", "graph ms", "family ms", "difference", "limited by"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|" if options.markdown else "  ".join(head))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(options.keep or name)
        folder.mkdir(exist_ok=True)
        for title, model, inputs, samples, precision, asked, family, gpus, nodes in CASES:
            if options.only and model not in options.only.split(","):
                continue
            common = {"per_gpu_batch": samples, "precision": precision, "optimizer": optimizers.get(model, "sgd")}
            own = family if isinstance(family, dict) else dlrm_family(family == "dlrm_full")
            theirs = predict(options.distsim, folder, own | common, gpus, nodes, HALF if asked.get("amp") == "half" else {})
            for source in options.sources.split(","):
                if source == "onnx" and ("--channels-last" in inputs or model == "dlrm"):
                    continue  # ONNX has no memory layout; 96 GB of tables would have to be written
                keys = {"file": str(graph_of(source, folder, model, inputs))} | asked
                if source == "onnx":
                    keys |= {"loss": "cross_entropy"} if "cross_entropy" in inputs else {}
                    keys |= {"dimensions": {"sequence": LENGTHS[model]}} if model in LENGTHS else {}
                ours = predict(options.distsim, folder, {"kind": "graph", "graph": keys} | common, gpus, nodes, {})
                a, b = ours["iteration_ms"], theirs["iteration_ms"]
                row = [title, samples, precision, gpus * nodes, source, ratio(parameters(ours), parameters(theirs)),
                       ratio(flops(ours), flops(theirs)), ratio(traffic(ours), traffic(theirs)), f"{a:.2f}", f"{b:.2f}", f"{a / b - 1:+.1%}",
                       f"{ours['limited_by']} / {theirs['limited_by']}"]
                print(("| {} |" if options.markdown else "{}").format((" | " if options.markdown else "  ").join(map(str, row))), flush=True)


if __name__ == "__main__":
    main()
