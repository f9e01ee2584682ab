#!/usr/bin/env python3
"""Models as graphs (docs/graph_format.md): what distsim_capture writes, what distsim predicts of it and of execution traces.

usage: graphs_test.py DISTSIM
The tests of the capture need torch, and run with a Python of this machine that has it. Where none has, the others run, and where they pass the
exit code is 77, skipped.
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRACE = ROOT / "tests/data/opgraph/linear_et_1.0.1.json.gz"
sys.path.insert(0, str(ROOT / "tests/support"))
import other_python  # noqa: E402

HAS_TORCH = other_python.run_with("torch")

MODELS = """
import torch
from torch import nn


def mlp():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10))


def images():
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(16 * 64, 10))


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4096, 4096)

    def forward(self, x):
        y = self.fc(x)
        return self.fc(torch.sigmoid(y) * 2 + torch.tanh(y))


def chain():
    return Chain()


def deep():
    block = lambda: nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512), nn.Dropout(0.1))
    return nn.Sequential(*[block() for _ in range(8)])


class Broken(nn.Module):
    def forward(self, x):
        return x @ x.reshape(7, 3)


def broken():
    return Broken()


class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        y = self.fc(x)
        return y if y.sum().item() > 0 else -y


def reads():
    return Reads()


class Views(nn.Module):
    def __init__(self, times):
        super().__init__()
        self.fc, self.times = nn.Linear(8, 8), times

    def forward(self, x):
        for _ in range(self.times):
            x = x.view(x.shape[0], 6, 8).transpose(1, 2).transpose(1, 2) if self.times > 1 else x.view(x.shape[0], 8, 6).transpose(1, 2)
        return self.fc(torch.relu(x))


def views():
    return Views(1)


def many_views():
    return Views(50)


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, 64, mode="sum") for rows in (50000, 2000, 80000, 300))
        self.bottom, self.top = nn.Linear(13, 64), nn.Linear(5 * 64, 1)

    def forward(self, dense, *ids):
        offsets = torch.arange(dense.shape[0])
        return self.top(torch.cat([self.bottom(dense)] + [t(i, offsets) for t, i in zip(self.tables, ids)], 1))


def recommender():
    return Recommender()


def large():
    return nn.Sequential(*[nn.Linear(8192, 8192) for _ in range(20)])
"""


def distsim(*arguments):
    return subprocess.run([DISTSIM, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)


class Folder(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        (self.folder / "models.py").write_text(MODELS)

    def experiment(self, graph, keys=None, **model):
        model = {"kind": "graph", "per_gpu_batch": 4, "precision": "fp32", "optimizer": "momentum", "graph": {"file": str(graph)} | (keys or {})} | model
        model = {k: v for k, v in model.items() if v is not None}
        path = self.folder / "experiment.yaml"
        path.write_text(json.dumps({"cluster": {"system": "dgx_a100_80gb", "nodes": 1}, "model": model, "framework": {"name": "pytorch"}}))
        return path

    def report(self, *arguments):
        done = distsim(*arguments, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def capture(self, function, *flags):
        out = self.folder / f"{function}.json"
        done = subprocess.run([sys.executable, "-m", "distsim_capture", f"models:{function}", *flags, "-o", str(out)], cwd=self.folder,
                              capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
        return done, out


class Traces(Folder):
    def test_priced_replay_is_the_prediction(self):
        path = self.experiment(TRACE, per_gpu_batch=512)
        predicted, replayed = self.report("--config", path), self.report("replay", TRACE, "--config", path, "--priced")
        self.assertEqual(predicted["iteration_ms"], replayed["iteration_ms"])
        self.assertEqual(predicted["digest"], replayed["digest"])

    def test_compute_is_near_what_was_measured(self):
        """21 linear layers on an RTX 2080 Ti: 371.0 ms of kernels in 40 iterations (Kineto); the trace itself has no times."""
        path = self.experiment(TRACE, per_gpu_batch=512)
        report = self.report("--config", path, "--set", "cluster.system=g4dn_t4", "--set", "cluster.gpus_per_node=1", "--set", "device.name=rtx_2080_ti")
        compute = sum(op["time_ms"] for op in report["ops"])
        self.assertLess(abs(compute / (371.0 / 40) - 1), 0.15)
        self.assertTrue(any("217 of 217 kernels (100 %)" in a for a in report["assumptions"]), report["assumptions"])

    def test_refusals(self):
        no_file = self.experiment("nothing.graph")
        done = distsim("--config", no_file)
        self.assertEqual(done.returncode, 2)
        self.assertIn("model.graph.file", done.stderr)
        self.assertIn("nothing.graph", done.stderr)
        done = distsim("--config", self.experiment(TRACE, per_gpu_batch=512, accumulation=2))
        self.assertEqual(done.returncode, 2)
        self.assertIn("model.accumulation", done.stderr)
        done = distsim("--config", self.experiment(TRACE, per_gpu_batch=512, precision="fp8"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("model.precision", done.stderr)
        # A trace does not follow the batch, so that another one would only change samples/s.
        for model in ({"per_gpu_batch": 500}, {"per_gpu_batch": 0, "global_batch": 8 * 500}):
            done = distsim("--config", self.experiment(TRACE, **model))
            self.assertEqual(done.returncode, 2)
            self.assertIn("found 500 samples of a GPU, expected the batch that was recorded", done.stderr)
        self.assertRefusesForwardPassesInTraining()
        done = distsim("replay", TRACE, "--priced")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--config", done.stderr)

    def assertRefusesForwardPassesInTraining(self):
        """A graph without a backward pass is no iteration of training, whatever the optimizer."""
        forward = ROOT / "configs/serving/models/resnet18.graph"
        done = distsim("--config", self.experiment(forward))
        self.assertEqual(done.returncode, 2)
        self.assertIn("model.mode: found train, expected inference", done.stderr)
        self.assertIn("has the forward pass alone", done.stderr)
        done = distsim("--config", self.experiment(forward, mode="inference", optimizer=None))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_calls_of_the_host_are_named(self):
        graph = json.loads(gzip.decompress((ROOT / "configs/serving/models/alexnet.graph").read_bytes()))
        path = self.folder / "host.graph"
        of_host = len(graph["tensors"])
        graph["tensors"] += [{"shape": [10, 10], "dtype": "float32", "storage": 1000 + i, "device": "cpu"} for i in range(2)]
        graph["nodes"].append({"op": "aten::zeros", "label": "of the host", "phase": "forward", "in": [], "out": [of_host]})
        graph["nodes"].append({"op": "aten::relu", "label": "of the host", "phase": "forward", "in": [{"t": of_host}], "out": [of_host + 1]})
        path.write_text(json.dumps(graph))
        report = self.report("--config", self.experiment(path, mode="inference", optimizer=None))
        self.assertIn("left out, as all their tensors are on the host: aten::", " ".join(report["assumptions"]))
        for tensor in graph["tensors"]:
            tensor["device"] = "cpu"
        path.write_text(json.dumps(graph))
        done = distsim("--config", self.experiment(path, mode="inference", optimizer=None))
        self.assertEqual(done.returncode, 2)
        self.assertIn("all of whose tensors are on the host", done.stderr)


def kernels_of(report):
    text = next(a for a in report["assumptions"] if "kernels (" in a)
    return text.split("graph: ")[1].split(" kernels")[0]


@unittest.skipUnless(HAS_TORCH, "no torch")
class Onnx(Folder):
    """The same model captured, and exported to ONNX by PyTorch itself: the same products, bytes and parameters, and so the same time."""

    EXPORT = """
import sys, torch, models
torch.set_num_threads(1)
model, inputs = getattr(models, sys.argv[1])(), eval(sys.argv[2])
names = [f"in{i}" for i in range(len(inputs))]
torch.onnx.export(model, inputs, sys.argv[3], training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                  opset_version=17, input_names=names, dynamic_axes={n: {0: "batch"} for n in names})
"""
    SMALL = """
import sys; sys.path.insert(0, {path!r})
import graph_models
def bert(): return graph_models.Bert(layers=2, width=64, heads=4, words=500, positions=32)
def gpt(): return graph_models.Gpt(layers=2, width=64, heads=4, words=500, positions=32)
def tables(): return graph_models.Dlrm((1000, 50, 3000, 700), bags=False)
def residual():
    import torch
    return torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, 1, 1, bias=False), torch.nn.BatchNorm2d(16), torch.nn.ReLU(),
                               graph_models.Bottleneck(16, 8, 2), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10))
def reflected():
    import torch
    return torch.nn.Sequential(torch.nn.Conv2d(8, 16, 3, padding=1, padding_mode="reflect"), torch.nn.ReLU(), torch.nn.Conv2d(16, 8, 3))
def symmetric():
    import torch, torch.nn.utils.parametrize
    class Symmetric(torch.nn.Module):
        def forward(self, w): return w.triu() + w.triu(1).t()
    layer = torch.nn.Linear(64, 64)
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    return layer
def grouped():
    import torch
    class Grouped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k = torch.nn.Linear(64, 64), torch.nn.Linear(64, 16)
        def forward(self, x):
            q = self.q(x).view(x.shape[0], 24, 4, 16).transpose(1, 2)
            k = self.k(x).view(x.shape[0], 24, 1, 16).transpose(1, 2).repeat_interleave(4, 1)
            return (q @ k.transpose(2, 3)).softmax(-1)
    return Grouped()
"""

    def both(self, function, inputs, tensors, keys=None):
        (self.folder / "models.py").write_text(self.SMALL.format(path=str(self.folder)))
        (self.folder / "graph_models.py").write_text((ROOT / "scripts/graphs/models.py").read_text())
        flags = [word for text in inputs for word in ("--input", text)]
        done, captured = self.capture(function, *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        exported = self.folder / f"{function}.onnx"
        done = subprocess.run([sys.executable, "-c", self.EXPORT, function, tensors, str(exported)], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [self.report("--config", self.experiment(path, keys, per_gpu_batch=16)) for path in (captured, exported)]

    def check(self, captured, exported):
        flops = [r["achieved_tflops_per_gpu"] * r["iteration_ms"] for r in (captured, exported)]
        self.assertAlmostEqual(flops[1] / flops[0], 1, delta=0.005)
        self.assertAlmostEqual(exported["iteration_ms"] / captured["iteration_ms"], 1, delta=0.03)
        counts = [int(kernels_of(r).split(" of ")[1]) for r in (captured, exported)]
        self.assertLess(abs(counts[0] - counts[1]), 5, counts)
        memory = [r["memory"]["used_bytes_per_rank"][0] for r in (captured, exported)]
        self.assertGreater(memory[1] / memory[0], 0.99)  # ONNX does not say what is done in place
        self.assertLess(memory[1] / memory[0], 1.5)

    def test_attention(self):
        ids = "8x32:int64"
        self.check(*self.both("bert", [ids, ids, "8x32", "8x4:int64"],
                              "(torch.zeros(2, 32, dtype=torch.int64), torch.zeros(2, 32, dtype=torch.int64), torch.ones(2, 32), torch.zeros(2, 4, dtype=torch.int64))"))
        self.check(*self.both("gpt", [ids], "(torch.zeros(2, 32, dtype=torch.int64),)"))

    def test_tables(self):
        """Gather of a table is a lookup of one that can be split."""
        inputs = "(torch.zeros(2, 13), *[torch.zeros(2, dtype=torch.int64) for _ in range(4)])"
        captured, exported = self.both("tables", ["8x13"] + ["8:int64"] * 4, inputs, {"tables": "found"})
        travels = [{c["name"]: c["bytes"] for c in r["collectives"]} for r in (captured, exported)]
        self.assertEqual(travels[0], travels[1])
        self.assertIn("embedding.exchange", travels[0])
        # Indexing is exported as a gather of transposed rows, and read as what it was.
        self.assertAlmostEqual(exported["iteration_ms"] / captured["iteration_ms"], 1, delta=0.04)

    def test_images(self):
        self.check(*self.both("residual", ["8x3x32x32"], "(torch.randn(2, 3, 32, 32),)"))
        self.check(*self.both("reflected", ["8x8x16x20"], "(torch.randn(2, 8, 16, 20),)"))  # the exporter computes what is padded

    def test_computed_weights_are_trained(self):
        captured, exported = self.both("symmetric", ["8x64"], "(torch.randn(2, 64),)")
        self.check(captured, exported)
        self.assertFalse([a for a in exported["assumptions"] if "without a gradient" in a])

    def test_grouped_queries(self):
        captured, exported = self.both("grouped", ["8x24x64"], "(torch.randn(2, 24, 64),)")
        for key in ("model_tflop_per_iteration",):
            self.assertAlmostEqual(exported["context"][key] / captured["context"][key], 1, delta=0.005)

    def test_norms_and_gelu_that_are_written_out(self):
        """Below opset 17 the exporter writes layer normalisation out in nine nodes, and GELU always."""
        export, type(self).EXPORT = self.EXPORT, self.EXPORT.replace("opset_version=17", "opset_version=13")
        try:
            ids = "8x32:int64"
            captured, exported = self.both("bert", [ids, ids, "8x32", "8x4:int64"],
                                           "(torch.zeros(2, 32, dtype=torch.int64), torch.zeros(2, 32, dtype=torch.int64), torch.ones(2, 32), torch.zeros(2, 4, dtype=torch.int64))")
        finally:
            type(self).EXPORT = export
        self.check(captured, exported)
        self.assertTrue(any("6 layer normalisations written out as exporters do below opset 17" in a for a in exported["assumptions"]), exported["assumptions"])


@unittest.skipUnless(HAS_TORCH, "no torch")
class Capture(Folder):
    def test_mlp(self):
        done, out = self.capture("mlp", "--input", "32x64", "--loss", "cross_entropy")
        self.assertEqual(done.returncode, 0, done.stderr)
        graph = json.loads(out.read_text())
        self.assertTrue(graph["any_batch"])
        ops = [n["op"] for n in graph["nodes"]]
        self.assertEqual(ops.count("aten::addmm"), 2)
        self.assertEqual(ops.count("aten::native_dropout"), 1)
        self.assertEqual(ops.count("aten::mm"), 3)  # the first layer has no gradient of its input
        names = [graph["tensors"][g["parameter"]]["name"] for g in graph["gradients"]]
        self.assertEqual(sorted(names), ["0.bias", "0.weight", "3.bias", "3.weight"])
        self.assertIn(names[0], ("3.bias", "3.weight"))
        report = self.report("--config", self.experiment(out, per_gpu_batch=48))
        flops = report["achieved_tflops_per_gpu"] * report["iteration_ms"] * 1e9
        self.assertAlmostEqual(flops / (3 * 2 * 48 * (64 * 128 + 128 * 10)), 1, places=6)

    def test_operators_of_the_host(self):
        """Views launch nothing, but the host calls them: each function that the model calls, and each node of autograd."""
        done, out = self.capture("views", "--input", "4x6x8")
        self.assertEqual(done.returncode, 0, done.stderr)
        nodes = json.loads(out.read_text())["nodes"]
        forward = sum(n["calls"] for n in nodes if n["phase"] == "forward")
        self.assertEqual(forward, 5)  # view, transpose, relu, linear, sum: what linear calls inside is not counted
        backward = sum(n["calls"] for n in nodes if n["phase"] == "backward")
        # Of the sum, the bias and the product; three views of the weight and one of the result; two that store a gradient.
        self.assertEqual(backward, 9, [(n["op"], n["calls"]) for n in nodes])

    def test_the_host_takes_time_for_views(self):
        done, out = self.capture("many_views", "--input", "4x6x8")
        self.assertEqual(done.returncode, 0, done.stderr)
        with_views = self.report("--config", self.experiment(out))["iteration_ms"]
        graph = json.loads(out.read_text())
        for node in graph["nodes"]:
            node["calls"] = min(1, node["calls"]) if "view" not in node["op"] and "transpose" not in node["op"] else 0
        out.write_text(json.dumps(graph))
        without = self.report("--config", self.experiment(out))["iteration_ms"]
        self.assertGreater(with_views, without + 0.5)  # 100 views of 19 us each way

    def test_fused_chains(self):
        """A chain of pointwise calls reads and writes once what it shares: 4 passes instead of 9 forward, and 4 instead of 11 backward."""
        done, out = self.capture("chain", "--input", "512x4096")
        self.assertEqual(done.returncode, 0, done.stderr)
        apart, fused = (self.report("--config", self.experiment(out, {"fuse": fuse}, per_gpu_batch=8192))
                        for fuse in (False, True))
        of = [{op["kind"]: op for op in r["ops"]} for r in (apart, fused)]
        self.assertLess(of[1]["elementwise"]["time_ms"], 0.7 * of[0]["elementwise"]["time_ms"])
        self.assertEqual(of[1]["gemm"]["time_ms"], of[0]["gemm"]["time_ms"])
        self.assertLess(fused["iteration_ms"], apart["iteration_ms"])

    def test_checkpointed_modules(self):
        """The products of the modules run once more; memory and nothing else shrinks."""
        done, out = self.capture("deep", "--input", "64x512")
        self.assertEqual(done.returncode, 0, done.stderr)
        kept, again = (self.report("--config", self.experiment(out, {"checkpoint": names}, per_gpu_batch=4096))
                       for names in ([], ["*"]))
        time = [next(op for op in r["ops"] if op["kind"] == "gemm")["time_ms"] for r in (kept, again)]
        self.assertGreater(time[1], 1.2 * time[0])
        self.assertLess(time[1], 1.5 * time[0])
        memory = [r["memory"]["used_bytes_per_rank"][0] for r in (kept, again)]
        # Seven of eight blocks no longer keep their four tensors: two of 2048, two of 512, and a mask.
        self.assertLess(memory[1], memory[0] - 6 * 4096 * 2048 * 4)
        refused = distsim("--config", self.experiment(out, {"checkpoint": ["blocks.7"]}, per_gpu_batch=64))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("'blocks.7'", refused.stderr)

    def test_tables_travel_as_those_of_a_recommender(self):
        """The same exchanges as of kind dlrm with these tables; without the key a dense gradient of every table."""
        done, out = self.capture("recommender", "--input", "32x13", *["--input", "32:int64"] * 4)
        self.assertEqual(done.returncode, 0, done.stderr)
        split = self.report("--config", self.experiment(out, {"tables": "found"}, per_gpu_batch=512))
        whole = self.report("--config", self.experiment(out, per_gpu_batch=512))
        family = self.folder / "dlrm.yaml"
        family.write_text(json.dumps({"cluster": {"system": "dgx_a100_80gb", "nodes": 1}, "framework": {"name": "pytorch"}, "model": {
            "kind": "dlrm", "per_gpu_batch": 512, "precision": "fp32", "dlrm": {
                "embedding_dim": 64, "bottom_mlp": [64], "top_mlp": [1], "interaction": "concat",
                "tables": [{"rows": r} for r in (50000, 2000, 80000, 300)]}}}))
        own = self.report("--config", family)
        travels = [{c["name"]: c["bytes"] for c in r["collectives"] if "gradients" not in c["name"]} for r in (split, own)]
        self.assertEqual(travels[0], travels[1])
        self.assertIn("embedding.exchange", travels[0])
        self.assertLess(split["iteration_ms"], whole["iteration_ms"])
        self.assertTrue(any("4 embedding tables of 8467200 parameters" in a for a in split["assumptions"]), split["assumptions"])

    def test_split_weights(self):
        """FSDP by module: a GPU holds less, and all of it travels: gathered twice, reduced once."""
        done, out = self.capture("deep", "--input", "64x512")
        self.assertEqual(done.returncode, 0, done.stderr)
        keys, parameters = {"units": ["*"]}, 8 * (2 * 512 * 2048 + 512 + 2048)
        one = [self.report("--config", self.experiment(out, keys, parallel={"shard": s}), "--set", "cluster.gpus_per_node=1") for s in ("none", "weights")]
        self.assertEqual(one[0]["iteration_ms"], one[1]["iteration_ms"])
        self.assertEqual(one[0]["memory"], one[1]["memory"])
        whole, split = (self.report("--config", self.experiment(out, keys, parallel={"shard": s})) for s in ("none", "weights"))
        self.assertLess(split["memory"]["used_bytes_per_rank"][0], 0.6 * whole["memory"]["used_bytes_per_rank"][0])
        bytes_of = lambda kind: sum(c["bytes"] for c in split["collectives"] if c["kind"] == kind)
        self.assertEqual(bytes_of("all_gather"), 2 * 4 * parameters)
        self.assertEqual(bytes_of("reduce_scatter"), 4 * parameters)
        waiting = self.report("--config", self.experiment(out, keys, parallel={"shard": "weights", "prefetch": 0}))
        self.assertGreaterEqual(waiting["iteration_ms"], split["iteration_ms"])

    def test_all_in_16_bits(self):
        """Without casts: fewer kernels and less memory than autocasting; the same products."""
        done, out = self.capture("deep", "--input", "64x512")
        self.assertEqual(done.returncode, 0, done.stderr)
        cast, half = (self.report("--config", self.experiment(out, {"amp": amp}, precision="fp16", per_gpu_batch=4096))
                      for amp in ("autocast", "half"))
        kernels = [{op["kind"]: op["kernels"] for op in r["ops"]} for r in (cast, half)]
        self.assertLess(kernels[1]["elementwise"], kernels[0]["elementwise"])
        self.assertEqual(kernels[1]["gemm"], kernels[0]["gemm"])
        self.assertLess(half["iteration_ms"], cast["iteration_ms"])
        self.assertLess(half["memory"]["used_bytes_per_rank"][0], cast["memory"]["used_bytes_per_rank"][0])

    def test_activations_are_what_pytorch_allocates(self):
        """The most that a real step on the CPU holds, by PyTorch's own allocator."""
        script = ROOT / "scripts/graphs/measure_memory.py"
        done = subprocess.run([sys.executable, str(script), DISTSIM, "bert,gpt,dlrm"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(float(done.stdout.split("worst: ")[1].rstrip("%\n")), 10, done.stdout)

    def test_laws(self):
        """Better hardware is never slower, whatever is split; nor is a graph whose chains are fused."""
        better = ["device.hbm.bandwidth=4 TB/s", "device.l2.bandwidth=30 TB/s", "cluster.nic.bandwidth=50 GB/s", "cluster.host.dispatch_scale=0.5"]
        cases = [("deep", ["64x512"], {"units": ["*"]}, {"parallel": {"shard": "weights"}}), ("deep", ["64x512"], {}, {}),
                 ("recommender", ["32x13"] + ["32:int64"] * 4, {"tables": "found"}, {})]
        for function, inputs, keys, model in cases:
            done, out = self.capture(function, *[word for text in inputs for word in ("--input", text)])
            self.assertEqual(done.returncode, 0, done.stderr)
            path = self.experiment(out, keys, per_gpu_batch=2048, precision="fp16", **model)
            base = self.report("--config", path, "--set", "cluster.nodes=2")["iteration_ms"]
            for key in better:
                faster = self.report("--config", path, "--set", "cluster.nodes=2", "--set", key)["iteration_ms"]
                self.assertLessEqual(faster, base * (1 + 1e-9), f"{function} {keys} {key}")
            fused = self.experiment(out, keys | {"fuse": True}, per_gpu_batch=2048, precision="fp16", **model)
            self.assertLessEqual(self.report("--config", fused, "--set", "cluster.nodes=2")["iteration_ms"], base * (1 + 1e-9))

    def test_images_in_16_bits(self):
        done, out = self.capture("images", "--input", "8x3x16x16", "--loss", "cross_entropy", "--channels-last")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.report("--config", self.experiment(out, precision="fp16"))
        kinds = {op["kind"] for op in report["ops"]}
        self.assertTrue({"conv2d", "normalization", "gemm", "elementwise"} <= kinds, kinds)
        self.assertNotIn("unlisted", kinds)

    def test_one_batch_refuses_others(self):
        done, out = self.capture("mlp", "--input", "32x64", "--one-batch")
        self.assertEqual(done.returncode, 0, done.stderr)
        refused = distsim("--config", self.experiment(out, per_gpu_batch=33))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("expected 32, the batch of the graph", refused.stderr)

    def test_nothing_is_allocated(self):
        """1.3 billion parameters, 5.4 GB of weights, captured in 1 GB."""
        limit = "import resource; resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30)); import distsim_capture.__main__ as m; m.main()"
        done = subprocess.run([sys.executable, "-c", limit, "models:large", "--input", "4x8192", "--one-batch", "-o", str(self.folder / "l.graph")],
                              cwd=self.folder, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
        self.assertIn("1,342,341,120 trained parameters", done.stdout, done.stderr)

    def test_failures_are_one_line(self):
        for function, flags, words in [("broken", ["--input", "2x3"], "models.py:"), ("reads", ["--input", "2x3"], "reads a number out of a tensor"), ("nothing", ["--input", "2x3"], "found no 'nothing'"),
                                       ("mlp", ["--input", "2xq"], "expected sizes"), ("mlp", [], "--input"),
                                       ("mlp", ["--input", "2x64:float33"], "float33")]:
            done, out = self.capture(function, *flags)
            self.assertEqual(done.returncode, 2, function)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertFalse(out.exists())


if __name__ == "__main__":
    DISTSIM = os.path.abspath(sys.argv.pop(1))
    passed = unittest.main(exit=False).result.wasSuccessful()
    sys.exit((0 if HAS_TORCH else other_python.SKIPPED) if passed else 1)
