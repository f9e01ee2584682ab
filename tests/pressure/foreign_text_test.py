#!/usr/bin/env python3
"""Foreign text leaves through one door: names, paths, cells and flag values that hold escape sequences, line breaks, a hundred thousand
characters or formulas reach no terminal and no spreadsheet as such, from any reader.

foreign_text_test.py DISTSIM
"""
import concurrent.futures
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from jobs import CASES, FORMATS, OPS, ROOT, TINY

BINARY = sys.argv.pop(1)
FLAGSHIP = str(ROOT / "configs/dgx_a100_4node.yaml")

# What may stand together does: a formula, escape sequences and line breaks in one text; bytes that are no UTF-8, for which readers may
# refuse all of it; and the texts that are only long.
PAYLOADS = {
    "escapes": "=HYPERLINK(\"http://x\")\x1b[31mred\x1b]0;title\x07\u009b31m one\nSPLIT two\rSPLIT".encode(),
    "bytes": b"\xff\xfe\xc3(\x1b[31m\nSPLIT",
    "long": b"a" * 100_043,
    "number": b"1" * 300,
}
NUMBERS = {"number.yaml", "raw.yaml", "key.yaml", "id.csv", "measured.csv", "size.csv", "row.log"}  # files where a number stands, or a name of digits
SHORT = {k: v for k, v in PAYLOADS.items() if k != "long"}  # of a file name
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
LONGEST_LINE = 4200

# P is the payload. Flags and arguments of every command that take free text.
FLAGS = [
    "--config P", "--config C --set P", "--config C --set P=1", "--config C --set cluster.nodes=P", "--config C --set cluster.system=P",
    "--config C --set model.name=P", "--config C --set framework.name=P", "--config C --set title='P'", "--config C --json P/x", "--config C --timeline P",
    "--config C --curves P", "--config C --dump-after P", "--config C --trials P", "--config C --P", "--config C --write-et P/x", "P",
    "sweep --config C --set P", "sweep --config C --set cluster.nodes=1,P", "sweep --config C --scaling P", "sweep --config C --jobs P", "sweep --config P",
    "sensitivity --config C --resource P", "sensitivity --config C --factors P", "compare P C", "compare C --set P", "compare C --set model.name=P",
    "cost collective --system P --kind all_reduce --nodes 2 --bytes 8", "cost collective --system dgx_a100_80gb --kind P --nodes 2 --bytes 8",
    "cost collective --system dgx_a100_80gb --kind all_reduce --nodes P --bytes 8", "cost collective --system dgx_a100_80gb --kind all_reduce --nodes 2 --bytes P",
    "cost collective --system dgx_a100_80gb --kind all_reduce --nodes 2 --bytes 8 --launch P",
    "cost collective --system dgx_a100_80gb --kind all_reduce --nodes 2 --bytes 8 --exchange P",
    "cost collective --system dgx_a100_80gb --kind all_reduce --nodes 2 --bytes 8 --algorithms P",
    "cost collective --system dgx_a100_80gb --kind all_reduce --nodes 2 --bytes 8 --protocols P",
    "cost collective --system dgx_a100_80gb --kind all_reduce --nodes 2 --bytes 8 --curve P",
    "cost op --gpu P --op linear --dtype fp16 m=1 n=1 k=1", "cost op --gpu a100_sxm4_80gb --op P --dtype fp16 m=1 n=1 k=1",
    "cost op --gpu a100_sxm4_80gb --op linear --dtype P m=1 n=1 k=1", "cost op --gpu a100_sxm4_80gb --op linear --pass P --dtype fp16 m=1 n=1 k=1",
    "cost op --gpu a100_sxm4_80gb --op linear --dtype fp16 m=P n=1 k=1", "cost op --gpu a100_sxm4_80gb --op linear --dtype fp16 P=1", "cost op --input P",
    "validate --cases P", "validate --explain P", "validate --cases K --csv P/x", "list P", "curves import L --system P", "curves import P --system dgx_a100_80gb",
    "curves import L --system dgx_a100_80gb --date P", "curves import L --system dgx_a100_80gb --launch P", "curves show P", "curves plan --config P",
    "profile P", "profile T --table P --csv -", "profile T --steps P", "profile T --rank P", "replay P", "replay T --step-pattern P", "replay T --measured-on P",
    "replay T --remove P", "replay T --fuse P", "replay T --config P", "replay E --network P", "replay E --config C --groups P",
    "hugectr schedule P", "hugectr timeline P", "hugectr timeline H --events P", "hugectr scaling --run P", "hugectr scaling --run P=H",
    "calibrate ops --input P --device a100_sxm4_80gb", "calibrate ops --input O --device P", "calibrate ops --input O --device a100_sxm4_80gb --out P/x",
    "calibrate features --input O --kernel P", "completion P", "--log-level P list systems",
]


def json_text(payload: bytes) -> str:
    return json.dumps(payload.decode("utf-8", "replace"))[1:-1]


def with_column(table: str, name: str, cell: str) -> str:
    """One more column behind the first."""
    head, *rows = table.splitlines()
    return "\n".join([head.replace(",", f",{name},", 1)] + [row.replace(",", f",{cell},", 1) for row in rows]) + "\n"


def files(payload: bytes, folder: pathlib.Path) -> list[tuple[str, list]]:
    """Files that hold the payload where their readers take text, each with the commands that read it."""
    escaped = json_text(payload)  # YAML in double quotes and JSON have these escapes in common
    octal = "".join(chr(b) if 0x20 <= b < 0x7f and b not in b'"\\' else f"\\{b:03o}" for b in payload)
    cell = '"' + payload.decode("utf-8", "replace").replace('"', '""') + '"'
    tiny = pathlib.Path(TINY).read_text()
    kineto = pathlib.Path(FORMATS / "kineto.json").read_text()
    outs = ["--json", str(folder / "o.json"), "--csv", str(folder / "o.csv"), "--html", str(folder / "o.html")]
    yaml = [["--config", "F"], ["--config", "F", *outs], ["--config", "F", "--dump-after", "resolve"], ["--config", "F", "--dump-after", "analyse"],
            ["sensitivity", "--config", "F"], ["compare", "F", TINY], ["sweep", "--config", "F", "--set", "cluster.nodes=1,2"]]
    case = [["validate", "--cases", "F"], ["validate", "--cases", "F", "--csv", "-"], ["validate", "--cases", "F", "--plot", str(folder / "o.svg")],
            ["validate", "--cases", "F", "--explain", "a"]]
    op = [["cost", "op", "--input", "F"], ["calibrate", "ops", "--input", "F", "--device", "a100_sxm4_80gb", "--out", str(folder)],
          ["calibrate", "features", "--input", "F", "--kernel", "product16"]]
    log = pathlib.Path(ROOT / "tests/data/collectives/a100_2n16g_all_reduce_oke_gpu4.txt").read_text()
    logs = [["curves", "import", "F", "--system", "dgx_a100_80gb", "--date", "2026-01-02"], ["curves", "show", "F"], ["--config", FLAGSHIP, "--curves", "F"],
            ["cost", "collective", "--system", "dgx_a100_80gb", "--kind", "all_reduce", "--nodes", "2", "--bytes", "1MiB", "--curve", "F"],
            ["cost", "collective", "--system", "dgx_a100_80gb", "--kind", "all_reduce", "--nodes", "2", "--bytes", "1MiB", "--explain", "--curve", "F"]]
    curve = pathlib.Path(ROOT / "configs/curves/dgx_a100_80gb.curve.txtpb").read_text()
    trace = [["profile", "F"], ["profile", "F", "--csv", "-", "--table", "kernels"], ["replay", "F"], ["replay", "F", "--csv", "-"]]
    et = pathlib.Path(ROOT / "tests/data/traces/chakra/json_trace_small.json").read_text()
    hugectr = pathlib.Path(FORMATS / "host.prof.json").read_text()
    gputrace = pathlib.Path(FORMATS / "gputrace.csv").read_text()

    def put(before, after, text, new):
        """`new` in place of what is between the two patterns, everywhere."""
        changed = re.sub(f"({before}).*?({after})", lambda m: m.group(1) + new + m.group(2), text)
        assert changed != text, before
        return changed

    rest = "(?=\n)"
    texts = [
        ("title.yaml", put("title: ", rest, tiny, f'"{escaped}"'), yaml),
        ("name.yaml", put("\n  name: ", rest, tiny, f'"{escaped}"'), yaml),
        ("description.yaml", put("description: ", rest, tiny, f'"{escaped}"'), yaml[:3]),
        ("device.yaml", put("device: ", rest, tiny, f'"{escaped}"'), yaml[:1]),
        ("key.yaml", put("  ", "(?=: 2\n)", tiny, f'"{escaped}"'), yaml[:1]),
        ("number.yaml", put("  nodes: ", rest, tiny, f'"{escaped}"'), yaml[:1]),
        ("raw.yaml", payload, yaml[:1]),
        ("id.csv", CASES.replace("\na,", f"\n{cell},", 1), case),
        ("column.csv", with_column(CASES, cell, "1"), case),
        ("carried.csv", with_column(CASES, "remark", cell), case),
        ("system.csv", CASES.replace("dgx_a100_80gb", cell, 1), case),
        ("measured.csv", CASES.replace(",3.1", f",{cell}"), case),
        ("key.csv", CASES.replace("cluster.nodes", '"cluster.' + cell[1:], 1), case[:1]),
        ("gpu.csv", OPS.replace("A100-SXM4-80GB", cell, 1), op),
        ("op.csv", OPS.replace("linear", cell, 1), op),
        ("size.csv", OPS.replace(",128,", f",{cell},", 1), op),
        ("head.csv", with_column(OPS, cell, "x"), op),
        ("raw.csv", payload, case[:1] + op[:1]),
        ("row.log", put(r"\n +\d+ +\d+ +", "(?= )", log, payload.decode("latin-1")), logs),
        ("hardware.log", put("# hardware: ", rest, log, payload.decode("latin-1")), logs),
        ("raw.log", payload, logs),
        ("system.curve.txtpb", put('\nsystem: ', rest, curve, f'"{octal}"'), logs[1:]),
        ("source.curve.txtpb", put('source: ', rest, curve, f'"{octal}"'), logs[1:]),
        ("label.curve.txtpb", put('label: ', rest, curve, f'"{octal}"'), logs[1:]),
        ("library.curve.txtpb", put('library: ', rest, curve.replace("label: ", "library: "), f'"{octal}"'), logs[1:]),
        ("raw.curve.txtpb", b"version: " + payload, logs[1:2]),
        ("names.json", put('"name":"', '"', kineto, escaped), trace),
        ("steps.json", put('"user_annotation","name":"', '(?=#)', kineto, escaped), trace),
        ("raw.json", b'{"traceEvents": ' + payload, trace[:1]),
        ("gputrace.csv", gputrace.rstrip("\n").rsplit(",", 1)[0] + "," + cell + "\n", trace[:2]),
        ("et.json", put('"Name": "', '"', et, escaped), [["replay", "F", "--config", TINY]]),
        ("host.prof.json", put('"host_name":"', '"', hugectr, escaped),
         [["hugectr", "timeline", "F"], ["hugectr", "timeline", "F", "--svg", str(folder / "h.svg"), "--json", str(folder / "h.json")]]),
        ("layer.prof.json", put('"layer_name":"', '"', hugectr, escaped), [["hugectr", "timeline", "F", "--svg", str(folder / "h.svg")], ["profile", "F"]]),
    ]
    for name, text, _ in texts:
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8" if not name.endswith(".log") else "latin-1", "replace"))
    return [(name, [[str(folder / name) if w == "F" else w for w in words] for words in commands]) for name, _, commands in texts]


def run(words, cwd):
    return subprocess.run([BINARY, *words], capture_output=True, timeout=600, cwd=cwd, stdin=subprocess.DEVNULL)


def complaint(r, to_terminal: bool) -> str | None:
    """What is wrong with the texts that a run printed."""
    if r.returncode not in (0, 2):
        return f"exit code {r.returncode}"
    try:
        said, out = r.stderr.decode(), r.stdout.decode()
    except UnicodeDecodeError as e:
        return f"bytes that are not UTF-8: {e}"
    for name, text in (("standard error", said), ("standard output", out if to_terminal else "")):
        if found := CONTROL.search(text):
            return f"{name}: {found.group()!r} in {text[max(0, found.start() - 60):found.end() + 20]!r}"
        if re.search(r"^(# )?SPLIT", text, re.M):
            return f"{name}: a line of the foreign text is one of its own: {text[:300]!r}"
    if r.returncode != 0 and sum(not line.startswith(("distsim: debug: ", "distsim: info: ")) for line in said.splitlines()) != 1:
        return f"{said.count(chr(10))} lines: {said[:300]!r}"
    if any(not line.startswith("distsim: ") or len(line) > LONGEST_LINE for line in said.splitlines()):
        return f"a line that is too long or not ours: {max(said.splitlines(), key=len)[:200]!r}"
    return None


def table_complaint(text: str) -> str | None:
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", cell):
                return f"a control character in the cell {cell[:80]!r}"
            if re.match(r"[=@]|[+-](?![\d.]|inf|nan|$)", cell):
                return f"a formula: {cell[:80]!r}"
    return None


class Door(unittest.TestCase):
    def test_flags(self):
        def one(case):
            template, kind, payload = case
            stand_ins = {b"C": TINY, b"T": str(FORMATS / "kineto.json"), b"E": str(FORMATS / "chakra.0.et"), b"H": str(FORMATS / "host.prof.json"),
                         b"L": str(ROOT / "tests/data/collectives/a100_2n16g_all_reduce_oke_gpu4.txt"), b"O": "ops.csv", b"K": "cases.csv"}
            words = [os.fsencode(stand_ins[w]) if w in stand_ins else re.sub(rb"\bP\b", lambda _: payload, w) for w in template.encode().split()]
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "ops.csv").write_text(OPS)
                (pathlib.Path(folder) / "cases.csv").write_text(CASES)
                found = complaint(run(words, folder), to_terminal=True)
            return found and f"{template} with {kind}: {found}"
        cases = [(t, kind, payload) for t in FLAGS for kind, payload in PAYLOADS.items()]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = [c for c in pool.map(one, cases) if c]
        self.assertEqual(found, [], f"{len(found)} of {len(cases)}\n" + "\n".join(found[:40]))

    def test_files_and_their_tables(self):
        def one(case):
            kind, payload = case
            problems, count = [], 0
            with tempfile.TemporaryDirectory() as folder:
                place = pathlib.Path(folder)
                for name, commands in files(payload, place):
                    for words in commands if kind != "number" or name in NUMBERS else []:
                        table = words[-1] == "-" or "--csv" in words and words[words.index("--csv") + 1] == "-" or words[0] in ("cost", "calibrate")
                        r = run(words, folder)
                        found = complaint(r, to_terminal=not table or "--explain" in words) or (table_complaint(r.stdout.decode()) if table and words[1] != "import" else None)
                        for made in list(place.glob("o.*")) + list(place.glob("h.*")):
                            text = made.read_bytes().decode()
                            if made.suffix == ".csv":
                                found = found or table_complaint(text)
                            elif made.suffix == ".json":
                                json.loads(text)
                            elif bad := re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", text):
                                found = found or f"{made.name}: {bad.group()!r}"
                            made.unlink()
                        count += 1
                        if found:
                            problems.append(f"{kind} in {name}, {' '.join(w for w in words if '/' not in w)}: {found}")
            return count, problems
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(one, PAYLOADS.items()))
        found = [p for _, problems in results for p in problems]
        self.assertEqual(found, [], f"{len(found)} of {sum(c for c, _ in results)}\n" + "\n".join(found[:60]))

    def test_names_of_files(self):
        for kind, payload in SHORT.items():
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                base = os.fsencode(folder) + b"/" + payload.replace(b"/", b"|")[:120]
                for ending, content, command in ((b".yaml", pathlib.Path(TINY).read_bytes(), [b"--config"]), (b".csv", CASES.encode(), [b"validate", b"--cases"]),
                                                 (b".log", b"nothing", [b"curves", b"show"]), (b".json", b"{}", [b"profile"])):
                    with open(base + ending, "wb") as file:
                        file.write(content)
                    for more in ([], [b"-v"]):
                        self.assertIsNone(complaint(run([*command, base + ending, *more], folder), to_terminal=True))

    def test_only_the_door_prints(self):
        """What writes on a terminal, other than through remark(), print() and the log."""
        allowed = {"base/check.cpp", "base/output.cpp", "base/system/signals.cpp", "sim/app/commands.cpp", "sim/app/diagnostics.cpp",
                   "base/system/program.cpp",  # without memory for a line, character by character
                   "sim/study/points/progress.cpp",  # redraws its own figures in place
                   "sim/web/server/receive.cpp"}  # what was sent, to a file
        for folder in ("base", "collectives", "opmodels", "sim", "topology", "traces"):
            for file in sorted((ROOT / folder).rglob("*.?pp")):
                name = str(file.relative_to(ROOT))
                code = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
                found = re.search(r"std::cerr|std::cout\s*<<|\bstd::(?:v?f?printf|f?puts|fputc|fwrite)\(", code)
                self.assertTrue(found is None or name in allowed, f"{name}: {found and found.group()}; use remark() or print() of base/output.hpp")


if __name__ == "__main__":
    unittest.main()
