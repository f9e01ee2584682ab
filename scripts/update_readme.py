#!/usr/bin/env python3
"""Fills the output blocks of README.md and docs/ by running the commands that they show.

    scripts/update_readme.py [BINARY]             fill them
    scripts/update_readme.py --check [BINARY]     only check that they are current; exit code 1 if not

A block lies between `<!-- NAME -->` and `<!-- end of NAME -->`. The picture of the flagship's page, whose text alternative holds
the time that it shows, is taken anew by Chromium where that time has changed.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGSHIP = ["--config", "configs/dgx_a100_4node.yaml"]
PICTURE = "docs/images/flagship.png"
PICTURE_SIZE = "1180,1640"  # pixels
SWEEP = ["sweep", *FLAGSHIP, "--set", "cluster.nodes=1,2,4,8,16"]


class Block(typing.NamedTuple):
    file: str
    name: str
    command: list[str]
    lines: int | None = None  # how many lines are shown; the rest becomes "..."


BLOCKS = [
    Block("README.md", "flagship output", FLAGSHIP, 8),
    Block("README.md", "sweep output", SWEEP),
    Block("docs/report.md", "flagship output", FLAGSHIP),
    Block("docs/report.md", "sweep output", SWEEP),
    Block("docs/what_if.md", "sensitivity output", ["sensitivity", *FLAGSHIP]),
    Block("docs/plan.md", "plan output", ["plan", "--config", "configs/megatron_gpt_7_5b.yaml", "--top", "4"]),
    Block("docs/validation.md", "validation output", ["validate"]),
]


def output_of(binary: str, command: list[str]) -> list[str]:
    done = subprocess.run([binary, *command], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    return [line.rstrip() for line in done.stdout.strip("\n").splitlines()]


def shown(lines: list[str], most: int | None) -> str:
    if most is not None and len(lines) > most:
        lines = [*lines[:most], "..."]
    return "```\n" + "\n".join(lines) + "\n```\n"


def calibration_table() -> str:
    """Median and 90th percentile from the tables of docs/calibration.md, in their order."""
    sections = re.split(r"^### ", (ROOT / "docs/calibration.md").read_text(encoding="utf-8"), flags=re.M)[1:]
    rows: dict[str, list[str]] = {}
    for section in sections:
        for name, cases, median, p90, _ in re.findall(r"^\| ([^|]+) \| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", section, re.M):
            rows.setdefault(name, [name, cases]).append(f"{median} / {p90}")
    head = "| median / 90th percentile | cases | " + " | ".join(section.splitlines()[0].lower() for section in sections) + " |"
    return "\n".join([head, "|---" * (len(sections) + 2) + "|"] + ["| " + " | ".join(row) + " |" for row in rows.values()]) + "\n"


def with_block(text: str, file: str, name: str, body: str) -> str:
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.S)
    text, found = pattern.subn(lambda m: m.group(1) + body + m.group(2), text)
    if found != 1:
        sys.exit(f"{file}: found {found} blocks '{name}', expected 1")
    return text


def with_picture(readme: str, time: str) -> str:
    """Names in the picture's text alternative the time that the flagship has."""
    readme, found = re.subn(rf"(nodes)[^\]]*(\]\({PICTURE}\))", rf"\1: {time}\2", readme)
    if found != 1:
        sys.exit(f"README.md: found {found} pictures {PICTURE}, expected 1")
    return readme


def picture_line(readme: str) -> str:
    return next(line for line in readme.splitlines() if PICTURE in line)


def take_picture(binary: str) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit(f"{PICTURE} shows another time than is predicted; found no chromium to take it anew")
    with tempfile.TemporaryDirectory() as folder:
        page = f"{folder}/page.html"
        output_of(binary, [*FLAGSHIP, "--html", page])
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={PICTURE_SIZE}",
                        f"--screenshot={ROOT / PICTURE}", f"file://{page}"], check=True, capture_output=True, timeout=60)


def filled(binary: str) -> dict[str, str]:
    """File -> its text with every block filled."""
    texts = {block.file: (ROOT / block.file).read_text(encoding="utf-8") for block in BLOCKS}
    for block in BLOCKS:
        texts[block.file] = with_block(texts[block.file], block.file, block.name, shown(output_of(binary, block.command), block.lines))
    texts["README.md"] = with_block(texts["README.md"], "README.md", "calibration table", calibration_table())
    time = re.search(r"[\d.]+ ms per iteration", "\n".join(output_of(binary, FLAGSHIP))).group()
    texts["README.md"] = with_picture(texts["README.md"], time)
    return texts


def main() -> int:
    args = [a for a in sys.argv[1:] if a != "--check"]
    binary = args[0] if args else str(ROOT / "build/bin/distsim")
    texts = filled(binary)
    stale = [file for file, text in texts.items() if text != (ROOT / file).read_text(encoding="utf-8")]
    if "--check" in sys.argv:
        for file in stale:
            print(f"{file} shows other output than the program prints; run scripts/update_readme.py")
        return int(bool(stale))
    if picture_line(texts["README.md"]) != picture_line((ROOT / "README.md").read_text(encoding="utf-8")):
        take_picture(binary)
    for file in stale:
        (ROOT / file).write_text(texts[file], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
