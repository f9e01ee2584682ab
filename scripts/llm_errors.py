#!/usr/bin/env python3
"""llm_errors.py DISTSIM CASES: predicts published steps of language models (distsim validate --cases) and writes the
tables of docs/llm.md: errors by source, by GPU type and by sets of rows. Expert models are those whose file names `experts`."""
import csv
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = {"mosaic": "LLM Foundry (FSDP, A100)", "bigscience_a100": "BigScience on A100", "megatron_bridge": "Megatron-Bridge",
         "libai": "LiBai against Megatron-LM", "bigscience_v100": "BigScience on V100", "nemo_tables": "NeMo, tables",
         "nemo_launcher_examples": "NeMo, examples", "torchtitan": "torchtitan",
         "nemo_launcher_scaling": "NeMo launcher, scaling (layouts assumed)", "jax_toolbox": "JAX-Toolbox",
         "nemo_automodel": "NeMo Automodel", "internevo": "InternEvo", "flagperf": "FlagPerf",
         "torchao": "torchao (B200, MI300X and H100)", "ml_engineering": "ml-engineering (sequences up to 262,144)"}


def quantile(values: list[float], share: float) -> float:
    values, at = sorted(values), share * (len(values) - 1)
    below = int(at)
    return values[below] + (at - below) * (values[min(below + 1, len(values) - 1)] - values[below])


def has_experts(model: str) -> bool:
    file = ROOT / "configs/models" / f"{model}.yaml"
    return file.exists() and re.search(r"^\s+experts:", file.read_text(), re.M) is not None


def line(name: str, rows: list[dict]) -> str:
    errors = [float(r["error_percent"]) for r in rows]
    size = [abs(e) for e in errors]
    inside = sum(float(r["low_ms"]) <= float(r["measured_ms"]) <= float(r["high_ms"]) for r in rows)
    return (f"| {name} | {len(rows)} | {quantile(size, 0.5):.1f} % | {quantile(size, 0.9):.1f} % | {max(size):.0f} % | "
            f"{sum(errors) / len(errors):+.1f} % | {100 * inside / len(rows):.0f} % |")


def main() -> None:
    distsim, cases = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "predicted.csv"
        subprocess.run([distsim, "validate", "--cases", cases, "--csv", str(out)], check=True, capture_output=True)
        rows = [r for r in csv.DictReader(out.open()) if r["error_percent"]]
    sixteen, experts = {"bf16", "fp16"}, {m for m in {r["model.name"] for r in rows} if has_experts(m)}
    sets = {
        "dense, 16 bits, A100 and H100, 8 GPUs and more": lambda r: r["model.name"] not in experts and r["model.precision"] in sixteen
        and re.match("A100|H100", r["gpu"]) and int(r["gpus"]) >= 8,
        "dense, 8 bits": lambda r: r["model.name"] not in experts and "fp8" in r["model.precision"],
        "experts": lambda r: r["model.name"] in experts,
        "Blackwell": lambda r: re.match("B200|B300|GB", r["gpu"]),
        "128 GPUs and more": lambda r: int(r["gpus"]) >= 128,
    }
    head = "| {} | steps | median | 90th percentile | worst | bias | in range |\n|---|---|---|---|---|---|---|\n"
    by_source = [line("all", rows)] + [line(name, [r for r in rows if r["family"] == key]) for key, name in NAMES.items()]
    by_source.append(line("others", [r for r in rows if r["family"] not in NAMES]))
    gpus = sorted({r["gpu"] for r in rows}, key=lambda gpu: (-sum(r["gpu"] == gpu for r in rows), gpu))
    by_gpu = [line(gpu, [r for r in rows if r["gpu"] == gpu]) for gpu in gpus]
    by_set = [line(name, [r for r in rows if chosen(r)]) for name, chosen in sets.items()]
    page = ROOT / "docs/llm.md"
    text = page.read_text()
    begin, end = text.index("| source | steps |"), text.index("Not modelled: ")
    tables = head.format("source") + "\n".join(by_source) + \
        "\n\n" + head.format("GPU") + "\n".join(by_gpu) + "\n\n" + head.format("set") + "\n".join(by_set) + "\n\n"
    page.write_text(text[:begin] + tables + text[end:])


if __name__ == "__main__":
    main()
