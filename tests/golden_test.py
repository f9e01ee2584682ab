#!/usr/bin/env python3
"""The values between the steps of the pipeline, pinned as text. Regenerate on purpose: golden_test.py BINARY --update, and read the difference."""
import difflib
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden"
STEPS = ["parse", "build_topology", "build_workload"]


def dump(binary: str, step: str) -> str:
    command = [binary, "--config", "tests/golden/tiny.yaml", "--dump-after", step]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout


def main() -> int:
    binary, update = sys.argv[1], "--update" in sys.argv
    failed = 0
    for step in STEPS:
        path = GOLDEN / f"tiny.{step}.txt"
        now = dump(binary, step)
        if update:
            path.write_text(now, encoding="utf-8")
            continue
        pinned = path.read_text(encoding="utf-8")
        if now != pinned:
            failed += 1
            sys.stdout.writelines(difflib.unified_diff(pinned.splitlines(True), now.splitlines(True), str(path), "now"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
