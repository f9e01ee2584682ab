#!/usr/bin/env python3
"""No output destroys an input or another output: every command with every flag that writes, by the file's name, through links, through
the folder, and twice to one file.

outputs_test.py DISTSIM
"""
import concurrent.futures
import os
import pathlib
import pty
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from jobs import CASES, FORMATS, LOG, OPS, ROOT, TINY, TWO_RANKS

BINARY = sys.argv.pop(1)
FLAGSHIP = str(ROOT / "configs/dgx_a100_4node.yaml")
LAYERS = str(ROOT / "configs/megatron_gpt_7_5b.yaml")
TABLES = str(ROOT / "configs/dlrm_skewed_2node.yaml")

# Every command with an output, {o} for the file that it writes, {i} for a file that it reads; and what the input is made from.
EXPERIMENT, TRACE = TINY, str(FORMATS / "kineto.json")
READERS = [
    ("--config {i} --json {o}", EXPERIMENT), ("--config {i} --csv {o}", EXPERIMENT), ("--config {i} --html {o}", EXPERIMENT),
    ("--config {i} --timeline {o}", EXPERIMENT), ("--config F --curves {i} --json {o}", LOG), ("sweep --config {i} --set cluster.nodes=1,2 --csv {o}", EXPERIMENT),
    ("sensitivity --config {i} --csv {o}", EXPERIMENT), ("sensitivity --config {i} --json {o}", EXPERIMENT), ("sensitivity --config {i} --html {o}", EXPERIMENT),
    ("compare {i} T --csv {o}", EXPERIMENT), ("compare T {i} --html {o}", EXPERIMENT), ("validate --cases {i} --csv {o}", "cases"),
    ("validate --cases {i} --plot {o}", "cases"), ("cost op --input {i} --csv {o}", "ops"),
    ("cost collective --system dgx_a100_80gb --kind all_reduce --nodes 2 --bytes 8 --curve {i} --csv {o}", LOG),
    ("cost collective --system {i} --kind all_reduce --nodes 2 --bytes 8 --csv {o}", "system"),
    ("calibrate features --input {i} --kernel product16 --csv {o}", "ops"), ("curves import {i} --system dgx_a100_80gb --date 2026-01-02 --out {o}", LOG),
    ("curves plan --config {i} --out {o}", EXPERIMENT), ("profile {i} --csv {o}", TRACE), ("profile {i} --json {o}", TRACE), ("replay {i} --csv {o}", TRACE),
    ("replay {i} --json {o}", TRACE), ("replay {i} --timeline {o}", TRACE), ("replay {i} --config T --json {o}", str(FORMATS / "chakra.0.et")),
    ("hugectr timeline {i} --json {o}", str(FORMATS / "host.prof.json")), ("hugectr timeline {i} --svg {o}", str(FORMATS / "host.prof.json")),
    ("hugectr scaling --run a={i} --csv {o}", str(FORMATS / "host.prof.json")), ("hugectr scaling --run a={i} --svg {o}", str(FORMATS / "host.prof.json")),
    ("hugectr schedule {i} --out {o}", "events"),
]
ENDING = {EXPERIMENT: ".yaml", TRACE: ".json", LOG: ".txt", "cases": ".csv", "ops": ".csv", "system": ".yaml", "events": ".json"}
MADE = {"cases": CASES, "ops": OPS, "system": (ROOT / "configs/systems/dgx_a100_80gb.yaml").read_text(),
        "events": '{"L": {"forward_events": ["a_start", "a_stop"], "backward_events": []}}'}

# Two flags that write, {a} and {b}.
PAIRS = ["--config T --json {a} --csv {b}", "--config T --html {a} --timeline {b}", "sensitivity --config T --csv {a} --json {b}",
         "sensitivity --config T --json {a} --html {b}", "compare T T2 --csv {a} --html {b}", "validate --cases C --csv {a} --plot {b}",
         "profile K --csv {a} --json {b}", "replay K --csv {a} --json {b}", "hugectr timeline H --json {a} --svg {b}",
         "hugectr scaling --run a=H --csv {a} --svg {b}"]


# Every kind of command, {o} for a file among those of the configuration: some read it, some only later runs would.
ANYWHERE = ["--config T --json {o}", "sweep --config T --set cluster.nodes=1,2 --csv {o}", "plan --config F --set cluster.nodes=1 --write {o}",
            "cost op --input O --csv {o}", "cost collective --system dgx_a100_80gb --kind all_reduce --nodes 2 --bytes 8 --csv {o}",
            "calibrate features --input O --kernel product16 --csv {o}", "curves plan --config T --out {o}", "profile K --csv {o}",
            "validate --cases C --csv {o}", "hugectr schedule E --out {o}"]
ROOMS = ["devices/a100_sxm4_80gb.yaml", "devices/new.yaml", "systems/new.yaml", "frameworks/new.yaml", "curves/new.curve.txtpb", "op_models/new.ops",
         "op_models/a100_sxm4_80gb.ops", "op_models/new.forest", "op_models/product16.forest", "op_models/graph.correction", "collectives/nccl.yaml",
         "validation/cases.csv", "validation/overheads.csv", "validation/columns/published_iterations.yaml", "validation/columns/new.yaml"]


def tree(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def run(words, **options):
    return subprocess.run([BINARY, *words], capture_output=True, timeout=600, **options)


def names(folder: pathlib.Path, source: str) -> tuple[pathlib.Path, list]:
    """The input, and the ways to name it."""
    ending = ".json" if source not in ENDING and source.endswith(".json") else ENDING.get(source, pathlib.Path(source).suffix)
    place = folder / ("input.0.et" if source.endswith(".et") else "input" + ending)
    place.write_bytes(MADE[source].encode() if source in MADE else pathlib.Path(source).read_bytes())
    (folder / "soft.json").symlink_to(place)
    (folder / "hard.json").hardlink_to(place)
    (folder / "other").symlink_to(folder)
    return place, [place, folder / "soft.json", folder / "hard.json", folder / "other" / place.name, f"{folder}/./{place.name}", os.path.relpath(place)]


class Outputs(unittest.TestCase):
    def test_inputs_stay(self):
        def one(case):
            (template, source), number = case
            with tempfile.TemporaryDirectory() as d:
                place, ways = names(pathlib.Path(d), source)
                before = place.read_bytes(), sorted(os.listdir(d))
                words = [{"T": TINY, "F": FLAGSHIP}.get(w) or w.format(i=place, o=ways[number]) for w in template.split()]
                r = run(words)
                after = place.read_bytes(), sorted(os.listdir(d))
                by_name = "--timeline" in template and r.returncode == 2  # refused for its ending, which is as good
                if after != before or r.returncode != 2 or r.stderr.count(b"\n") != 1 or not (b"read" in r.stderr or b"found the experiment" in r.stderr or by_name):
                    return f"{template} as {ways[number]}: {r.returncode} {r.stderr!r}"
            return None
        cases = [(reader, number) for reader in READERS for number in range(6)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = [f for f in pool.map(one, cases) if f]
        self.assertEqual(found, [], f"{len(found)} of {len(cases)}\n" + "\n".join(found))

    def test_two_outputs_are_two_files(self):
        def one(template, way):
            with tempfile.TemporaryDirectory() as d:
                folder = pathlib.Path(d)
                (folder / "old.json").write_text("old")
                (folder / "soft.json").symlink_to(folder / "old.json")
                (folder / "hard.json").hardlink_to(folder / "old.json")
                (folder / "other").symlink_to(folder)
                (folder / "c.csv").write_text(CASES)
                a, b = {"same": ("new.json", "new.json"), "dot": ("new.json", "./new.json"), "folder": ("new.json", "other/new.json"),
                        "soft": ("old.json", "soft.json"), "hard": ("hard.json", "old.json"), "standard output": ("-", "-"),
                        "its name": ("-", "/dev/stdout")}[way]
                stand_ins = {"T": TINY, "T2": FLAGSHIP, "C": "c.csv", "K": TRACE, "H": str(FORMATS / "host.prof.json")}
                words = [stand_ins.get(w, w.format(a=a, b=b).replace("a=H", "a=" + stand_ins["H"])) for w in template.split()]
                r = run(words, cwd=d)
                kept = (folder / "old.json").read_text() == "old" and not (folder / "new.json").exists()
                if not kept or r.returncode != 2 or not (b"writes to" in r.stderr or b"--timeline" in r.stderr):
                    return f"{template}, {way}: {r.returncode} {r.stderr!r}"
            return None
        ways = ["same", "dot", "folder", "soft", "hard", "standard output", "its name"]
        found = [f for template in PAIRS for way in ways if (f := one(template, way))]
        self.assertEqual(found, [])

    def test_a_full_disk_leaves_all_files_of_a_command(self):
        """A limit on the size of a file stands for it, set so that all of them but the largest fit. What is printed does not depend on it."""
        jobs = [(["--config", TINY], {"--csv": "a.csv", "--json": "b.json", "--html": "c.html", "--timeline": "d.json"}),
                (["sensitivity", "--config", TINY], {"--csv": "a.csv", "--json": "b.json", "--html": "c.html"}),
                (["compare", TINY, FLAGSHIP], {"--csv": "a.csv", "--html": "c.html"}),
                (["profile", TRACE], {"--csv": "a.csv", "--json": "b.json", "--html": "c.html"}),
                (["replay", TRACE], {"--csv": "a.csv", "--json": "b.json", "--timeline": "d.json"}),
                (["replay", str(FORMATS / "chakra.0.et"), "--config", TINY], {"--csv": "a.csv", "--json": "b.json"}),
                (["hugectr", "timeline", str(FORMATS / "host.prof.json")], {"--csv": "a.csv", "--json": "b.json", "--svg": "c.svg"}),
                (["hugectr", "scaling", "--run", "a=" + str(FORMATS / "host.prof.json")], {"--csv": "a.csv", "--svg": "c.svg", "--html": "d.html"}),
                (["sweep", "--config", TINY, "--set", "cluster.nodes=1,2"], {"--csv": "a.csv", "--html": "c.html"}),
                (["plan", "--config", TABLES], {"--csv": "a.csv", "--placement": "p.csv", "--sharding-plan": "s.json", "--write": "w.yaml"}),
                (["plan", "--config", TABLES], {"--placement": "p.csv", "--write": "w.yaml"})]
        for words, files in jobs:
            with tempfile.TemporaryDirectory() as d, self.subTest(words=words):
                flags = [word for pair in files.items() for word in pair]
                whole = run([*words, *flags], cwd=d)
                self.assertEqual(whole.returncode, 0, whole.stderr)
                sizes = sorted(pathlib.Path(d, f).stat().st_size for f in files.values())
                for f in files.values():
                    pathlib.Path(d, f).write_text("old")
                r = run([*words, *flags], cwd=d, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (sizes[-1] - 1, sizes[-1] - 1)))
                self.assertEqual((r.returncode, r.stderr.count(b"File too large")), (2, 1), r.stderr)
                self.assertEqual(r.stdout, whole.stdout)  # it may be hours of work
                self.assertEqual({f: pathlib.Path(d, f).read_text() for f in files.values()}, {f: "old" for f in files.values()})
                self.assertEqual(sorted(os.listdir(d)), sorted(files.values()))

    def test_a_full_disk_leaves_no_part_of_random_tasks(self):
        words = ["generate", "dlrm", "--system", "dgx_a100_80gb", "--tasks", "12", "--out", "tasks"]
        with tempfile.TemporaryDirectory() as d:
            self.assertEqual(run(words, cwd=d).returncode, 0)
            sizes = [path.stat().st_size for path in pathlib.Path(d, "tasks").iterdir()]
            self.assertEqual(len(sizes), 12)
            shutil.rmtree(pathlib.Path(d, "tasks"))
            r = run(words, cwd=d, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (max(sizes) - 1, max(sizes) - 1)))
            self.assertEqual((r.returncode, r.stdout, r.stderr.count(b"File too large"), r.stderr.count(b"\n")), (2, b"", 1, 1), r.stderr)
            self.assertEqual(os.listdir(pathlib.Path(d, "tasks")), [])

    def test_a_journal_is_not_standard_output(self):
        """Where that is closed, the first file that is opened would be it."""
        with tempfile.TemporaryDirectory() as d:
            words = f"'{BINARY}' sweep --config '{TINY}' --set model.global_batch=64,128 --journal '{d}/j' --csv '{d}/c.csv' >&-"
            subprocess.run(words, shell=True, capture_output=True, timeout=100)
            self.assertNotIn(b"iteration ms", pathlib.Path(d, "j").read_bytes())

    def test_a_journal_is_no_terminal(self):
        ours, theirs = pty.openpty()
        for name in ("-", "/dev/stdout", "/proc/self/fd/1"):
            r = subprocess.run([BINARY, "sweep", "--config", TINY, "--set", "cluster.nodes=1,2", "--journal", name], stdout=theirs, stderr=subprocess.PIPE, timeout=100)
            self.assertEqual((r.returncode, r.stderr.count(b"found standard output, expected a file")), (2, 1), r.stderr)
        os.close(ours)
        os.close(theirs)

    def test_files_that_an_experiment_names(self):
        """Known once it is predicted: a study is refused before its work, and nothing is written."""
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(d)
            system = folder / "mine.yaml"
            system.write_text((ROOT / "configs/systems/dgx_a100_80gb.yaml").read_text())
            experiment = folder / "e.yaml"
            experiment.write_text((ROOT / "configs/dgx_a100_4node.yaml").read_text().replace("system: dgx_a100_80gb", "system: ./mine.yaml"))
            before = system.read_bytes()
            for words in (["sweep", "--config", experiment, "--set", "cluster.nodes=1,2", "--csv", folder / "new.csv", "--html", system],
                          ["plan", "--config", experiment, "--json", folder / "new.json", "--csv", system]):
                r = run([str(w) for w in words])
                self.assertEqual((r.returncode, r.stderr.count(b"\n")), (2, 1), r.stderr)
                self.assertIn(b"a file that this command reads", r.stderr)
                self.assertEqual(system.read_bytes(), before)
                self.assertEqual(sorted(os.listdir(d)), ["e.yaml", "mine.yaml"])

    def test_files_of_points_that_are_not_evaluated_here(self):
        """Those that a journal has, that an early end leaves, or that another process may take: refused before the work."""
        model = (ROOT / "configs/models/resnet50_v1_5.yaml").read_bytes()
        table = b"model,gpu,batch,layer,time_us\nm,a,1,0,1000\nm,a,1,1,1000\n"
        serving = "gpus: [{name: a}]\nmodels: [{name: m, deadline: 10 ms}]\nload: {rate_per_s: 100, requests: 50}\npolicies: [dynamic_batching, priority]\ntimes: [1.csv]\n"
        training = "cluster: {system: dgx_a100_80gb, nodes: 1}\nmodel: {name: 1.yaml, per_gpu_batch: 64}\nframework: {name: pytorch}\n"
        cases = ["cluster.system,cluster.nodes,model.name,model.per_gpu_batch,framework.name"]
        cases += [f"dgx_a100_80gb,1,./1.yaml,{batch},pytorch" for batch in range(1, 4000)] + ["dgx_a100_80gb,1,./3.yaml,64,pytorch"]
        models, batches = "model.name=1.yaml,2.yaml,3.yaml", "model.per_gpu_batch=" + ",".join(map(str, range(1, 3001)))
        for before, words, output in (
                (["sweep", "--config", "x.yaml", "--set", models, "--journal", "j"], ["--resume", "--csv", "2.yaml"], "2.yaml"),
                (["sweep", "--config", "s.yaml", "--set", "times=[1.csv],[2.csv],[3.csv]", "--journal", "j"], ["--resume", "--html", "3.csv"], "3.csv"),
                (None, ["sweep", "--config", "x.yaml", "--set", models, "--set", batches, "--jobs", "1", "--csv", "3.yaml"], "3.yaml"),
                (None, ["validate", "--cases", "c.csv", "--csv", "3.yaml"], "3.yaml")):
            with tempfile.TemporaryDirectory() as d, self.subTest(command=words[0], output=output):
                folder = pathlib.Path(d)
                for i in "123":
                    (folder / f"{i}.yaml").write_bytes(model)
                    (folder / f"{i}.csv").write_bytes(table)
                (folder / "x.yaml").write_text(training)
                (folder / "s.yaml").write_text(serving)
                (folder / "c.csv").write_text("\n".join(cases) + "\n")
                if before:
                    r = run(before, cwd=d)
                    self.assertEqual(r.returncode, 0, r.stderr)
                held = (folder / output).read_bytes()
                with subprocess.Popen([BINARY, *(before or []), *words], cwd=d, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
                    try:
                        said = process.communicate(timeout=60)[1]  # unless it is mended, it runs on
                    except subprocess.TimeoutExpired:
                        process.send_signal(signal.SIGINT)
                        said = process.communicate()[1]
                self.assertEqual((process.returncode, said.count(b"\n")), (2, 1), said)
                self.assertIn(b"a file that this command reads", said)
                self.assertEqual((folder / output).read_bytes(), held)

    def test_no_output_among_the_files_of_the_configuration(self):
        """Read lazily, while the output is made, or not at all by this command: the next prediction would break."""
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(d)
            shutil.copytree(ROOT / "configs", folder / "cfg")
            for name, text in {"ops.csv": OPS, "cases.csv": CASES, "events.json": MADE["events"]}.items():
                (folder / name).write_text(text)
            before = tree(folder)
            stand_ins = {"T": TINY, "F": FLAGSHIP, "O": "ops.csv", "C": "cases.csv", "K": TRACE, "E": "events.json"}
            environment = {**os.environ, "DISTSIM_CONFIGS": str(folder / "cfg")}

            def one(case):
                template, place = case
                r = run([stand_ins.get(w, w.format(o=f"cfg/{place}")) for w in template.split()], cwd=d, env=environment)
                if r.returncode != 2 or r.stderr.count(b"\n") != 1 or b" read, expected one elsewhere" not in r.stderr and b"command reads" not in r.stderr:
                    return f"{template} to {place}: {r.returncode} {r.stderr!r}"
                return None
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                found = [f for f in pool.map(one, [(t, p) for t in ANYWHERE for p in ROOMS]) if f]
            self.assertEqual(found, [], "\n".join(found))
            self.assertEqual(tree(folder), before)
            for words in (["curves", "import", LOG, "--system", "dgx_a100_80gb", "--date", "2026-01-02", "--out", "cfg/curves/new.curve.txtpb"],
                          ["calibrate", "ops", "--input", "ops.csv", "--device", "a100_sxm4_80gb"],  # into the first op_models
                          ["plan", "--config", LAYERS, "--vary", "parallel.tensor=4,8", "--set", "parallel.pipeline=1", "--write", "cfg/best.yaml"],
                          ["--config", "cfg/best.yaml", "--json", "cfg/report.json"]):
                r = run(words, cwd=d, env=environment)
                self.assertEqual(r.returncode, 0, r.stderr)
            made = {"cfg/curves/new.curve.txtpb", "cfg/op_models/a100_sxm4_80gb.ops", "cfg/best.yaml", "cfg/report.json"}
            self.assertEqual({name for name, text in tree(folder).items() if before.get(name) != text}, made)

    def test_beside_the_experiment(self):
        """A file there comes before what ships."""
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(d)
            (folder / "devices").mkdir()
            (folder / "e.yaml").write_text(pathlib.Path(FLAGSHIP).read_text())
            r = run(["--config", "e.yaml", "--json", "devices/a100_sxm4_80gb.yaml"], cwd=d)
            self.assertEqual((r.returncode, r.stderr.count(b"\n"), os.listdir(folder / "devices")), (2, 1, []), r.stderr)

    def test_a_name_does_not_lead_out_of_the_folder(self):
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(d)
            (folder / "out").mkdir()
            (folder / "ops.csv").write_text(OPS)
            (folder / "victim.ops").write_text("old")
            text = (ROOT / "configs/devices/a100_sxm4_80gb.yaml").read_text()
            for name in ("../victim", "/tmp/victim", "out/victim", '"a\\nb"', '"a\\tb"', "a" * 201, '""'):
                (folder / "x.yaml").write_text("".join(f"name: {name}\n" if line.startswith("name:") else line for line in text.splitlines(True)))
                before = tree(folder)
                r = run(["calibrate", "ops", "--input", "ops.csv", "--device", "./x.yaml", "--out", "out"], cwd=d)
                self.assertEqual((r.returncode, r.stderr.count(b"\n")), (2, 1), r.stderr)
                self.assertIn(b"x.yaml:1:7: device.name: found ", r.stderr)
                self.assertEqual(tree(folder), before)

    def test_a_table_without_a_figure_leaves_an_earlier_one(self):
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(d)
            (folder / "ops.csv").write_text("gpu,op,dtype,m,n,k\nA100-SXM4-80GB,gemm,fp17,1,1,1\n")
            (folder / "old.csv").write_text("old")
            base = ["cost", "collective", "--system", "dgx_a100_80gb", "--kind", "all_reduce", "--nodes", "2", "--bytes", "1e18", "--csv"]
            for words, rows in (([*"cost op --input ops.csv --csv".split()], 2), (base, 2)):
                r = run([*words, "old.csv"], cwd=d)
                self.assertEqual((r.returncode, (folder / "old.csv").read_text()), (2, "old"), r.stderr)
                self.assertIn(b"unchanged: old.csv", r.stderr)
                self.assertIn(b"the first: ", r.stderr)
                r = run([*words, "new.csv"], cwd=d)
                self.assertEqual((r.returncode, (folder / "new.csv").read_text().count("\n")), (2, rows), r.stderr)
                (folder / "new.csv").unlink()
                (folder / "-").write_text("old")
                for name in ("-", "/dev/stdout"):  # no file that is replaced
                    with open(folder / "new.csv", "wb") as out:
                        r = subprocess.run([BINARY, *words, name], cwd=d, stdout=out, stderr=subprocess.PIPE, timeout=600)
                    self.assertEqual((r.returncode, (folder / "new.csv").read_text().count("\n"), r.stderr.count(b"unchanged")), (2, rows, 0), r.stderr)
                (folder / "new.csv").unlink()

    def test_links_to_what_is_not_there_yet(self):
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(d)
            (folder / "dangling").symlink_to("new.json")
            (folder / "further").symlink_to("dangling")
            (folder / "round").symlink_to("round")
            for a, b in (("dangling", "new.json"), ("new.json", "further"), ("dangling", "further")):
                r = run(["--config", TINY, "--json", a, "--csv", b], cwd=d)
                self.assertEqual((r.returncode, r.stderr.count(b"\n")), (2, 1), r.stderr)
                self.assertIn(b"writes to it too", r.stderr)
                self.assertFalse((folder / "new.json").exists())
            r = run(["--config", TINY, "--json", "round"], cwd=d)
            self.assertEqual((r.returncode, r.stderr.count(b"\n")), (2, 1), r.stderr)
            r = run(["--config", TINY, "--json", "further"], cwd=d)
            self.assertEqual((r.returncode, r.stderr), (0, b""))
            self.assertTrue((folder / "further").is_symlink() and (folder / "dangling").is_symlink())
            self.assertTrue((folder / "new.json").read_text().startswith("{"))

    def test_files_of_sets_and_of_standard_output(self):
        with tempfile.TemporaryDirectory() as d:
            for output in ("x.0.et", "./x.3.et", "x.groups.json"):
                r = run(["--config", TINY, "--write-et", "x", "--json", output], cwd=d)
                self.assertEqual((r.returncode, r.stderr.count(b"\n")), (2, 1), r.stderr)
                self.assertEqual(os.listdir(d), [])
            with open(f"{d}/out.json", "wb") as out:
                r = subprocess.run([BINARY, "--config", TINY, "--json", "out.json"], cwd=d, stdout=out, stderr=subprocess.PIPE, timeout=600)
            self.assertEqual(r.returncode, 2)
            self.assertIn(b"standard output", r.stderr)
            with open(f"{d}/out.json", "wb") as out:
                r = subprocess.run([BINARY, "--config", FLAGSHIP, "--json", "/dev/stdout"], cwd=d, stdout=out, stderr=subprocess.PIPE, timeout=600)
            self.assertEqual((r.returncode, r.stderr), (0, b""))
            self.assertTrue(pathlib.Path(f"{d}/out.json").read_text().startswith("{"))

    def test_a_set_that_cannot_be_written_over_stays(self):
        """Whole, so that it is played as before; also where the new one is larger or has only some files too large."""
        def limit(size):
            return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        for job in ([], ["--set", "cluster.nodes=4"], ["--set", "model.global_batch=128"]):
            with tempfile.TemporaryDirectory() as d, self.subTest(job=job):
                self.assertEqual(run(["--config", TINY, "--write-et", "x"], cwd=d).returncode, 0)
                before = tree(pathlib.Path(d))
                sizes = sorted(len(data) for name, data in before.items() if name.endswith(".et"))
                for size in (100, 2048, sizes[0] - 1, sizes[-1] - 1):
                    r = run(["--config", TINY, *job, "--write-et", "x"], cwd=d, preexec_fn=limit(size))
                    self.assertEqual((r.returncode, r.stderr.count(b"File too large")), (2, 1), r.stderr)
                    self.assertEqual(tree(pathlib.Path(d)), before)
                self.assertEqual(run(["--config", TINY, *job, "--write-et", "x"], cwd=d).returncode, 0)
                self.assertEqual(run(["replay", "x.*.et", "--config", TINY, *job], cwd=d).returncode, 0)

    def test_a_file_of_a_set_is_no_other_output_through_a_link(self):
        """Nor another file of the set, nor the lock."""
        for links, words in (({"j.json": "x.1.et"}, ["--json", "j.json"]), ({"x.1.et": "out.json"}, ["--json", "out.json"]),
                             ({"x.set.json": "out.csv"}, ["--csv", "out.csv"]), ({"h.html": "x.groups.json"}, ["--html", "h.html"]),
                             ({"x.1.et": "x.0.et"}, []), ({"x.3.et": "y", "x.2.et": "y"}, []), ({}, ["--json", "x.set.lock"])):
            for there in (False, True):
                with tempfile.TemporaryDirectory() as d, self.subTest(links=links, there=there):
                    for name, end in links.items():
                        if there:
                            pathlib.Path(d, end).write_text("old")
                        pathlib.Path(d, name).symlink_to(end)
                    before = {name: p.read_text() if p.exists() else None for name in os.listdir(d) for p in [pathlib.Path(d, name)]}
                    r = run(["--config", TINY, "--write-et", "x", *words], cwd=d)
                    self.assertEqual((r.returncode, r.stderr.count(b"\n")), (2, 1), r.stderr)
                    self.assertRegex(r.stderr, b"writes (to )?it too")
                    after = {name: p.read_text() if p.exists() else None for name in os.listdir(d) for p in [pathlib.Path(d, name)]}
                    self.assertEqual(after, before)

    def test_files_that_later_passes_would_read(self):
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(d)
            (folder / "log.txt").write_text(pathlib.Path(LOG).read_text())
            (folder / "const.yaml").write_text("{}\n")
            (folder / "e.yaml").write_text(pathlib.Path(TINY).read_text() + "\ncollectives: {curve_files: [log.txt], constants: const.yaml}\n")
            before = tree(folder)
            for file in ("log.txt", "const.yaml"):
                for words in (["--out", file], ["--results", file]):
                    r = run(["curves", "plan", "--config", "e.yaml", *words], cwd=d)
                    self.assertEqual((r.returncode, r.stdout, r.stderr.count(b"\n")), (2, b"", 1), r.stderr)
                    self.assertIn(b"a file that this command reads", r.stderr)
                    self.assertEqual(tree(folder), before)

    def test_a_table_of_ops_over_its_input(self):
        with tempfile.TemporaryDirectory() as d:
            path = pathlib.Path(d) / "a100_sxm4_80gb.ops"
            path.write_text(OPS)
            r = run(["calibrate", "ops", "--input", str(path), "--device", "a100_sxm4_80gb", "--out", d])
            self.assertEqual(r.returncode, 2)
            self.assertEqual(path.read_text(), OPS)


if __name__ == "__main__":
    unittest.main()
