#!/usr/bin/env python3
"""A benchmark that errs fails: it must not report the time of a refusal as the time of the work.

usage: bench_failures_test.py PREDICT_BENCH
"""
import subprocess
import sys

QUICK = "--benchmark_min_time=0.001"
CASES = [  # arguments, exit code, what standard output or error contains
    (["/no/such/experiment.yaml", QUICK], 1, "/no/such/experiment.yaml"),
    ([QUICK, "--benchmark_filter=no_such_benchmark"], 1, ""),
    ([QUICK, "--no_such_flag"], 2, "no_such_flag"),
    (["a.yaml", "b.yaml", QUICK], 2, "a.yaml"),
]


def main() -> int:
    bench = sys.argv[1]
    failed = 0
    for arguments, code, text in CASES:
        done = subprocess.run([bench, *arguments], capture_output=True, text=True, check=False, timeout=120)
        said = done.stdout + done.stderr
        if done.returncode != code or text not in said:
            failed += 1
            print(f"{' '.join(arguments)}: found exit code {done.returncode}, expected {code}, with '{text}' in:\n{said}")
        if code == 1 and "ms " in done.stdout:
            failed += 1
            print(f"{' '.join(arguments)}: reports a time:\n{done.stdout}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
