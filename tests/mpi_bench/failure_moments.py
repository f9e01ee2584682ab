#!/usr/bin/env python3
"""Ranks of collective_bench killed, stopped and interrupted at random moments.

After each: the job has ended within the limit, what was finished is on disk and marked partial, and a stopped rank was named.
    failure_moments.py COLLECTIVE_BENCH MPIEXEC [--moments 50] [--seed 1] [--stall-limit 2] [--end-limit 10] [--distsim DISTSIM]
On a machine that others use as well, larger limits keep a rank that merely waits for a core from being taken for a stopped one.
"""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")
RANKS = 3


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    return None


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


class Job:
    def __init__(self, args, folder, backend):
        self.curve, self.out, self.err = (os.path.join(folder, n) for n in ("c.curve.txtpb", "out", "err"))
        kinds = "alltoall,all_gather" if backend == "tcp" else "all_reduce,alltoall"
        command = [args.mpiexec, "-n", str(RANKS), args.bench, "--backend", backend, "-b", "1K", "-e", "64M", "-i", "1K", "-n", "20", "--collectives", kinds,
                   "--stall-limit", str(args.stall_limit), "--out", self.curve]
        self.process = subprocess.Popen(command, stdout=open(self.out, "w"), stderr=open(self.err, "w"), stdin=subprocess.DEVNULL, env=ENVIRONMENT)

    def rank_pids(self):
        """From the table's header, once it is there."""
        return [int(p) for p in re.findall(r"^#  Rank .* Pid +(\d+) on", read(self.out), re.M)]

    def finished_sizes(self):
        return [int(m) for m in re.findall(r"^ +(\d+) .*[^#]$", read(self.out), re.M)]

    def end(self):
        for pid in self.rank_pids():
            for sig in (signal.SIGCONT, signal.SIGKILL):
                try:
                    os.kill(pid, sig)
                except OSError:
                    pass
        self.process.kill()
        self.process.wait()


def moment(number, args, rng, folder):
    kind, backend, victim = rng.choice(["kill", "stall", "stall", "interrupt"]), rng.choice(["mpi", "tcp"]), rng.randrange(RANKS)
    job = Job(args, folder, backend)
    try:
        pids = wait_for(lambda: len(job.rank_pids()) == RANKS and job.rank_pids(), 60)
        if not pids:
            return f"the job did not start: {read(job.err)}"
        delay = rng.uniform(0, 1.5)
        time.sleep(delay)
        what = f"{number:3d} {kind:9s} rank {victim} {backend:4s} after {delay:4.2f} s"
        if kind == "interrupt":
            job.process.send_signal(signal.SIGINT)
        else:
            os.kill(pids[victim], signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
        struck = time.monotonic()
        limit = args.end_limit + (args.stall_limit if kind == "stall" else 0)
        if wait_for(lambda: job.process.poll() is not None, limit) is None:
            return f"{what}: still running after {limit} s"
        took = time.monotonic() - struck
        if job.process.returncode == 0:
            return f"{what}: ended with code 0"
        alive = wait_for(lambda: not [p for p in pids if os.path.exists(f"/proc/{p}") and "Z" not in read(f"/proc/{p}/stat").split(")")[-1].split()[0]], args.end_limit / 2)
        if alive is None:
            return f"{what}: ranks outlive the job"
        errors = read(job.err)
        if kind == "stall" and not re.search(rf"rank {victim} on \S+ does not respond at: (\w+ of \d+ bytes|starting|connecting)", errors):
            return f"{what}: the stopped rank is not named: {errors}"
        problem = check_file(job, args)
        if problem:
            return f"{what}: {problem}"
        print(f"{what}: ended after {took:4.1f} s, {len(job.finished_sizes())} sizes", flush=True)
        return None
    finally:
        job.end()


def check_file(job, args):
    """The last row may have been printed a moment before the file was written."""
    finished, text = [s for s in job.finished_sizes() if s > 0], read(job.curve)
    if not text:
        return "no file" if len(set(finished)) > 1 else None
    if "partial: true" not in text:
        return "the file is not marked partial"
    on_disk = [int(b) for b in re.findall(r"^ *bytes: (\d+)", text, re.M)]
    if not set(finished[:-1]) <= set(on_disk):
        return f"sizes {sorted(set(finished[:-1]) - set(on_disk))[:5]} are finished and not on disk"
    if args.distsim:
        shown = subprocess.run([args.distsim, "curves", "show", job.curve], capture_output=True, text=True)
        if shown.returncode != 0 or "partial" not in shown.stdout:
            return f"distsim does not show it: {shown.stderr}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("mpiexec")
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stall-limit", type=float, default=2, help="seconds: of collective_bench")
    parser.add_argument("--end-limit", type=float, default=10, help="seconds from the blow to the end of the job, beyond the stall limit")
    parser.add_argument("--distsim")
    args = parser.parse_args()
    rng, failed = random.Random(args.seed), 0
    for number in range(args.moments):
        with tempfile.TemporaryDirectory() as folder:
            problem = moment(number, args, rng, folder)
        if problem:
            print("FAILED", problem, flush=True)
            failed += 1
    print(f"{args.moments} moments, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
