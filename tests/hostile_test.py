#!/usr/bin/env python3
"""Hostile input: each row of tests/data/hostile/*.jsonl is a few small broken files, a command line, and what has to be said.

hostile_test.py BINARY [WORD...]   run all rows, or those whose name holds one of the words
hostile_test.py BINARY --update    write down what is said now; read the difference before you commit it

A row: {"name": unique, "files": {name: text, or {"base64": ...}}, "args": [...], "line": the line on standard error}
  "stdout": true   the command prints a summary all the same
  "before": [[...], ...]   commands that must succeed first; "exit": 0 with "has": [...] instead of "line": what is named
  "configs": folder   of the row's files, as $DISTSIM_CONFIGS
{root} in arguments is the repository. Commands run in a folder with only the row's files. Refused means: exit code 2, nothing on
standard output, one line of at most 1,000 characters without control characters, no file left behind.
"""
import base64
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests/data/hostile"
SECONDS, MEMORY = 300, 4 << 30  # a machine may be busy


def execute(binary: str, args: list[str], cwd: str, configs: str | None = None) -> subprocess.CompletedProcess:
    def limit():
        if "sanitized" not in binary:  # a sanitizer maps more than there is
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    env = {k: v for k, v in os.environ.items() if k != "DISTSIM_CONFIGS"}
    if configs is not None:
        env["DISTSIM_CONFIGS"] = str(pathlib.Path(cwd) / configs)
    args = [a.replace("{root}", str(ROOT)) for a in args]
    return subprocess.run([binary, *args], cwd=cwd, capture_output=True, timeout=SECONDS, preexec_fn=limit, env=env, stdin=subprocess.DEVNULL)


def write_files(row: dict, folder: pathlib.Path) -> None:
    for name, text in row.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(text["base64"]) if isinstance(text, dict) else text.encode())


def run(binary: str, row: dict) -> tuple[str, str]:
    """What is wrong, or nothing, and the line that was said."""
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        write_files(row, folder)
        for args in row.get("before", []):
            r = execute(binary, args, d)
            if r.returncode != 0:
                return f"{args} failed: {r.stderr[:300]!r}", ""
        for name in row.get("remove", []):
            (folder / name).unlink()
        before = sorted(p.relative_to(folder) for p in folder.rglob("*"))
        try:
            r = execute(binary, row["args"], d, row.get("configs"))
        except subprocess.TimeoutExpired:
            return f"not done within {SECONDS} s", ""
        said = r.stderr.decode(errors="replace").replace(str(ROOT), "{root}").replace(d, "{dir}")
        if row.get("exit", 2) == 0:
            text = re.sub(r"\s+", " ", r.stdout.decode(errors="replace") + " " + said)
            lacking = [w for w in row["has"] if w not in text]
            return (f"exit code {r.returncode}, {said[:300]}" if r.returncode != 0 else f"does not say {lacking}: {text[:1500]}" if lacking else ""), ""
        line = said[:-1] if said.endswith("\n") else said
        if r.returncode != 2:
            return f"exit code {r.returncode}: {said[:300]} {r.stdout[:200]!r}", line
        if (r.stdout and not row.get("stdout")) or "\n" in line or not line or len(line) > 1000 or any(ord(c) < 32 or ord(c) == 127 for c in line):
            return f"not one clear line: {said[:500]!r}, standard output {r.stdout[:200]!r}", line
        left = [str(p) for p in sorted(p.relative_to(folder) for p in folder.rglob("*")) if p not in before]
        if left:
            return f"left behind: {left[:5]}", line
        return "", line


def main() -> int:
    binary, update = str(pathlib.Path(sys.argv[1]).resolve()), "--update" in sys.argv
    words = [a for a in sys.argv[2:] if not a.startswith("--")]
    failed, count, names = 0, 0, set()
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        for path in sorted(CORPUS.glob("*.jsonl")):
            rows = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines() if text]
            for row in rows:
                assert row["name"] not in names, f"two rows are named {row['name']}"
                names.add(row["name"])
            chosen = [r for r in rows if not words or any(w in r["name"] for w in words)]
            if "sanitized" in binary and not words:
                chosen = chosen[::7]  # slow, and alike: a part of every file
            for row, (wrong, line) in zip(chosen, pool.map(lambda r: run(binary, r), chosen)):
                count += 1
                if not wrong and row.get("exit", 2) == 2 and line != row.get("line"):
                    wrong = "" if update else f"says\n    {line}\n  expected\n    {row.get('line')}"
                    row["line"] = line
                if wrong:
                    failed += 1
                    print(f"{path.name}: {row['name']}: {wrong}")
            if update:
                path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
    print(f"{count} hostile inputs, {failed} not as expected")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
