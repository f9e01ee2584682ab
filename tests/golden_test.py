#!/usr/bin/env python3
"""The result of every pass on a small example, pinned as text.

golden_test.py BINARY            compare
golden_test.py BINARY --update   rewrite the pinned texts; read the difference before you commit it
"""
import difflib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden"

# Each case: --set flags that make a pass do something, and the passes that are pinned. None: all of them.
CASES = {
    "tiny": ([], None),
    "shared": (["engine.contention=true", "engine.slow_gpus=[{rank: 3, speed: 0.5}]", "engine.slow_nics=[{node: 1, nic: 0, speed: 0.001}]"],
               ["contend", "interfere"]),
    "folded": (["model.accumulation=8"], ["fold"]),
}


def distsim(binary: str, *args: str) -> str:
    r = subprocess.run([binary, "predict", *args], cwd=ROOT, capture_output=True, text=True, timeout=60)
    if r.returncode != 0:
        sys.exit(f"distsim {' '.join(args)}: {r.stderr}")
    return r.stdout


def passes(binary: str) -> list[str]:
    """The choices of --dump-after, as the help lists them."""
    text = " ".join(distsim(binary, "--help").split())
    listed = re.search(r"Print the result of one pass instead of the report: ((?:\w+, )+\w+)", text)
    return listed.group(1).split(", ")


def without_places(dump: str) -> str:
    """Shipped files without their folder and lines, so that a comment added to one of them changes nothing here."""
    dump = dump.replace(f"{ROOT}/", "")
    return re.sub(r"# (configs/\S+?\.yaml):\d+:\d+", r"# \1", dump)


def dump(binary: str, sets: list[str], name: str) -> str:
    flags = [flag for assignment in sets for flag in ("--set", assignment)]
    return without_places(distsim(binary, "--config", "tests/golden/tiny.yaml", *flags, "--dump-after", name))


def main() -> int:
    binary, update = sys.argv[1], "--update" in sys.argv
    failed = 0
    for case, (sets, chosen) in CASES.items():
        for name in chosen or passes(binary):
            path = GOLDEN / f"{case}.{name}.txt"
            now = dump(binary, sets, name)
            if update:
                path.write_text(now, encoding="utf-8")
                continue
            pinned = path.read_text(encoding="utf-8") if path.exists() else ""
            if now != pinned:
                failed += 1
                sys.stdout.writelines(difflib.unified_diff(pinned.splitlines(True), now.splitlines(True), str(path), "now"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
