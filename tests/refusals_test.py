#!/usr/bin/env python3
"""One clear line for everything that is wrong, exit code 2, and nothing written. Small broken files are in data/hostile."""
import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest

from support.command_line import BINARY, FLAGSHIP, ROOT, run


class Refuses(unittest.TestCase):
    def refused(self, *args, says=""):
        with tempfile.TemporaryDirectory() as d:
            r = run(*args, cwd=d)
            self.assertEqual(r.returncode, 2, f"{args}: {r.stdout[:200]}{r.stderr}")
            self.assertEqual(len(r.stderr.splitlines()), 1, r.stderr)
            self.assertTrue(r.stderr.startswith("distsim: "), r.stderr)
            self.assertEqual(r.stdout, "")
            self.assertIn(says, r.stderr)
            self.assertEqual(list(pathlib.Path(d).iterdir()), [], "something was written")
            return r.stderr

    def with_config(self, text, says=""):
        with tempfile.TemporaryDirectory() as d:
            path = pathlib.Path(d) / "x.yaml"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            return self.refused("--config", path, says=says)

    def test_flags(self):
        self.refused("predcit", says="predict")
        self.refused("--config")
        self.refused("--config", "/nonexistent.yaml", says="/nonexistent.yaml")
        self.refused("--config", "/tmp")
        self.refused("--config", FLAGSHIP, "--nonsense")
        self.refused("--config", FLAGSHIP, "--dump-after", "prise", says="price")
        self.refused("--config", FLAGSHIP, "--json", "-", "--csv", "-", says="standard output")

    def test_sets(self):
        for assignment, says in [("cluster.nodes=0", "cluster.nodes"), ("cluster.nodes=4e9", "cluster.nodes"), ("cluster.nodes=-1", "cluster.nodes"),
                                 ("cluster.nodes=two", "cluster.nodes"), ("cluster.nodes", "="), ("cluster.nods=2", "nodes"), ("clutser.nodes=2", "cluster"),
                                 ("cluster.nic.bandwidth=25", "25 GB/s"), ("cluster.nic.bandwidth=nan GB/s", "nic.bandwidth"),
                                 ("cluster.system=dgx_a10", "dgx_a100"), ("device.name=a100_sxm4_90gb", "a100_sxm4_"),
                                 ("model.global_batch=-5", "global_batch"), ("model.global_batch=17", ""), ("model.name=dlrm_mlpref", "dlrm_mlperf"),
                                 ("model.dlrm.tables=[{rows: 0, dim: 128}]", "rows"), ("model.dlrm.tables.3.rows=1e30", "rows")]:
            with self.subTest(assignment):
                self.refused("--config", FLAGSHIP, "--set", assignment, says=says)

    def test_a_set_replaces_none_of_what_is_read(self):
        with tempfile.TemporaryDirectory() as d:
            curve = next((ROOT / "configs/curves").glob("*.curve.txtpb"))
            shutil.copy(curve, f"{d}/cv.5.et")
            line = self.refused("--config", FLAGSHIP, "--curves", f"{d}/cv.5.et", "--write-et", f"{d}/cv", says="found a file that this command reads")
            self.assertIn("--write-et", line)
            self.assertEqual(os.listdir(d), ["cv.5.et"])
            self.assertEqual(pathlib.Path(f"{d}/cv.5.et").read_bytes(), curve.read_bytes())

    def test_a_smaller_set_removes_no_input_and_no_other_output(self):
        tiny = ROOT / "tests/golden/tiny.yaml"
        with tempfile.TemporaryDirectory() as d:
            larger = ["--config", tiny, "--set", "cluster.nodes=4", "--write-et", f"{d}/x"]
            self.assertEqual(run(*larger).returncode, 0)
            os.symlink("x.7.et", f"{d}/j.json")
            self.refused("--config", tiny, "--write-et", f"{d}/x", "--json", f"{d}/j.json", says="writes to it too")
            shutil.copy(tiny, f"{d}/x.7.et")
            self.refused("--config", f"{d}/x.7.et", "--write-et", f"{d}/x", says="--write-et: found a file that this command reads")
            self.assertEqual(pathlib.Path(f"{d}/x.7.et").read_bytes(), tiny.read_bytes())
            os.remove(f"{d}/x.7.et")
            os.mkdir(f"{d}/x.7.et")
            self.refused("--config", tiny, "--write-et", f"{d}/x", says="found a folder")
            self.assertTrue(json.loads(pathlib.Path(f"{d}/x.set.json").read_text())["complete"])

    def test_random_tasks_have_a_file_each(self):
        with tempfile.TemporaryDirectory() as d:
            os.symlink("random_dlrm_1_00.yaml", f"{d}/random_dlrm_1_01.yaml")
            self.refused("generate", "dlrm", "--system", "dgx_a100_80gb", "--tasks", 3, "--out", d, says="--out writes to it too")
            self.assertEqual(os.listdir(d), ["random_dlrm_1_01.yaml"])

    def test_replay_flags_of_the_other_kind(self):
        kernel = {"ph": "X", "cat": "kernel", "name": "a" * 400, "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {"stream": 7, "device": 0}}
        with tempfile.TemporaryDirectory() as d:
            trace = pathlib.Path(d) / "rank0.json"
            trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [kernel]}))
            for flag in (["--network", "x"], ["--groups", "x"], ["--recorded-collectives"], ["--compute-scale", "2"]):
                self.refused("replay", trace, *flag, says=f"{flag[0]}: found a profiler trace")
            self.refused("replay", trace, "--remove", "", says="--remove: found nothing, expected a value")
            self.refused("replay", trace, "--remove", ".*", says="leaves no kernel")
            self.refused("replay", trace, "--timeline", "x.foo", says=".pftrace, .pftrace.gz, .json or .json.gz")
            self.refused("--config", FLAGSHIP, "--timeline", "x.foo", says=".pftrace, .pftrace.gz, .json, .json.gz or .svg")
            self.refused("replay", trace, "--step-pattern", "(", says="step pattern: ")
            self.refused("replay", trace, "--remove", "(.*)*(.*)*(.*)*x$", says="--remove")  # would never end
            self.assertEqual(run("--config", FLAGSHIP, "--write-et", f"{d}/p").returncode, 0)
            for flag in (["--remove", "x"], ["--measured-on", "x"], ["--leave-one-step-out"], ["--timeline", "x.pftrace"]):
                self.refused("replay", f"{d}/p", "--config", FLAGSHIP, *flag, says=f"{flag[0]}: found a Chakra trace")
            self.refused("replay", f"{d}/p", "--config", FLAGSHIP, "--compute-scale", "nan", says="--compute-scale")
            for traces, says in (([f"{d}/p"], f"such as {d}/p.0.et"), ([d], "found a folder"), ([f"{d}/p.0.et", f"{d}/p.1.et"], "found 2 traces"),
                                 ([f"{d}/p.0.et"], "nodes with times and no shapes of tensors"), ([f"{d}/nothing"], "--priced: found no such file")):
                self.refused("replay", *traces, "--priced", "--config", FLAGSHIP, says=says)
            (pathlib.Path(d) / "q.0.et").write_bytes((pathlib.Path(d) / "p.0.et").read_bytes())
            trace.unlink()
            self.refused("replay", d, "--config", FLAGSHIP, says="found a second trace of rank 0")

    def test_usage_names_the_command(self):
        self.refused("hugectr", "schedule", "x", "--warmup", "-1", says="`distsim hugectr schedule --help`")
        self.refused("calibrate", "features", says="`distsim calibrate features --help`")
        self.refused("cost", "op", says="`distsim cost op --help`")
        one = ["cost", "op", "--gpu", "a100_sxm4_80gb", "--dtype", "fp16"]
        self.refused(*one, "--op", "lstm", says="lstm: found no sizes, expected batch, length, input and hidden")
        self.refused(*one, "--op", "lstm", "n=8", "hidden=4", says="lstm: found the sizes n and hidden, expected also batch, length and input")
        self.refused(*one, "--op", "linear", "m=8", "k=8", says="linear: found the sizes m and k, expected also n")
        self.refused(*one, "--op", "interacton", "batch=8", says="did you mean 'interaction'?")
        self.refused(*one, "--op", "interaction", "batch=8", "feature=27", says="did you mean 'features'?")
        self.refused(*one, "--op", "interaction", "batch=8", "features=27", says="interaction: found the sizes batch and features, expected also dim")
        self.refused(*one, "--op", "linear", "m=8", "n", "k=8", says="expected NAME=VALUE")
        self.refused(*one, "--op", "linear", "m=8", "m=8", says="twice")
        self.refused("cost", "op", "--op", "linear", "--dtype", "fp8", "--gpu", "v100_sxm2_32gb", "m=8", "n=8", "k=8", says="fp8 on v100_sxm2_32gb")
        self.refused(*one, "--input", "x.csv", says="--input")

    def test_a_folder_is_no_csv(self):
        self.refused("cost", "op", "--input", "/tmp", says="/tmp: found a folder")
        self.refused("calibrate", "ops", "--input", "/", "--device", "h200_sxm", says="/: found no CSV file in the folder")
        self.refused("calibrate", "ops", "--input", "x.csv", "--device", "h200_sxm", "--csv", "y.csv", says="--report")

    def test_explain_writes_nothing(self):
        self.refused("validate", "--explain", "x", "--plot", "p.svg", says="--plot")

    def test_broken_yaml(self):
        for text in ["cluster: [", "a: b: c", "cluster: {nodes: 1, nodes: 2}", "a: &x 1\nb: *x\n", "\t- x", "--- 1\n--- 2\n", b"\xff\xfe\x00c", "x: \x00",
                     "cluster: 3", "- 1\n- 2\n", "", "?" * 5000, "[" * 100000, "a: " + "x" * (1 << 21)]:
            with self.subTest(str(text[:30])):
                self.with_config(text)

    def test_position_and_spelling(self):
        line = self.with_config("cluster:\n  system: dgx_a100_80gb\n  noodes: 4\nmodel: {name: dlrm_mlperf}\n", says="noodes")
        self.assertRegex(line, r"x\.yaml:3:3: ")
        self.assertIn("nodes", line)

    def test_does_not_fit(self):
        line = self.refused("--config", FLAGSHIP, "--set", "cluster.nodes=1", "--set", "cluster.gpus_per_node=1", says="rank 0")
        self.assertRegex(line, r"GB")

    def test_long_accumulations(self):
        line = self.refused("--config", FLAGSHIP, "--set", "model.accumulation=2049", says="model.global_batch: found 65536")
        self.assertIn("2049 micro-steps", line)
        self.refused("--config", FLAGSHIP, "--set", "model.accumulation=1000000", says="found 65536")

    def test_rules_blame_the_key(self):
        self.refused("--config", FLAGSHIP, "--set", "cluster.nic.bandwidth=0 GB/s", says="--set cluster.nic.bandwidth: found")

    def test_outputs_are_checked_first(self):
        self.refused("--config", FLAGSHIP, "--json", "")
        self.refused("--config", FLAGSHIP, "--json", "x.out", "--html", "x.out", says="--json")
        self.refused("--config", FLAGSHIP, "--json", "/nonexistent/folder/r.json", says="/nonexistent/folder")
        self.refused("--config", FLAGSHIP, "--json", FLAGSHIP + "/r.json")
        self.refused("--config", FLAGSHIP, "--html", "/proc/r.html")
        self.refused("sweep", "--config", FLAGSHIP, "--set", "cluster.nodes=1,2", "--csv", "/nonexistent/x.csv")

    def test_too_little_memory(self):
        memory = 400 << 20
        if run("--version", memory=memory).returncode != 0:
            self.skipTest("not even the version fits: a build with sanitizers")
        r = run("--config", ROOT / "configs/bert_large_dgx_a100.yaml", "--set", "cluster.nodes=40", "--set", "model.global_batch=0", "--set", "model.per_gpu_batch=4",
                "--set", "engine.contention=true", memory=memory)
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertRegex(r.stderr, r"\Adistsim: .*memory.*\n\Z")

    def test_traces_of_very_many_steps(self):
        pipeline = ["--config", ROOT / "configs/bert_large_dgx_a100.yaml", "--set", "cluster.nodes=2000", "--set", "model.global_batch=0",
                    "--set", "model.per_gpu_batch=4"]
        line = self.refused(*pipeline, "--json", "r.json", "--write-et", "t", says="GB in total, expected at most 4 GB")
        fit = int(re.search(r"--write-et-ranks (\d+) writes the first", line)[1])
        self.assertIn("--write-et-ranks 16000 writes all of them", line)
        self.assertGreater(fit, 1)
        with tempfile.TemporaryDirectory() as d:
            r = run(*pipeline, "--write-et", "t", "--write-et-ranks", 2, cwd=d)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(r.stderr, "distsim: warning: t: ranks 2 to 15999 are left out\n")
            self.assertEqual({p.name for p in pathlib.Path(d).iterdir()}, {"t.0.et", "t.1.et", "t.groups.json", "t.set.json"})
        self.refused("--config", FLAGSHIP, "--write-et-ranks", 2, says="--write-et")

    def test_more_ranks_than_the_job_has(self):
        for file, flag in (("t", "--write-et"), ("t.json", "--timeline")):
            self.refused("--config", FLAGSHIP, flag, file, flag + "-ranks", 33, says=f"{flag}-ranks: found 33, expected at most 32, the ranks of the job")

    def test_curve_cut_in_the_middle(self):
        whole = sorted((ROOT / "configs/curves").glob("*.txtpb"))[0].read_text()
        with tempfile.TemporaryDirectory() as d:
            cut = pathlib.Path(d) / "cut.curve.txtpb"
            cut.write_text(whole[: len(whole) // 2])
            line = self.refused("--config", FLAGSHIP, "--curves", cut, says="cut.curve.txtpb")
            self.assertRegex(line, r"cut\.curve\.txtpb:\d+")

    def test_cost(self):
        base = ["cost", "collective", "--system", "dgx_a100_80gb", "--kind", "all_reduce", "--nodes", "2", "--gpus-per-node", "8", "--csv", "-"]
        self.refused(*base, "--bytes", "1e19")
        self.refused(*base, "--bytes", "-4")
        self.refused(*base, "--bytes", "0.3")
        self.refused(*base, "--bytes", "")
        self.refused(*[a if a != "all_reduce" else "all_redcue" for a in base], "--bytes", "8", says="all_reduce")
        self.refused("cost", "op", "--input", "/nonexistent.csv", "--csv", "-")

    def test_sweep(self):
        self.refused("sweep", "--config", FLAGSHIP, "--set", "cluster.nodes=")
        self.refused("sweep", "--config", FLAGSHIP, "--set", "cluster.nodes=1,,2")
        self.refused("sweep", "--config", FLAGSHIP, "--set", "cluster.nodes=1,2", "--set", "cluster.nodes=4,8", says="twice")
        self.refused("sweep", "--config", FLAGSHIP, "--set", "cluster.nodes=1,2", "--set", "cluster.nodes=4", says="twice")
        self.refused("sweep", "--config", FLAGSHIP, "--set", "cluster.nodes=4", "--set", "cluster.nodes=1,2", says="twice")
        self.refused("sweep", "--config", "/nonexistent.yaml", "--set", "cluster.nodes=1,2")


if __name__ == "__main__":
    unittest.main(verbosity=1)
