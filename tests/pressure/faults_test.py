#!/usr/bin/env python3
"""Every command while the n-th allocation, open, read, write, fsync, rename or thread fails: never a torn file, never a wrong answer,
never an abort, nothing left behind.

faults_test.py DISTSIM SHIM            a sample of n that takes some twenty seconds
faults_test.py DISTSIM SHIM --seed S   other n
faults_test.py DISTSIM SHIM --every K  every K-th n; 1, all of them, takes days
"""
import argparse
import concurrent.futures
import csv
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from jobs import jobs

OLD = b"an older result\n"
CALLS = {"memory": 8, "open": 6, "read": 6, "write": 6, "fsync": 2, "rename": 2, "thread": 2}  # how many n are tried of each, in the shim's order
LATER = 4  # of allocations, where later ones fail as well


# After the n-th allocation: none fails, all do, or some do, as on a machine where memory comes and goes.
THEN = {"": {}, "and all later ones": {"FAULT_STICKY": "1"}, "and every 101st after": {"FAULT_STEP": "101"}, "and every 5003rd after": {"FAULT_STEP": "5003"}}


def call(binary, shim, job, kind, at, then="", count=None):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DISTSIM", "FAULT"))}
    environment |= {"LD_PRELOAD": shim, "FAULT_KIND": kind, "FAULT_AT": str(at)} | THEN[then]
    if count:
        environment["FAULT_COUNT"] = count
    return subprocess.run([binary, *job.args], capture_output=True, timeout=600, env=environment)


def sample(total: int, most: int, every: int, generator: random.Random) -> list[int]:
    """All n of a few; of many, half near the start, where most kinds of calls are, and half anywhere."""
    if every:
        return list(range(1, total + 1, every))
    if total <= most:
        return list(range(1, total + 1))
    geometric = {max(1, round(total ** (i / (most // 2)))) for i in range(1, most // 2 + 1)}
    return sorted(geometric | {generator.randint(1, total) for _ in range(most // 2)})


def rows_agree(text: bytes, whole: bytes) -> bool:
    """Every row of a table says why it has no prediction, or has the prediction that it should have."""
    found, expected = (list(csv.DictReader(io.StringIO(t.decode()))) for t in (text, whole))
    figure = "iteration_ms" if expected and "iteration_ms" in expected[0] else "predicted_ms"
    return len(found) == len(expected) and all(f.get("error") or f.get(figure) == e[figure] for f, e in zip(found, expected))


def marks_unfinished(path):
    """The manifest of a set of traces that says that nobody may play what is there."""
    return path.name.endswith(".set.json") and not json.loads(path.read_text())["complete"]


class Case:
    def __init__(self, options, name):
        self.options, self.name = options, name

    def fresh(self, folder):
        job = jobs(pathlib.Path(folder))[self.name]
        for path in job.outputs:
            pathlib.Path(path).write_bytes(OLD)
        return job, set(os.listdir(folder))

    def baseline(self):
        """Results without a fault, and how many calls of each kind there are."""
        with tempfile.TemporaryDirectory() as folder:
            job, _ = self.fresh(folder)
            r = call(self.options.binary, self.options.shim, job, "none", 0, count=f"{folder}/count")
            if r.returncode != 0:
                sys.exit(f"{self.name}: {r.stderr.decode()}")
            self.totals = dict(zip(CALLS, map(int, pathlib.Path(f"{folder}/count").read_text().split()), strict=True))
            self.stdout = r.stdout.replace(folder.encode(), b"")
            self.files = [pathlib.Path(p).read_bytes().replace(folder.encode(), b"") for p in job.outputs]

    def problem(self, kind, at, then):
        with tempfile.TemporaryDirectory() as folder:
            job, before = self.fresh(folder)
            r = call(self.options.binary, self.options.shim, job, kind, at, then)
            files = [pathlib.Path(p).read_bytes().replace(folder.encode(), b"") for p in job.outputs]
            stdout = r.stdout.replace(folder.encode(), b"")
            left = {n for n in set(os.listdir(folder)) - before if files != self.files or not n.endswith(".set.json")}
            left = {n for n in left if not marks_unfinished(pathlib.Path(folder, n))}
            whole = [f == b or (job.partial and (p.endswith(".svg") or rows_agree(f, b)))
                     for f, b, p in zip(files, self.files, job.outputs) if f != OLD]
            if r.returncode not in (0, 2, 3):
                return f"ended with {r.returncode}: {r.stderr[-300:].decode(errors='replace')}"
            if left:
                return f"left {sorted(left)} behind"
            if job.named and kind in ("open", "read") and job.named in stdout + r.stderr + b"".join(files):
                return None
            if not all(whole):
                return f"a torn or wrong file: {[p for p, f, b in zip(job.outputs, files, self.files) if f not in (b, OLD)]}"
            if r.returncode == 0 and not job.partial and (OLD in files or stdout != self.stdout):
                return "success with another result" + (f"; {r.stderr.decode()}" if r.stderr else "")
            if r.returncode != 0 and (not r.stderr.startswith(b"distsim: ") or r.stderr.count(b"\n") > 3):
                return f"says {r.stderr[-300:].decode(errors='replace')!r}"
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("shim")
    parser.add_argument("--every", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    problems, tried = [], 0
    with tempfile.TemporaryDirectory() as folder:
        names = [n for n in jobs(pathlib.Path(folder)) if options.only in n]
    cases = [Case(options, name) for name in names]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(Case.baseline, cases))
        generator = random.Random(options.seed)
        work = [(case, kind, n, then) for case in cases for kind, most in CALLS.items() for then in (THEN if kind == "memory" else ("",))
                for n in sample(case.totals[kind], LATER if then else most, options.every, generator)]
        for (case, kind, n, then), problem in zip(work, pool.map(lambda w: w[0].problem(*w[1:]), work)):
            tried += 1
            if problem:
                problems.append(f"{case.name}: {kind} call {n} of {case.totals[kind]}{then and ' ' + then}: {problem}")
    print(f"{tried} runs of {len(cases)} commands, {len(problems)} problems")
    print("\n".join(problems[:60]))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
