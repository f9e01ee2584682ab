#!/usr/bin/env python3
"""Runs docs/tutorial.md as a reader does: every command in it, in order, in one empty folder, with the built distsim on the PATH.

    tests/tutorial_test.py BINARY             exit codes, files and quoted output are as the tutorial says
    tests/tutorial_test.py BINARY --update    quote the output of this binary

A block ```sh is run by bash. `<!-- exit code N -->` before it says how it ends, else 0. A block ```text after it quotes its output: the lines that match
the regular expression of the `<!-- shows: REGEX -->` before it, with "..." where lines are skipped.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/tutorial.md"
BLOCK = re.compile(
    r"(?:<!-- exit code (?P<code>\d+) -->\n)?```sh\n(?P<script>.*?)```\n"
    r"(?:\n(?P<head><!-- shows: (?P<shows>[^\n]*) -->\n```text\n)(?P<quote>.*?)(?P<tail>```\n))?",
    re.S,
)
OUTPUT_FILE = re.compile(r"--(?:out|csv|html|json|timeline) (\S+)")
LEAST_BLOCKS = 10  # fewer: the pattern no longer fits the page


class Ran(typing.NamedTuple):
    code: int
    output: str


def run(script: str, folder: str, binary: pathlib.Path) -> Ran:
    env = {**os.environ, "PATH": f"{binary.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-e", "-u", "-o", "pipefail", "-c", script], cwd=folder, env=env, text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return Ran(done.returncode, done.stdout)


def quoted(output: str, shows: str) -> str:
    lines, out, skipped = [line.rstrip() for line in output.strip("\n").splitlines()], [], False
    for line in lines:
        if not re.search(shows, line):
            skipped = skipped or bool(line)
            continue
        out += ["..."] if skipped else []
        out.append(line)
        skipped = False
    return "".join(line + "\n" for line in [*out, *(["..."] if skipped else [])])


def problems_of(block: re.Match, ran: Ran, folder: str):
    expected = int(block["code"] or 0)
    if ran.code != expected:
        yield f"exit code {ran.code}, expected {expected}; it printed:\n{ran.output}"
    for name in OUTPUT_FILE.findall(block["script"]):
        file = pathlib.Path(folder) / name
        if not file.is_file() or file.stat().st_size == 0:
            yield f"did not write {name}"
    if block["head"] is None:
        return
    now = quoted(ran.output, block["shows"])
    if not re.sub(r"[.\s]", "", now):
        yield f"nothing of the output matches '{block['shows']}'"
    elif now != block["quote"]:
        yield f"prints\n{now}the tutorial quotes\n{block['quote']}run tests/tutorial_test.py BINARY --update"


def unrun_commands(text: str):
    """Commands and code blocks outside of the blocks that are run."""
    rest = BLOCK.sub("", text)
    return re.findall(r"^(?:    |\$ ).*|^```\w*$", rest, re.M)


def main() -> int:
    binary = pathlib.Path(sys.argv[1]).resolve()
    update = "--update" in sys.argv[2:]
    text = PAGE.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    problems = [f"not run: {line}" for line in unrun_commands(text)]
    if len(blocks) < LEAST_BLOCKS or len(blocks) != text.count("```sh\n"):
        problems.append(f"found {len(blocks)} blocks to run, expected at least {LEAST_BLOCKS} and all {text.count('```sh' + chr(10))}")
    out, at = "", 0
    with tempfile.TemporaryDirectory() as folder:
        for block in blocks:
            ran = run(block["script"], folder, binary)
            found = list(problems_of(block, ran, folder))
            if update and block["head"] is not None and ran.code == int(block["code"] or 0):
                out += text[at:block.start("quote")] + quoted(ran.output, block["shows"])
                at = block.end("quote")
                found = []
            problems += [f"{block['script'].strip().splitlines()[-1]}\n  {p}" for p in found]
    if update:
        PAGE.write_text(out + text[at:], encoding="utf-8")
    for problem in problems:
        print(problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
