#!/usr/bin/env python3
"""Whether to wait for a busy GPU or to move to a free one, over the size of what is moved and the link: configs/serving/break_even.yaml.

usage: scripts/serving_break_even.py [--csv FILE] [DISTSIM]      default: build/bin/distsim

A cell is the time that moving saves the last request (above 0: moving pays), from two runs of the emulator: one that moves, one
that waits. Links: PCIe 3.0 x4 to x16, PCIe 4.0 and 5.0 x16, NVLink of a V100 and an H100 (usable rates per direction).
"""
import argparse
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CONFIG = pathlib.Path(__file__).resolve().parent.parent / "configs" / "serving" / "break_even.yaml"
SIZES_MB = (1, 3, 10, 30, 60, 100, 200, 300, 600, 1000, 3000)
LINKS_GB = ((3, "PCIe 3.0 x4"), (6, "PCIe 3.0 x8"), (12, "PCIe 3.0 x16"), (24, "PCIe 4.0 x16"), (50, "PCIe 5.0 x16"), (150, "NVLink, V100"), (450, "NVLink, H100"))


def end_ms(distsim, megabytes, gigabytes, waits):
    """When the last request is answered."""
    command = [distsim, "serving", "--config", str(CONFIG), "--set", f"models.0.weights={megabytes} MB", "--set",
               f"gpus.0.host_bandwidth={gigabytes} GB/s", "--set", "policies=[fifo]", "--json", "-"]
    if waits:
        command += ["--set", "models.0.placed_on=[gpu0]"]
    point = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["points"][0]
    return point["makespan_ms"]


def saved(distsim):
    """Rows of (link, GB/s, MB, milliseconds saved)."""
    for gigabytes, link in LINKS_GB:
        for megabytes in SIZES_MB:
            yield link, gigabytes, megabytes, end_ms(distsim, megabytes, gigabytes, True) - end_ms(distsim, megabytes, gigabytes, False)


def write(path, text):
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.replace(file.name, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("distsim", nargs="?", default="build/bin/distsim")
    parser.add_argument("--csv", help="the table; default: standard output")
    options = parser.parse_args()
    rows = list(saved(options.distsim))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["link", "bandwidth_gb_per_s", "size_mb", "saved_ms"])
    table.writerows((link, gigabytes, megabytes, f"{ms:.6g}") for link, gigabytes, megabytes, ms in rows)
    if options.csv:
        write(options.csv, text.getvalue())
    else:
        print(text.getvalue(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
