#!/usr/bin/env python3
"""distsim.serving: the same bytes as the command's, and policies in Python. Arguments: the folder of the module, the command."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import traceback
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULE, BINARY = sys.argv.pop(1), sys.argv.pop(1)
sys.path.insert(0, MODULE)
import distsim  # noqa: E402

os.chdir(ROOT)
TWO_GPUS = "configs/serving/two_gpus.yaml"
SMALL = {"gpus": [{"name": "a", "count": 2}], "models": [{"name": "m", "layer_times": ["1 ms", "2 ms"], "max_batch": 4, "deadline": "10 ms"}],
         "load": {"rate_per_s": 400, "requests": 3000}, "policies": ["fifo"]}


def command(*words):
    done = subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Fifo:
    def __init__(self):
        self.waiting = []

    def arrived(self, state, id):
        self.waiting.append(id)

    def next(self, state, gpu):
        return [self.waiting.pop(0)] if self.waiting else None


class OneLayer(Fifo):
    """The oldest request, a layer at a time."""

    def arrived(self, state, id):
        self.waiting.append(id)
        self.waiting.sort(key=lambda waiting: state.request(waiting).number)

    def next(self, state, gpu):
        return ([self.waiting.pop(0)], 1) if self.waiting else []


class Batches(Fifo):
    def next(self, state, gpu):
        most = state.max_batch(0)
        out, self.waiting = self.waiting[:most], self.waiting[most:]
        return out


def without_name(result):
    """All that a run gives, whatever its policy is called."""
    data = result.to_dict()
    for point in data["points"]:
        del point["policy"]
    return data


class Serving(unittest.TestCase):
    def test_same_as_the_command(self):
        found = distsim.serving(TWO_GPUS, set={"load.requests": 2000}, jobs=2)
        words = ("serving", "--config", TWO_GPUS, "--set", "load.requests=2000")
        self.assertEqual(found.to_json(), command(*words, "--json", "-"))
        self.assertEqual(found.to_csv(), command(*words, "--csv", "-"))
        self.assertEqual(found.to_html(), command(*words, "--html", "-"))
        self.assertEqual(str(found), command(*words))
        self.assertEqual(found[0]["p99_ms"], found.to_dict()["points"][0]["results"][0]["p99_ms"])

    def test_what_had_no_effect(self):
        sets = {"load.cv": 2, "models.0.priority": 3, "load.requests": 500, "run.confidence": 0.95}
        job = {**SMALL, "models": [{**SMALL["models"][0], "weight": 2, "priority": 1}]}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "job.yaml")
            path.write_text(json.dumps(job))
            words = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
            done = subprocess.run([BINARY, "serving", "--config", str(path), *words, "--csv", "-"], capture_output=True, text=True, timeout=300)
            said = [line.removeprefix("distsim: ").removeprefix("warning: ").removeprefix("--") for line in done.stderr.splitlines() if "no effect" in line]
            found = distsim.serving(path, set=sets)
            self.assertEqual(found.without_effect, said)
            self.assertTrue(any(line.startswith(f"{path}:1:") and line.endswith("models[0].weight: no effect, there is one model") for line in said), said)
            of_dict = distsim.serving(job, set=sets).without_effect
            self.assertEqual(of_dict, [line if line.startswith("set ") else line.split(" ", 1)[1] for line in said])
        own = distsim.serving(job, set={**sets, "policies": ["sjf"]}, policy=Fifo).without_effect
        self.assertFalse([line for line in own if "priority" in line], "a policy of one's own may go by it")
        self.assertIn('set policies=["sjf"]: no effect, the experiment is the same without it', own)
        self.assertEqual(distsim.serving(SMALL).without_effect, ["models[0].max_batch: no effect, no policy batches"])
        self.assertEqual(distsim.serving(SMALL, policy=Batches).without_effect, [], "it may batch")

    def test_a_policy_in_python_is_the_one_of_the_registry(self):
        self.assertEqual(without_name(distsim.serving(SMALL, policy=Fifo)), without_name(distsim.serving(SMALL)))
        data = distsim.serving(SMALL, policy=Fifo, set={"run.rates_per_s": [100, 300, 500]}, jobs=3).to_dict()
        self.assertEqual([point["policy"] for point in data["points"]], ["Fifo"] * 3)

    def test_layers_and_batches(self):
        one = distsim.serving(SMALL, policy=OneLayer)
        self.assertGreater(one.to_dict()["points"][0]["results"][0]["batches"], 5000)
        some = distsim.serving(SMALL, policy=Batches, set={"load.rate_per_s": 3000, "models.0.batch_cost": 0.1})
        self.assertLess(some.to_dict()["points"][0]["results"][0]["batches"], 2000)

    def test_branches(self):
        job = {**SMALL, "models": [{"name": "m", "layer_times": ["1 ms", "4 ms", "4 ms", "1 ms"], "after": [[], 0, 0, [1, 2]]}],
               "load": {"kind": "constant", "rate_per_s": 10, "requests": 100}}
        whole = distsim.serving(job, policy=Fifo)
        apart = type("Apart", (Fifo,), {"takes_branches": True})
        self.assertEqual([round(r["mean_ms"], 6) for r in whole][0], 10)
        self.assertEqual([round(r["mean_ms"], 6) for r in distsim.serving(job, policy=apart)][0], 6)

    def test_an_exception_comes_out_with_its_traceback(self):
        class Broken(Fifo):
            def next(self, state, gpu):
                return self.helper(gpu)

            def helper(self, gpu):
                raise ZeroDivisionError("on purpose")

        try:
            distsim.serving(SMALL, policy=Broken)
            self.fail("nothing was raised")
        except ZeroDivisionError as error:  # assertRaises would cut off the traceback
            self.assertEqual(str(error), "on purpose")
            self.assertEqual([frame.name for frame in traceback.extract_tb(error.__traceback__)][-2:], ["next", "helper"])
        with self.assertRaises(AttributeError):
            distsim.serving(SMALL, policy=dict)
        with self.assertRaisesRegex(ValueError, "not made"):
            distsim.serving(SMALL, policy=lambda: (_ for _ in ()).throw(ValueError("not made")))

    def test_wrong_answers_are_said(self):
        def policy_with(**methods):
            return type("Wrong", (Fifo,), methods)

        cases = [(policy_with(arrived=lambda self, state, id: 7), distsim.ConfigError,
                  "policy Wrong: named GPU 7 for request 0, expected one of 0 to 1"),
                 (policy_with(arrived=lambda self, state, id: -3), ValueError, r"arrived\(\) returned -3, expected the number of a GPU, from 0, or None"),
                 (policy_with(arrived=lambda self, state, id: 10 ** 30), ValueError, r"arrived\(\) returned 10000"),
                 (policy_with(next=lambda self, state, gpu: [-1]), ValueError, r"next\(\) returned -1, expected the id of a request"),
                 (policy_with(next=lambda self, state, gpu: state.predicted_s(-1, gpu)), ValueError, r"predicted_s\(\) was given -1, expected the id"),
                 (policy_with(next=lambda self, state, gpu: state.runs_on("0", gpu)), TypeError, r"runs_on\(\) was given str, expected whole numbers"),
                 (policy_with(next=lambda self, state, gpu: None), distsim.ConfigError, "policy Wrong: request 0 of m waits since .* and is not started"),
                 (policy_with(next=lambda self, state, gpu: [0, 0]), distsim.ConfigError, r"handed out request 0 \(id 0\) twice in one batch"),
                 (policy_with(next=lambda self, state, gpu: [99]), distsim.ConfigError, "handed out a request with id 99, which no request has had"),
                 (policy_with(next=lambda self, state, gpu: "0"), TypeError, r"next\(\) returned str, expected a list"),
                 (policy_with(next=lambda self, state, gpu: ([0],)), TypeError, "returned a tuple, expected"),
                 (policy_with(arrived=lambda self, state, id: 1.5), TypeError, r"arrived\(\) returned float, expected whole numbers"),
                 (policy_with(next=lambda self, state, gpu: state.layers(5)), distsim.ConfigError, "policy Wrong: asked for model 5, which does not exist"),
                 (policy_with(arrived=lambda self, state, id: state.runs_on(id, 99)), distsim.ConfigError, "policy Wrong: asked for GPU 99, which does not exist"),
                 (policy_with(next=lambda self, state, gpu: state.request(10 ** 6)), distsim.ConfigError, "which no request has had")]
        for policy, kind, line in cases:
            with self.subTest(line=line), self.assertRaisesRegex(kind, line):
                distsim.serving(SMALL, policy=policy)

        class Careful(Fifo):
            def next(self, state, gpu):
                try:
                    state.layers(5)
                except RuntimeError as error:
                    self.seen = str(error)
                return super().next(state, gpu)

        class Renamed(Careful):
            def next(self, state, gpu):
                super().next(state, gpu)
                raise RuntimeError(self.seen)

        self.assertEqual(distsim.serving(SMALL, policy=Careful)[0].requests, distsim.serving(SMALL, policy=Fifo)[0].requests)
        with self.assertRaisesRegex(RuntimeError, "^asked for model 5"):
            distsim.serving(SMALL, policy=Renamed)
        with self.assertRaisesRegex(distsim.ConfigError, "expected a wait of at most 5 ms"):
            distsim.serving(SMALL, policy=Fifo, set={"run.max_wait": "5 ms", "load.rate_per_s": 900})
        with self.assertRaisesRegex(TypeError, "policy: found int"):
            distsim.serving(SMALL, policy=3)
        with self.assertRaisesRegex(TypeError, "policy: found an object of class Fifo, expected the class itself"):
            distsim.serving(SMALL, policy=Fifo())

    def test_a_state_does_not_outlive_its_call(self):
        kept = []

        class Keeps(Fifo):
            def arrived(self, state, id):
                kept.append(state)
                super().arrived(state, id)

        distsim.serving(SMALL, policy=Keeps, set={"load.requests": 10})
        with self.assertRaisesRegex(RuntimeError, "after the call"):
            kept[0].now_s

    def test_other_threads_run_meanwhile(self):
        done = threading.Event()
        ticks = []

        def tick():
            while not done.wait(0.002):
                ticks.append(1)

        thread = threading.Thread(target=tick)
        thread.start()
        distsim.serving(SMALL, set={"load.requests": 3_000_000, "run.warm_up": 0})
        done.set()
        thread.join()
        self.assertGreater(len(ticks), 5)

    def test_a_file_of_the_user(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.yaml"
            path.write_text(json.dumps(SMALL), encoding="utf-8")
            self.assertEqual(distsim.serving(path).to_dict()["points"], distsim.serving(SMALL).to_dict()["points"])
        with self.assertRaisesRegex(distsim.ConfigError, "did you mean 'fifo'"):
            distsim.serving(SMALL, set={"policies": ["fifi"]})


if __name__ == "__main__":
    unittest.main()
