#!/usr/bin/env python3
"""Diagnostics: they go to standard error alone, say what was read, used and written, and change no result."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = sys.argv.pop(1)
FLAGSHIP = str(ROOT / "configs/dgx_a100_4node.yaml")
COMMANDS = [["--config", FLAGSHIP], ["sweep", "--config", FLAGSHIP, "--set", "cluster.nodes=1,2"], ["list", "systems"], ["validate"],
            ["cost", "collective", "--system", "dgx_a100_80gb", "--kind", "all_reduce", "--nodes", "2", "--bytes", "1MiB"]]


def run(*args):
    environment = {k: v for k, v in os.environ.items() if k != "DISTSIM_CONFIGS"}
    return subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=120, env=environment)


class Diagnostics(unittest.TestCase):
    def test_results_are_the_same_and_errors_are_silent(self):
        for command in COMMANDS:
            with self.subTest(command):
                plain = run(*command)
                self.assertEqual((plain.returncode, plain.stderr), (0, ""))
                for flags in (["-v"], ["--log-level", "trace"], ["--log-level=off"]):
                    loud = run(*command, *flags)
                    self.assertEqual((loud.returncode, loud.stdout), (0, plain.stdout))
                    self.assertEqual(loud.stderr == "", flags == ["--log-level=off"])
                    for line in loud.stderr.splitlines():
                        self.assertRegex(line, r"^distsim: (trace|debug|info): ")

    def test_standard_output_can_be_parsed(self):
        self.assertGreater(json.loads(run("--config", FLAGSHIP, "--json", "-", "-v").stdout)["iteration_ms"], 0)

    def test_says_what_was_read_used_and_made(self):
        text = run("-v", "--config", FLAGSHIP).stderr
        for words in ("debug: configuration folder: ", f"info: experiment read from {FLAGSHIP}", "info: cluster.system: 'dgx_a100_80gb' read from ",
                      "learned op model read from ", "dgx_a100_80gb.curve.txtpb: ", "curves used", "hgx_h100_node.curve.txtpb: skipped, measured on another system",
                      "cost models of dgx_a100_80gb: made", " tasks, 32 ranks", "debug: lower: ", " steps, 3 iterations", "debug: price: "):
            self.assertIn(words, text)
        self.assertRegex(text, r"debug: simulate: [0-9]+\.[0-9]{3} ms\n")

    def test_says_that_models_were_kept(self):
        self.assertIn("kept from an earlier prediction", run("sweep", "--config", FLAGSHIP, "--set", "model.global_batch=32768,65536", "--jobs", "1", "-v").stderr)

    def test_says_what_was_written(self):
        with tempfile.TemporaryDirectory() as folder:
            r = run("--config", FLAGSHIP, "--json", f"{folder}/r.json", "--log-level", "info")
            self.assertIn(f"distsim: info: {folder}/r.json: written\n", r.stderr)
            self.assertNotIn("debug", r.stderr)

    def test_the_flag_stands_anywhere(self):
        command = ["cost", "collective", "--system", "dgx_a100_80gb", "--kind", "all_reduce", "--nodes", "2", "--bytes", "8"]
        texts = [run(*command[:at], "--log-level", "info", *command[at:]).stderr for at in (0, 1, 2, len(command))]
        self.assertIn("info", texts[0])
        self.assertEqual(len(set(texts)), 1)

    def test_bad_flags_are_refused(self):
        for flags in (["--log-level", "loud"], ["--log-level"], ["-v", "--log-level", "info"], ["-v"], ["-v", "predcit"]):
            with self.subTest(flags):
                r = run(*flags, *(["--config", FLAGSHIP] if "--log-level" in flags[:-1] else []))
                self.assertEqual((r.returncode, r.stdout), (2, ""))
                self.assertEqual(len(r.stderr.splitlines()), 1, r.stderr)


if __name__ == "__main__":
    unittest.main()
