#!/usr/bin/env python3
"""Cuts the samples in this folder from the full sets of public measurements.

    tests/data/cut_samples.py FULL_SETS      FULL_SETS: the folder that holds collectives/, ops/, traces/, ...

Deterministic: rows are chosen by fixed lists and by hashes of their own text, files are written without dates, so the same sets
give the same samples. What each sample is, its source and its licence: README.md.
"""
import csv
import gzip
import json
import pathlib
import re
import sys

import cut_traces

HERE = pathlib.Path(__file__).resolve().parent


def fnv32(text):
    """The hash of base/fnv.hpp, which also decides what op models may not see."""
    value = 2166136261
    for byte in text.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


def by_hash(rows, key):
    return sorted(rows, key=lambda row: (fnv32(row[key]), row[key]))


def grouped(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return dict(sorted(groups.items()))


def read_csv(path):
    opened = gzip.open(path, "rt", newline="") if path.suffix == ".gz" else open(path, newline="")
    with opened as file:
        return list(csv.DictReader(file))


def write_csv(relative, rows, columns):
    path = HERE / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return f"{relative}: {len(rows)} rows"


# ---- collectives: one table a sweep, out-of-place times only ----------------------------------------------------------------------

SWEEPS = {  # name of the sweep: licence of its source
    "a100_1n8g_all_gather_superbench": "MIT",
    "a100_1n8g_all_reduce_superbench": "MIT",
    "a100_1n8g_alltoall_superbench": "MIT",
    "a100_1n8g_broadcast_superbench": "MIT",
    "a100_1n8g_reduce_superbench": "MIT",
    "a100_1n8g_all_reduce_vtrain": "MIT",
    "a100_2n16g_all_reduce_abci": "not stated; figures only",
    "a100_8n64g_all_reduce_abci": "not stated; figures only",
    "a100_16n128g_all_reduce_abci": "not stated; figures only",
    "a100_2n16g_broadcast_abci": "not stated; figures only",
    "a100_8n64g_broadcast_abci": "not stated; figures only",
    "a100_2n16g_all_reduce_aws_p4d": "MIT-0",
    "a100_2n16g_all_reduce_deepops_dgxa100_ring": "BSD-3-Clause",
    "a100_2n16g_all_reduce_oke_gpu4": "UPL-1.0",
    "gb200_1n4g_all_reduce_superbench": "MIT",
    "gb200_1n4g_reduce_scatter_superbench": "MIT",
    "gb200_2n8g_all_reduce_oke": "UPL-1.0",
    "h100_1n8g_all_gather_simumax": "Apache-2.0",
    "h100_1n8g_all_reduce_aws_p5": "MIT-0",
    "h100_1n8g_alltoall_simumax": "Apache-2.0",
    "h100_1n8g_reduce_scatter_simumax": "Apache-2.0",
    "h100_2n16g_all_reduce_aws_p5": "MIT-0",
    "h20_2n4g_alltoall": "public issue text; figures only",
    "t4_2n2g_all_reduce_aws_g4dn_efa": "MIT-0",
    "v100_1n4g_all_reduce_abci": "not stated; figures only",
    "v100_2n8g_all_reduce_abci": "not stated; figures only",
    "v100_4n16g_all_reduce_abci": "not stated; figures only",
}


def launch_of(text):
    """What the reader of logs takes from the line: how the ranks were started, and what was forced."""
    single = text.startswith("1 process") or re.search(r" -g (?!1\b)\d+", text)
    words = ["1 process" if single else "1 rank per GPU"]
    words += ["CUDA graph"] if "CUDA graph" in text else []
    words += re.findall(r"NCCL_[A-Z_]+=\S+", text)
    return ", ".join(words)


def sweep_rows(lines):
    """(size, count, type, time) of every row with a size; times as printed."""
    root = any(line.startswith("#") and " root " in line and "busbw" in line for line in lines)
    for line in lines:
        words = line.split()
        if line.startswith("#") or not words or words[0] == "0":
            continue
        numbers = [w for w in words[3:] if not re.fullmatch(r"[a-z]+", w)]
        yield int(words[0]), int(words[1]), words[2], numbers[1 if root else 0]


def busbw_factor(kind, ranks):
    return {"all_reduce": 2 * (ranks - 1) / ranks, "broadcast": 1, "reduce": 1}.get(kind, (ranks - 1) / ranks)


def sweep_table(entry, lines, licence):
    header = {key: value.strip() for key, value in re.findall(r"^# (\w+):(.*)$", "\n".join(lines), re.M)}
    version = re.match(r"\d+\.\d+(\.\d+)?", header["nccl"])
    out = [f"# collective: {entry['coll']}_perf", f"# source: {source_of(entry)}", f"# licence: {licence}", f"# hardware: {entry['gpu']}",
           f"# nodes: {entry['nodes']}  gpus: {entry['gpus']}", f"# launch: {launch_of(header['launch'])}"]
    out += [f"# nccl: {version[0]}"] if version else []
    out.append(f"#{'size':>11} {'count':>12} {'type':>9} {'time':>10} {'algbw':>10} {'busbw':>10}")
    for size, count, dtype, time in sweep_rows(lines):
        algbw = size / float(time) / 1000
        out.append(f"{size:>12} {count:>12} {dtype:>9} {time:>10} {algbw:>10.4f} {algbw * busbw_factor(entry['coll'], int(entry['gpus'])):>10.4f}")
    return out


def source_of(entry):
    return re.sub(r" \(stored file id \d+\)", "", entry["src"])


def collectives(full):
    chosen = []
    for entry in read_csv(full / "collectives/index.csv"):
        licence = SWEEPS.get(entry["file"].removesuffix(".txt"))
        if licence is None:
            continue
        table = sweep_table(entry, (full / "collectives" / entry["file"]).read_text().splitlines(), licence)
        path = HERE / "collectives" / entry["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(table) + "\n")
        chosen.append({**entry, "src": source_of(entry), "licence": licence, "rows": sum(not line.startswith("#") for line in table)})
    assert len(chosen) == len(SWEEPS), "a sweep is missing from the full set"
    return [write_csv("collectives/index.csv", sorted(chosen, key=lambda e: e["file"]),
                      ["file", "coll", "cls", "gpu", "nodes", "gpus", "rows", "src", "licence"])]


# ---- ops: shapes that no shipped model was trained on -------------------------------------------------------------------------------

OPS = {  # file: (columns of the sizes, most rows of a group of GPU, op, pass and type)
    "gemm_aic_bf16": ("b m n k", 30),
    "gemm_aic_fp8": ("b m n k", 40),
    "gemm_vidur_fp16": ("b m n k", 50),
    "gemm_neusight_linear": ("b m n k", 25),
    "gemm_neusight_bmm": ("b m n k", 25),
    "gemm_misc_fwd_bwd": ("b m n k", 4),
    "conv2d": ("n c h w k r s stride_h stride_w pad_h pad_w dil groups", 30),
    "elementwise_norm_softmax": ("rows cols", 6),
    "embedding": ("tables batch nnz rows_total dim", 20),
}
SMALL_GROUP = 4  # a group gives no more than one row of so many, so that old GPUs with few rows do not outweigh the others
NO_DEVICE_FILE = re.compile(r"unnamed")
NO_MODEL = {"conv2d+bn(downsample)", "bias_gelu", "maxpool3x3s2", "embedding+pos+dropout"}
SIZES_IN_ORDER = "b m n k c h w r s stride_h stride_w pad_h pad_w dil groups rows cols tables batch nnz rows_total dim".split()


def shape_text(row):
    """The same text as shape_text of opmodels/learned/training_rows.cpp: sizes in the order of OpColumns."""
    return "x".join(row[c] for c in SIZES_IN_ORDER if row.get(c))


def is_held_back(row):
    return (fnv32(shape_text(row)) >> 8) % 10 == 0


def has_a_model(row):
    return row["dtype"] and row["op"] not in NO_MODEL


def of_a_recommender(row):
    """Table-batched embedding rows of real traces: no model was trained on them, and there are few: all that state their sizes."""
    return row["op"].startswith("fbgemm_tbe") and float(row["dim"] or 0) > 0


def for_validation(row):
    return has_a_model(row) and is_held_back(row) and not row["op"].startswith("fbgemm_tbe") and not NO_DEVICE_FILE.search(row["gpu"])


def chosen_ops(rows, most):
    kept = []
    for group in grouped(filter(for_validation, rows), lambda r: (r["gpu"], r["op"], r["pass"], r["dtype"])).values():
        for row in group:
            row["shape"] = shape_text(row)
        kept += by_hash(group, "shape")[:min(most, -(-len(group) // SMALL_GROUP))]
    return kept + list(filter(of_a_recommender, rows))


def ops(full):
    report = []
    for name, (sizes, most) in OPS.items():
        kept = chosen_ops(read_csv(full / f"ops/{name}.csv.gz"), most)
        for row in kept:
            row["origin"] = row["source_repo"] + ":" + row["source_path"]
        optional = [c for c in ("layout", "extra") if any(r.get(c) for r in kept)]
        columns = ["gpu", "op", "pass", "dtype", *sizes.split(), *optional, "latency_us", "timing", "origin", "licence"]
        report.append(write_csv(f"ops/{name}.csv", kept, columns))
    return report


# ---- measured iterations ------------------------------------------------------------------------------------------------------------

ITERATION_COLUMNS = ("case_id model_id framework_id system_id nodes gpus precision global_batch per_gpu_batch accum measured_ms "
                     "tier kind series source").split()
EXPERIMENT_COLUMNS = ("case_id cluster.system cluster.nodes cluster.gpus_per_node framework.name model.name model.precision "
                      "model.global_batch model.accumulation model.memory_check parallel.data_parallel_below "
                      "parallel.data_parallel_below_nodes measured_ms tier kind series source").split()
MORE_OF = {"gpt": 4, "wide_deep": 3, "dlrm_dcnv2_mlperf": 5, "dlrm_mlperf_onehot": 1}  # families with one profile and system


def family_of(model):
    return "wide_deep" if model.startswith("wide_deep") else "gpt" if model.startswith("gpt_") else model


def chosen_iterations(rows):
    """One of each family, framework and system, on several nodes where there are such; and the extras."""
    kept = []
    for (family, _, _), group in grouped(rows, lambda r: (family_of(r["model_id"]), r["framework_id"], r["system_id"])).items():
        ordered = by_hash(group, "case_id")
        first = next((r for r in ordered if r["nodes"] != "1"), ordered[0])
        kept += [first] + [r for r in ordered if r is not first][:MORE_OF.get(family, 0)]
    return sorted(kept, key=lambda r: r["case_id"])


def of_round(row, mlperf_round):
    return row["case_id"].startswith(f"mlperf-{mlperf_round}-") or f"|{mlperf_round}|" in row["series"]


def framework_of(row):
    """The profile of configs/frameworks that a framework of the table is: releases of HugeCTR, and NVIDIA's PyTorch recommenders."""
    family = family_of(row["model_id"])
    if row["framework_id"] == "hugectr":
        if of_round(row, "v0.7") or family == "wide_deep":
            return "hugectr_2020"
        return "hugectr_2021_05" if of_round(row, "v1.0") else "hugectr"
    recommender = re.match(r"dlrm|dle_d", family)
    return "pytorch_dlrm" if row["framework_id"] == "pytorch" and recommender else row["framework_id"]


def precision_of(row):
    if row["precision"].startswith("FP32/TF32"):  # not stated: the framework's default on that device
        return "tf32" if "v100" not in row["system_id"] else "fp32"
    return row["precision"][:4].lower().strip()


def experiment_of(row):
    no_replicas = "1 B" if of_round(row, "v3.0") and row["model_id"].startswith("dlrm_dcnv2") else ""
    return {**row, "cluster.system": row["system_id"], "cluster.nodes": row["nodes"],
            "cluster.gpus_per_node": int(row["gpus"]) // int(row["nodes"]), "framework.name": framework_of(row),
            "model.name": row["model_id"], "model.precision": precision_of(row), "model.global_batch": row["global_batch"],
            "model.accumulation": int(float(row["accum"] or 1)), "model.memory_check": "false",
            "parallel.data_parallel_below": no_replicas, "parallel.data_parallel_below_nodes": no_replicas}


def iterations(full):
    rows = chosen_iterations(read_csv(full / "iteration_times/core_visible.csv"))
    return [write_csv("iteration_times/core_visible.csv", rows, ITERATION_COLUMNS),
            write_csv("iteration_times/experiments.csv", [experiment_of(r) for r in rows], EXPERIMENT_COLUMNS)]


def sharding_plans(full):
    """Every second plan of NVIDIA's planner and of the logs, by name."""
    planner = json.loads((full / "iteration_times/dcnv2_sharding_plans_planner.json").read_text())
    logged = json.loads((full / "iteration_times/dcnv2_sharding_plans_from_logs.json").read_text())
    planner = {name: {key: planner[name][key] for key in ("strategy", "matrix")} for name in sorted(planner)[1::2]}
    logged = [{key: e[key] for key in ("dir", "strategy", "shard_matrix", "bw", "wr")} for e in sorted(logged, key=lambda e: e["dir"])[::2]]
    for name, plans in (("planner", planner), ("from_logs", logged)):
        (HERE / f"iteration_times/dcnv2_sharding_plans_{name}.json").write_text(json.dumps(plans, separators=(",", ":")) + "\n")
    return [f"iteration_times: {len(planner)} and {len(logged)} sharding plans"]


def llm_iterations(full):
    """One of each source, GPU, dense or experts, and kind of training; two more of the large groups; the architectures they use."""
    architectures = {a["id"]: a for a in read_csv(full / "llm_iterations/architectures.csv")}
    rows = read_csv(full / "llm_iterations/cases_visible.csv")
    kept = []
    for group in grouped(rows, lambda r: (r["family"], r["gpu"], bool(architectures[r["model.name"]]["experts"]), r["finetune"])).values():
        kept += by_hash(group, "case_id")[:3 if len(group) >= 10 else 1]
    kept.sort(key=lambda r: r["case_id"])
    used = [architectures[name] for name in sorted({r["model.name"] for r in kept})]
    return [write_csv("llm_iterations/cases_visible.csv", kept, [c for c in rows[0] if c != "precision_text"]),
            write_csv("llm_iterations/architectures.csv", used, list(used[0])), *choice_sets(full, rows)]


def choice_sets(full, rows):
    """Plans of one model on one system, to choose from: all sets but every second one of BigScience and InternEvo, with the steps
    that they name."""
    sets = list(grouped(read_csv(full / "llm_iterations/choice_sets_visible.csv"), lambda p: p["set_id"]).items())
    large = [name for name, _ in sets if "bigscience_a100" in name or "internevo" in name]
    plans = [p for name, members in sets if name not in large[::2] for p in members]
    named = {c.strip() for p in plans for c in p["case_ids"].replace(",", ";").split(";")}
    cases = [r for r in rows if r["case_id"] in named]
    return [write_csv("llm_iterations/choice_sets.csv", plans, list(plans[0])),
            write_csv("llm_iterations/choice_cases.csv", cases, [c for c in rows[0] if c != "precision_text"])]


# ---- serving, whole workloads, HugeCTR's profiler -----------------------------------------------------------------------------------

def serving(full):
    layers = [r for r in read_csv(full / "serving/layer_latency.csv") if r["model"] != "ResNet18" and r["batch"] == "1"]
    goodput = [r for r in read_csv(full / "serving/alpaserve_goodput.csv") if r["slo_scale"] in ("1", "4", "10")]
    run = "rtxpro6000_llama31_8b"
    summary = [r for r in read_csv(full / "serving/llmservingsim_summary.csv") if r["run"] == run]
    shares = read_csv(full / "serving/partition_latency.csv")[:14]
    tables = {"layer_latency": layers, "alpaserve_goodput": goodput, "llmservingsim_summary": summary, "partition_latency": shares}
    return [write_csv(f"serving/{name}.csv", rows, list(rows[0])) for name, rows in tables.items()]


def graph_level(full):
    kept = []
    for group in grouped(read_csv(full / "graph_level/workloads.csv"), lambda r: (r["gpu"], r["mode"], r["variant"])).values():
        kept += by_hash(group, "workload")[:1]
    return [write_csv("graph_level/workloads.csv", kept, list(kept[0]))]


def rounded(values):
    return [round(v, 4) for v in values]


def hugectr_profiler(full):
    """All events and iteration times of the profile; five of the fifty repeats of each event."""
    profile = json.loads((full / "hugectr_profiler/sample_luna-0173.prof.json").read_text())
    lists = ("measured_times_ms", "iter_start_to_event_start_times_ms")
    events = [{**event, **{key: rounded(event[key][::10]) for key in lists}} for event in profile["events"]]
    path = HERE / "hugectr_profiler/sample_luna-0173.prof.json"
    path.parent.mkdir(exist_ok=True)
    out = {"host_name": profile["host_name"], "iter_time_ms": rounded(profile["iter_time_ms"]), "events": events}
    path.write_text(json.dumps(out, separators=(",", ":")).replace('{"device_id"', '\n{"device_id"') + "\n")
    return [f"hugectr_profiler: {len(events)} events"]


def main():
    if len(sys.argv) != 2 or not (pathlib.Path(sys.argv[1]) / "collectives/index.csv").exists():
        sys.exit("cut_samples.py: expected the folder of the full sets, with collectives/index.csv in it")
    full = pathlib.Path(sys.argv[1])
    for cut in (collectives, ops, iterations, sharding_plans, llm_iterations, serving, graph_level, hugectr_profiler):
        print(*cut(full), sep="\n")
    print(*cut_traces.cut_all(full / "traces", HERE / "traces"), sep="\n")


if __name__ == "__main__":
    main()
