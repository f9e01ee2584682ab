#!/usr/bin/env python3
"""llm_memory.py DISTSIM PEAKS: predicts the memory of published steps of language models whose peak is known (distsim
validate --cases) and writes the table of docs/llm.md: predicted over published, by source and meaning of the figure."""
import csv
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
GIB = 1.073741824  # GB
MOST_FRAGMENTED = 0.33  # sim/report/text/split_model.cpp


def device_names() -> dict[str, str]:
    """Names that sources use, by the aliases of the devices' files."""
    names = {}
    for file in (ROOT / "configs/devices").glob("*.yaml"):
        for text in file.read_text().splitlines():
            if text.startswith("aliases:"):
                names |= {alias.strip(): file.stem for alias in text.split("[")[1].split("]")[0].split(",")}
    return names


def predicted(distsim: str, rows: list[dict]) -> dict[str, dict]:
    names = device_names()
    with tempfile.TemporaryDirectory() as folder:
        cases, out = pathlib.Path(folder) / "cases.csv", pathlib.Path(folder) / "out.csv"
        keys = [k for k in rows[0] if "." in k]
        with cases.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["case_id", "measured_ms", "cluster.device", "cluster.gpus_per_node", "parallel.offload", *keys])
            for row in rows:
                per_node = int(row["gpus"]) // int(row["cluster.nodes"])
                offload = "optimizer" if "state on the CPU" in row["meaning"] else ""
                writer.writerow([row["case_id"], "", names[row["gpu"]], per_node, offload, *(row[k] for k in keys)])
        subprocess.run([distsim, "validate", "--cases", str(cases), "--csv", str(out)], capture_output=True, check=False)
        return {row["case_id"]: row for row in csv.DictReader(out.open())}


def main() -> None:
    distsim, peaks = sys.argv[1:]
    rows = [r for r in csv.DictReader(open(peaks)) if r["outcome"] != "oom" and r["peak_gib"]]
    found, groups = predicted(distsim, rows), {}
    for row in rows:
        memory = found[row["case_id"]]["memory_gb"]
        groups.setdefault((row["family"], row["meaning"].split(",")[0].split(" (printed")[0]), []).append(
            float(memory) / (float(row["peak_gib"]) * GIB) if memory else None)
    lines = []
    for (family, meaning), ratios in sorted(groups.items(), key=lambda g: -len(g[1])):
        known = [r for r in ratios if r is not None]
        inside = sum(1 - MOST_FRAGMENTED <= r <= 1 for r in known)
        spread = f"{statistics.median(known):.2f} | {min(known):.2f} .. {max(known):.2f} | {inside}" if known else "- | - | -"
        lines.append(f"| {family} | {meaning} | {len(ratios)} | {spread} | {len(ratios) - len(known)} |")
    page = ROOT / "docs/llm.md"
    text = page.read_text()
    begin = text.index("| source | what was read |")
    end = text.index("\n\n", begin)
    head = "| source | what was read | steps | median | range | within fragmentation | refused |\n|---|---|---|---|---|---|---|\n"
    page.write_text(text[:begin] + head + "\n".join(lines) + text[end:])


if __name__ == "__main__":
    main()
