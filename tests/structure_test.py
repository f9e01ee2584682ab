#!/usr/bin/env python3
"""The layout holds: an include points down, never up or sideways, and no folder shows too many files (CONTRIBUTING.md, "Folders").

usage: structure_test.py FLOORS     FLOORS is what CMake wrote of its own targets: a line "name path: names it sees" per folder.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
JSON_DUMP = re.compile(r"(?<!topology)\.dump\(")
NAMESPACE = re.compile(r"^namespace (distsim[\w:]*)", re.M)
ANONYMOUS = re.compile(r"\nnamespace \{\n(.*?)\n\}  // namespace\n", re.S)
FUNCTION = re.compile(r"^(?=\S)(?:template.*\n)?[\w:<>,&* ]+?[ &*](\w+)\([^;{]*\) \{", re.M)
SOURCES = {".cpp", ".hpp", ".cu", ".cuh"}
MOST_FILES = 21   # in a folder, without those of its subfolders
GENERATED = re.compile(r".*\.pb\.h|.*/shipped_constants_text\.hpp|.*/page_script\.hpp|.*/assets_text\.hpp")
GENERATED_NAMESPACES = {"distsim::curves"}  # the package of curve.proto
OWN_NAMESPACE = {"base": "distsim"}  # the vocabulary of every folder


def read_floors(path: str) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Path and seen paths of every folder, as CMake links them."""
    paths, sees = {}, {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        head, _, names = line.partition(":")
        name, folder = head.split()
        paths[name], sees[name] = folder, set(names.split())
    return paths, {paths[name]: {paths[seen] for seen in names} for name, names in sees.items()}


def folder_of(path: str, folders) -> str | None:
    return next((f for f in sorted(folders, key=len, reverse=True) if path.startswith(f + "/")), None)


def sources(folder: str, folders):
    for file in sorted((ROOT / folder).rglob("*")):
        name = str(file.relative_to(ROOT))
        if file.suffix in SOURCES and folder_of(name, folders) == folder:
            yield name, file.read_text(encoding="utf-8")


def cycles(sees: dict[str, set[str]]):
    done, path = set(), []

    def walk(folder):
        if folder in path:
            yield "circle: " + " -> ".join(path[path.index(folder):] + [folder])
        elif folder not in done:
            path.append(folder)
            for seen in sorted(sees[folder]):
                yield from walk(seen)
            done.add(path.pop())

    for folder in sees:
        yield from walk(folder)


def violations(sees: dict[str, set[str]]):
    yield from cycles(sees)
    for folder in sees:
        for name, text in sources(folder, sees):
            for include in INCLUDE.findall(text):
                target = folder_of(include, sees)
                if target is None and "/" in include and not GENERATED.fullmatch(include):
                    yield f'{name}: "{include}" is in no folder that CMake builds'
                elif target is not None and target != folder and target not in sees[folder] and not GENERATED.fullmatch(include):
                    yield f'{name}: "{include}" points upwards or sideways'
            own = OWN_NAMESPACE.get(folder, "distsim::bench" if folder.startswith("mpi_bench") else "distsim::" + folder.split("/")[-1])
            for namespace in NAMESPACE.findall(text):
                if namespace not in (own, *GENERATED_NAMESPACES) and not namespace.startswith(own + "::"):
                    yield f"{name}: namespace {namespace}, expected {own}"


def apart_subfolders() -> set[str]:
    """Subfolders that CMakeLists.txt keeps APART, whose files may repeat names in their anonymous namespaces, and GROUPS: the compiler
    sees what they repeat."""
    folders = re.findall(r"distsim_folder\(\w+\s+PATH (\S+)([^)]*)\)", re.sub(r"#.*", "", (ROOT / "CMakeLists.txt").read_text()))
    return {f"{path}/{name}" for path, rest in folders for names in re.findall(r"(?:APART|GROUPS) ([\w ]+)", rest) for name in names.split()}


def namesakes(sees: dict[str, set[str]]):
    """Free functions of two files: the sanitized build compiles these as one, and would call either."""
    apart = apart_subfolders()
    if not apart:
        yield "CMakeLists.txt: no folder with APART or GROUPS found: the test is looking in the wrong place"
    for folder in sees:
        seen: dict[str, str] = {}
        for name, text in sources(folder, sees):
            anonymous = ANONYMOUS.search(text)
            if not name.endswith(".cpp") or str(pathlib.PurePath(name).parent) in apart or not anonymous or folder.startswith("mpi_bench"):
                continue
            for function in set(FUNCTION.findall(anonymous.group(1))):
                if function in seen:
                    yield f"{name}: function '{function}' is also in {seen[function]}; give it a name of its own"
                seen[function] = name


def crowded_folders(sees: dict[str, set[str]]):
    files: dict[str, int] = {}
    for folder in sees:
        for name, _ in sources(folder, sees):
            parent = str(pathlib.PurePath(name).parent)
            files[parent] = files.get(parent, 0) + 1
    for parent, count in sorted(files.items()):
        if count > MOST_FILES:
            yield f"{parent}: found {count} files, expected at most {MOST_FILES}; make subfolders"


def json_by_hand(sees: dict[str, set[str]]):
    """JSON leaves by json_text(), which escapes what nobody sees; `dump()` of a topology is no JSON."""
    for folder in sees:
        for name, text in sources(folder, sees):
            if name.startswith("sim/") and JSON_DUMP.search(text):
                yield f"{name}: found a dump() of JSON, expected json_text() of base/json/json_text.hpp"


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    _, sees = read_floors(sys.argv[1])
    found = [*violations(sees), *namesakes(sees), *crowded_folders(sees), *json_by_hand(sees)]
    for line in found:
        print(line)
    checked = sum(1 for folder in sees for _ in sources(folder, sees))
    if checked < 400:
        print(f"only {checked} files found: the test is looking in the wrong place")
        return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
