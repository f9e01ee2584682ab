#!/usr/bin/env python3
"""Serving experiments as a user calls them: sweeps, journals, requests as lines, and the scripts that draw from them.

usage: serving_cli_test.py DISTSIM
"""
import csv
import gzip
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
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
            alone = self.run_distsim("serving", "--config", self.config, "--set", f"load.rate_per_s={row['load.rate_per_s']}", "--set",
                                     f"batching.size={row['batching.size']}", "--set", f"policies=[{row['policy']}]", "--csv", "-").stdout
            all_models = next(csv.DictReader(alone.splitlines()))
            for column in ("requests", "mean_ms", "p99_ms", "goodput_per_s", "violations", "batches"):
                self.assertEqual(row[column], all_models[column], (row, column))

    def test_what_an_interruption_cut_is_begun_again(self):
        axes = ("--config", str(ROOT / "configs/serving/two_gpus.yaml"), "--set", "load.rate_per_s=100,200,400,800", "--set", "batching.size=1,2,4")
        whole, again, journal = self.path("whole.csv"), self.path("again.csv"), self.path("cut")
        self.run_distsim("sweep", *axes, "--csv", whole)
        held = 0
        for delay in (0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 3.0):  # a slow machine begins later
            if os.path.exists(journal):
                os.remove(journal)
            run = subprocess.Popen([BINARY, "sweep", *axes, "--csv", again, "--journal", journal], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            run.terminate()
            if run.wait() == 0 or not os.path.exists(journal):
                continue  # it was over, or had not begun
            held += 1
            self.run_distsim("sweep", *axes, "--csv", again, "--journal", journal, "--resume")
            self.assertEqual(pathlib.Path(again).read_text(), pathlib.Path(whole).read_text(), delay)
            if held == 3:
                break
        self.assertGreater(held, 0, "no run was interrupted after it had begun")

    def test_threads_and_journals_change_nothing(self):
        plain = self.rows("--jobs", "1")
        journal = self.path("j")
        self.assertEqual(plain, self.rows("--jobs", "4", "--journal", journal))
        self.assertEqual(plain, self.rows("--journal", journal, "--resume"))
        other = self.run_distsim("sweep", "--config", self.config, "--set", "load.rate_per_s=1,2", "--journal", journal, "--resume", code=2)
        self.assertIn("--set", other.stderr)

    def test_a_journal_is_of_the_files_as_they_were(self):
        """Of those that --set, an axis or a name reaches, too."""
        configs = pathlib.Path(self.path("configs")) / "devices"
        configs.mkdir(parents=True)
        device = configs / "rtx_2060.yaml"
        device.write_text((ROOT / "configs/devices/rtx_2060.yaml").read_text(encoding="utf-8"), encoding="utf-8")
        tables = {name: pathlib.Path(self.path(name)) for name in ("a.csv", "b.csv")}
        for table in tables.values():
            table.write_text("model,gpu,batch,layer,time_us\nm,a,1,0,1000\nm,a,1,1,1000\n", encoding="utf-8")
        a, b = (str(table) for table in tables.values())
        pathlib.Path(self.config).write_text(EXPERIMENT.replace("name: a,", "name: a, device: rtx_2060,").replace(", max_batch: 4", "") + f"times: [{a}]\n", encoding="utf-8")

        def swept(number, *words, code=0):
            r = subprocess.run([BINARY, "sweep", "--config", self.config, *words, "--journal", self.path(f"j{number}"), "--resume", "--csv", "-"],
                               capture_output=True, text=True, timeout=300, cwd=ROOT, env={**os.environ, "DISTSIM_CONFIGS": str(configs.parent)})
            self.assertEqual(r.returncode, code, r.stderr)
            return r.stderr

        studies = [("--set", f"times=[{b}]", "--set", "load.rate_per_s=100,200"), ("--set", f"times=[{a}],[{b}]"), ("--set", f"times.0={a},{b}")]
        for number, words in enumerate(studies):
            swept(number, *words)
        tables["b.csv"].write_text("model,gpu,batch,layer,time_us\nm,a,1,0,2000\nm,a,1,1,1000\n", encoding="utf-8")
        for number, words in enumerate(studies):
            self.assertRegex(swept(number, *words, code=2), "a journal of another study: configuration file .*b.csv: found")
        swept(9, "--set", "load.rate_per_s=100,200")
        device.write_text(device.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")
        self.assertIn("configuration files in devices: found", swept(9, "--set", "load.rate_per_s=100,200", code=2))

    def test_an_edit_while_it_plays_changes_nothing(self):
        words = ["sweep", "--config", self.config, "--jobs", "1", "--set", "load.requests=20000", "--set", "load.rate_per_s=100,101,102,103", "--csv"]
        whole = self.run_distsim(*words, "-").stdout
        journal = pathlib.Path(self.path("edited.j"))
        with subprocess.Popen([BINARY, *words, self.path("edited.csv"), "--journal", journal], stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and not (journal.exists() and journal.stat().st_size > 0):
                time.sleep(0.001)
            text = pathlib.Path(self.config).read_text(encoding="utf-8")
            pathlib.Path(self.config).write_text(text.replace("deadline: ", "deadline: 0.00"), encoding="utf-8")
        self.assertNotEqual(text, pathlib.Path(self.config).read_text(encoding="utf-8"))
        self.assertEqual(pathlib.Path(self.path("edited.csv")).read_text(encoding="utf-8"), whole)

    def test_the_table_is_printed_where_a_file_cannot_be_written(self):
        def limit():  # of a file's bytes; what is printed goes to a pipe
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 9, 1 << 9))
        words = [BINARY, "sweep", "--config", self.config, *self.AXES]
        table = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        for flag in ("--csv", "--html"):
            r = subprocess.run([*words, flag, self.path("o")], capture_output=True, text=True, preexec_fn=limit)
            self.assertEqual((r.returncode, r.stdout), (2, table), flag)
            self.assertIn("/o: cannot write", r.stderr)
            self.assertEqual(os.listdir(self.folder.name), ["x.yaml"])

    def test_standard_output_by_any_name_is_not_shared_with_the_table(self):
        for flag in ("--csv", "--html"):
            by_dash, by_name = (self.run_distsim("sweep", "--config", self.config, *self.AXES, flag, name).stdout for name in ("-", "/dev/stdout"))
            self.assertEqual(by_name, by_dash, flag)

    def test_a_point_that_is_refused_keeps_its_row(self):
        rows = list(csv.DictReader(self.run_distsim("sweep", "--config", self.config, "--set", "load.rate_per_s=200,-1", "--csv", "-").stdout.splitlines()))
        self.assertIn("load.rate_per_s: found '-1'", rows[-1]["error"])
        self.run_distsim("sweep", "--config", self.config, "--set", "load.rate_per_s=-1,-2", code=2)


    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_processes_of_mpirun_share_the_points(self):
        if not (pathlib.Path(BINARY).parent / "libdistsim_mpi.so").exists():
            self.skipTest("no libdistsim_mpi.so")
        plain = self.run_distsim("sweep", "--config", self.config, *self.AXES, "--csv", "-").stdout
        table = self.path("mpi.csv")
        r = subprocess.run(["mpirun", "--oversubscribe", "-n", "4", BINARY, "sweep", "--config", self.config, *self.AXES, "--csv", table], cwd=ROOT,
                           capture_output=True, text=True, timeout=300,
                           env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(pathlib.Path(table).read_text(encoding="utf-8"), plain)

    def test_names_settings_without_effect(self):
        r = self.run_distsim("sweep", "--config", self.config, "--set", "load.rate_per_s=100,200", "--set", "load.cv=2", "--set", "gpus.0.box_latency=1 us,2 us",
                             "--set", "models.0.table_name=x,y", "--set", "policies=[fifo]", "--csv", "-")
        self.assertEqual(sorted(line.removeprefix("distsim: ") for line in r.stderr.splitlines()),
                         ["--set gpus.0.box_latency: no effect, all GPUs are in one box", "--set load.cv: no effect, it is of kind gamma",
                          "--set models.0.table_name: no effect, there are no tables of times"])
        r = self.run_distsim("sweep", "--config", self.config, "--set", "models.0.deadline=5 ms,9 ms", "--set", "gpus.0.speed=1,1.0", "--csv", "-")
        self.assertEqual(r.stderr.strip(), "distsim: --set gpus.0.speed: no effect, the experiment is the same with all its values")

    def idle(self, *sets):
        words = [word for text in sets for word in ("--set", text)]
        r = self.run_distsim("sweep", "--config", self.config, *words, "--csv", "-")
        return [line.removeprefix("distsim: ") for line in r.stderr.splitlines()]

    def test_what_has_an_effect_at_any_point_is_not_named(self):
        """Not only where the other keys have their first values, nor at the first and the last point alone."""
        alone = "--set batching.size: no effect, no policy batches"
        self.assertEqual(self.idle("policies=[fifo],[dynamic_batching]", "batching.size=1,8"), [])
        self.assertEqual(self.idle("policies=[dynamic_batching],[fifo]", "batching.size=1,8"), [])
        self.assertEqual(self.idle("policies=[fifo],[sjf]", "batching.size=1,8"), [alone])
        self.assertEqual(self.idle("policies=[fifo],[dynamic_batching],[sjf]", "batching.size=2"), [])
        self.assertEqual(self.idle("policies=[fifo],[sjf]", "batching.size=4"), [alone])
        self.assertEqual(self.idle("policies=[fifo],[sjf]", "load.requests=2000"), ["--set load.requests=2000: no effect, the experiment is the same without it"])
        self.assertEqual(self.idle("load.rate_per_s=800,900", "gpus.0.speed=1,1.0"),
                         ["--set gpus.0.speed: no effect, the experiment is the same with all its values"])
        pathlib.Path(self.config).write_text(EXPERIMENT.replace("{name: n,", "{name: n, priority: 3,"), encoding="utf-8")
        self.assertEqual(self.idle("policies=[fifo],[priority],[sjf]"), [])
        self.assertRegex(" ".join(self.idle("load.rate_per_s=900,800", "policies=[fifo]")), r"models\[1\].priority: no effect")

    def test_a_sweep_of_many_points_says_nothing_untrue(self):
        self.assertEqual(self.idle("load.requests=1", "policies=[fifo]", "load.rate_per_s=1..100", "load.seed=1..41", "batching.size=4"), [])

    def test_no_two_columns_have_one_name(self):
        """A swept key and what is counted may both be of requests."""
        words = ("sweep", "--config", self.config, "--set", "load.requests=100,200", "--set", "policies=[fifo]")
        header, *rows = csv.reader(self.run_distsim(*words, "--csv", "-").stdout.splitlines())
        self.assertEqual(len(set(header)), len(header))
        self.assertEqual([dict(zip(header, row))["load.requests"] for row in rows], ["100", "200"])
        self.assertEqual([row[header.index("requests")] for row in rows], ["100", "200"])
        page = self.run_distsim(*words, "--html", "-").stdout
        self.assertIn('"name":"load.requests"', page)

    def test_several_rates_are_told_apart(self):
        words = ("sweep", "--config", self.config, "--set", "run.rates_per_s=[100,200]", "--set", "gpus.0.speed=1,2", "--set", "policies=[fifo]")
        rows = list(csv.DictReader(self.run_distsim(*words, "--csv", "-").stdout.splitlines()))
        self.assertEqual([row["offered_per_s"] for row in rows], ["100", "200"] * 2)
        text = self.run_distsim(*words).stdout
        self.assertIn("offered/s", text.splitlines()[0])
        self.assertRegex(text.splitlines()[2], r"fifo +200 ")

    def test_policies_over_the_speed_ratio_of_the_gpus(self):
        config = "configs/serving/two_gpus.yaml"
        rows = list(csv.DictReader(self.run_distsim("sweep", "--config", config, "--set", "gpus.1.speed=0.5,1,2", "--set", "load.rate_per_s=200,400",
                                                    "--set", "load.requests=1000", "--set", "policies=[fifo,scoring]", "--csv", "-").stdout.splitlines()))
        self.assertEqual(len(rows), 3 * 2 * 2)
        fifo = [float(row["mean_ms"]) for row in rows if row["policy"] == "fifo" and row["load.rate_per_s"] == "400"]
        self.assertEqual(fifo, sorted(fifo, reverse=True))


class Sensitivities(Folder):
    def table(self, *words):
        text = self.run_distsim("sensitivity", "--config", self.config, "--set", "policies=[fifo]", *words, "--csv", "-").stdout
        return {(row["resource"], row["factor"]): row for row in csv.DictReader(text.splitlines())}

    def test_what_helps(self):
        table = self.table()
        self.assertLess(float(table["gpu_speed", "2"]["delta_percent"]), -40)
        self.assertGreater(float(table["gpu_speed", "0.9"]["delta_percent"]), 0)
        self.assertLess(float(table["gpu_count", "2"]["delta_percent"]), 0)
        self.assertLess(float(table["load", "2"]["delta_percent"]), 0)
        self.assertLess(float(table["gpu_speed", "2"]["elasticity"]), -1)
        self.assertEqual(float(table["host_bandwidth", "2"]["delta_percent"]), 0)  # nothing is copied
        self.assertIn("changes nothing", table["gpu_count", "0.9"]["error"])  # of two GPUs nine tenths are two
        self.assertEqual(table["gpu_count", "2"]["elasticity"], "")
        self.assertEqual(table["slots", "0.5"]["delta_percent"], "")
        self.assertIn("without limit", table["gpu_count", "inf"]["error"])
        self.assertIn(("policy", "sjf"), table)

    def test_gpus_of_placed_models(self):
        """Further GPUs have the models of those that are there; where none is left for a model, that is said."""
        pathlib.Path(self.config).write_text(
            "gpus: [{name: a, count: 2}, {name: b}]\nmodels: [{name: m, layer_times: [3 ms], placed_on: [a0, a1]}, {name: n, layer_times: [1 ms], placed_on: [a1, b]}]\n"
            "load: {rate_per_s: 700, requests: 2000}\npolicies: [fifo]\n", encoding="utf-8")
        table = self.table("--resource", "gpu_count,gpu_count:b", "--factors", "0.5,2,4")
        self.assertLess(float(table["gpu_count", "2"]["delta_percent"]), 0)
        self.assertLess(float(table["gpu_count", "4"]["delta_percent"]), float(table["gpu_count", "2"]["delta_percent"]))
        self.assertEqual(table["gpu_count:b", "2"]["error"], "")
        self.assertEqual(table["gpu_count", "0.5"]["error"], "")
        pathlib.Path(self.config).write_text(
            "gpus: [{name: a, count: 2}]\nmodels: [{name: m, layer_times: [3 ms], placed_on: [a1]}]\nload: {rate_per_s: 100, requests: 2000}\npolicies: [fifo]\n",
            encoding="utf-8")
        self.assertIn("leaves no GPU that m is placed on", self.table("--resource", "gpu_count", "--factors", "0.5,2")["gpu_count", "0.5"]["error"])

    def test_says_why_a_larger_number_changes_nothing(self):
        """Rounding is not the reason where the times of the models end."""
        words = ("--set", "policies=[dynamic_batching]", "--resource", "batch_size", "--resource", "slots", "--factors", "1.1,4")
        table = self.table(*words, "--set", "batching.size=4")
        self.assertEqual(table["batch_size", "4"]["error"], "changes nothing: no model takes batches of more than 4")
        self.assertEqual(table["slots", "1.1"]["error"], "changes nothing: a whole number stays what it is")

    def test_points_are_runs_of_their_own(self):
        """With one seed's changes taken apart: the same figures as runs with the key changed, at the same warm-up."""
        fixed = ("--set", "run.warm_up=0")
        speed = self.table(*fixed, "--resource", "gpu_speed", "--factors", "2")["gpu_speed", "2"]
        means = []
        for seed in range(1, 6):
            row = next(csv.DictReader(self.run_distsim("serving", "--config", self.config, "--set", "policies=[fifo]", *fixed, "--set", f"load.seed={seed}",
                                                       "--set", "gpus.0.speed=2", "--csv", "-").stdout.splitlines()))
            means.append(float(row["p99_ms"]))
        self.assertAlmostEqual(float(speed["p99_ms"]), sum(means) / 5, places=5)

    def test_times_beyond_the_longest_run_are_refused(self):
        """A factor on a time does not leave the range of times: a point that needs more than the longest run says so."""
        trace = pathlib.Path(self.path("t.csv"))
        pathlib.Path(self.config).write_text(
            "gpus: [{name: a}]\nmodels: [{name: m, layer_times: [3 ms]}]\nload: {kind: trace, file: t.csv}\nrun: {warm_up: 0}\npolicies: [fifo]\n", encoding="utf-8")
        for last in ("4.1", "9.3", "20", "100"):
            trace.write_text(f"arrival_s,model\n0,m\n{last},m\n", encoding="utf-8")
            table = self.table("--resource", "load", "--factors", "2,1e5,inf")
            self.assertEqual(table["load", "2"]["error"], "")
            self.assertIn("the run goes on after 4e+06 s", table["load", "inf"]["error"], last)

    def test_a_longer_delay_does_not_help(self):
        """Nor does one that is longer than any run, where batches are full before."""
        words = ("sensitivity", "--config", "configs/serving/two_gpus.yaml", "--set", "policies=[dynamic_batching]", "--set", "load.requests=300",
                 "--set", "load.rate_per_s=100", "--set", "batching.delay=10 s", "--set", "batching.size=2", "--resource", "batch_delay",
                 "--factors", "1e-6,1e-3", "--csv", "-")
        rows = {row["factor"]: row for row in csv.DictReader(self.run_distsim(*words).stdout.splitlines())}
        for factor in ("1e-06", "0.001"):
            if rows[factor]["error"]:
                self.assertIn("the run goes on after 4e+06 s", rows[factor]["error"])
            else:
                self.assertGreaterEqual(float(rows[factor]["delta_percent"]), 0)

    def gains(self, *words):
        """The lines of what would raise the goodput."""
        text = self.run_distsim("sensitivity", "--config", self.config, "--set", "policies=[fifo]", *words).stdout
        return text.split("What would raise the goodput most\n")[1].split("\n\n")[0]

    def test_less_of_a_lever_may_be_better(self):
        """Requests that come more often raise the goodput: what the table shows is not nothing that was tried."""
        self.assertRegex(self.gains("--resource", "load"), r"^  0\.5x time between requests: \+\d+")
        self.assertEqual(self.gains("--resource", "load", "--factors", "2"), "  nothing that was tried, by more than its interval")
        self.assertRegex(self.gains("--resource", "load", "--factors", "0.8,1.5"), r"^  0\.8x time between requests: \+\d+")

    def test_a_goodput_of_nothing_has_gains(self):
        pathlib.Path(self.config).write_text(
            "gpus: [{name: a}]\nmodels: [{name: m, layer_times: [3 ms], deadline: 2 ms}]\nload: {rate_per_s: 50, requests: 2000}\npolicies: [fifo]\n",
            encoding="utf-8")
        self.assertRegex(self.gains("--resource", "gpu_speed"), r"^  2x GPU speed: 0 -> \d+")

    def test_what_does_not_count_is_named(self):
        """Further rates and policies of the lists, and the confidence of latencies."""
        def said(*words):
            return self.run_distsim("sensitivity", "--config", self.config, "--factors", "0.5", *words).stderr
        lists = said("--resource", "load", "--set", "run.rates_per_s=[200,400]", "--set", "run.confidence=0.9")
        self.assertIn("--set run.rates_per_s: only the first counts here\n", lists)
        self.assertIn("x.yaml:4:11: policies: only the first counts here\n", lists)
        self.assertIn("--set run.confidence: no effect", lists)
        self.assertIn("--set policies: only the first counts here\n", said("--resource", "load", "--set", "policies=[sjf,fifo]"))
        self.assertIn("policies: only the first counts here; all of", said("--resource", "load,policy"))
        self.assertIn("--set batching.size: no effect, no policy batches", said("--resource", "load", "--set", "batching.size=2"))
        self.assertNotIn("batching.size", said("--resource", "load,policy", "--set", "batching.size=2"))
        self.assertNotIn("only the first", said("--resource", "load", "--set", "policies=[fifo]", "--set", "run.rates_per_s=[200]"))

    def test_outputs_agree(self):
        words = ("sensitivity", "--config", self.config, "--set", "policies=[fifo]", "--resource", "gpu_speed,policy", "--factors", "0.5,2")
        data = json.loads(self.run_distsim(*words, "--json", "-").stdout)
        table = self.table("--resource", "gpu_speed,policy", "--factors", "0.5,2")
        self.assertEqual([p["factor"] for p in data["resources"][0]["points"]], [0.5, 2])
        self.assertAlmostEqual(data["resources"][0]["points"][1]["p99_ms"], float(table["gpu_speed", "2"]["p99_ms"]), places=5)
        self.assertEqual(len(data["policies"]) + 2, len(table))
        text = self.run_distsim(*words).stdout
        self.assertIn("What would shorten the 99th percentile most", text)
        self.assertIn("2x GPU speed: -", text)
        page = self.path("s.html")
        self.run_distsim(*words, "--html", page)
        self.assertIn("GPU speed", pathlib.Path(page).read_text(encoding="utf-8"))
        r = self.run_distsim("sensitivity", "--config", self.config, "--resource", "gpu_sped", code=2)
        self.assertIn("did you mean 'gpu_speed'", r.stderr)


class Branches(Folder):
    DIAMOND = ("gpus: [{name: a, count: 2}]\n"
               "models: [{name: m, layer_times: [1 ms, 4 ms, 3 ms, 1 ms], after: [[], 0, 0, [1, 2]], sm_demand: 0.5}]\n"
               "load: {kind: constant, rate_per_s: 10, requests: 20}\npolicies: [fifo, branch_fifo, branch_scoring]\n")

    def latencies(self, *words):
        pathlib.Path(self.config).write_text(self.DIAMOND, encoding="utf-8")
        rows = csv.DictReader(self.run_distsim("serving", "--config", self.config, *words, "--csv", "-").stdout.splitlines())
        return [round(float(row["mean_ms"]), 6) for row in rows if row["model"] == "all"]

    def test_on_streams_and_on_gpus(self):
        self.assertEqual(self.latencies(), [9, 6, 6])
        self.assertEqual(self.latencies("--set", "gpus.0.streams=2"), [6, 6, 6])

    def test_captured_graphs_have_branches(self):
        words = ("serving", "--config", "configs/serving/zoo.yaml", "--set", "policies=[fifo]", "--set", "load.requests=200", "--set", "gpus.0.streams=4", "--csv", "-")
        streams = next(row for row in csv.DictReader(self.run_distsim(*words).stdout.splitlines()) if row["model"].startswith("googlenet"))
        self.assertGreater(float(streams["mean_ms"]), 0)

    def test_wrong_graphs(self):
        for value, line in (("[[],1,0,[1,2]]", "models[0].after[1]: found '1', expected a layer before it, from 0 to 0"),
                            ("[[0],0,0,[1,2]]", "models[0].after[0][0]: found '0', expected no layer, as none is before layer 0"),
                            ("[[],0]", "after: found 2 values, expected one for each of layer_times")):
            pathlib.Path(self.config).write_text(self.DIAMOND, encoding="utf-8")
            r = self.run_distsim("serving", "--config", self.config, "--set", f"models.0.after={value}", code=2)
            self.assertIn(line, r.stderr)
        r = self.run_distsim("serving", "--config", self.config, "--set", "gpus.0.streams=2", "--set", "gpus.0.execution=pipeline", code=2)
        self.assertIn("streams: found it with execution: pipeline", r.stderr)


class BadInput(Folder):
    """Each line of bad input: exit code 2, one line, where it is."""

    def refused(self, line, *sets):
        r = self.run_distsim("serving", "--config", self.config, *(word for one in sets for word in ("--set", one)), code=2)
        self.assertRegex(r.stderr, line)
        self.assertEqual(len(r.stderr.strip().splitlines()), 1, r.stderr)

    def arrivals(self, text):
        path = self.path("arrivals.csv")
        pathlib.Path(path).write_text(text, encoding="utf-8")
        return (f"load={{kind: trace, file: {path}}}",)

    def test_load_above_capacity(self):
        r = self.run_distsim("serving", "--config", self.config, "--set", "load.rate_per_s=5000", "--set", "policies=[fifo]")
        self.assertRegex(r.stdout, "unstable")
        self.assertRegex(r.stdout, r"fifo at 5000/s: load above capacity, saturates at 1\d\d\d requests/s")
        self.refused("load above capacity, 5000 requests/s arrive and at most 1143 can be served", "load.rate_per_s=5000", "policies=[fifo]",
                     "run.max_in_system=100")
        table = self.run_distsim("serving", "--config", self.config, "--set", "load.rate_per_s=5000", "--set", "policies=[fifo]", "--csv", "-")
        self.assertRegex(table.stderr, "load above capacity, saturates at")
        row = next(csv.DictReader(table.stdout.splitlines()))
        self.assertEqual(row["unstable"], "1")
        self.assertAlmostEqual(float(row["saturates_at_per_s"]), 1143, delta=40)

    def test_a_model_that_fits_no_gpu(self):
        self.refused("models\\[0\\].weights: found 20 GiB, expected at most the 6 GiB of a0", "models.0.weights=20 GiB", "gpus.0.memory=6 GiB")
        self.refused("models\\[0\\].name: found 'm' without times for any GPU",
                     "models=[{name: m, graph: " + str(ROOT / "configs/serving/models/alexnet.graph") + "}]")

    def test_batches_of_0(self):
        self.refused("batching.size: found '?0'?, expected", "batching.size=0")
        self.refused("models\\[0\\].max_batch: found '?0'?, expected", "models.0.max_batch=0")

    def test_arrivals(self):
        self.refused("arrivals.csv:4: .*found '?0.5'?.*ascending", *self.arrivals("arrival_s\n0\n1\n0.5\n"))
        self.refused("arrivals.csv:2: .*'?-1'?", *self.arrivals("arrival_s\n-1\n"))
        self.refused("arrivals.csv", *self.arrivals("arrival_s,model\n0,m\n1"))
        self.refused("arrivals.csv", *self.arrivals("arrival_s\n"))
        self.refused("arrivals.csv", *self.arrivals(""))
        self.refused("arrivals.csv:2: .*'?x'?", *self.arrivals("arrival_s,model\n0,x\n"))
        for text, is_cut in (("arrival_s\n0\n1.2", True), ("arrival_s\n0\n1.25\n", False)):
            said = self.run_distsim("serving", "--config", self.config, "--set", *self.arrivals(text), "--set", "policies=[fifo]").stderr
            self.assertEqual("arrivals.csv: the last line has no end; if the file was cut" in said, is_cut, said)

    def test_what_is_not_priced_by_models_is_named(self):
        graph = json.loads(gzip.decompress((ROOT / "configs/serving/models/alexnet.graph").read_bytes()))
        path = pathlib.Path(self.path("m.graph"))
        models = f"models=[{{name: m, graph: {path}}}]"
        for op, is_named in (("aten::convolution", False), ("aten::convolutoin", True)):
            for node in graph["nodes"]:
                node["op"] = op if node["op"] == "aten::convolution" else node["op"]
            path.write_text(json.dumps(graph))
            said = self.run_distsim("serving", "--config", self.config, "--set", models, "--set", "gpus=[{name: a, device: rtx_2060}]",
                                    "--set", "policies=[fifo]", "--set", "load.requests=10").stderr
            self.assertEqual("estimated from bytes: aten::convolutoin x5" in said, is_named, said)

    def test_tables_of_times_that_may_be_cut_are_named(self):
        table = pathlib.Path(self.path("t.csv"))
        for end, is_cut in (("4.5\n", False), ("4.", True)):
            table.write_text("model,gpu,batch,layer,time_us\nm,a,1,fc," + end)
            said = self.run_distsim("serving", "--config", self.config, "--set", f"times=[{table}]", "--set", "models=[{name: m}]",
                                    "--set", "gpus=[{name: a}]", "--set", "policies=[fifo]", "--set", "load.requests=10").stderr
            self.assertEqual("t.csv: the last line has no end; if the file was cut" in said, is_cut, said)

    def test_starvation(self):
        source = self.path("forgets.cpp")
        pathlib.Path(source).write_text(
            '#include "distsim_policy.hpp"\nusing namespace serving_policy;\nstruct P : Policy {\n  std::vector<std::uint32_t> waiting;\n'
            '  std::uint32_t arrived(const State& s, std::uint32_t id) override { if (s.request(id).model == 0) waiting.push_back(id); return kAny; }\n'
            '  Work next(const State&, std::uint32_t) override { if (waiting.empty()) return {}; auto id = waiting.back(); waiting.pop_back(); return {{id}}; }\n'
            '};\nextern "C" Policy* distsim_create_policy(int) { return new P; }\n', encoding="utf-8")
        library = self.path("forgets.so")
        subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", "-I", ROOT / "sim/serving/policies/library", "-o", library, source], check=True)
        self.refused("policy forgets: request \\d+ of n waits since .* though every GPU that may execute it had no work for more than 12 s of that "
                     "\\(1000 times what the longest model takes\\); run.max_wait", f"policies=[{library}]", "load.requests=100000")
        code = pathlib.Path(library).read_bytes()
        said = self.run_distsim("serving", "--config", self.config, "--set", f"policies=[{library}, fifo]", "--set", "load.requests=10",
                                "--csv", library, code=2).stderr
        self.assertIn("a file that this command reads", said)
        self.assertEqual(pathlib.Path(library).read_bytes(), code, "the library is as it was")
        self.refused("policy fifo: request \\d+ of \\w waits since .* expected a wait of at most 1 ms", "run.max_wait=1 ms", "policies=[fifo]", "load.rate_per_s=2000")


class Shipped(Folder):
    def test_every_experiment_writes_every_output(self):
        for config in sorted((ROOT / "configs/serving").glob("*.yaml")):
            with self.subTest(config=config.name):
                files = {flag: self.path(config.stem + end) for flag, end in (("--csv", ".csv"), ("--json", ".json"), ("--html", ".html"), ("--timeline", ".pftrace"))}
                # One with all its requests, of which not all pieces of work are in the timeline.
                whole = config.stem == "two_gpus"
                sets = ("--set", "load.requests=500") if "requests" in config.read_text(encoding="utf-8") and not whole else ()
                said = self.run_distsim("serving", "--config", config, *sets, *(word for pair in files.items() for word in pair)).stderr
                self.assertEqual("the first 500000 pieces of work of layer_preemptive are in it, up to " in said, whole, said)
                self.assertGreater(len(list(csv.DictReader(pathlib.Path(files["--csv"]).read_text(encoding="utf-8").splitlines()))), 0)
                self.assertGreater(len(json.loads(pathlib.Path(files["--json"]).read_text(encoding="utf-8"))["points"]), 0)
                self.assertIn("</html>", pathlib.Path(files["--html"]).read_text(encoding="utf-8"))
                self.assertGreater(os.path.getsize(files["--timeline"]), 100)

    def test_resources(self):
        data = json.loads(self.run_distsim("serving", "--config", "configs/serving/overlap.yaml", "--json", "-").stdout)
        for point in data["points"]:
            for gpu in point["gpus"]:
                for resource in ("sm", "memory", "launch"):
                    self.assertLessEqual(gpu[f"{resource}_utilisation"], 1)
        data = json.loads(self.run_distsim("serving", "--config", "configs/serving/two_gpus.yaml", "--set", "load.requests=500", "--json", "-").stdout)
        self.assertTrue(all(0 < link["utilisation"] <= 1 for point in data["points"] for link in point["links"]))


class Dashes(Folder):
    """Rows without figures say why."""

    def test_are_explained(self):
        path = self.path("arrivals.csv")
        pathlib.Path(path).write_text("arrival_s,model\n0,m\n1,m\n", encoding="utf-8")
        for line, sets in (("n: no counted request, so that it has no figures: the file of arrivals has none of it", [f"load={{kind: trace, file: {path}}}"]),
                           ("n: no counted request, so that it has no figures: its weight is 0", ["models.1.weight=0"]),
                           ("n: no counted request, so that it has no figures: its share is 0.0001 %, of 2000 requests, the first 100 not counted",
                            ["models.1.weight=1e-6", "run.warm_up=100"]),
                           ("m: all its requests were dropped, so that it has no latencies", ["models.0.deadline=0.1 ms", "run.drop_late=true"])):
            with self.subTest(line=line):
                out = self.run_distsim("serving", "--config", self.config, *(word for one in sets for word in ("--set", one))).stdout
                self.assertEqual(out.count(line), 1, out)
        self.assertNotIn("counted request", self.run_distsim("serving", "--config", self.config).stdout)


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

    def test_a_signal_is_not_the_end_of_the_input(self):
        """What there is of a line then is not taken for one, and nothing is decided as if no more came."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with subprocess.Popen([BINARY, "serving", "--config", self.config, "--set", "policies=[fifo]", "--online"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                process.stdin.write("0,m\n0.")
                process.stdin.flush()
                self.assertEqual(json.loads(process.stdout.readline())["requests"], [0])
                for _ in range(1000):  # until it waits for the rest of the line
                    if pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S":
                        break
                    time.sleep(0.01)
                time.sleep(0.2)
                process.send_signal(number)
                rest, said = process.communicate(timeout=60)
            self.assertEqual((process.returncode, rest, said), (3, "", "distsim: interrupted before the input ended\n"))

    def test_names_what_has_no_effect(self):
        """As without --online, but for what the load decides, which comes as lines."""
        words = ("serving", "--config", self.config, "--set", "policies=[fifo]", "--online")
        said = self.run_distsim(*words, "--set", "batching.size=3", "--set", "load.cv=2", "--set", "models.0.weight=2").stderr
        self.assertIn("--set batching.size: no effect, no policy batches\n", said)
        self.assertIn("--set load.cv=2: no effect, requests come as lines with --online\n", said)
        self.assertEqual(said.count("load.cv"), 1)
        self.assertNotIn("models.0.weight", said)

    def test_a_run_that_is_too_long_names_the_lines(self):
        r = self.run_distsim("serving", "--config", self.config, "--set", "policies=[fifo]", "--online", text="4e6,m\n", code=2)
        self.assertIn("the run goes on after 4e+06 s", r.stderr)
        self.assertIn("the times of the lines are how long it is", r.stderr)

    def test_names_a_bad_line(self):
        r = self.run_distsim("serving", "--config", self.config, "--set", "policies=[fifo]", "--online", text="1\n0\n", code=2)
        self.assertIn("standard input:2: found '0' after 1, expected times in ascending order", r.stderr)
        r = self.run_distsim("serving", "--config", self.config, "--online", text="", code=2)
        self.assertIn("policies: found 2, expected one", r.stderr)

    def test_input_that_cannot_be_read_is_not_an_empty_one(self):
        words = f"'{BINARY}' serving --config '{self.config}' --set 'policies=[fifo]' --online"
        for place, why in (("</", "Is a directory"), ("<&-", "Bad file descriptor"), ("</proc/self/mem", "Input/output error")):
            r = subprocess.run(f"{words} {place}", shell=True, capture_output=True, text=True, timeout=100)
            self.assertEqual((r.returncode, r.stdout, r.stderr), (2, "", f"distsim: standard input:1: cannot be read beyond this point ({why})\n"))

    def test_a_pipe_that_does_not_block_is_waited_for(self):
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        with subprocess.Popen([BINARY, "serving", "--config", self.config, "--set", "policies=[fifo]", "--online"], stdin=ours,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            time.sleep(0.3)  # until it has found nothing to read
            os.write(theirs, b"0,m\n")
            self.assertEqual(json.loads(process.stdout.readline())["requests"], [0])
            os.close(theirs)
            self.assertIn("1 request,", process.communicate(timeout=60)[1])
        os.close(ours)
        self.assertEqual(process.returncode, 0)


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
