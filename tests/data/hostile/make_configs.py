#!/usr/bin/env python3
"""Writes configs.jsonl: for every key of docs/config_reference.md values that it must refuse. The lines that are expected are
filled in by `tests/hostile_test.py BINARY --update`; those of rows that are there already are kept."""
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
REFERENCE = HERE.parents[2] / "docs/config_reference.md"
NAMES = {"cluster": "system: dgx_a100_80gb", "model": "name: dlrm_mlperf", "framework": "name: pytorch"}
QUANTITIES = {"bytes": "5 s", "time": "5 GB", "bytes/s": "5 GB", "FLOP/s": "5 GB/s", "Hz": "5 W", "W": "5 Hz"}


def experiment(key: str, value: str) -> str:
    """The smallest experiment with that key."""
    section, *path = key.split(".")
    text = value
    for part in reversed(path):
        text = f"{{{part[:-2]}: [{text}]}}" if part.endswith("[]") else f"{{{part}: {text}}}"
    out = []
    for name in ("cluster", "model", "framework"):
        own = text[1:-1] if name == section and path else ""
        naming = NAMES[name]
        out.append(f"{name}: {{{naming}{', ' + own if own else ''}}}")
    if section not in NAMES:
        out.append(f"{section}: {text}")
    return "\n".join(out) + "\n"


def keys() -> list[tuple[str, str, str, str]]:
    rows = []
    for text in REFERENCE.read_text(encoding="utf-8").splitlines():
        cells = [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", text)]
        if len(cells) >= 6 and re.fullmatch(r"`[\w.\[\]]+`", cells[1]):
            rows.append((cells[1].strip("`"), cells[2], cells[3], cells[4]))
    return rows


def beyond(limit: str, up: bool) -> str:
    """A value outside of a limit: a digit more, or negative."""
    number, _, unit = limit.partition(" ")
    value = float(number)
    out = value * 10 + 1 if up else (-1 if value >= 0 else value * 10)
    return f"{out:.15g}" + (f" {unit}" if unit else "")


def bad_values(kind: str, limits: str) -> dict[str, str]:
    values = {}
    if kind.startswith("list of maps"):
        return {"number": "7", "list of numbers": "[1]"}
    if kind.startswith("list"):
        values = {"no list": "{a: 1}", "list of lists": "[[1]]"}
    elif kind.startswith("map"):
        return {"list": "[1]"}
    elif kind in ("text", "name or path"):
        return {"list": "[1]", "map": "{a: 1}"}
    elif kind.startswith("one of "):
        word = kind[len("one of "):].split(",")[0].strip()
        return {"misspelt": word[:-1] + "q", "number": "7", "list": "[1]"}
    elif kind == "true or false":
        return {"yes": "yes", "number": "1", "list": "[true]"}
    elif kind == "integer":
        values = {"word": "many", "fraction": "1.5", "list": "[1]", "huge": "1e40"}
    elif kind == "number":
        values = {"word": "many", "nan": "nan", "unit": "5 GB", "map": "{a: 1}"}
    elif kind in QUANTITIES:
        values = {"no unit": "5", "other unit": QUANTITIES[kind], "word": "fast", "list": "[1]"}
    if limits and " .. " in limits and not kind.startswith("list"):
        low, high = limits.split(" .. ")
        values["above"] = beyond(high, True)
        if not low.startswith("-"):
            values["below"] = beyond(low, False)
    return values


def main() -> None:
    path = HERE / "configs.jsonl"
    old = {}
    if path.exists():
        old = {r["name"]: r.get("line") for r in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    rows = []
    for key, kind, limits, _ in keys():
        cases = bad_values(kind, limits)
        misspelt = key[:-1] + "zq" if not key.endswith("]") else ""
        for what, value in cases.items():
            rows.append((f"{key}: {what}", experiment(key, value)))
        if misspelt and "." in key:
            rows.append((f"{key}: misspelt key", experiment(misspelt, "1")))
    with path.open("w", encoding="utf-8") as out:
        for name, text in rows:
            row = {"name": name, "files": {"x.yaml": text}, "args": ["--config", "x.yaml"], "line": old.get(name)}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
