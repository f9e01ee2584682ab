#!/usr/bin/env python3
"""Measure this machine's MPI collectives, predict two small MPI programs with distsim, and compare with their measured times.

    closed_loop.py --bin build/bin [--mpiexec mpirun] [--ranks 2] [--rounds 5] [--csv FILE] [--prefix "nice -n -20"]

What goes in: curves of collective_bench, and the time of each program's computation alone (--compute-only). What is predicted: the time of an
iteration of the whole program, which is measured only for the comparison. Rounds of all three alternate, so that a machine that is faster or slower
for a while is so for all of them; of the rounds the median counts.
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


def run(command):
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: code {done.returncode}\n{done.stderr}")
    return done.stdout


class Machine:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.mpirun = shlex.split(args.prefix) + [args.mpiexec, "-n", str(args.ranks)]

    def program(self, name, size, work, iterations, *more):
        """Median time of an iteration in microseconds."""
        out = run(self.mpirun + [f"{self.args.bin}/{name}", "--size", str(size), "--work", str(work), "--iterations", str(iterations), *more])
        return float(out.split()[1])

    def curves(self, number):
        """One round of curves: sizes around those of the programs."""
        path = f"{self.folder}/round{number}.curve.txtpb"
        run(self.mpirun + [f"{self.args.bin}/collective_bench", "--backend", "mpi", "-b", "32K", "-e", "8M", "-f", "2", "-n", "60", "-w", "5", "-c", "0",
                           "--collectives", "all_reduce,alltoall", "--system", "host", "--out", path])
        return path

    def predict(self, steps, curves):
        """Microseconds of an iteration, for each of the curve files; their median counts."""
        experiment = f"{self.folder}/experiment.yaml"
        model = {"kind": "program", "per_gpu_batch": 1, "precision": "fp32", "program": {"steps": steps}}
        config = {"cluster": {"system": str(HERE / "host/system.yaml"), "nodes": 1, "gpus_per_node": self.args.ranks, "gpus_installed": self.args.ranks}, "model": model,
                  "framework": {"name": str(HERE / "host/framework.yaml")}}
        pathlib.Path(experiment).write_text(json.dumps(config))  # JSON is YAML
        reports = [json.loads(run([f"{self.args.bin}/distsim", "--config", experiment, "--curves", c, "--json", "-"])) for c in curves]
        return statistics.median(iteration_us(r) for r in reports)


def iteration_us(report):
    return report["iteration_ms"] * 1e3


def steps_of(program, size, compute_us):
    """Computation and collectives in turn, as the program does them; only the sum of the computation is known."""
    kinds = PROGRAMS[program]
    part = compute_us / (len(kinds) + 1)
    steps = [{"name": "compute.0", "compute": f"{part:.3f} us"}]
    for i, kind in enumerate(kinds):
        steps += [{"name": f"{kind}.{i}", "collective": kind, "size": f"{size} B"}, {"name": f"compute.{i + 1}", "compute": f"{part:.3f} us"}]
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin", help="folder of distsim, collective_bench and the examples")
    parser.add_argument("--mpiexec", default="mpirun")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--prefix", default="", help="put before mpirun, such as 'nice -n -20' on a machine that is not idle")
    parser.add_argument("--csv")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(args, folder)
        curves, compute, measured = [], {c: [] for c in CASES}, {c: [] for c in CASES}
        for number in range(args.rounds):
            curves.append(machine.curves(number))
            for case in CASES:
                compute[case].append(machine.program(*case, args.iterations, "--compute-only"))
                measured[case].append(machine.program(*case, args.iterations))
        rows = [compare(machine, case, statistics.median(compute[case]), statistics.median(measured[case]), curves) for case in CASES]
    show(rows, args)
    return 0


def compare(machine, case, compute_us, measured_us, curves):
    program, size, work = case
    predicted = machine.predict(steps_of(program, size, compute_us), curves)
    return {"program": program, "bytes": size, "passes": work, "compute_us": compute_us, "predicted_us": predicted, "measured_us": measured_us,
            "error": predicted / measured_us - 1}


def show(rows, args):
    print(f"{'program':28} {'bytes':>8} {'passes':>6} {'compute us':>11} {'predicted us':>13} {'measured us':>12} {'error':>8}")
    for r in rows:
        print(f"{r['program']:28} {r['bytes']:8d} {r['passes']:6d} {r['compute_us']:11.1f} {r['predicted_us']:13.1f} {r['measured_us']:12.1f} {100 * r['error']:7.1f}%")
    errors = sorted(abs(r["error"]) for r in rows)
    print(f"absolute error: median {100 * statistics.median(errors):.1f} %, worst {100 * errors[-1]:.1f} %, {len(errors)} programs, {args.ranks} ranks, "
          f"median of {args.rounds} rounds")
    if args.csv:
        with open(args.csv, "w", newline="") as f:
            writer = csv.DictWriter(f, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
