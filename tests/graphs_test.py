#!/usr/bin/env python3
"""Models as graphs (docs/graph_format.md): what distsim_capture writes, what distsim predicts of it and of execution traces.

usage: graphs_test.py DISTSIM
The tests of the capture need torch; where it is missing they say so and the others run.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRACE = ROOT / "tests/data/opgraph/linear_et_1.0.1.json.gz"
try:
    import torch  # noqa: F401
except ImportError:
    torch = None
    print("graphs_test.py: no torch found, the tests of distsim_capture are left out", file=sys.stderr)

MODELS = """
import torch
from torch import nn


def mlp():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10))


def images():
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(16 * 64, 10))


class Broken(nn.Module):
    def forward(self, x):
        return x @ x.reshape(7, 3)


def broken():
    return Broken()


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

    def experiment(self, graph, **model):
        model = {"kind": "graph", "per_gpu_batch": 4, "precision": "fp32", "optimizer": "momentum", "graph": {"file": str(graph)}} | model
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
        path = self.experiment(TRACE)
        predicted, replayed = self.report("--config", path), self.report("replay", TRACE, "--config", path, "--priced")
        self.assertEqual(predicted["iteration_ms"], replayed["iteration_ms"])
        self.assertEqual(predicted["digest"], replayed["digest"])

    def test_compute_is_near_what_was_measured(self):
        """21 linear layers on an RTX 2080 Ti: 371.0 ms of kernels in 40 iterations (Kineto); the trace itself has no times."""
        path = self.experiment(TRACE)
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
        done = distsim("--config", self.experiment(TRACE, accumulation=2))
        self.assertEqual(done.returncode, 2)
        self.assertIn("model.accumulation", done.stderr)
        done = distsim("--config", self.experiment(TRACE, precision="fp8"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("model.precision", done.stderr)
        done = distsim("replay", TRACE, "--priced")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--config", done.stderr)


@unittest.skipIf(torch is None, "no torch")
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
        self.assertIn("expected 32", refused.stderr)

    def test_nothing_is_allocated(self):
        """1.3 billion parameters: 5.4 GB of weights."""
        limit = "import resource; resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30)); import distsim_capture.__main__ as m; m.main()"
        done = subprocess.run([sys.executable, "-c", limit, "models:large", "--input", "4x8192", "--one-batch", "-o", str(self.folder / "l.graph")],
                              cwd=self.folder, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
        self.assertIn("1,342,341,120 trained parameters", done.stdout, done.stderr)

    def test_failures_are_one_line(self):
        for function, flags, words in [("broken", ["--input", "2x3"], "models.py:"), ("nothing", ["--input", "2x3"], "found no 'nothing'"),
                                       ("mlp", ["--input", "2xq"], "expected sizes"), ("mlp", [], "--input"),
                                       ("mlp", ["--input", "2x64:float33"], "float33")]:
            done, out = self.capture(function, *flags)
            self.assertEqual(done.returncode, 2, function)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertFalse(out.exists())


if __name__ == "__main__":
    DISTSIM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
