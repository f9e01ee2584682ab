#!/usr/bin/env python3
"""What a call of the Python module takes beyond the call of the C++ library that it makes, in one process: docs/python.md.

    PYTHONPATH=build/python scripts/python_overhead.py
    PYTHONPATH=build/python scripts/python_overhead.py --rounds 50 --calls 100

In turns, a call in C++ and one in Python; CPU time of the process. Medians, and the difference of the 10th percentiles, which depends
less on what else the machine does. --most RATIO: exit code 1 where a call of Python takes more than so many times a call of C++, both
at the 10th percentile (tests)."""
import argparse
import pathlib
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
    parser.add_argument("--rounds", type=int, default=1001)
    parser.add_argument("--calls", type=int, default=1)
    parser.add_argument("--most", type=float, default=float("inf"))
    options = parser.parse_args()
    worst = 0.0
    print("| experiment | C++ us | Python us | more us: median | 10th percentile |\n|---|---|---|---|---|")
    for name, config, sets in cases():
        experiment = experiment_of(config, sets)
        seconds_of_python(config, sets, 2)
        cpp, python = [], []
        for _ in range(options.rounds):
            cpp.append(_distsim.time_of_predict(experiment, options.calls) / options.calls * 1e6)
            python.append(seconds_of_python(config, sets, options.calls) / options.calls * 1e6)
        cpp.sort()
        python.sort()
        middle, tenth = options.rounds // 2, options.rounds // 10
        worst = max(worst, python[tenth] / cpp[tenth])
        print(f"| {name} | {cpp[middle]:.0f} | {python[middle]:.0f} | {python[middle] - cpp[middle]:.0f} | {python[tenth] - cpp[tenth]:.0f} |")
    return 1 if worst > options.most else 0


if __name__ == "__main__":
    sys.exit(main())
