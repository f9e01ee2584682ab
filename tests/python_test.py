#!/usr/bin/env python3
"""import distsim: the same bytes as the command's, whatever is given to it, from whatever thread. Arguments: the folder of the module, the
command. What needs torch, pandas or mypy runs with another Python of this machine where this one lacks them; where none has them, a line
says so."""
import gc
import importlib
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULE, BINARY = sys.argv.pop(1), sys.argv.pop(1)
sys.path.insert(0, MODULE)
import distsim  # noqa: E402

os.environ.pop("DISTSIM_CONFIGS", None)
os.chdir(ROOT)
FLAGSHIP, LANGUAGE = "configs/dgx_a100_4node.yaml", "configs/megatron_gpt_7_5b.yaml"
JOB = {"title": "DLRM", "cluster": {"system": "dgx_a100_80gb", "nodes": 1}, "model": {"name": "dlrm_mlperf", "global_batch": 8192},
       "framework": {"name": "hugectr"}}
ENVIRONMENT = {**os.environ, "PYTHONPATH": MODULE, "PYTHONDONTWRITEBYTECODE": "1"}


class Endless:
    """More values than it says."""

    def __len__(self):
        return 2

    def __iter__(self):
        return itertools.count(1)


def command(*words, code=0):
    done = subprocess.run([BINARY, *map(str, words)], capture_output=True, timeout=300)
    assert done.returncode == code, (words, done.stderr)
    return done.stdout.decode()


def idle_lines(*words, vary="--set"):
    """What the command says had no effect, as of arguments; `vary`: the flag of what is varied."""
    done = subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (words, done.stderr)
    lines = [line.removeprefix("distsim: warning: ") for line in done.stderr.splitlines() if "no effect" in line]
    as_varied = [f"vary {line.removeprefix(vary + ' ')}" if line.endswith((" at any point", " on any row")) else line for line in lines]
    return sorted(re.sub("^--([a-z-]+)", lambda flag: flag[1].replace("-", "_"), line) for line in as_varied)


def pythons_with(module):
    """This Python or one that can load the same compiled module, and that has `module`."""
    ask = f"import sysconfig, {module}; print(sysconfig.get_config_var('SOABI'))"
    for python in dict.fromkeys([sys.executable, shutil.which("python3"), "/usr/bin/python3"]):
        if python and os.access(python, os.X_OK):
            done = subprocess.run([python, "-c", ask], capture_output=True, text=True)
            if done.returncode == 0 and done.stdout.strip() == sysconfig.get_config_var("SOABI"):
                return python
    print(f"python_test.py: no {module} found, the tests with it are left out", file=sys.stderr)
    return None


def run_python(text, python=sys.executable, code=0, **more):
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, timeout=300, env=ENVIRONMENT, **more)
    assert done.returncode == code, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


class SameAsTheCommand(unittest.TestCase):
    def test_predict(self):
        cases = [(FLAGSHIP, {}), (FLAGSHIP, {"cluster.nodes": 2, "model.global_batch": 32768, "device.sm_count": 100}), (LANGUAGE, {"parallel.tensor": 4}),
                 ("configs/resnet50_dgx_a100.yaml", {"framework.gradients.bucket_size": "5 MiB"}), ("configs/dlrm_skewed_2node.yaml", {"title": "\u00fcber 'x' \"y\""})]
        for config, sets in cases:
            with self.subTest(config=config, sets=sets):
                flags = [w for k, v in sets.items() for w in ("--set", f"{k}={json.dumps(v, ensure_ascii=False) if k == 'title' else v}")]
                given = {k: (json.dumps(v, ensure_ascii=False) if k == "title" else v) for k, v in sets.items()}
                report = distsim.predict(config, set=given)
                self.assertEqual(report.to_json(), command("--config", config, *flags, "--json", "-"))
                self.assertEqual(report.to_csv(), command("--config", config, *flags, "--csv", "-"))
                self.assertEqual(report.to_html(), command("--config", config, *flags, "--html", "-"))
                self.assertEqual(str(report), command("--config", config, *flags))
                data = report.to_dict()
                for figure in ("iteration_ms", "low_ms", "high_ms", "samples_per_second", "mfu"):
                    self.assertTrue(math.isclose(getattr(report, figure), data[figure], rel_tol=1e-9), figure)

    def test_trials(self):
        report = distsim.predict(FLAGSHIP, trials=20, seed=7)
        self.assertEqual(report.to_json(), command("--config", FLAGSHIP, "--trials", 20, "--seed", 7, "--json", "-"))
        self.assertEqual(report.trials.count, 20)

    def test_a_dict_is_the_file_of_the_same_keys(self):
        with tempfile.TemporaryDirectory() as folder:
            for job in (JOB, {**JOB, "model": {"name": "dlrm_mlperf", "global_batch": 16384, "precision": "fp16"}, "engine": {"contention": True}}):
                path = pathlib.Path(folder, "job.yaml")
                path.write_text(json.dumps(job))
                self.assertEqual(distsim.predict(job).iteration_ms, distsim.predict(path).iteration_ms)
                self.assertEqual(distsim.predict(job, set={"cluster.nodes": 2}).to_csv(), distsim.predict(str(path), set={"cluster.nodes": 2}).to_csv())

    def test_studies(self):
        sweep = distsim.sweep(FLAGSHIP, {"cluster.nodes": [1, 2, 4], "model.global_batch": "16384..65536:x2"}, jobs=2)
        flags = ("--set", "cluster.nodes=1,2,4", "--set", "model.global_batch=16384..65536:x2")
        self.assertEqual(sweep.to_csv(), command("sweep", "--config", FLAGSHIP, *flags, "--csv", "-"))
        self.assertEqual(str(sweep), command("sweep", "--config", FLAGSHIP, *flags))
        self.assertEqual(sweep.to_html(), command("sweep", "--config", FLAGSHIP, *flags, "--html", "-"))
        self.assertEqual((len(sweep), sweep.keys, sweep[0].gpus), (9, ["cluster.nodes", "model.global_batch"], 8))
        self.assertEqual(sweep.best().samples_per_s, max(sweep.column("samples_per_s")))
        weak = distsim.sweep(FLAGSHIP, {"cluster.nodes": [1, 2]}, scaling="weak")
        self.assertEqual(weak.to_csv(), command("sweep", "--config", FLAGSHIP, "--set", "cluster.nodes=1,2", "--scaling", "weak", "--csv", "-"))
        plan = distsim.plan(LANGUAGE, top=3, set={"cluster.nodes": 2})
        self.assertEqual(plan.to_json(), command("plan", "--config", LANGUAGE, "--top", 3, "--set", "cluster.nodes=2", "--json", "-"))
        again = distsim.predict(LANGUAGE, set={"cluster.nodes": 2, **plan[0].sets}).iteration_ms
        self.assertTrue(math.isclose(plan[0].iteration_ms, again, rel_tol=1e-9), "the first row is what predict says of it")
        compared = distsim.compare(FLAGSHIP, variants={"cluster.nodes=8": {"cluster.nodes": 8}})
        self.assertEqual(compared.to_csv(), command("compare", FLAGSHIP, "--set", "cluster.nodes=8", "--csv", "-"))
        self.assertEqual((compared[0].ratio, len(compared)), (1, 2))
        self.assertGreater(distsim.compare(JOB, {**JOB, "cluster": {"system": "dgx_a100_80gb", "nodes": 2}})[1].ratio, 0)
        self.assertEqual(distsim.plan(JOB, vary={"model.global_batch": [8192, 16384]}, jobs=2)[0].error, "")
        unfit = distsim.plan(LANGUAGE, vary={"model.accumulation": [1]}, set={"cluster.nodes": 1, "model.memory_check": False, "parallel.tensor": 1, "parallel.pipeline": 1})[0]
        self.assertEqual((unfit.fits, unfit.error, unfit.iteration_ms > 0), (False, "", True))

    def test_rows_of_a_plan_of_tables_are_played_again(self):
        skewed = "configs/dlrm_skewed_2node.yaml"
        best = distsim.plan(skewed)[0]
        self.assertTrue(best.placement.startswith("table,sharding,"))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "tables.csv")
            path.write_text(best.placement)
            again = distsim.predict(skewed, set={**best.sets, "parallel.placement_file": str(path)})
        self.assertEqual(again.iteration_ms, best.iteration_ms)

    def test_what_had_no_effect(self):
        idle = {"model.transformer_xl.layers": 7, "parallel.tensor": 8}
        sets = [word for key, value in idle.items() for word in ("--set", f"{key}={value}")]
        swept = distsim.sweep(FLAGSHIP, {"model.rnn.encoder_layers": [2, 3]}, set=idle, scaling="weak").without_effect
        self.assertEqual(sorted(swept), idle_lines("sweep", "--config", FLAGSHIP, "--set", "model.rnn.encoder_layers=2,3", *sets, "--scaling", "weak"))
        self.assertEqual(len(swept), 4)
        self.assertIn("set parallel.tensor=8: no effect on the prediction", swept)
        self.assertEqual(distsim.sweep(FLAGSHIP, {"cluster.nodes": [1, 2]}, set={"model.global_batch": 32768}).without_effect, [])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "job.yaml")
            path.write_text(json.dumps(JOB))
            flags = ("--vary", "model.global_batch=8192,16384", "--vary", "parallel.tensor=1,2", *sets[:2], "--top", 50, "--exhaustive", "--least-columns", 8)
            expected = idle_lines("plan", "--config", path, *flags, "--json", "-", vary="--vary")
            vary = {"model.global_batch": [8192, 16384], "parallel.tensor": [1, 2]}
            for config in (JOB, path):
                planned = distsim.plan(config, vary=vary, set={"model.transformer_xl.layers": 7}, top=50, exhaustive=True, least_columns=8).without_effect
                self.assertEqual(sorted(planned), expected)
        self.assertEqual(len(planned), 5)
        compared = distsim.compare(FLAGSHIP, variants={"idle": idle, "more": {"cluster.nodes": 8}}).without_effect
        self.assertEqual(sorted(compared), idle_lines("compare", FLAGSHIP, "--set", " ".join(sets[1::2]), "--set", "cluster.nodes=8"))
        self.assertEqual(sorted(compared), sorted(distsim.compare(FLAGSHIP, {**JOB, "title": "another"}, set=idle).without_effect))

    def test_costs(self):
        idle = distsim.cost_op("h100_sxm5_80gb", "copy_h2d", "fp16", bytes=1 << 20)
        self.assertEqual(idle.remarks, ["dtype: no effect, the op is the same"])
        self.assertEqual(distsim.cost_op("h100_sxm5_80gb", "copy_h2d", bytes=1 << 20).us, idle.us)
        self.assertEqual(distsim.cost_op("h100_sxm5_80gb", "linear", "bf16", m=64, n=64, k=64, layout="NT").remarks,
                         ["layout=NT: no effect, the op is the same"])
        op = distsim.cost_op("h100_sxm5_80gb", "linear", "bf16", m=4096, n=1024, k=1024)
        self.assertEqual(str(op), command("cost", "op", "--gpu", "h100_sxm5_80gb", "--op", "linear", "--dtype", "bf16", "m=4096", "n=1024", "k=1024"))
        self.assertTrue(0 < op.low_us <= op.us <= op.high_us)
        costs = distsim.cost_collective("dgx_a100_80gb", "all_reduce", [8, "1MiB", "64 MB"], nodes=4, explain=True)
        self.assertEqual(costs.to_csv(), command("cost", "collective", "--system", "dgx_a100_80gb", "--kind", "all_reduce", "--nodes", 4, "--bytes", "8,1MiB,64 MB", "--explain"))
        for row in costs:
            self.assertTrue(math.isclose(row.algbw_GBps, row.bytes / row.us / 1e3, rel_tol=1e-9))
            self.assertTrue(math.isclose(row.busbw_GBps, row.algbw_GBps * 2 * 31 / 32, rel_tol=1e-9))

    def test_replay(self):
        trace = next((ROOT / "tests/data/traces/kineto_tb").glob("*.json*"))
        self.assertEqual(distsim.replay(str(trace)).to_json(), command("replay", trace, "--json", "-"))
        words = ["tests/data/traces/astra_et/all_reduce_8npus_1MB_all_reduce.*.et"]
        done = distsim.replay(words, FLAGSHIP)
        self.assertEqual(done.to_json(), command("replay", *words, "--config", FLAGSHIP, "--json", "-"))
        self.assertIn('"source": "ABCI A node, a process per GPU"', done.to_json())
        self.assertEqual(str(done), command("replay", *words, "--config", FLAGSHIP))
        with self.assertRaisesRegex(distsim.ConfigError, "network: found a profiler trace"):
            distsim.replay(str(trace), network="x.yml")
        of_eight = "tests/data/traces/megatron_gpt_tp8_a100/kineto_rank0.json.gz"
        self.assertEqual(distsim.replay(of_eight, FLAGSHIP).to_json(), command("replay", of_eight, "--config", FLAGSHIP, "--json", "-"))
        for more, line in (({}, "expected at most 1 rank"), ({"priced": True}, "ranks: found priced")):
            with self.assertRaisesRegex(distsim.ConfigError, line):
                distsim.replay(of_eight, FLAGSHIP, ranks=1, **more)


class Usual(unittest.TestCase):
    def test_the_short_way_is_the_long_way(self):
        """Usual arguments are converted in C++, others in Python: to the same texts."""
        from distsim._experiment import CALLED, checked_experiment, set_texts
        random = __import__("random").Random(2026)

        def value(depth):
            kind = random.randrange(9 if depth < 5 else 7)
            if kind < 7:
                return random.choice([None, True, False, random.randrange(-10 ** 12, 10 ** 12), random.uniform(-1, 1) * 10 ** random.randrange(-300, 300), 0.0, -0.0, 1e22, 5e-324,
                                      "".join(random.choice('aZ0 \\"\'{}[]:,#=\u00e9\U0001f600') for _ in range(random.randrange(8)))])
            if kind == 7:
                return [value(depth + 1) for _ in range(random.randrange(4))]
            return {f"k{i}": value(depth + 1) for i in range(random.randrange(4))}

        converted = 0
        for _ in range(2000):
            config = random.choice([{"a": value(0), "b": value(1)}, "a path.yaml"])
            sets = random.choice([None, {"a.b": value(2), "c": value(2)}])
            short = distsim._distsim.plain_experiment(config, sets, CALLED)
            long = checked_experiment(config, set_texts(sets), "config")
            if short is not None:
                converted += 1
                self.assertEqual((short.text, short.sets), (long.text, long.sets))
        self.assertGreater(converted, 1500)
        for unusual in (pathlib.Path("x"), "", "\ud800", {"a": (1, 2)}, {"a": "\x01"}, {"a": 2 ** 63}, {"a": float("nan")}, {1: 2}, {"a": b"x"}, 3, None):
            self.assertIsNone(distsim._distsim.plain_experiment(unusual, None, CALLED))


class Hostile(unittest.TestCase):
    """One clear exception, never a crash, a hang or a number."""

    def test_arguments(self):
        cyclic = {"cluster": {}}
        cyclic["cluster"]["cluster"] = cyclic
        deep = []
        for _ in range(5000):
            deep = [deep]
        bad = [None, 3, 2.5, b"configs/dgx_a100_4node.yaml", [], (), object(), "", "no_such.yaml", "configs", "a\0b", "\ud800", {}, {"cluster": None}, {1: 2},
               {"cluster": b"x"}, {"cluster": {"nodes": float("nan")}}, {"cluster": {"nodes": float("inf")}}, {"cluster": {"nodes": 10 ** 400}}, {"cluster": {"nodes": 10 ** 5000}},
               {"cluster": {"nodes": object()}}, cyclic, {"model": deep}, {"a": "\ud800"}, {"a\0": 1}, {"x": list(range(300_000))}, {str(i): i for i in range(300_000)},
               {"cluster": {"system": "\ud800"}}, {"title": "x" * (2 << 20)}, {**JOB, "cluster": {**JOB["cluster"], "nodes": "1"}, "unknown": 1}, {**JOB, "cluster": [1, 2]}, {**JOB, "model": {"name": "../../etc/passwd"}},
               lambda: 0, type, threading.Lock(), "/dev/zero", "/proc/self/mem"]
        for config in bad:
            for function in (distsim.predict, distsim.plan, lambda c: distsim.sweep(c, {"cluster.nodes": [1, 2]}), lambda c: distsim.compare(c, FLAGSHIP)):
                with self.subTest(config=type(config).__name__ if isinstance(config, dict) else repr(config)[:80]):
                    with self.assertRaises((distsim.ConfigError, TypeError)) as raised:
                        function(config)
                    self.assertNotIn("\n", str(raised.exception).rstrip("\n"))

    def test_settings(self):
        bad = [3, "cluster.nodes=8", ["cluster.nodes"], {3: 4}, {"": 1}, {"cluster.nodes=8": 1}, {"cluster.nodes": object()}, {"cluster.nodes": b"8"}, {"cluster.nodes": float("nan")},
               {"cluster.nodes": None}, {"cluster.nodes": [1]}, {"cluster.nodes": {"a": 1}}, {"cluster.nodes": "\ud800"}, {"cluster.nodes": "1\n2: {"}, {"cluster.nodes": 2 ** 70},
               {"cluster.nodez": 1}, {"cluster.nodes": 2, "cluster": {"system": "dgx_h100"}}, {"model.dlrm.tables.0.rows": 2, "model": {"name": "dlrm_mlperf"}}, {"x" * 100_000: 1}, {"a." * 10_000 + "b": 1}]
        for sets in bad:
            with self.subTest(sets=repr(sets)[:80]), self.assertRaises((distsim.ConfigError, TypeError)):
                distsim.predict(FLAGSHIP, set=sets)

    def test_numbers(self):
        for arguments in ({"trials": -1}, {"trials": 1.5}, {"trials": "3"}, {"trials": None}, {"trials": 10 ** 30}, {"trials": True}, {"seed": -1}, {"seed": 2 ** 64}, {"seed": 3}, {"seed": 1, "trials": 0}):
            with self.subTest(arguments), self.assertRaises((distsim.ConfigError, TypeError)):
                distsim.predict(FLAGSHIP, **arguments)
        for arguments in ({"jobs": 257}, {"jobs": -1}, {"jobs": 0.5}, {"scaling": "sideways"}, {"scaling": ""}):
            with self.subTest(arguments), self.assertRaises((distsim.ConfigError, TypeError)):
                distsim.sweep(FLAGSHIP, {"cluster.nodes": [1, 2]}, **arguments)
        for call in (lambda: distsim.sweep(FLAGSHIP, {"cluster.nodes": [1, 2]}, scaling="x" * 100_000), lambda: distsim.predict(FLAGSHIP, set={"=" * 100_000: 1}),
                     lambda: distsim.predict(FLAGSHIP, set={("x" * 1000,) * 100: 1})):
            with self.assertRaises((distsim.ConfigError, TypeError)) as found:
                call()
            self.assertLess(len(str(found.exception)), 200, "what was given is cut")
        for vary in (None, 3, {"cluster.nodes": []}, {"cluster.nodes": "0..x"}, {"cluster.nodes": [float("nan")]}, {"cluster.nodes": {1, 2}}, {3: [1]}, {"cluster.nodes": "1..1000000", "model.global_batch": "1..1000000"}):
            if vary is None:
                self.assertEqual(len(distsim.sweep(FLAGSHIP, vary)), 1)
                continue
            with self.subTest(vary=vary), self.assertRaises((distsim.ConfigError, TypeError)):
                distsim.sweep(FLAGSHIP, vary)
        for vary in ({"cluster.nodes": range(1, 10 ** 8)}, {"cluster.nodes": range(10 ** 30)}, {"cluster.nodes": range(1, 9_000_000), "model.precision": ["fp32", "bf16"]}):
            begin = time.monotonic()
            with self.subTest(vary=vary), self.assertRaisesRegex(distsim.ConfigError, "points, expected at most 10,000,000"):
                distsim.sweep(FLAGSHIP, vary)
            self.assertLess(time.monotonic() - begin, 5, "they are counted, not written down")
        self.assertEqual(len(distsim.sweep(FLAGSHIP, {"cluster.nodes": (2 ** i for i in range(3))})), 3)
        for run, experiment in ((distsim.sweep, FLAGSHIP), (distsim.plan, LANGUAGE)):  # what never ends, or is not as long as it says
            with self.assertRaisesRegex(distsim.ConfigError, "vary cluster.nodes: found '0' twice, expected each value once"):
                run(experiment, vary={"cluster.nodes": iter(int, 1)})
            with self.assertRaisesRegex(distsim.ConfigError, r"cluster.nodes: found an iterator \(count\) of more than 100,000 values, expected fewer, or a list"):
                run(experiment, vary={"cluster.nodes": itertools.count(1)})
            with self.assertRaisesRegex(distsim.ConfigError, "cluster.nodes: found a Endless of length 2 with more values, expected no more"):
                run(experiment, vary={"cluster.nodes": Endless()})
        with self.assertRaisesRegex(distsim.ConfigError, "vary model.accumulation: found 1,000,000 values, expected at most 100,000"):
            distsim.plan(LANGUAGE, vary={"model.accumulation": range(1_000_000)})
        with self.assertRaisesRegex(distsim.ConfigError, r"bytes: found an iterator \(repeat\) of more than 100,000 values"):
            distsim.cost_collective("dgx_a100_80gb", "all_reduce", itertools.repeat(8))
        with self.assertRaisesRegex(distsim.ConfigError, r"traces: found an iterator \(repeat\) of more than 100,000 values"):
            distsim.replay(itertools.repeat("x.json"))
        for run, experiment in ((distsim.sweep, FLAGSHIP), (distsim.plan, LANGUAGE)):
            with self.assertRaisesRegex(distsim.ConfigError, "vary cluster.nodes: found a key that (--)?set holds, expected one of the two"):
                run(experiment, vary={"cluster.nodes": [1, 2]}, set={"cluster.nodes": 3})
        for arguments in ({"top": 0}, {"jobs": 0}, {"tokens": float("nan")}, {"tokens": -1}, {"objective": "tme"}, {"pareto": "time"}, {"gpus": "64..8"}, {"tokens": 1, "samples": 1}, {"draws": -1}):
            with self.subTest(arguments), self.assertRaises((distsim.ConfigError, TypeError)):
                distsim.plan(LANGUAGE, **arguments)
        for arguments in (("h100", "linear", "bf16", {}), ("h100_sxm5_80gb", "lineer", "bf16", {}), ("h100_sxm5_80gb", "linear", "bf17", {"m": 1, "n": 1, "k": 1}),
                          ("h100_sxm5_80gb", "linear", "bf16", {"m": -1, "n": 1, "k": 1}), ("h100_sxm5_80gb", "linear", "bf16", {"q": 1}), (None, "linear", "bf16", {}), ("", "", "", {})):
            with self.subTest(arguments), self.assertRaises((distsim.ConfigError, TypeError)):
                distsim.cost_op(*arguments[:3], **arguments[3])
        for arguments in (("no_such", "all_reduce", [8]), ("dgx_a100_80gb", "all_reduse", [8]), ("dgx_a100_80gb", "all_reduce", []), ("dgx_a100_80gb", "all_reduce", ["8Q"]),
                          ("dgx_a100_80gb", "all_reduce", [-8]), ("dgx_a100_80gb", "all_reduce", [None]), (b"dgx", "all_reduce", [8])):
            with self.subTest(arguments), self.assertRaises((distsim.ConfigError, TypeError)):
                distsim.cost_collective(*arguments)
        with self.assertRaises(distsim.ConfigError):
            distsim.cost_collective("dgx_a100_80gb", "all_reduce", [8], nodes=2 ** 21)
        for sizes in (b"64MiB", bytearray(b"8"), memoryview(b"8")):  # not five sizes of as many letters
            with self.assertRaisesRegex(TypeError, "^bytes: found (bytes|bytearray|memoryview), expected a size or a list of sizes"):
                distsim.cost_collective("dgx_a100_80gb", "all_reduce", sizes)

    def test_a_forked_child_leaves_what_is_the_parents(self):
        table = distsim.sweep(FLAGSHIP, {"cluster.nodes": [1, 2]}, jobs=4)
        code = ("import distsim, os, sys\n"
                f"table = distsim.sweep({FLAGSHIP!r}, {{'cluster.nodes': [1, 2]}}, jobs=4)\n"
                "child = os.fork()\n"
                "if child == 0: sys.exit(0)\n"
                "print(os.waitpid(child, 0)[1], len(table))\n")
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.stdout, done.stderr), ("0 2\n", ""))
        tasks = pathlib.Path("/proc/self/task")
        if tasks.exists():
            before = len(list(tasks.iterdir()))
            kept = [distsim.sweep(FLAGSHIP, {"cluster.nodes": [1, 2]}, jobs=4) for _ in range(3)]
            self.assertEqual(len(list(tasks.iterdir())), before, [len(table), len(kept)])
        for values in (bytearray(b"8"), memoryview(b"8"), {1: 2}):
            with self.assertRaisesRegex(TypeError, "^cluster.nodes: found "):
                distsim.sweep(FLAGSHIP, {"cluster.nodes": values})

    def test_a_variant_may_replace_what_all_have(self):
        both = distsim.compare(FLAGSHIP, set={"cluster.nodes": 2}, variants={"b": {"cluster": {"system": "dgx_a100_80gb", "nodes": 1}}})
        self.assertAlmostEqual(both[1].iteration_ms, distsim.predict(FLAGSHIP, set={"cluster.nodes": 1}).iteration_ms)

    def test_a_point_without_a_prediction_does_not_fit(self):
        table = distsim.sweep(LANGUAGE, {"parallel.tensor": [3, 8]})
        self.assertEqual([(row.fits, row.global_batch, bool(row.error)) for row in table], [(None, 512, True), (True, 512, False)])
        for traces in ([], "", None, 3, [3], "no_such.json", ["/dev/null"]):
            with self.subTest(traces=traces), self.assertRaises((distsim.ConfigError, TypeError)):
                distsim.replay(traces)
        with self.assertRaises(distsim.ConfigError):
            distsim.names("system")

    def test_errors_say_where(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "job.yaml")
            path.write_text("cluster:\n  system: dgx_a100_80gb\n  nodez: 3\nmodel: {name: dlrm_mlperf}\n")
            with self.assertRaises(distsim.ConfigError) as raised:
                distsim.predict(path)
        e = raised.exception
        self.assertEqual((e.file, e.line, e.column), (str(path), 3, 3))
        self.assertIn("did you mean 'nodes'", e.hint)
        self.assertTrue(str(e).startswith(f"{path}:3:3: cluster.nodez: "))
        self.assertIsInstance(e, ValueError)
        with self.assertRaises(distsim.ConfigError) as raised:
            distsim.predict({**JOB, "cluster": {"system": "dgx_a100_80gb", "nodes": 0}})
        self.assertEqual(str(raised.exception), "cluster.nodes: found '0', expected 1 .. 1000000")
        self.assertEqual((raised.exception.file, raised.exception.line), (None, None))
        with self.assertRaises(distsim.ConfigError) as raised:
            distsim.plan(JOB, vary={"cluster.nodez": [1, 2]})
        self.assertNotIn("#", str(raised.exception))
        with self.assertRaises(distsim.ConfigError) as raised:
            distsim.compare(FLAGSHIP, {**JOB, "cluster": {"nodez": 1}})
        self.assertTrue(str(raised.exception).startswith("experiment 2: cluster.nodez: "), str(raised.exception))
        with self.assertRaises(distsim.ConfigError) as raised:
            distsim.cost_op("h100_sxm5_80gb", "linear", "bf16", m=-1, n=1, k=1)
        self.assertEqual((raised.exception.file, raised.exception.where), (None, ""))
        import pickle
        self.assertEqual(str(pickle.loads(pickle.dumps(e))), str(e))

    def test_attributes(self):
        report = distsim.predict(JOB)
        with self.assertRaisesRegex(AttributeError, "did you mean 'breakdown'"):
            report.breakdwon
        with self.assertRaises(AttributeError):
            report.breakdown.compute_ms = 3
        self.assertIn("iteration_ms", dir(report))
        self.assertEqual(report.breakdown["compute_ms"], report.breakdown.compute_ms)
        parts = report.breakdown
        self.assertTrue(math.isclose(parts.compute_ms + parts.exposed_comm_ms + parts.waiting_ms + parts.host_bound_ms + parts.idle_ms, report.iteration_ms, rel_tol=1e-6))
        shown = report._repr_html_()
        self.assertTrue(shown.startswith("<iframe srcdoc=") and shown.count("<iframe") == 1)
        self.assertNotRegex(report.to_html(), r'(src|href)="https?://')
        self.assertIn("<td>", distsim.cost_op("h100_sxm5_80gb", "linear", "bf16", m=64, n=64, k=64)._repr_html_())


class Long(unittest.TestCase):
    def test_threads_agree_and_run_beside_each_other(self):
        nodes = [1, 2, 3, 4]
        expected = {n: distsim.predict(FLAGSHIP, set={"cluster.nodes": n}).to_json() for n in nodes}
        found, errors = [], []

        def work(k):
            try:
                for i in range(3):
                    n = nodes[(i + k) % len(nodes)]
                    found.append((n, distsim.predict(FLAGSHIP, set={"cluster.nodes": n}).to_json()))
                    try:
                        distsim.predict(FLAGSHIP, set={"cluster.nodes": -n})
                    except distsim.ConfigError as error:
                        found.append((n, expected[n] if f"'-{n}'" in str(error) else str(error)))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((errors, len(found)), ([], 48))
        for n, text in found:
            self.assertEqual(text, expected[n])

    def test_the_lock_is_released(self):
        """While one thread is within one call, another one counts: were the lock held, it could do so only before and after."""
        counted, done = [], threading.Event()

        def count():
            while not done.is_set():
                counted.append(time.perf_counter())
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        begin = time.perf_counter()
        distsim.predict(FLAGSHIP, trials=300)
        end = time.perf_counter()
        done.set()
        thread.join()
        middle = [t for t in counted if begin + 0.25 * (end - begin) < t < begin + 0.75 * (end - begin)]
        self.assertGreater(len(middle), 3)

    def test_an_interrupt_ends_calls(self):
        """Ctrl-C in the main thread, in one call each; Python goes on, and the next call answers."""
        calls = {"sweep": f"distsim.sweep({FLAGSHIP!r}, {{'cluster.nodes': '1..64', 'model.global_batch': '64..640000:64'}})",
                 "plan": "distsim.plan('configs/megatron_gpt_145b.yaml', exhaustive=True)",
                 "trials": f"distsim.predict({FLAGSHIP!r}, trials=1000000)"}
        for name, call in calls.items():
            text = f"""
import distsim, os, signal, threading, time
distsim.predict({LANGUAGE!r})
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    {call}
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", distsim.predict({LANGUAGE!r}).iteration_ms > 0)
"""
            with self.subTest(name):
                self.assertEqual(run_python(text), "interrupted True\n")

    def test_another_handler_may_raise_what_it_likes(self):
        text = f"""
import distsim, signal
class Enough(Exception): pass
def enough(*of): raise Enough
signal.signal(signal.SIGALRM, enough)
signal.setitimer(signal.ITIMER_REAL, 0.5)
try:
    distsim.predict({FLAGSHIP!r}, trials=1000000)
except Enough:
    print("enough")
"""
        self.assertEqual(run_python(text), "enough\n")

    def test_memory_does_not_grow(self):
        text = f"""
import distsim, gc
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
job = {JOB!r}
def calls(n):
    for i in range(n):
        if i % 10 == 0:
            distsim.predict({LANGUAGE!r}, set={{"cluster.nodes": 32, "title": str(i)}}).iteration_ms
        elif i % 10 == 1:
            try: distsim.predict(job, set={{"cluster.nodes": -i}})
            except distsim.ConfigError: pass
        elif i % 10 == 2:
            try: distsim.predict({{**job, "model": i}})
            except distsim.ConfigError: pass
        elif i % 1000 == 3:
            distsim.predict(job).to_json()
        elif i % 10 == 4:
            distsim.cost_collective("dgx_a100_80gb", "all_reduce", [8], use_curves=False)
        elif i % 10 == 5:
            distsim.sweep(job, {{"cluster.nodes": 1}}, jobs=1)
        else:
            try: distsim.predict(job, set={{"cluster.nods": i}})
            except distsim.ConfigError: pass
calls(2000); gc.collect(); before = resident()
calls(10000); gc.collect()
print(resident() - before)
"""
        grown = int(run_python(text))
        self.assertLess(grown, 10_000 * 200, "200 bytes a call: less than any of its texts")


class Overhead(unittest.TestCase):
    def test_a_call_takes_little_more_than_the_library_s(self):
        """Against the same calls in C++, in the same process, in turns."""
        done = subprocess.run([sys.executable, "scripts/python_overhead.py", "--rounds", "41", "--most", "1.5"], capture_output=True, text=True, env=ENVIRONMENT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Files(unittest.TestCase):
    def test_what_changes_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "systems").mkdir()
            system = (ROOT / "configs/systems/dgx_a100_80gb.yaml").read_text()
            (path / "systems/mine.yaml").write_text(re.sub(r"^name:.*\n|^aliases:.*\n", "", system, flags=re.M))
            job = path / "job.yaml"
            job.write_text(json.dumps({**JOB, "cluster": {"system": "mine", "nodes": 2}}))
            first = distsim.predict(job)
            self.assertEqual(distsim.predict(job).iteration_ms, first.iteration_ms)
            text = (path / "systems/mine.yaml").read_text()
            changed = re.sub(r"(gpus_per_node:\s*)8", r"\g<1>4", text)
            self.assertNotEqual(text, changed)
            (path / "systems/mine.yaml").write_text(changed)
            self.assertEqual(distsim.predict(job).context.ranks, 8)
            job.write_text(json.dumps({**JOB, "cluster": {"system": "mine", "nodes": 1}}))
            self.assertEqual(distsim.predict(job).context.ranks, 4)
            # a file that comes first from now on
            home = path / "home"
            (home / "systems").mkdir(parents=True)
            os.environ["DISTSIM_CONFIGS"] = str(home)
            try:
                before = distsim.predict(JOB).context.ranks
                (home / "systems/dgx_a100_80gb.yaml").write_text(changed)
                self.assertEqual((before, distsim.predict(JOB).context.ranks), (8, 4))
                self.assertEqual(distsim.config_folders()[0], str(home.resolve()))
                os.environ["DISTSIM_CONFIGS"] = str(path / "none")
                with self.assertRaisesRegex(distsim.ConfigError, "DISTSIM_CONFIGS"):
                    distsim.predict(JOB)
            finally:
                del os.environ["DISTSIM_CONFIGS"]
            self.assertEqual(distsim.predict(JOB).context.ranks, 8)

    def test_pandas(self):
        python = pythons_with("pandas")
        text = f"""
import distsim
report, sweep = distsim.predict({JOB!r}), distsim.sweep({JOB!r}, {{"cluster.nodes": [1, 2]}})
frame = report.to_pandas("ops")
assert list(frame["kind"]) == [op.kind for op in report.ops]
assert report.to_pandas()["context.nodes"][0] == 1
assert list(sweep.to_pandas()["iteration_ms"]) == sweep.column("iteration_ms")
print("good")
"""
        if python:
            self.assertEqual(run_python(text, python), "good\n")
        missing = "import sys; sys.modules['pandas'] = None\nimport distsim\ntry: distsim.predict(%r).to_pandas()\nexcept ImportError as e: print(e)" % JOB
        self.assertEqual(run_python(missing), "to_pandas() needs pandas, which is not installed: pip install pandas\n")

    def test_types(self):
        python = pythons_with("mypy")
        if not python:
            return
        with tempfile.TemporaryDirectory() as cache:
            user = pathlib.Path(cache, "user.py")
            user.write_text("import distsim\nr: float = distsim.predict('x').iteration_ms\nbad: int = distsim.sweep('x', {}).to_csv()\ndistsim.predict(3)\n")
            base = [python, "-m", "mypy", "--cache-dir", cache, "--config-file", "python/mypy.ini"]
            environment = {**ENVIRONMENT, "MYPYPATH": str(ROOT / "python")}
            own = subprocess.run([*base, "-p", "distsim"], capture_output=True, text=True, env=environment)
            self.assertEqual(own.returncode, 0, own.stdout + own.stderr)
            of_user = subprocess.run([*base, str(user)], capture_output=True, text=True, env=environment).stdout
            self.assertEqual(re.findall(r"user\.py:(\d+): error", of_user), ["3", "4"], of_user)

    def test_the_stubs_name_what_there_is(self):
        stub = (ROOT / "python/distsim/_distsim.pyi").read_text()
        compiled = importlib.import_module("distsim._distsim")
        shown = {n for n in vars(compiled) if not n.startswith("__")}
        self.assertEqual(set(re.findall(r"^(?:class|def) (\w+)", stub, re.M)), shown)
        for name, body in re.findall(r"^class (\w+):\n((?:    .*\n)+)", stub, re.M):
            inside = {n for n in vars(getattr(compiled, name)) if not n.startswith("_")}
            self.assertEqual(set(re.findall(r"def (\w+)", body)) - {"__init__"}, inside, name)
        for name in distsim.__all__:
            self.assertTrue(getattr(distsim, name).__doc__ or name in ("Config", "Sets"), f"{name} has no docstring")

    def test_the_examples_of_the_guide(self):
        guide = (ROOT / "docs/python.md").read_text()
        blocks = re.findall(r"(<!-- needs torch and torchvision -->\n)?```python\n(.*?)```", guide, re.S)
        self.assertGreater(len(blocks), 3)
        run_python("\n".join(block for needs, block in blocks if not needs), cwd=ROOT)
        python = pythons_with("torchvision")
        for needs, block in blocks:
            if needs and python:
                shown = run_python(block, python, cwd=ROOT)
                self.assertRegex(shown, r"<distsim.Graph resnet18|<distsim.Graph ResNet: \d+ calls, 11,689,512 trained parameters, any batch>")

    def test_a_capture(self):
        python = pythons_with("torch")
        if not python:
            return
        text = """
import distsim, torch, pickle
from torch import nn
class Broken(nn.Module):
    def forward(self, x): return x @ torch.ones(3, 5)
def build(): return nn.Sequential(nn.Linear(64, 1 << 20), nn.ReLU(), nn.Linear(1 << 20, 1 << 14))  # 69 GB
module = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 10))
before = [p.clone() for p in module.parameters()]
graph = distsim.capture(module, torch.zeros(8, 64))
assert all(torch.equal(a, b) for a, b in zip(before, module.parameters())), "the module stays as it is"
same = distsim.capture(lambda: nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 10)), ["8x64"])
assert graph.data["nodes"] == same.data["nodes"] and graph.parameters == sum(p.numel() for p in module.parameters()), graph
assert distsim.capture(module, (8, 64)).calls == graph.calls
job = {"cluster": {"system": "dgx_a100_80gb", "nodes": 1}, "model": graph, "framework": {"name": "pytorch"}}
one = distsim.predict(job, set={"model.per_gpu_batch": 8})
two = distsim.predict({**job, "model": {"kind": "dlrm"}}, set={"model": graph, "model.per_gpu_batch": 8})
assert one.iteration_ms == two.iteration_ms > 0
assert distsim.capture(build, (4, 64)).parameters == 65 * (1 << 20) + ((1 << 20) + 1) * (1 << 14)
import os
path = graph.path; assert os.path.exists(path); del graph, job, one, two; import gc; gc.collect(); assert not os.path.exists(path)
for bad in (lambda: distsim.capture(Broken(), (2, 4)), lambda: distsim.capture(module, "8xx"), lambda: distsim.capture(module, []), lambda: distsim.capture(3, (2, 4)),
            lambda: distsim.capture(module, (0, 64)), lambda: distsim.capture(module, (8, 63)), lambda: distsim.capture(module, (8, 64), loss="none")):
    try: bad(); raise SystemExit("taken")
    except (distsim.ConfigError, TypeError) as e: print(e)
"""
        self.assertEqual(len(run_python(text, python).splitlines()), 7)

    def test_what_a_capture_says(self):
        """The line of the model, arguments by their names here, and why a graph serves one batch."""
        python = pythons_with("torch")
        if not python:
            return
        text = """
import distsim, torch
from torch import nn
class Reshapes(nn.Module):
    def forward(self, x): return x.reshape(-1, 7)
class Pairs(nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        return (y @ y.t()).reshape(-1).exp()
def failure(call):
    try: call()
    except distsim.ConfigError as e: return e
e = failure(lambda: distsim.capture(Reshapes(), (16, 64)))
assert e.file == "<string>" and e.line == 5 and e.where == "<string>:5", (e, e.file, e.line)
assert str(failure(lambda: distsim.capture(nn.Linear(64, 8), [(16, 64)] * 2))).startswith("inputs: found 2, expected 1")
assert "loss=output: the module returns a tensor of 16x8" in str(failure(lambda: distsim.capture(nn.Linear(64, 8), (16, 64), loss="output")))
normed = nn.Sequential(nn.utils.weight_norm(nn.Linear(64, 64)), nn.LSTM(64, 32))
assert distsim.capture(normed[0], (16, 64)).any_batch and distsim.capture(normed[1], (16, 8, 64), name="lstm").calls < 30
graph = distsim.capture(Pairs(64, 64), (16, 64))
import copy, pickle
assert pickle.loads(pickle.dumps(graph)).data == copy.deepcopy(graph).data == graph.data and copy.copy(graph).path != graph.path
assert not graph.any_batch and "64 with 8, 256 with 16, 1024 with 32" in graph.one_batch, graph.one_batch
job = {"cluster": {"system": "dgx_a100_80gb", "nodes": 1}, "model": graph, "framework": {"name": "pytorch"}}
assert distsim.predict(job, set={"model.per_gpu_batch": 16}).iteration_ms > 0
assert graph.one_batch in str(failure(lambda: distsim.predict(job, set={"model.per_gpu_batch": 8})))
"""
        self.assertEqual(run_python(text, python), "")

    def test_without_torch(self):
        text = "import sys; sys.modules['torch'] = None\nimport distsim\ntry: distsim.capture(lambda: 0, '2x3')\nexcept ImportError as e: print(e)"
        self.assertEqual(run_python(text), "distsim.capture() needs torch, which is not installed: pip install torch\n")


if __name__ == "__main__":
    unittest.main()
