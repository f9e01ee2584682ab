#!/usr/bin/env python3
"""How much the tests notice: flips one operator at a time in a folder, builds and runs the folder's tests, and reports the share of
changes that no test noticed, with their places.

mutate_tests.py engine                     40 changes of sim/engine, against test_engine
mutate_tests.py opmodels --count 100 --seed 2
mutate_tests.py collectives --every        all changes, which takes days

Works on a copy of the tree in build-mutants, so that yours stays as it is. A change that does not build counts for nothing; one after
which the tests do not end in time is noticed. Quick tests run first; what they do not notice meets the others.
"""
import argparse
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = {"base": "base", "engine": "sim/engine", "opmodels": "opmodels", "collectives": "collectives", "topology": "topology", "report": "sim/report",
           "workload": "sim/workload", "study": "sim/study", "pipeline": "sim/pipeline", "graph": "sim/graph"}

# What is found, and what it becomes. Blanks around an operator tell it from a template's brackets (the format is clang-format's).
FLIPS = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "),
         (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" \+= ", " -= "), (r" -= ", " += "), (r"\btrue\b", "false"),
         (r"\bfalse\b", "true"), (r"\bstd::min\b", "std::max"), (r"\bstd::max\b", "std::min"), (r"(?<=[( ])!(?=[a-z(])", ""),
         (r"(?<![\w.'])0(?![\w.'])", "1"), (r"(?<![\w.'])1(?![\w.'])", "2"), (r"(?<![\w.'])2(?![\w.'])", "3"), (r"\+\+(?=\w)", "--")]
SKIPPED = re.compile(r"^\s*(//|/\*|\*|#|static_assert|template|using |CHECK)|\boperator\b|log_(debug|info|warn)")


def code_of(line: str) -> str:
    """The line with strings and comments blanked, so that places stay."""
    line = re.sub(r'"(?:\\.|[^"\\])*"', lambda m: "\x00" * len(m.group()), line)
    return re.sub(r"//.*", lambda m: "\x00" * len(m.group()), line)


def changes(folder: str) -> list[tuple[str, int, int, int, str]]:
    """File, line, and what of it becomes what."""
    out = []
    for file in sorted((ROOT / folder).rglob("*.cpp")):
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n")):
            if SKIPPED.search(line):
                continue
            for pattern, new in FLIPS:
                out += [(str(file.relative_to(ROOT)), number, m.start(), m.end(), new) for m in re.finditer(pattern, code_of(line))]
    return out


def copy_tree(copy: pathlib.Path) -> None:
    copy.mkdir(parents=True, exist_ok=True)
    for name in subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        source, target = ROOT / name, copy / name
        if not source.is_file() or (target.exists() and target.read_bytes() == source.read_bytes()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def bounded():
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # a change may let a loop allocate for ever


class Tests:
    """The test program of a folder, in the copy."""
    QUICK = 5  # seconds in all of the tests that run first

    def __init__(self, copy: pathlib.Path, target: str, jobs: int):
        self.copy, self.target, self.jobs = copy, target, jobs
        self.program, self.limit, self.filters = copy / "build/bin" / target, 600.0, ["*"]
        if not self.build():
            sys.exit(f"{target} does not build")
        start, report = time.monotonic(), copy / "build/mutants.json"
        if not self.passes(f"--gtest_output=json:{report}"):
            sys.exit(f"{target} fails without any change")
        self.limit = 10 + 5 * (time.monotonic() - start)
        times = {f"{suite['name']}.{test['name']}": float(test["time"][:-1])
                 for suite in json.loads(report.read_text())["testsuites"] for test in suite["testsuite"]}
        quick, total = [], 0.0
        for name in sorted(times, key=times.get):
            total += times[name]
            if total <= self.QUICK:
                quick.append(name)
        self.filters = [":".join(quick), "-" + ":".join(quick)] if len(quick) < len(times) else ["*"]
        print(f"{target}: {len(quick)} of {len(times)} tests run first", flush=True)

    def build(self) -> bool:
        return subprocess.run(["cmake", "--build", str(self.copy / "build"), "--target", self.target, "-j", str(self.jobs)], capture_output=True).returncode == 0

    def passes(self, *flags: str) -> bool:
        try:
            return all(subprocess.run([str(self.program), "--gtest_brief=1", *flags], cwd=self.copy, capture_output=True, timeout=self.limit,
                                      env=os.environ | {"GTEST_FILTER": f, "GTEST_FAIL_FAST": "1"}, preexec_fn=bounded).returncode == 0 for f in self.filters)
        except subprocess.TimeoutExpired:
            return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", choices=FOLDERS)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no further change after so many")
    parser.add_argument("--copy", type=pathlib.Path, default=ROOT / "build-mutants", help="where the copy is, its build within")
    parser.add_argument("--cmake", default="-DDISTSIM_BENCH=OFF -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1", help="how it is configured")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    copy_tree(options.copy)
    subprocess.run(["cmake", "-S", str(options.copy), "-B", str(options.copy / "build"), "-G", "Ninja", *options.cmake.split()], capture_output=True, check=True)
    tests, start = Tests(options.copy, f"test_{options.folder}", options.jobs), time.monotonic()

    all_changes = changes(FOLDERS[options.folder])
    if not options.every:
        random.Random(options.seed).shuffle(all_changes)
    survivors, noticed, unbuilt = [], 0, 0
    for name, number, begin, end, new in all_changes if options.every else all_changes[:options.count]:
        if time.monotonic() - start > 60 * options.minutes:
            break
        file = options.copy / name
        text = file.read_text(encoding="utf-8")
        lines = text.split("\n")
        lines[number] = lines[number][:begin] + new + lines[number][end:]
        try:
            file.write_text("\n".join(lines), encoding="utf-8")
            if not tests.build():
                unbuilt += 1
            elif tests.passes():
                survivors.append(f"{name}:{number + 1}: {text.split(chr(10))[number].strip()}  ->  {lines[number].strip()}")
                print("not noticed:", survivors[-1], flush=True)
            else:
                noticed += 1
        finally:
            file.write_text(text, encoding="utf-8")
    tried = noticed + len(survivors)
    print(f"{options.folder}: {len(survivors)} of {tried} changes not noticed ({100 * len(survivors) / max(1, tried):.0f} %), "
          f"{unbuilt} more did not build, {len(all_changes)} possible")


if __name__ == "__main__":
    main()
