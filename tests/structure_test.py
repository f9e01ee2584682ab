#!/usr/bin/env python3
"""The house holds: an include points down, never up or sideways; see CONTRIBUTING.md."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEES = {
    "base": set(),
    "topology": {"base"},
    "sim/graph": {"base"},
    "opmodels": {"base", "sim/graph", "topology"},
    "collectives": {"base", "sim/graph", "topology"},
    "traces": {"base", "sim/graph", "topology"},
    "sim/workload": {"base", "sim/graph", "topology"},
    "sim/engine": {"base"},
    "sim/profile": {"base", "sim/graph", "topology", "traces"},
    "sim/report": {"base", "sim/graph", "topology", "traces", "sim/engine", "sim/profile"},
    "sim/replay": {"base", "sim/graph", "topology", "opmodels", "collectives", "traces", "sim/engine"},
    "sim/app": {"base", "sim/graph", "topology", "opmodels", "collectives", "traces", "sim/workload", "sim/engine", "sim/profile", "sim/report",
                "sim/replay"},
    "mpi_bench": {"base", "collectives"},
}
ALLOWED_HEADERS = {"mpi_bench": re.compile(r"collectives/curve\.pb\.h|base/.*|mpi_bench/.*")}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def folder_of(path: str) -> str | None:
    return next((f for f in sorted(SEES, key=len, reverse=True) if path.startswith(f + "/")), None)


def violations():
    for folder in SEES:
        for file in sorted((ROOT / folder).rglob("*.[ch]*")):
            for include in INCLUDE.findall(file.read_text(encoding="utf-8")):
                target = folder_of(include)
                name = file.relative_to(ROOT)
                if target is None:
                    yield f"{name}: \"{include}\" names no folder of the house"
                elif target != folder and target not in SEES[folder]:
                    yield f"{name}: \"{include}\" points upwards or sideways"
                elif folder in ALLOWED_HEADERS and not ALLOWED_HEADERS[folder].fullmatch(include):
                    yield f"{name}: \"{include}\" is more than {folder} may see of {target}"


def main() -> int:
    found = list(violations())
    for line in found:
        print(line)
    checked = sum(1 for folder in SEES for _ in (ROOT / folder).rglob("*.[ch]*"))
    if checked < 20:
        print(f"only {checked} files found: the test is looking in the wrong place")
        return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
