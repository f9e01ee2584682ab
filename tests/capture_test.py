#!/usr/bin/env python3
"""What distsim_capture makes of models that are not plain (docs/graph_format.md), and what distsim predicts of them.

usage: capture_test.py DISTSIM
Needs torch, and runs with a Python of this machine that has it; where none has, it is skipped (exit code 77).
"""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "tests/support"))
import other_python  # noqa: E402

if not other_python.run_with("torch"):
    sys.exit(other_python.SKIPPED)
import torch  # noqa: E402
from torch import nn  # noqa: E402
import torch.nn.utils.parametrize  # noqa: E402
import torch.utils.checkpoint  # noqa: E402
import distsim_capture  # noqa: E402
from distsim_capture import __main__ as command  # noqa: E402
from distsim_capture.errors import place_of, reason_of  # noqa: E402

CONSTANT = torch.ones(64)


class Calls(nn.Module):
    """A linear layer, and a function of its result."""

    def __init__(self, function, width=64):
        super().__init__()
        self.fc, self.function = nn.Linear(width, width), function

    def forward(self, x):
        return self.function(self.fc(x))


class Holds(nn.Module):
    """Tensors that are no parameters and no buffers."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 64)
        self.plain, self.listed = torch.ones(64), [torch.ones(64)]

    def forward(self, x):
        return self.fc(x) * self.plain + self.listed[0] + CONSTANT


def tanh_gelu(x):
    return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


class Bags(nn.Module):
    def __init__(self, sparse):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, 64, mode="sum", sparse=sparse) for rows in (100000, 2000))
        self.top = nn.Linear(2 * 64 + 13, 1)

    def forward(self, x, ids):
        return self.top(torch.cat([x] + [t(ids[:, k]) for k, t in enumerate(self.tables)], 1))


class Words(nn.Module):
    def __init__(self, kind, **more):
        super().__init__()
        self.words, self.layers = nn.Embedding(1000, 64), kind(64, 128, 2, batch_first=True, **more)
        self.out = nn.Linear(128, 1000)

    def forward(self, ids):
        return self.out(self.layers(self.words(ids))[0])


class Outputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.small, self.big = nn.Linear(64, 8), nn.Linear(64, 4096)

    def forward(self, x):
        return {"small": self.small(x), "more": [self.big(x)], "ids": torch.zeros(3, dtype=torch.int64)}


class Needs(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 64)

    def forward(self, x):
        assert x.shape[0] >= 8, "eight at least"
        return self.fc(x)


def frozen(layers=8, trained=1):
    model = nn.Sequential(*[nn.Linear(1024, 1024, bias=False) for _ in range(layers)])
    for parameter in list(model.parameters())[:layers - trained]:
        parameter.requires_grad = False
    return model


def capture(build, *inputs, **more):
    return distsim_capture.capture(build if not isinstance(build, nn.Module) else lambda: build,
                                   [distsim_capture.parse_input(i) for i in inputs], **more)


def ops_of(graph, phase=None):
    return [n["op"].removeprefix("aten::") for n in graph["nodes"] if phase in (None, n["phase"])]


class WithDistsim(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def run_distsim(self, graph, keys=None, *sets, **model):
        path = self.folder / "graph.json"
        path.write_text(json.dumps(graph))
        model = {"kind": "graph", "precision": "fp32", "optimizer": "momentum", "graph": {"file": str(path)} | (keys or {})} | model
        if "global_batch" not in model:
            model.setdefault("per_gpu_batch", graph["samples"])
        experiment = self.folder / "experiment.yaml"
        experiment.write_text(json.dumps({"cluster": {"system": "dgx_a100_80gb", "nodes": 1}, "model": model, "framework": {"name": "pytorch"}}))
        flags = [word for s in sets for word in ("--set", s)]
        return subprocess.run([DISTSIM, "--config", str(experiment), "--json", "-", *flags], capture_output=True, text=True, cwd=ROOT)

    def report(self, *arguments, **model):
        done = self.run_distsim(*arguments, **model)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, *arguments, **model):
        done = self.run_distsim(*arguments, **model)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr


class Recurrent(WithDistsim):
    def test_layers_are_one_call(self):
        for kind, mode in ((nn.LSTM, 2), (nn.GRU, 3)):
            graph = capture(Words(kind), "32x50:int64", loss="cross_entropy")
            self.assertTrue(graph["any_batch"], graph.get("one_batch"))
            self.assertLess(len(graph["nodes"]), 50)
            self.assertEqual(ops_of(graph).count("_cudnn_rnn"), 1)
            self.assertEqual(ops_of(graph).count("_cudnn_rnn_backward"), 1)
            self.assertEqual(len(graph["gradients"]), 2 * 4 + 3)  # layers, words, out
            report = self.report(graph)
            self.assertEqual({o["kind"]: o["kernels"] for o in report["ops"]}["recurrent"], 4)
            flops = report["achieved_tflops_per_gpu"] * report["iteration_ms"] * 1e9
            gates = 4 if mode == 2 else 3
            layers = 2 * gates * 128 * (64 + 128 + 128 + 128) * 50 * 32
            self.assertAlmostEqual(flops / (3 * (layers + 2 * 128 * 1000 * 50 * 32)), 1, places=3)

    def test_steps_are_no_batch(self):
        self.assertIn("batch_first=False", capture(lambda: nn.GRU(64, 128), "50x32x64")["remarks"][0])
        self.assertEqual(capture(lambda: nn.GRU(64, 128, batch_first=True), "32x50x64")["remarks"], [])

    def test_all_kinds_are_captured_and_priced(self):
        for build, inputs in ((lambda: nn.RNN(64, 32, 2, bidirectional=True), "8x5x64"), (lambda: nn.LSTM(64, 32, 2, proj_size=16), "8x5x64"),
                              (lambda: nn.LSTMCell(64, 32), "8x64"), (lambda: nn.GRUCell(64, 32), "8x64"), (lambda: nn.RNNCell(64, 32), "8x64")):
            graph = capture(build, inputs)
            self.assertLess(len(graph["nodes"]), 60)
            report = self.report(graph)
            self.assertNotIn("unlisted", {o["kind"] for o in report["ops"]})
            self.assertEqual(len(graph["gradients"]), len(list(build().parameters())))


class Batches(WithDistsim):
    def test_sizes_that_do_not_follow_in_a_line(self):
        """Quadratic ones, those of some batches only, calls and failures that depend on it: the batch of the capture alone."""
        def pairs(y):
            return (y @ y.t()).reshape(-1).exp()
        for build, words in ((Calls(pairs), ("node 3 (aten::_reshape_alias)", "256 with 16, 1024 with 32, 64 with 8")),
                             (Calls(lambda y: y[:min(y.shape[0], 12)]), ("8 with 8, 12 with 16",)),
                             (Calls(lambda y: y[:y.shape[0] // 2]), ("does not follow the batch",)),
                             (Calls(lambda y: sum(y * i for i in range(y.shape[0] // 8))), ("with a batch of",)),
                             (Needs(), ("with a batch of 4 the module fails", "eight at least"))):
            graph = capture(build, ("8x64" if isinstance(build, Needs) else "16x64"))
            self.assertFalse(graph["any_batch"])
            if words[0].startswith("node"):
                words = ("does not follow the batch in a line: 64 with 8, 256 with 16, 1024 with 32",)
            for word in words:
                self.assertIn(word, graph["one_batch"])
            refusal = self.refused(graph, per_gpu_batch=33)
            self.assertIn("found 33 samples", refusal)
            self.assertIn(graph["one_batch"][:60], refusal)
            self.report(graph)
        squares = capture(Calls(lambda y: (y @ y.t()).exp()), "16x64")  # each size of it does
        self.assertTrue(squares["any_batch"])

    def test_sizes_below_zero(self):
        graph = capture(Calls(lambda y: y[4:]), "16x64")
        self.assertTrue(graph["any_batch"])
        self.report(graph, per_gpu_batch=4)
        refusal = self.refused(graph, per_gpu_batch=3)
        self.assertIn("model.per_gpu_batch: found 3 samples", refusal)
        self.assertIn("at least 4", refusal)
        self.assertIn("model.global_batch", self.refused(graph, global_batch=16))

    def test_one_batch_as_asked(self):
        graph = capture(Calls(torch.relu), "16x64", any_batch=False)
        self.assertIn("as asked", self.refused(graph, per_gpu_batch=8))


class Laws(WithDistsim):
    def test_more_samples_are_not_shorter(self):
        """But for what the learned prices of single kernels leave: 1 % of an iteration where the batch doubles."""
        wide = lambda: nn.Sequential(*[nn.Sequential(nn.Linear(2048, 2048), nn.ReLU()) for _ in range(8)])
        for build, inputs in ((wide, ["512x2048"]), (lambda: Words(nn.LSTM), ["32x50:int64"]), (lambda: Bags(False), ["256x13", "256x2x5:int64"])):
            graph = capture(build, *inputs)
            for precision in ("fp32", "fp16"):
                before = 0
                for batch in (1, 2, 4, 8, 16, 64, 256):
                    now = self.report(graph, per_gpu_batch=batch, precision=precision)["iteration_ms"]
                    self.assertGreater(now, 0.99 * before, f"{inputs} {precision} {batch}")
                    before = max(now, before)


    def test_fused_chains_are_not_slower(self):
        """Also where what is fused are sums of gradients, which the host calls nothing for."""
        class Loop(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.LSTMCell(16, 16)

            def forward(self, x):
                state = (torch.zeros(8, 16),) * 2
                for step in range(5):
                    state = self.cell(x[:, step], state)
                return state[0]
        graph = capture(Loop, "8x5x16", any_batch=False)
        apart, fused = (self.report(graph, {"fuse": fuse})["iteration_ms"] for fuse in (False, True))
        self.assertLessEqual(fused, apart)


class Weights(WithDistsim):
    def memory(self, graph, **model):
        return self.report(graph, **model)["memory"]["used_bytes_per_rank"][0]

    def test_all_that_is_held_counts(self):
        """Frozen weights, those that the loss does not reach, and buffers; in every way to split what is trained."""
        weight = 1024 * 1024
        graphs = [capture(frozen(8, trained), "512x1024") for trained in (1, 8)]
        apart = self.memory(graphs[1]) - self.memory(graphs[0])
        # Seven gradients, momenta and buckets more, and activations that only their gradients need; the weights are there in both.
        self.assertGreaterEqual(apart, 7 * weight * 12)
        self.assertLess(apart, 7 * weight * 12 + 8 * 3 * 512 * 1024 * 4)
        self.assertGreaterEqual(self.memory(graphs[0]), weight * (8 * 4 + 12))

        class Unreached(Calls):
            def __init__(self):
                super().__init__(torch.relu)
                self.more, self.aside = nn.Linear(4096, 4096, bias=False), nn.Linear(64, 1024)
                self.register_buffer("table", torch.zeros(1 << 20))

            def forward(self, x):
                self.aside(x)
                return super().forward(x)
        bare, held = (capture(m, "32x64") for m in (Calls(torch.relu), Unreached()))
        more = self.memory(held) - self.memory(bare)
        self.assertGreaterEqual(more, 4 * (4096 * 4096 + 64 * 1024 + 1024 + (1 << 20)))
        report = self.report(held)
        self.assertTrue(any("3 parameters without a gradient, 67.38 MB: held" in a for a in report["assumptions"]), report["assumptions"])

    def test_inference_holds_its_weights(self):
        graph = capture(frozen(8, 8), "512x1024", inference=True)
        self.assertGreaterEqual(self.memory(graph, mode="inference"), 8 * 1024 * 1024 * 4)

    def test_frozen_weights_are_gathered(self):
        """FSDP splits frozen weights too, gathers them, and reduces nothing of them."""
        graph = capture(frozen(8, 1), "512x1024")
        whole, split = (self.report(graph, {"units": ["*"]}, parallel={"shard": s}) for s in ("none", "weights"))
        used = [r["memory"]["used_bytes_per_rank"][0] for r in (whole, split)]
        self.assertLess(used[1], used[0])
        bytes_of = lambda kind: sum(c["bytes"] for c in split["collectives"] if c["kind"] == kind)
        weight = 1024 * 1024 * 4
        self.assertGreaterEqual(bytes_of("all_gather"), 8 * weight)  # forward
        self.assertLessEqual(bytes_of("all_gather"), 10 * weight)  # the last unit again, backward
        self.assertEqual(bytes_of("reduce_scatter"), weight)

    def test_flops_are_those_of_what_is_trained(self):
        flops = lambda graph, **m: (lambda r: r["achieved_tflops_per_gpu"] * r["iteration_ms"] * 1e9)(self.report(graph, **m))
        product = 2 * 512 * 1024 * 1024
        self.assertAlmostEqual(flops(capture(frozen(8, 8), "512x1024")) / product, 24, places=3)
        # All forward, one weight gradient. The first of a model's layers has no gradient of its input; the usual count has.
        self.assertAlmostEqual(flops(capture(frozen(8, 1), "512x1024")) / product, 9, places=3)
        first = frozen(8, 8)
        list(first.parameters())[3].requires_grad = False
        self.assertAlmostEqual(flops(capture(first, "512x1024")) / product, 23, places=3)
        deep = frozen(8, 8)
        graph = capture(deep, "512x1024")
        again = self.report(graph, {"checkpoint": ["*"]})
        self.assertAlmostEqual(again["achieved_tflops_per_gpu"] * again["iteration_ms"] * 1e9 / product, 24, places=3)


    def test_flops_of_first_layers(self):
        """Layers whose weights are computed, or whose input is padded by hand, are first ones too: three products each."""
        class Symmetric(nn.Module):
            def forward(self, w):
                return w.triu() + w.triu(1).t()

        def parametrized():
            layer = nn.Linear(64, 64, bias=False)
            nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
            return layer

        class Einsum(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.zeros(4, 64, 16))

            def forward(self, x):
                return torch.einsum("bti,hij->bhtj", x, self.w)
        tflop = lambda build, inputs: self.report(capture(build, inputs))["context"]["model_tflop_per_iteration"] * 1e12 / 8  # of one GPU
        for build, inputs, product in ((parametrized, "8x64", 8 * 64 * 64), (Einsum, "8x24x64", 8 * 24 * 64 * 64),
                                       (lambda: nn.Conv2d(8, 16, 3, padding=1, padding_mode="circular"), "4x8x10x12", 4 * 120 * 72 * 16),
                                       (lambda: nn.Conv1d(8, 16, 5, 2, 1), "4x8x33", 4 * 16 * 40 * 16),
                                       (lambda: nn.ConvTranspose1d(8, 16, 4, 2, 1), "4x8x33", 4 * 33 * 8 * 64)):
            self.assertAlmostEqual(tflop(build, inputs) / (3 * 2 * product), 1, places=6)
        # Two layers: the second one's weights are frozen, so that it has one gradient.
        last = lambda: nn.Sequential(nn.Linear(64, 64, bias=False), nn.Linear(64, 64, bias=False).requires_grad_(False))
        self.assertAlmostEqual(tflop(last, "8x64") / (5 * 2 * 8 * 64 * 64), 1, places=6)


class Losses(WithDistsim):
    def test_all_outputs_of_floating_type(self):
        graph = capture(Outputs, "16x64")
        self.assertEqual(len(graph["gradients"]), 4)
        self.assertEqual(graph["remarks"], [])
        scores = capture(Outputs, "16x64", loss="cross_entropy")
        self.assertEqual(len(scores["gradients"]), 2)
        self.assertIn("output 'small'; not of 'more.0'", scores["remarks"][0])
        self.assertTrue(any("not of 'more.0'" in a for a in self.report(scores)["assumptions"]))

    def test_outputs_in_objects(self):
        """Those with slots and those that refer to each other or to the module: each tensor once, and no parameter."""
        class Slots:
            __slots__ = ("a", "b")

            def __init__(self, a, b):
                self.a, self.b = a, b

        class Holder:
            def __init__(self, module, a):
                self.module, self.a, self.me = module, a, self

        class Returns(Calls):
            def __init__(self, of):
                super().__init__(torch.relu)
                self.of, self.big = of, nn.Linear(64, 32)

            def forward(self, x):
                y = super().forward(x)
                return self.of(self, y, self.big(y))
        plain = capture(lambda: Returns(lambda m, a, b: [a, b]), "16x64")
        for of in (lambda m, a, b: Slots(a, b), lambda m, a, b: (Holder(m, a), {b})):
            self.assertEqual(ops_of(capture(lambda of=of: Returns(of), "16x64")), ops_of(plain))

    def test_refusals(self):
        for build, loss, words in ((Calls(torch.relu), "output", "returns a tensor of 16x64, expected the loss"),
                                   (lambda: (Calls(torch.relu), lambda y: y), "sum", "returns a tensor of 16x64, expected a single number"),
                                   (lambda: (Calls(torch.relu), lambda y: 3), "sum", "the loss function returns int"),
                                   (nn.ReLU, "sum", "no parameter that is trained"),
                                   (Calls(lambda y: y.detach()), "sum", "no parameter that is trained"),
                                   (Calls(lambda y: y.argmax(1)), "sum", "no tensor of floating type"),
                                   (Calls(lambda y: y.sum(1)), "cross_entropy", "two dimensions")):
            with self.assertRaises(distsim_capture.CaptureError) as caught:
                capture(build, "16x64", loss=loss)
            self.assertIn(words, str(caught.exception))


class Inputs(WithDistsim):
    def test_first_sizes_that_are_no_batch(self):
        """A mask of all pairs of tokens, a table of positions: as large with every batch."""
        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(16, 16)

            def forward(self, x, mask):
                y = self.fc(x)
                return (y @ y.transpose(1, 2) + mask).softmax(-1)
        graph = capture(Masked, "4x24x16", "24x24")
        self.assertTrue(graph["any_batch"], graph.get("one_batch"))
        self.assertEqual([t["shape"] for t in graph["tensors"] if t.get("role") == "input"], [[[0, 1], 24, 16], [24, 24]])
        self.assertEqual(graph["remarks"], ["input 1 has 24x24 elements whatever the batch: its first size is not that of input 0, 4"])
        self.assertTrue(any("24x24 elements" in a for a in self.report(graph, per_gpu_batch=32)["assumptions"]))


class OfOthers(WithDistsim):
    """What models of other people call."""

    def test_grouped_queries(self):
        def attend(y):
            q, k = y.view(y.shape[0], 4, 16), y.view(y.shape[0], 4, 16)[:, :2].repeat_interleave(2, dim=1)
            return (q @ k.transpose(1, 2)).softmax(-1)
        graph = capture(Calls(attend), "16x64")
        self.assertTrue(graph["any_batch"], graph.get("one_batch"))
        gathered = next(n for n in graph["nodes"] if n["op"] == "aten::index_select")
        self.assertEqual(graph["tensors"][gathered["out"][0]]["shape"], [[0, 1], 4, 16])
        self.assertNotIn("unlisted", {o["kind"] for o in self.report(graph)["ops"]})
        with self.assertRaises(Exception) as caught:
            capture(Calls(lambda y: y.repeat_interleave(torch.ones(64, dtype=torch.int64), 1)), "16x64")
        self.assertIn("depends on values", reason_of(caught.exception))

    def test_classes_of_experts(self):
        graph = capture(Calls(lambda y: y * nn.functional.one_hot(y.argmax(1), 64)), "16x64")
        self.assertIn("scatter_.value", ops_of(graph))
        self.assertTrue(graph["any_batch"])

    def test_marks_of_profilers(self):
        def marked(y):
            with torch.profiler.record_function("part"):
                torch.cuda.nvtx.range_push("part")
                y = y.relu()
                torch.cuda.nvtx.range_pop()
            return y
        plain = capture(Calls(torch.relu), "16x64")
        self.assertEqual(ops_of(capture(Calls(marked), "16x64")), ops_of(plain))
        self.assertEqual(ops_of(capture(lambda: nn.DataParallel(Calls(torch.relu)), "16x64")), ops_of(plain))

    def test_scripts(self):
        """Functions and modules that TorchScript compiles make the calls of the eager ones; a compiled module has no copy."""
        compiled = torch.jit.script(tanh_gelu)
        eager = capture(Calls(tanh_gelu), "16x64")
        for _ in range(2):
            script = capture(Calls(compiled), "16x64")
            self.assertTrue(script["any_batch"], script.get("one_batch"))
            kernels = lambda graph: [n.partition(".")[0] for n in ops_of(graph, "forward") if n != "detach"]
            self.assertEqual(kernels(script), kernels(eager))
        inside = capture(lambda: torch.jit.script(nn.Sequential(nn.Linear(64, 64), nn.ReLU())), "16x64")
        self.assertEqual(ops_of(inside), ops_of(capture(Calls(torch.relu), "16x64")))
        module = nn.Sequential(nn.Linear(64, 64), torch.jit.script(nn.Linear(64, 64)))
        with self.assertRaises(distsim_capture.CaptureError) as caught:
            capture(module, "16x64")
        self.assertIn("module '1' that TorchScript compiled", str(caught.exception))
        self.assertEqual(module(torch.ones(2, 64)).shape, (2, 64))

    def test_calls_whose_sizes_torch_does_not_say(self):
        """Of tensors that are too large for the CPU to try them out."""
        functional = nn.functional
        image = lambda f, *more: lambda: (nn.Conv2d(3, 32, 1), lambda y: f(y).sum())
        volume = lambda f: lambda: (nn.Conv3d(3, 32, 1), lambda y: f(y).sum())
        classes = lambda y: functional.cross_entropy(y, torch.zeros(y.shape[0], *y.shape[2:], dtype=torch.int64))
        speech = lambda y: functional.ctc_loss(y.transpose(0, 1).log_softmax(-1), torch.ones(y.shape[0], 30, dtype=torch.int64),
                                               torch.full((y.shape[0],), y.shape[1]), torch.full((y.shape[0],), 30))
        grid = lambda y: functional.grid_sample(y, torch.zeros(y.shape[0], 500, 500, 2))
        for build, inputs, ops in ((image(classes), "8x3x512x512", ["nll_loss2d_forward", "nll_loss2d_backward"]), (image(grid), "8x3x512x512", ["grid_sampler_2d_backward"]),
                                   (volume(lambda y: functional.max_pool3d(y, 3, 2, 1)), "4x3x32x128x128", ["max_pool3d_with_indices"]),
                                   (volume(lambda y: functional.interpolate(y, scale_factor=2)), "4x3x32x64x64", ["upsample_nearest3d.vec", "upsample_nearest3d_backward.vec"]),
                                   (volume(lambda y: y.unfold(2, 4, 4)), "4x3x32x128x128", ["unfold_backward"]),
                                   (lambda: (nn.Linear(64, 64), speech), "8x50000x64", ["_ctc_loss", "_ctc_loss_backward"]),
                                   (lambda: nn.Bilinear(64, 64, 8), ["8x64", "8x64"], ["_trilinear"]),
                                   (lambda: (nn.Linear(64, 64), lambda y: torch.cdist(y, y).sum()), "8x20x64", ["_cdist_forward", "_cdist_backward"])):
            graph = capture(build, *([inputs] if isinstance(inputs, str) else inputs))
            self.assertTrue(graph["any_batch"], graph.get("one_batch"))
            for op in ops:
                self.assertIn(op, ops_of(graph))
            self.report(graph)

    def test_models_made_with_values(self):
        """Functions that compute a model's sizes with tensors; one that fails is still named."""
        class Sizes(Calls):
            def __init__(self):
                super().__init__(torch.relu, int(torch.linspace(0, 64, 2)[1].item()))
        self.assertEqual(ops_of(capture(Sizes, "16x64")), ops_of(capture(Calls(torch.relu), "16x64")))

        def fails():
            raise KeyError(torch.ones(1).item())
        with self.assertRaises(KeyError):
            capture(fails, "16x64")

    def test_parts_that_are_written_over(self):
        """Copies that the gradient of a part needs are none of a gradient that is complete."""
        class Zeroed(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(16, 48)

            def forward(self, x):
                bias = self.fc.bias.clone()
                bias[16:32].zero_()
                return nn.functional.linear(x, self.fc.weight, bias)
        graph = capture(Zeroed, "8x16")
        copies = [n for n in graph["nodes"] if n["phase"] == "backward" and n["op"] == "aten::copy_"]
        self.assertEqual(graph["tensors"][copies[0]["out"][0]]["shape"], [48])
        self.report(graph)

    def test_whole_numbers_stay_whole(self):
        graph = capture(Calls(lambda y: y[torch.full((y.shape[0],), 1)] + torch.full((64,), 1.5)), "16x64")
        types = [graph["tensors"][n["out"][0]]["dtype"] for n in graph["nodes"] if n["op"] == "aten::full"]
        self.assertEqual(types, ["int64", "float32"])


class Modules(WithDistsim):
    def test_what_a_module_holds(self):
        """Constants, weights that hooks compute, copies of layers: of a module that is there, and of one that a function makes."""
        def normed():
            return nn.Sequential(nn.utils.weight_norm(nn.Linear(64, 64)), nn.utils.spectral_norm(nn.Linear(64, 64)),
                                 nn.utils.parametrizations.spectral_norm(nn.Linear(64, 64)))

        def encoder():
            return nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2)
        for build, inputs, gradients in ((Holds, "16x64", 2), (normed, "16x64", 3 + 2 + 2), (encoder, "16x8x64", 24)):
            module = build()
            before = {name: p.clone() for name, p in module.state_dict().items()}
            made, there = capture(build, inputs), capture(module, inputs)
            self.assertEqual(len(made["gradients"]), gradients)
            self.assertEqual(ops_of(made), ops_of(there))
            self.assertTrue(made["any_batch"], made.get("one_batch"))
            self.assertTrue(all(torch.equal(before[name], p) for name, p in module.state_dict().items()))
            self.assertFalse(any(p.grad is not None or p._backward_hooks for p in module.parameters()))
            self.assertNotIn("unlisted", {o["kind"] for o in self.report(made)["ops"]})

    def test_weights_in_another_layout(self):
        images = nn.Sequential(nn.Conv2d(8, 16, 3), nn.Flatten(1)).to(memory_format=torch.channels_last)
        self.assertTrue(any(t.get("channels_last") for t in capture(images, "4x8x6x6")["tensors"] if t.get("role") == "parameter"))

    def test_sparse_gradients(self):
        """Tables whose gradients are sparse are tables, or refused: their gradients are not summed as dense ones."""
        dense, sparse = (capture(lambda s=s: Bags(s), "256x13", "256x2x5:int64") for s in (False, True))
        self.assertEqual(ops_of(dense), ops_of(sparse))
        self.assertEqual([g.get("sparse", False) for g in dense["gradients"]].count(True), 0)
        self.assertEqual([g.get("sparse", False) for g in sparse["gradients"]].count(True), 2)
        refusal = self.refused(sparse)
        self.assertIn("model.graph.tables: found none, expected found", refusal)
        self.assertIn("'tables.1.weight'", self.refused(sparse, {"tables": ["tables.0"]}))
        split = [self.report(g, {"tables": "found"})["iteration_ms"] for g in (dense, sparse)]
        self.assertEqual(split[0], split[1])

    def test_threads(self):
        """Captures of several threads are those of one, and leave torch as it was."""
        kept = [torch.nn.functional.has_torch_function, torch.autocast.__enter__, type(nn.Parameter).__instancecheck__]
        build = lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 8))
        alone, found = capture(build, "16x64"), []
        threads = [threading.Thread(target=lambda: found.append(capture(build, "16x64"))) for _ in range(4)]
        seen = []
        other = threading.Thread(target=lambda: seen.extend(nn.functional.dropout(torch.ones(4), 0.5).shape for _ in range(200)))
        for thread in [*threads, other]:
            thread.start()
        for thread in [*threads, other]:
            thread.join()
        self.assertEqual(len(seen), 200)
        self.assertEqual([g["nodes"] for g in found], [alone["nodes"]] * 4)
        with contextlib.suppress(RuntimeError):
            capture(Calls(lambda y: y.view(7, -1)), "16x64")
        self.assertEqual(kept, [torch.nn.functional.has_torch_function, torch.autocast.__enter__, type(nn.Parameter).__instancecheck__])


class Cast(nn.Module):
    """A block and its loss, in a region of torch.autocast or in none."""

    def __init__(self, **region):
        super().__init__()
        self.region = region
        self.block, self.out = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), nn.Linear(256, 1000)

    def compute(self, x):
        return nn.functional.cross_entropy(self.out(self.block(x)).flatten(0, 1), torch.zeros(x.shape[0] * x.shape[1], dtype=torch.int64))

    def forward(self, x):
        if not self.region:
            return self.compute(x)
        with torch.autocast("cuda", **self.region):
            return self.compute(x)


class CastFunction(torch.autograd.Function):
    @staticmethod
    @torch.cuda.amp.custom_fwd
    def forward(context, x, w):
        context.save_for_backward(x, w)
        return x @ w

    @staticmethod
    @torch.cuda.amp.custom_bwd
    def backward(context, gradient):
        x, w = context.saved_tensors
        return gradient @ w.t(), x.t() @ gradient


class Autocast(WithDistsim):
    def test_a_region_is_the_precision(self):
        """A whole model in a region has the kernels and the activations that the precision alone gives it; one that disables autocasting those of fp32."""
        graphs = {name: capture(lambda region=region: Cast(**region), "16x128x256", loss="output") for name, region in
                  (("plain", {}), ("fp16", {"dtype": torch.float16}), ("bf16", {"dtype": torch.bfloat16}), ("off", {"enabled": False}))}

        def kernels(name, precision, **keys):
            report = self.report(graphs[name], keys, precision=precision, per_gpu_batch=64)
            # Of the precision: copies of the gradients' scale, and what kernels of it were corrected by.
            return {o["kind"]: o["kernels"] for o in report["ops"] if o["kind"] not in ("copy", "elementwise")}, report
        for region, under, alone in (("fp16", "fp32", "fp16"), ("bf16", "tf32", "bf16"), ("fp16", "bf16", "fp16"), ("off", "fp16", "fp32"), ("off", "fp32", "fp32")):
            (ours, a), (theirs, b) = kernels(region, under), kernels("plain", alone)
            self.assertEqual(ours, theirs, f"{region} {under}")
            of = [{o["kind"]: o for o in r["ops"]} for r in (a, b)]
            self.assertAlmostEqual(of[0]["elementwise"]["kernels"], of[1]["elementwise"]["kernels"], delta=1)
            for kind in ("elementwise", "softmax", "normalization"):
                self.assertAlmostEqual(of[0][kind]["time_ms"] / of[1][kind]["time_ms"], 1, delta=0.03, msg=f"{region} {under} {kind}")
            self.assertAlmostEqual(a["memory"]["used_bytes_per_rank"][0] / b["memory"]["used_bytes_per_rank"][0], 1, delta=0.01)
        self.assertEqual(kernels("off", "fp16", amp="half")[0], kernels("plain", "fp16", amp="half")[0])
        gemm = lambda *a: {o["kind"]: o["time_ms"] for o in kernels(*a)[1]["ops"]}["gemm"]
        self.assertLess(gemm("fp16", "fp32"), 0.3 * gemm("plain", "fp32"))
        self.assertGreater(gemm("off", "bf16"), 3 * gemm("plain", "bf16"))

    def test_regions_of_calls(self):
        """Each call of the forward and the backward pass has the region that its part of the model is in."""
        def some(y, first, second):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                y = first(y)
                with torch.cuda.amp.autocast(enabled=False):
                    y = second(y.float())
            return y.float().softmax(-1)

        class Some(Calls):
            def __init__(self):
                super().__init__(lambda y: some(y, self.first, self.second))
                self.first, self.second = nn.Linear(64, 128), nn.Linear(128, 32)
        graph = capture(Some, "16x64")
        products = [n.get("autocast") for n in graph["nodes"] if n["op"] in ("aten::addmm", "aten::mm")]
        self.assertEqual(products, [None, "bfloat16", "float32", "float32", "float32", "bfloat16", "bfloat16", None])
        self.assertEqual({n.get("autocast") for n in graph["nodes"] if "softmax" in n["op"]}, {None})
        self.assertEqual(graph["remarks"], ["torch.autocast('cuda', bfloat16) of the model is followed"])
        report = self.report(graph)
        self.assertTrue(any("bfloat16) of the model is followed" in a for a in report["assumptions"]))

    def test_functions_and_checkpoints_keep_their_region(self):
        class Functions(nn.Module):
            def __init__(self, inside):
                super().__init__()
                self.inside, self.fc, self.w = inside, nn.Linear(64, 64), nn.Parameter(torch.zeros(64, 32))

            def forward(self, x):
                x = self.fc(x)
                if not self.inside:
                    return CastFunction.apply(x, self.w)
                with torch.autocast("cuda"):
                    return CastFunction.apply(x, self.w)
        products = lambda graph: [n.get("autocast") for n in graph["nodes"] if n["op"] in ("aten::mm", "aten::addmm")]
        self.assertEqual(products(capture(lambda: Functions(False), "16x64")), [None] * 5)
        self.assertEqual(products(capture(lambda: Functions(True), "16x64")), [None, "float16", "float16", "float16", None])

        class Again(nn.Module):
            def __init__(self, reentrant, region):
                super().__init__()
                self.reentrant, self.region = reentrant, region
                self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 64)

            def forward(self, x):
                y = self.first(x)
                with torch.autocast("cuda", **self.region) if self.region else contextlib.nullcontext():
                    return torch.utils.checkpoint.checkpoint(self.second, y, use_reentrant=self.reentrant)
        for reentrant in (True, False):
            plain, cast = (capture(lambda r=r: Again(reentrant, r), "16x64") for r in ({}, {"dtype": torch.bfloat16}))
            self.assertEqual((products(plain), plain["remarks"]), ([None] * 6, []))
            self.assertEqual(products(cast), [None] + ["bfloat16"] * 4 + [None])  # forward twice, and two gradients

    def test_torch_is_put_back(self):
        kept = lambda: [torch.autocast.__init__, torch.autocast.__enter__, torch.autocast.__exit__, torch.is_autocast_enabled, torch.get_autocast_gpu_dtype,
                        torch.autograd.Function.__dict__.get("apply"), torch.jit.script, torch.autograd.profiler.record_function.__enter__, torch.cuda.nvtx.range_push]
        before = kept()
        capture(lambda: Cast(dtype=torch.float16), "2x8x256", loss="output")
        self.assertEqual(kept(), before)
        self.assertFalse(torch.is_autocast_enabled())


class Pooled(nn.Module):
    """The same lookups as sums of words, as means of words, and as bags."""

    def __init__(self, how):
        super().__init__()
        self.how = how
        kinds = {"bag": lambda n: nn.EmbeddingBag(n, 64, mode="sum"), "sum": lambda n: nn.Embedding(n, 64), "mean": lambda n: nn.Embedding(n, 64)}
        self.tables = nn.ModuleList(kinds[how](n) for n in (100000, 2000))
        self.top = nn.Sequential(nn.Linear(2 * 64 + 13, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1))

    def forward(self, x, ids):
        vectors = [t(ids[:, k]) for k, t in enumerate(self.tables)]
        if self.how != "bag":
            vectors = [v.sum(1) if self.how == "sum" else v.mean(1) for v in vectors]
        return self.top(torch.cat([x] + vectors, 1))


class Tables(WithDistsim):
    def test_pooled_lookups(self):
        """Vectors travel pooled, whatever calls the model makes of a bag."""
        reports = {how: self.report(capture(lambda how=how: Pooled(how), "64x13", "64x2x5:int64"), {"tables": "found"}, per_gpu_batch=512)
                   for how in ("bag", "sum", "mean")}
        travels = {how: {c["name"]: c["bytes"] for c in r["collectives"]} for how, r in reports.items()}
        self.assertEqual(travels["bag"], travels["sum"])
        self.assertEqual(travels["bag"], travels["mean"])
        self.assertIn("embedding.exchange", travels["bag"])
        for how in ("sum", "mean"):
            # The host makes other calls for the offsets of bags.
            self.assertAlmostEqual(reports[how]["iteration_ms"] / reports["bag"]["iteration_ms"], 1, delta=0.06)
        # A pool over anything else than the ids is the model's own.
        class Other(Pooled):
            def forward(self, x, ids):
                return self.top(torch.cat([x] + [t(ids[:, k]).sum(2).repeat(1, 13)[:, :64] for k, t in enumerate(self.tables)], 1))
        other = self.report(capture(lambda: Other("sum"), "64x13", "64x2x5:int64"), {"tables": "found"}, per_gpu_batch=512)
        exchanged = lambda r: sum(c["bytes"] for c in r["collectives"] if c["name"] == "embedding.exchange")
        self.assertEqual(exchanged(other), 5 * exchanged(reports["bag"]))

    def test_beside_split_weights(self):
        """Vectors travel as without split weights, weights as without tables; a GPU holds less than with either."""
        graph = capture(lambda: Pooled("bag"), "64x13", "64x2x5:int64")
        keys = {"tables": "found", "units": ["top.*"]}
        both = self.report(graph, keys, parallel={"shard": "weights"})
        tables = self.report(graph, keys)
        of = lambda r, what: {c["name"]: c["bytes"] for c in r["collectives"] if what in c["name"]}
        self.assertEqual(of(both, "embedding"), of(tables, "embedding"))
        self.assertTrue(of(both, "embedding"))
        dense = 141 * 512 + 512 + 512 * 512 + 512 + 513
        gathered = sum(c["bytes"] for c in both["collectives"] if c["kind"] == "all_gather")
        reduced = sum(c["bytes"] for c in both["collectives"] if c["kind"] == "reduce_scatter")
        self.assertEqual(gathered, 2 * 4 * dense)
        self.assertEqual(reduced, 4 * dense)
        self.assertEqual([c for c in both["collectives"] if c["kind"] == "all_reduce"], [])
        memory = lambda r: max(r["memory"]["used_bytes_per_rank"])
        self.assertLess(memory(both), memory(tables))
        one = [self.report(graph, keys, "cluster.gpus_per_node=1", parallel={"shard": s}) for s in ("none", "weights")]
        self.assertEqual(one[0]["iteration_ms"], one[1]["iteration_ms"])
        self.assertEqual(one[0]["memory"], one[1]["memory"])
        steps = [self.report(graph, keys, parallel={"shard": "weights"}, per_gpu_batch=512, accumulation=n)["iteration_ms"] for n in (1, 2)]
        self.assertGreater(steps[1], steps[0])

    def test_plan_varies_how_weights_are_split(self):
        """A model that does not fit whole is planned with its weights split."""
        graph = capture(frozen(16, 16), "64x1024")
        self.report(graph)  # writes the experiment
        done = subprocess.run([DISTSIM, "plan", "--config", str(self.folder / "experiment.yaml"), "--vary", "parallel.shard=none,weights", "--json", "-"],
                              capture_output=True, text=True, cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run([DISTSIM, "plan", "--config", str(self.folder / "experiment.yaml"), "--max-played", "12", "--csv", "-"],
                              capture_output=True, text=True, cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("parallel.shard", done.stdout.splitlines()[0])


class Messages(unittest.TestCase):
    def test_failures_of_the_model(self):
        """One line with the line of the model, not of torch or of Python's library."""
        for function, words in ((lambda y: y.reshape(-1, 7), "RuntimeError"), (lambda y: y[y > 0], "depends on values"),
                                (lambda y: y if y.sum() > 0 else -y, "reads a number out of a tensor"),
                                (lambda y: torch.from_numpy(y.detach().numpy()), "reads the values of a tensor"),
                                (lambda y: nn.utils.rnn.pack_padded_sequence(y, torch.tensor([64] * 16)), "different lengths"),
                                (lambda y: sys.exit(3), "ends the program")):
            text = "captured"
            try:
                capture(Calls(function), "16x64")
            except (Exception, SystemExit) as error:
                text = place_of(error) + reason_of(error)
            self.assertIn(f"{__file__}:{function.__code__.co_firstlineno}: ", text)
            self.assertIn(words, text)
            self.assertNotIn("\n", text)

    def test_inputs(self):
        for build, inputs, words in ((nn.Linear(64, 8), ("16x64", "16x64"), "--input: found 2, expected 1, as forward() of Linear takes (input)"),
                                     (nn.Bilinear(64, 64, 8), ("16x64",), "found 1, expected 2"),
                                     (nn.LSTM(64, 8), (), "--input: found none")):
            with self.assertRaises(distsim_capture.CaptureError) as caught:
                capture(build, *inputs)
            self.assertIn(words, str(caught.exception))

    def test_what_cannot_be_copied(self):
        class Locked(nn.Sequential):
            def __init__(self):
                super().__init__(nn.Linear(64, 64))
                self.lock = threading.Lock()
        with self.assertRaises(distsim_capture.CaptureError) as caught:
            capture(nn.Sequential(Locked()), "16x64")
        self.assertRegex(str(caught.exception), r"capture_test\.py:\d+: attribute 'lock' of module '0' cannot be copied: .*expected a function that returns the module")

    def test_the_command_says_it(self):
        """The batch that alone is served, and why; what the loss leaves out."""
        with tempfile.TemporaryDirectory() as folder:
            out, errors = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
                sys.path.insert(0, str(ROOT / "tests"))
                code = command.main(["capture_test:Needs", "--input", "8x64", "-o", os.path.join(folder, "x.json")])
            self.assertEqual(code, 0, errors.getvalue())
            self.assertIn("a batch of 8 only", out.getvalue())
            self.assertIn("serves a batch of 8 only: with a batch of 4 the module fails", errors.getvalue())


if __name__ == "__main__":
    DISTSIM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
