#!/usr/bin/env python3
"""Kills a study at random moments with SIGKILL and goes on with it, until it is done, again and again: no point is lost, none is in the
journal twice, and the table is that of a run that nobody disturbed, to the byte. One process, and with mpirun the processes of a team, of
which a random one is killed.

kill_test.py DISTSIM [--kills 1000] [--ranks 1,4] [--studies sweep,plan] [--seed 1]
"""
import argparse
import itertools
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STUDIES = {
    "sweep": ["sweep", "--config", str(ROOT / "configs/dgx_a100_4node.yaml"), "--set", "cluster.nodes=1,2,3,4,5", "--set",
              "model.global_batch=8192..65408:512"],
    "plan": ["plan", "--config", str(ROOT / "configs/megatron_gpt_7_5b.yaml"), "--set", "cluster.nodes=2", "--exhaustive"],
}
MAGIC, MARKER = b"distsim journal\n", b"\xd1\x57\x51\x4a"


def points_in(journal):
    """Numbers of the points whose records are whole, read with the format alone (sim/study/points/journal.hpp)."""
    data, points = journal.read_bytes(), []
    at = data.find(MARKER)
    while at >= 0 and at + 12 <= len(data):
        length, checksum = struct.unpack_from("<II", data, at + 4)
        payload = data[at + 12:at + 12 + length]
        if len(payload) < length or zlib.crc32(data[at + 4:at + 8] + payload) != checksum:
            break  # cut
        points.append(struct.unpack_from("<Q", payload)[0])
        at += 12 + length
        assert data[at:at + 4] in (MARKER, b"") or at + 12 > len(data), f"no record at byte {at}"
    return points[1:]  # the first is the identity


def children_of(pid):
    try:
        return [int(c) for c in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Proof:
    def __init__(self, binary, study, ranks, folder, seed):
        self.command = [os.path.abspath(binary), *STUDIES[study]]
        if ranks > 1:
            self.command = ["mpirun", "--oversubscribe", "-n", str(ranks), *self.command]
        self.ranks, self.folder, self.random = ranks, folder, random.Random(seed)
        self.kills = self.studies = self.kept = self.said = self.stuck = 0
        self.environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        began = time.monotonic()
        self.run_whole("whole.csv", "--journal", "whole.j")
        self.duration = time.monotonic() - began
        self.points = len(points_in(folder / "whole.j"))
        assert self.points > 500, self.points
        self.expected = (folder / "whole.csv").read_bytes()

    def start(self, *flags):
        return subprocess.Popen([*self.command, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder, env=self.environment)

    def run_whole(self, csv, *flags):
        process = self.start("--csv", csv, *flags)
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said.decode()

    def run_and_kill(self):
        """True where the process was over before its time had come."""
        process = self.start("--csv", "out.csv", "--journal", "j", "--resume")
        time.sleep(self.random.uniform(0, self.duration))
        team = children_of(process.pid) if self.ranks > 1 else []
        victim = self.random.choice(team) if team else process.pid
        if process.poll() is None:
            os.kill(victim, signal.SIGKILL)
        said = self.end_of(process, team)
        self.said += b"--resume goes on" in said
        if process.returncode == 0:
            return True
        refused = [line for line in said.decode().splitlines() if line.startswith("distsim: ") and "interrupted" not in line]
        usual = ("dropped", " is gone; ", " points, ")  # the last: how far it is, said where it takes long
        assert not [line for line in refused if not any(word in line for word in usual)], said.decode()
        self.kills += 1
        return False

    def end_of(self, process, team):
        """What it said. mpirun of Open MPI 4.1 may wait for itself for ever when all processes that it started are gone."""
        left = 300
        while left > 0:
            try:
                said = process.communicate(timeout=2)[1]
                break
            except subprocess.TimeoutExpired:
                left -= 2
                if self.ranks > 1 and not any(alive(pid) for pid in [*team, *children_of(process.pid)]):
                    self.stuck += 1
                    process.kill()
        assert left > 0, "it does not end"
        while any(alive(pid) for pid in team):
            time.sleep(0.005)
        return said

    def study(self, most_kills):
        journal, out = self.folder / "j", self.folder / "out.csv"
        journal.unlink(missing_ok=True)
        out.unlink(missing_ok=True)
        before = set()
        done = False
        while not done and self.kills < most_kills:
            done = self.run_and_kill()
            points = points_in(journal) if journal.exists() else []
            assert len(points) == len(set(points)), "a point is in the journal twice"
            assert before <= set(points), "a point is lost"
            before = set(points)
            self.kept = max(self.kept, len(points) if not done else 0)
        if not done:
            self.run_whole("out.csv", "--journal", "j", "--resume")
        assert sorted(points_in(journal)) == list(range(self.points)), "the journal does not hold every point once"
        assert out.read_bytes() == self.expected, "another table than that of an undisturbed run"
        self.studies += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--kills", type=int, default=1000, help="with each number of processes")
    parser.add_argument("--ranks", default="1,4")
    parser.add_argument("--studies", default="sweep,plan")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with_mpi = shutil.which("mpirun") and (pathlib.Path(args.binary).parent / "libdistsim_mpi.so").exists()
    for study, ranks in itertools.product(args.studies.split(","), map(int, args.ranks.split(","))):
        if ranks > 1 and not with_mpi:
            print(f"{study}, {ranks} processes: not tried, no MPI")
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            proof = Proof(args.binary, study, ranks, pathlib.Path(folder), args.seed)
            while proof.kills < args.kills:
                proof.study(args.kills)
        print(f"{study}, {ranks} {'process' if ranks == 1 else 'processes'}: {proof.kills} kills in {proof.studies} studies of {proof.points} points, "
              f"0 lost, 0 doubled, all tables the same; {proof.said} said how to go on"
              f"{f', {proof.stuck} times mpirun itself was stuck' if proof.stuck else ''}; {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
