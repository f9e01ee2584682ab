#!/usr/bin/env python3
"""Instructions of the three evaluators under callgrind, against tests/perf/instructions.json: at most 5 % more.

instructions_test.py PROBE COMPILER [--update]. Counts belong to one compiler; with another, or without valgrind, the test is skipped (exit code 77).
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BASELINE = pathlib.Path(__file__).with_name("instructions.json")
FUNCTIONS = {"rows": "distsim::engine::evaluate_rows*", "lists": "distsim::engine::evaluate_irregular*", "events": "distsim::engine::evaluate_contended*"}
TOLERANCE = 0.05
SKIPPED = 77


def count(probe: str, what: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", f"--toggle-collect={FUNCTIONS[what]}", probe, what]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        collected = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or not collected or int(collected[1]) == 0:
            raise SystemExit(f"{what}: callgrind counted nothing:\n{done.stderr[-2000:]}")
        return int(collected[1])


def main() -> int:
    probe, compiler = sys.argv[1], sys.argv[2]
    if not shutil.which("valgrind"):
        print("skipped: no valgrind found")
        return SKIPPED
    if "--update" in sys.argv:
        BASELINE.write_text(json.dumps({"compiler": compiler, **{w: count(probe, w) for w in FUNCTIONS}}, indent=1) + "\n", encoding="utf-8")
        return 0
    baseline = json.loads(BASELINE.read_text(encoding="utf-8"))
    if baseline["compiler"] != compiler:
        print(f"skipped: built with {compiler}, the baseline is of {baseline['compiler']}")
        return SKIPPED
    failed = False
    for what in FUNCTIONS:
        now, before = count(probe, what), baseline[what]
        print(f"{what:8}{now:>14,}  baseline {before:>14,}  {now / before - 1:+.2%}")
        failed = failed or now > before * (1 + TOLERANCE)
    if failed:
        print("more instructions than 5 % over the baseline; if that is meant: instructions_test.py PROBE COMPILER --update")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
