#!/usr/bin/env python3
"""Measure this machine's MPI collectives, predict two small MPI programs with distsim, and compare with their measured times.

    closed_loop.py --bin build/bin [--mpiexec mpirun] [--ranks 2] [--rounds 7] [--statistic median] [--csv FILE] [--prefix "nice -n -20"]

What goes in: a curve of collective_bench around the size in question, and the time of the program's computation by itself. What is predicted: the time of an
iteration of the whole program, which is measured only for the comparison. A machine is seldom idle, so that the comparison is paired: each round
measures, one right after the other, a program's curve, and then the program with and without its collectives in blocks of ten iterations in turn; each
round makes a prediction of its own, and of the rounds' ratios of predicted to measured the median counts. The figures are 10th
percentiles of calls and iterations, those that nothing interrupted, on both sides; --statistic median takes medians on both.
"""
import argparse
import csv
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")
PROGRAMS = {"example_data_parallel": ["all_reduce"], "example_embedding_exchange": ["all_to_all", "all_to_all"]}
# (program, bytes, passes): communication from a tenth to most of an iteration.
CASES = [("example_data_parallel", 64 << 10, 8), ("example_data_parallel", 256 << 10, 4), ("example_data_parallel", 1 << 20, 4),
         ("example_data_parallel", 1 << 20, 16), ("example_data_parallel", 4 << 20, 2),
         ("example_embedding_exchange", 64 << 10, 8), ("example_embedding_exchange", 256 << 10, 4), ("example_embedding_exchange", 1 << 20, 2),
         ("example_embedding_exchange", 1 << 20, 16), ("example_embedding_exchange", 4 << 20, 2)]
COLUMN = {"median": 1, "p10": 2}  # of what the programs print


def run(command):
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: code {done.returncode}\n{done.stderr}")
    return done.stdout


class Machine:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.mpirun = shlex.split(args.prefix) + [args.mpiexec, "-n", str(args.ranks)]

    def program(self, name, size, work):
        """Microseconds of an iteration, and of its computation by itself."""
        out = run(self.mpirun + [f"{self.args.bin}/{name}", "--size", str(size), "--work", str(work), "--iterations", str(self.args.iterations), "--paired"])
        lines = {line.split()[0]: float(line.split()[COLUMN[self.args.statistic]]) for line in out.splitlines()}
        return lines["iteration"], lines["compute"]

    def curve(self, kind, size):
        """Sizes around that of the program."""
        path = f"{self.folder}/{kind}.curve.txtpb"
        run(self.mpirun + [f"{self.args.bin}/collective_bench", "--backend", "mpi", "-b", str(size // 2), "-e", str(2 * size), "-f", "2", "-n", "100", "-w", "5",
                           "-c", "0", "--collectives", kind, "--curve-time", self.args.statistic, "--system", "host", "--out", path])
        return path

    def predict(self, steps, curve):
        """Microseconds of an iteration."""
        experiment = f"{self.folder}/experiment.yaml"
        model = {"kind": "program", "per_gpu_batch": 1, "precision": "fp32", "program": {"steps": steps}}
        config = {"cluster": {"system": str(HERE / "host/system.yaml"), "nodes": 1, "gpus_per_node": self.args.ranks, "gpus_installed": self.args.ranks}, "model": model,
                  "framework": {"name": str(HERE / "host/framework.yaml")}}
        pathlib.Path(experiment).write_text(json.dumps(config))  # JSON is YAML
        report = json.loads(run([f"{self.args.bin}/distsim", "--config", experiment, "--curves", curve, "--json", "-"]))
        return report["iteration_ms"] * 1e3

    def measure(self, case):
        """One round of a case: curve, program, prediction."""
        program, size, work = case
        curve = self.curve("all_reduce" if program == "example_data_parallel" else "alltoall", size)
        measured, compute = self.program(*case)
        return {"compute_us": compute, "measured_us": measured, "predicted_us": self.predict(steps_of(program, size, compute), curve)}


def steps_of(program, size, compute_us):
    """Computation and collectives in turn, as the program does them; only the sum of the computation is known."""
    kinds = PROGRAMS[program]
    part = compute_us / (len(kinds) + 1)
    steps = [{"name": "compute.0", "compute": f"{part:.3f} us"}]
    for i, kind in enumerate(kinds):
        steps += [{"name": f"{kind}.{i}", "collective": kind, "size": f"{size} B"}, {"name": f"compute.{i + 1}", "compute": f"{part:.3f} us"}]
    return steps


def summary(case, rounds):
    program, size, work = case
    ratios = sorted(r["predicted_us"] / r["measured_us"] for r in rounds)
    middle = {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
    return {"program": program, "bytes": size, "passes": work, **middle, "error": statistics.median(ratios) - 1, "least": ratios[0] - 1, "most": ratios[-1] - 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin", help="folder of distsim, collective_bench and the examples")
    parser.add_argument("--mpiexec", default="mpirun")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--statistic", choices=sorted(COLUMN), default="p10", help="of calls and iterations, in and out")
    parser.add_argument("--prefix", default="", help="put before mpirun, such as 'nice -n -20' on a machine that is not idle")
    parser.add_argument("--csv")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(args, folder)
        rounds = {case: [] for case in CASES}
        for _ in range(args.rounds):
            for case in CASES:
                rounds[case].append(machine.measure(case))
    show([summary(case, rounds[case]) for case in CASES], args)
    return 0


def show(rows, args):
    print(f"{'program':28} {'bytes':>8} {'passes':>6} {'compute us':>11} {'predicted us':>13} {'measured us':>12} {'error':>8}  of the rounds")
    for r in rows:
        print(f"{r['program']:28} {r['bytes']:8d} {r['passes']:6d} {r['compute_us']:11.1f} {r['predicted_us']:13.1f} {r['measured_us']:12.1f} {100 * r['error']:7.1f}%  "
              f"{100 * r['least']:.0f} .. {100 * r['most']:.0f} %")
    errors = sorted(abs(r["error"]) for r in rows)
    print(f"absolute error: median {100 * statistics.median(errors):.1f} %, worst {100 * errors[-1]:.1f} %, {len(errors)} programs, {args.ranks} ranks, "
          f"{args.statistic} of calls and iterations, median of {args.rounds} rounds")
    if args.csv:
        with open(args.csv, "w", newline="") as f:
            writer = csv.DictWriter(f, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
