#!/usr/bin/env python3
"""Serving experiments as a user calls them: sweeps, journals, requests as lines, and the scripts that draw from them.

usage: serving_cli_test.py DISTSIM
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = ""
EXPERIMENT = """gpus: [{name: a, count: 2}]
models: [{name: m, layer_times: [1 ms, 2 ms], max_batch: 4, deadline: 10 ms}, {name: n, layer_times: [0.5 ms]}]
load: {rate_per_s: 500, requests: 2000}
policies: [fifo, dynamic_batching]
"""


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.config = self.path("x.yaml")
        pathlib.Path(self.config).write_text(EXPERIMENT, encoding="utf-8")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_distsim(self, *words, text="", code=0):
        r = subprocess.run([BINARY, *words], input=text, capture_output=True, text=True, timeout=300, cwd=ROOT)
        self.assertEqual(r.returncode, code, r.stderr)
        return r


class Sweeps(Folder):
    AXES = ("--set", "load.rate_per_s=200,400,800", "--set", "batching.size=1,4")

    def rows(self, *words):
        return list(csv.DictReader(self.run_distsim("sweep", "--config", self.config, *self.AXES, *words, "--csv", "-").stdout.splitlines()))

    def test_rows_are_those_of_single_runs(self):
        rows = self.rows()
        self.assertEqual(len(rows), 3 * 2 * 2)
        for row in rows:
            alone = self.run_distsim("serving", "--config", self.config, "--set", f"load.rate_per_s={row['rate_per_s']}", "--set",
                                     f"batching.size={row['size']}", "--set", f"policies=[{row['policy']}]", "--csv", "-").stdout
            all_models = next(csv.DictReader(alone.splitlines()))
            for column in ("requests", "mean_ms", "p99_ms", "goodput_per_s", "violations", "batches"):
                self.assertEqual(row[column], all_models[column], (row, column))

    def test_threads_and_journals_change_nothing(self):
        plain = self.rows("--jobs", "1")
        journal = self.path("j")
        self.assertEqual(plain, self.rows("--jobs", "4", "--journal", journal))
        self.assertEqual(plain, self.rows("--journal", journal, "--resume"))
        other = self.run_distsim("sweep", "--config", self.config, "--set", "load.rate_per_s=1,2", "--journal", journal, "--resume", code=2)
        self.assertIn("--set", other.stderr)

    def test_a_point_that_is_refused_keeps_its_row(self):
        rows = list(csv.DictReader(self.run_distsim("sweep", "--config", self.config, "--set", "load.rate_per_s=200,-1", "--csv", "-").stdout.splitlines()))
        self.assertIn("load.rate_per_s: found '-1'", rows[-1]["error"])
        self.run_distsim("sweep", "--config", self.config, "--set", "load.rate_per_s=-1,-2", code=2)


class Online(Folder):
    def test_decides_as_requests_come(self):
        """Each decision is there before the next line is sent."""
        with subprocess.Popen([BINARY, "serving", "--config", self.config, "--set", "policies=[fifo]", "--online"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            for number, line in enumerate(("0,m", "0.0001,n", "0.1")):
                process.stdin.write(line + "\n")
                process.stdin.flush()
                decision = json.loads(process.stdout.readline())
                while decision["do"] != "assign":
                    decision = json.loads(process.stdout.readline())
                self.assertEqual(decision["requests"], [number])
            process.stdin.close()
            rest = [json.loads(line) for line in process.stdout]
            self.assertEqual(rest[-1]["do"], "answer")
            self.assertIn("3 requests", process.stderr.read())
        self.assertEqual(process.returncode, 0)

    def test_names_a_bad_line(self):
        r = self.run_distsim("serving", "--config", self.config, "--set", "policies=[fifo]", "--online", text="1\n0\n", code=2)
        self.assertIn("standard input:2: found '0' after 1, expected times in ascending order", r.stderr)
        r = self.run_distsim("serving", "--config", self.config, "--online", text="", code=2)
        self.assertIn("policies: found 2, expected one", r.stderr)


class Scripts(Folder):
    def test_break_even(self):
        r = subprocess.run([sys.executable, ROOT / "scripts" / "serving_break_even.py", BINARY], capture_output=True, text=True, check=True, timeout=300)
        for row in csv.DictReader(r.stdout.splitlines()):
            expected = 10 - 0.01 - float(row["size_mb"]) / float(row["bandwidth_gb_per_s"])
            self.assertAlmostEqual(float(row["saved_ms"]), expected, delta=0.002)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(__doc__)
        sys.exit(2)
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
