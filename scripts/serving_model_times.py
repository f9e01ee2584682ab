#!/usr/bin/env python3
"""Execution times of configs/serving/model_times_predicted.yaml beside the measured ones of model_times.csv.

usage: scripts/serving_model_times.py [DISTSIM]      default: build/bin/distsim
"""
import csv
import json
import pathlib
import statistics
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "configs" / "serving"
DEVICES = (("rtx_2060", "RTX 2060"), ("gtx_1080_ti", "GTX 1080 Ti"))
RUNTIMES = (("PyTorch", "false"), ("TensorRT", "true"))


def measured():
    with open(FOLDER / "model_times.csv", newline="", encoding="utf-8") as file:
        return {(row["model"], row["gpu"]): float(row["time_us"]) / 1000 for row in csv.DictReader(file) if row["layer"].startswith("kernels")}


def predicted(distsim, device, fused):
    """Milliseconds by model; the time that the GPU executes, without copies."""
    command = [distsim, "serving", "--config", str(FOLDER / "model_times_predicted.yaml"), "--set", f"gpus.0.device={device}", "--json", "-"]
    for i in range(3):
        command += ["--set", f"models.{i}.fused={fused}"]
    results = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["points"][0]["results"]
    return {row["model"]: row["executing_ms"] for row in results if row["model"] != "all"}


def main():
    distsim = sys.argv[1] if len(sys.argv) > 1 else "build/bin/distsim"
    times = measured()
    print("| runtime | GPU | model | measured ms | predicted ms | error |\n|---|---|---|---|---|---|")
    for runtime, fused in RUNTIMES:
        errors = []
        for device, gpu in DEVICES:
            for model, ms in predicted(distsim, device, fused).items():
                error = ms / times[f"{model} {runtime}", gpu] - 1
                errors.append(abs(error))
                print(f"| {runtime} | {gpu} | {model} | {times[f'{model} {runtime}', gpu]:.2f} | {ms:.2f} | {100 * error:+.0f} % |")
        print(f"\n{runtime}: median {100 * statistics.median(errors):.0f} %, worst {100 * max(errors):.0f} %\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
