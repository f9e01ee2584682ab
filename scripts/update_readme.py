#!/usr/bin/env python3
"""Fills the output blocks of README.md by running the commands that stand beside them; --check only says whether they are current."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCKS = {
    "flagship output": ["--config", "configs/dgx_a100_4node.yaml"],
    "sweep output": ["sweep", "--config", "configs/dgx_a100_4node.yaml", "--set", "cluster.nodes=1,2,4,8,16"],
    "validation output": ["validate"],
}


def output_of(binary: str, args: list[str]) -> str:
    done = subprocess.run([binary, *args], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())


def calibration_table() -> str:
    """The four columns that matter of docs/calibration.md."""
    sections = re.split(r"^### ", (ROOT / "docs/calibration.md").read_text(encoding="utf-8"), flags=re.M)[1:]
    rows: dict[str, list[str]] = {}
    for section in sections:
        for name, cases, median, p90, _ in re.findall(r"^\| ([^|]+) \| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", section, re.M):
            rows.setdefault(name, [name, cases]).append(f"{median} / {p90}")
    head = "| median / 90th percentile | cases | " + " | ".join(section.splitlines()[0].lower() for section in sections) + " |"
    return "\n".join([head, "|---" * (len(sections) + 2) + "|"] + ["| " + " | ".join(row) + " |" for row in rows.values()])


def filled(text: str, binary: str) -> str:
    text = re.sub(r"(<!-- calibration table -->\n).*?(<!-- end of calibration table -->)", lambda m: m.group(1) + calibration_table() + "\n" + m.group(2),
                  text, flags=re.S)
    for name, args in BLOCKS.items():
        pattern = re.compile(rf"(<!-- {name} -->\n```\n).*?(```\n<!-- end of {name} -->)", re.S)
        if not pattern.search(text):
            sys.exit(f"README.md has no block '{name}'")
        body = output_of(binary, args)
        text = pattern.sub(lambda m: m.group(1) + body + "\n" + m.group(2), text)
    return text


def main() -> int:
    args = [a for a in sys.argv[1:] if a != "--check"]
    binary = args[0] if args else str(ROOT / "build/bin/distsim")
    readme = ROOT / "README.md"
    old = readme.read_text(encoding="utf-8")
    new = filled(old, binary)
    if "--check" in sys.argv:
        if new != old:
            print("README.md shows other output than the program prints; run scripts/update_readme.py")
        return int(new != old)
    readme.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
