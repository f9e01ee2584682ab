#!/usr/bin/env python3
"""What a call of the Python module takes beyond the call of the C++ library that it makes, in one process: docs/python.md.

    PYTHONPATH=build/python scripts/python_overhead.py
    PYTHONPATH=build/python scripts/python_overhead.py --rounds 50 --calls 100

In turns, so many calls in C++ and as many in Python; CPU time of the process; the median of the differences. --most RATIO: exit code 1 where a call of
Python takes more than so many times a call of C++ (tests)."""
import argparse
import pathlib
import statistics
import sys
import time

import distsim
from distsim import _distsim
from distsim._experiment import experiment_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
AS_DICT = {"title": "one node", "cluster": {"system": "dgx_a100_80gb", "nodes": 1}, "model": {"name": "dlrm_mlperf", "global_batch": 8192},
           "framework": {"name": "hugectr"}}


def cases():
    language, recommender = (str(ROOT / "configs" / name) for name in ("megatron_gpt_7_5b.yaml", "dlrm_skewed_2node.yaml"))
    settings = {"cluster.nodes": 4, "model.global_batch": 4096, "title": "three settings"}
    return [("a file", language, None), ("another file", recommender, None), ("a file with three settings", recommender, settings),
            ("a dict", AS_DICT, None)]


def seconds_of_python(config, sets, calls):
    begin = time.process_time()
    for _ in range(calls):
        distsim.predict(config, set=sets).iteration_ms
    return time.process_time() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=301)
    parser.add_argument("--calls", type=int, default=2)
    parser.add_argument("--most", type=float, default=float("inf"))
    options = parser.parse_args()
    worst = 0.0
    print("| experiment | C++ us | Python us | more us | ratio |\n|---|---|---|---|---|")
    for name, config, sets in cases():
        experiment = experiment_of(config, sets)
        seconds_of_python(config, sets, 2)
        rounds = []
        for _ in range(options.rounds):
            rounds.append((_distsim.time_of_predict(experiment, options.calls) / options.calls * 1e6,
                           seconds_of_python(config, sets, options.calls) / options.calls * 1e6))
        cpp, python = (statistics.median(r[i] for r in rounds) for i in (0, 1))
        more = statistics.median(p - c for c, p in rounds)
        ratio = min(p for _, p in rounds) / min(c for c, _ in rounds)
        worst = max(worst, ratio)
        print(f"| {name} | {cpp:.0f} | {python:.0f} | {more:.1f} | {ratio:.3f} |")
    return 1 if worst > options.most else 0


if __name__ == "__main__":
    sys.exit(main())
