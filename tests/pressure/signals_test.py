#!/usr/bin/env python3
"""What ends a run early: signals, limits of file size, memory, threads and stack, pipes that nobody is at. One line, exit code 2 or 3
(or the signal), nothing left behind, and what was finished is kept.

signals_test.py DISTSIM
"""
import csv
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from jobs import ROOT, TINY

BINARY = sys.argv.pop(1)
FLAGSHIP = str(ROOT / "configs/dgx_a100_4node.yaml")


def limited(which, value):
    return lambda: resource.setrlimit(which, (value, value))


def run(*args, **options):
    return subprocess.run([BINARY, *map(str, args)], capture_output=True, timeout=600, **options)


def once_it_listens(process, sent=signal.SIGINT):
    """Returns a second after the process has its handler of the signal: on a busy machine it takes seconds to start."""
    for _ in range(6000):
        caught = next((line for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("SigCgt:")), "SigCgt: 0")
        if int(caught.split()[1], 16) >> (sent - 1) & 1 or process.poll() is not None:
            break
        time.sleep(0.01)
    time.sleep(1)


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assertRefused(self, r, *words, codes=(2, 3)):
        self.assertIn(r.returncode, codes, r.stderr)
        self.assertEqual(r.stderr.count(b"\n"), 1, r.stderr)
        for word in words:
            self.assertIn(word.encode(), r.stderr)

    def names(self):
        return sorted(os.listdir(self.folder))


class Signals(Scratch):
    def start_long_write(self):
        """A timeline of a gigabyte, caught while its temporary file grows."""
        args = [BINARY, "--config", FLAGSHIP, "--timeline", f"{self.folder}/t.json", "--timeline-ranks", "2048", "--set", "cluster.nodes=256",
                "--log-level", "error"]
        process = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2000):
            if any(p.stat().st_size > 1 << 20 for p in self.folder.iterdir()) or process.poll() is not None:
                break
            time.sleep(0.01)
        return process

    def test_nothing_is_left_of_an_unfinished_file(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGXCPU):
            with self.subTest(number):
                process = self.start_long_write()
                self.assertIsNone(process.poll(), "it was over before the signal")
                process.send_signal(number)
                process.communicate(timeout=600)
                self.assertEqual(process.returncode, -number)
                self.assertEqual(self.names(), [])

    def test_nothing_is_left_of_an_unfinished_set_of_traces(self):
        """Each file of a set is whole; the set is not, and nothing else of it stays than what was there."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                (self.folder / "other.et").write_text("of somebody else")
                process = subprocess.Popen([BINARY, "--config", FLAGSHIP, "--set", "cluster.nodes=128", "--write-et", f"{self.folder}/x"],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                for _ in range(2000):
                    if len(self.names()) > 20 or process.poll() is not None:
                        break
                    time.sleep(0.01)
                self.assertIsNone(process.poll(), "it was over before the signal")
                process.send_signal(number)
                _, said = process.communicate(timeout=600)
                self.assertEqual((process.returncode, said), (3, b"distsim: interrupted: no traces were written\n"))
                self.assertEqual(self.names(), ["other.et"])

    def test_nothing_is_left_of_unfinished_random_tasks(self):
        process = subprocess.Popen([BINARY, "generate", "dlrm", "--system", "dgx_a100_80gb", "--tasks", "10000", "--out", str(self.folder)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(20000):
            if len(self.names()) > 20 or process.poll() is not None:
                break
            time.sleep(0.01)
        self.assertIsNone(process.poll(), "it was over before the signal")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=600)
        self.assertEqual((process.returncode, self.names()), (-signal.SIGTERM, []))

    def test_an_interrupted_set_leaves_the_one_that_was_there(self):
        job = [BINARY, "--config", FLAGSHIP, "--write-et", f"{self.folder}/x"]
        self.assertEqual(subprocess.run([*job, "--set", "cluster.nodes=1"], capture_output=True, timeout=600).returncode, 0)
        before = {name: (self.folder / name).read_bytes() for name in self.names()}
        process = subprocess.Popen([*job, "--set", "cluster.nodes=128"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2000):
            if len(self.names()) > 40 or process.poll() is not None:
                break
            time.sleep(0.01)
        self.assertIsNone(process.poll(), "it was over before the signal")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=600)
        self.assertEqual((process.returncode, said), (3, b"distsim: interrupted: no traces were written\n"))
        self.assertEqual({name: (self.folder / name).read_bytes() for name in self.names()}, before)

    def test_an_interrupted_sweep_keeps_what_is_finished(self):
        table = self.folder / "s.csv"
        batches = ",".join(str(4096 * i) for i in range(1, 4001))
        process = subprocess.Popen([BINARY, "sweep", "--config", FLAGSHIP, "--set", f"model.global_batch={batches}", "--csv", str(table)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        once_it_listens(process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=600)
        if process.returncode == 0:
            self.skipTest("it was over before the signal")
        self.assertEqual(process.returncode, 3, said)
        self.assertIn(b"interrupted", said)
        rows = list(csv.DictReader(table.read_text().splitlines()))
        self.assertEqual(len(rows), 4000)
        done = [row for row in rows if not row["error"]]
        self.assertTrue(all(float(row["iteration_ms"]) > 0 for row in done))
        self.assertEqual({row["error"] for row in rows} - {""}, {"interrupted"})

    def test_interrupted_trials_give_the_percentiles_of_those_played(self):
        process = subprocess.Popen([BINARY, "--config", TINY, "--trials", "1000000", "--json", f"{self.folder}/p.json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        once_it_listens(process)
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=600)
        self.assertEqual((process.returncode, said),
                         (3, b"distsim: interrupted: the percentiles are those of the trials that were played until then\n"))
        played = json.loads((self.folder / "p.json").read_text())["trials"]["count"]
        self.assertTrue(0 < played < 1000000)
        self.assertIn(b"trials   P10 ", shown)

    def test_an_interrupted_plan_ends_soon(self):
        """Also where the tables of a recommender are searched, and where each of the best would be played once more."""
        plans = (["configs/dlrm_skewed_2node.yaml", "cluster.nodes=128"], ["configs/dlrm_skewed_2node.yaml", "cluster.nodes=16"],
                 ["configs/bert_large_dgx_a100.yaml", "cluster.nodes=100"])
        for config, nodes in plans:
            with self.subTest((config, nodes)):
                process = subprocess.Popen([BINARY, "plan", "--config", str(ROOT / config), "--set", nodes], stdout=subprocess.DEVNULL,
                                           stderr=subprocess.PIPE)
                time.sleep(2)
                process.send_signal(signal.SIGINT)
                asked = time.monotonic()
                _, said = process.communicate(timeout=600)
                if process.returncode == 0:
                    self.skipTest("it was over before the signal")
                self.assertEqual(process.returncode, 3, said)
                self.assertIn(b"interrupted", said)
                self.assertLess(time.monotonic() - asked, 6)  # about 1 with a core of its own

    def test_the_second_signal_ends_a_sweep_at_once(self):
        process = subprocess.Popen([BINARY, "sweep", "--config", TINY, "--set", "model.global_batch=64,128", "--csv", "-"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)  # as under nohup: ignored
        out, _ = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(out.count(b"\n"), 3)


class Pictures(Scratch):
    """Graphviz works as a child, on files in a folder of its own."""

    def start(self, **options):
        """--graph with a dot that never ends, once that works."""
        tools, scratch = self.folder / "tools", self.folder / "scratch"
        for made in (tools, scratch):
            made.mkdir(exist_ok=True)
        (tools / "dot").write_text('#!/bin/sh\n: >"$3"\nsleep 600 &\necho $! >"$MARK"\nwait\n')
        (tools / "dot").chmod(0o755)
        mark = self.folder / "mark"
        mark.unlink(missing_ok=True)
        environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", TMPDIR=str(scratch), MARK=str(mark))
        process = subprocess.Popen([BINARY, "--config", TINY, "--graph", str(self.folder / "g.svg")], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env=environment, **options)
        for _ in range(2000):
            if mark.exists() and mark.read_text().endswith("\n") or process.poll() is not None:
                break
            time.sleep(0.01)
        self.assertIsNone(process.poll(), "it was over before the signal")
        self.assertEqual(len(list(scratch.iterdir())), 1)
        return process, int(mark.read_text())

    def assertNothingLeft(self, worker):
        self.assertEqual(list((self.folder / "scratch").iterdir()), [])
        self.assertFalse((self.folder / "g.svg").exists())
        for _ in range(500):  # it has been ended; who adopted it waits for it
            stat = pathlib.Path(f"/proc/{worker}/stat")
            if not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return
            time.sleep(0.01)
        self.fail("what dot started outlives it")

    def test_a_signal_ends_the_child(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                process, worker = self.start()
                process.send_signal(number)
                _, said = process.communicate(timeout=60)
                self.assertEqual((process.returncode, said), (3, b"distsim: interrupted: the graph is not drawn\n"))
                self.assertNothingLeft(worker)

    def test_what_ends_at_once_leaves_nothing(self):
        process, worker = self.start()
        process.send_signal(signal.SIGQUIT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGQUIT)
        self.assertNothingLeft(worker)
        for pause in (0, 0.001, 0.003):
            with self.subTest(pause):
                process, worker = self.start()
                process.send_signal(signal.SIGTERM)
                time.sleep(pause)
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)
                self.assertIn(process.returncode, (3, -signal.SIGTERM))
                self.assertNothingLeft(worker)


class Limits(Scratch):
    def test_a_limit_of_file_size_is_an_error_of_the_write(self):
        (self.folder / "r.html").write_text("old")
        r = run("--config", FLAGSHIP, "--html", self.folder / "r.html", preexec_fn=limited(resource.RLIMIT_FSIZE, 4096))
        self.assertRefused(r, "File too large", codes=(2,))
        self.assertEqual(self.names(), ["r.html"])
        self.assertEqual((self.folder / "r.html").read_text(), "old")

    def test_a_study_goes_on_when_there_is_room_again(self):
        """A journal that cannot grow, as on a full disk: one line; what it holds stays whole, and the rest follows."""
        gpt = str(ROOT / "configs/megatron_gpt_7_5b.yaml")
        studies = (["sweep", "--config", TINY, "--set", "cluster.nodes=1,2", "--set", "model.global_batch=4096..65536:2048"],
                   ["plan", "--config", gpt, "--draws", "8", "--set", "parallel.pipeline=1", "--set", "parallel.context=1"])
        for study in studies:
            whole, journal_of_whole = self.folder / "whole.csv", self.folder / f"{study[0]}.j"
            self.assertEqual(run(*study, "--csv", whole, "--journal", journal_of_whole).returncode, 0)
            size = journal_of_whole.stat().st_size
            for limit in (64, size * 2 // 3, size - 1):  # within its beginning, and within rows
                with self.subTest((study[0], limit)):
                    journal, out = self.folder / f"{study[0]}{limit}.j", self.folder / f"{study[0]}{limit}.csv"
                    r = run(*study, "--csv", out, "--journal", journal, preexec_fn=limited(resource.RLIMIT_FSIZE, limit))
                    self.assertRefused(r, str(journal), "File too large", "--resume goes on" if limit > 64 else "", codes=(2,))
                    self.assertFalse(out.exists())
                    r = run(*study, "--csv", out, "--journal", journal, "--resume")
                    self.assertEqual(r.returncode, 0, r.stderr)
                    self.assertEqual(out.read_bytes(), whole.read_bytes())

    def test_limits_of_memory_are_no_abort(self):
        commands = (["--config", FLAGSHIP, "--set", "cluster.nodes=256"], ["sweep", "--config", FLAGSHIP, "--set", "cluster.nodes=1,2,64,256", "--jobs", "4"],
                    ["validate", "--jobs", "4"], ["sensitivity", "--config", FLAGSHIP], ["list", "systems"])
        for megabytes in (20, 24, 28, 36, 48, 64, 90, 130):  # below, the system cannot map the program
            for command in commands:
                with self.subTest((megabytes, command[0])):
                    r = run(*command, preexec_fn=limited(resource.RLIMIT_AS, megabytes << 20))
                    if r.returncode == 127 or b"error while loading shared libraries" in r.stderr:
                        continue  # not even the libraries fit
                    self.assertIn(r.returncode, (0, 2, 3), r.stderr)
                    self.assertLessEqual(r.stderr.count(b"\n"), 1 if r.returncode else 2, r.stderr)

    def test_values_that_are_held_whole_take_bounded_memory(self):
        """Short elements take dozens of times their text in memory: one value of a trace is at most 16 MB of text, and a file that is
        read as a whole has at most so many values."""
        empty, size = b"[],", 20 << 20
        files = {"node": (b'{"schema":"1.1.1-chakra.0.0.4","nodes":[{"id":1,"name":"x","inputs":{"values":[', empty, b'1],"shapes":[],"types":[]}}]}', size),
                 "devices": (b'{"deviceProperties":[{"name":"x"},', b"{},", b'{}],"traceEvents":[]}', size),
                 "deep": (b'{"traceEvents":[', b'{"a":', b"1", size),
                 "times": (b'{"host_name":"x","iter_time_ms":[1.5,', b"1,", b"1]}", size),
                 "whole": (b'{"host_name":"x","events":[', empty, b"1]}", 60 << 20)}
        for name, (begin, element, end, size) in files.items():
            (self.folder / name).write_bytes(begin + element * (size // len(element)) + end)
        runs = [["profile", n] for n in files if n != "whole"] + [["replay", n] for n in ("devices", "deep")] + [
            ["profile", "deep", "--stream"], ["profile", "devices", "--stream"], ["hugectr", "timeline", "whole"]]
        for args in runs:
            with self.subTest(args):
                limit = 2 << 30
                r = run(*args, cwd=self.folder, preexec_fn=limited(resource.RLIMIT_AS, limit))
                self.assertRefused(r, "found more than" if args[0] == "hugectr" else "found a value longer than 16777216 bytes", codes=(2,))

    def test_without_threads_the_work_is_done_all_the_same(self):
        whole = run("sweep", "--config", TINY, "--set", "cluster.nodes=1,2,4", "--csv", "-")
        alone = run("sweep", "--config", TINY, "--set", "cluster.nodes=1,2,4", "--csv", "-", "--jobs", "16",
                    preexec_fn=limited(resource.RLIMIT_AS, 400 << 20))  # stacks of 8 MB: not for 16
        self.assertEqual((alone.returncode, alone.stdout), (0, whole.stdout), alone.stderr)

    def test_a_small_stack_is_enough(self):
        whole = run("--config", FLAGSHIP)
        for kilobytes in (96, 160, 512):
            with self.subTest(kilobytes):
                r = run("--config", FLAGSHIP, preexec_fn=limited(resource.RLIMIT_STACK, kilobytes << 10))
                self.assertEqual((r.returncode, r.stdout), (0, whole.stdout), r.stderr)


def answer(folder, config, **how):
    """What --json says, without the names of files in it; the text for people breaks and ends by their length."""
    out = folder / "answer.json"
    if run("--config", config, "--json", out, **how).returncode == 0:
        return re.sub(rb"\([^()]*:\d+:\d+\)", b"", out.read_bytes())


class Pipes(Scratch):
    def fifo(self):
        pipe = self.folder / f"fifo{len(self.names())}"
        os.mkfifo(pipe)
        return pipe

    def test_a_pipe_that_nobody_writes_to_is_refused(self):
        commands = (["--config", self.fifo()], ["sweep", "--config", self.fifo(), "--set", "cluster.nodes=1,2"], ["validate", "--cases", self.fifo()],
                    ["cost", "op", "--input", self.fifo()], ["profile", self.fifo()], ["replay", self.fifo()], ["hugectr", "timeline", self.fifo()],
                    ["calibrate", "ops", "--input", self.fifo(), "--device", "a100_sxm4_80gb", "--out", self.folder],
                    ["--config", FLAGSHIP, "--json", self.fifo()])
        running = [subprocess.Popen([BINARY, *map(str, c)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for c in commands]
        for command, process in zip(commands, running):
            with self.subTest(command[:2]):
                _, said = process.communicate(timeout=600)
                self.assertEqual(process.returncode, 2, said)
                self.assertEqual(said.count(b"\n"), 1, said)
                self.assertRegex(said, rb"nobody (writes to|reads from)")

    def test_a_pipe_in_use_is_read_and_written(self):
        pipe = self.fifo()
        with subprocess.Popen(["cp", TINY, str(pipe)]):
            self.assertEqual(answer(self.folder, pipe), answer(self.folder, TINY))
        with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
            self.assertEqual(run("--config", TINY, "--json", pipe).returncode, 0)
            self.assertTrue(reader.communicate(timeout=600)[0].startswith(b"{"))

    def test_standard_input_and_process_substitution(self):
        direct = answer(self.folder, TINY)
        self.assertIn(b"iteration", direct)
        with open(TINY, "rb") as file:
            self.assertEqual(answer(self.folder, "/dev/stdin", stdin=file), direct)
        text = pathlib.Path(TINY).read_bytes()
        self.assertEqual(answer(self.folder, "/dev/stdin", input=text), direct)
        out = self.folder / "answer.json"
        out.unlink()
        shell = ["bash", "-c", '"$0" --config <(cat "$1"; sleep 0.2) --json "$2"', BINARY, TINY, out]
        self.assertEqual(subprocess.run(shell, capture_output=True, timeout=600).returncode, 0)
        self.assertEqual(re.sub(rb"\([^()]*:\d+:\d+\)", b"", out.read_bytes()), direct)
        trace = ROOT / "tests/traces/data/formats/kineto.json"
        for command in ("profile", "replay"):
            shell = ["bash", "-c", f'"$0" {command} <(cat "$1") | tail -n +3', BINARY, str(trace)]
            r = subprocess.run(shell, capture_output=True, timeout=600)
            self.assertEqual(r.stderr, b"")
            self.assertGreater(len(r.stdout), 100)

    def test_an_empty_unnamed_pipe_is_an_empty_file(self):
        self.assertRefused(run("validate", "--cases", "/dev/stdin", input=b""), "empty")


if __name__ == "__main__":
    unittest.main()
