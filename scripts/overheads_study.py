#!/usr/bin/env python3
"""Host overheads of each workload against one shared set: writes the case file configs/validation/overheads.csv.

    scripts/overheads_study.py TABLES [--write]        # TABLES: folder with the published tables; without --write: compare
    distsim validate --cases configs/validation/overheads.csv

TABLES are those of owensgroup/ml_perf_model: overheads_t1_t2_by_workload_exact.csv, overheads_t1_to_t5_dlrm_b2048_exact.csv,
overheads_head_pictures_approx.csv, e2e_dlrm_1gpu_v2_digitised.csv. T1 is the host's time between two calls, T2 before a call's first
launch, T3 after its last, T4 the launch, T5 between two launches. Of a workload of n(op) calls

    individual   mean over its calls of  T1(workload) + T2(workload, op) + T3(op) + (launches(op) - 1) T5(op)
    shared       the same with T1 and T2(op) pooled over the calls of all workloads

apart for forward and backward calls, which are the nodes of autograd with those that add up gradients (AccumulateGrad). T3, T5 and launches are
known for one workload only, so both sets have the same.
"""
import argparse
import collections
import csv
import io
import pathlib

TARGET = pathlib.Path(__file__).resolve().parent.parent / "configs/validation/overheads.csv"
MODELS = {"DLRM_default": "mpm_dlrm_default", "DLRM_DDP": "mpm_dlrm_ddp", "DLRM_MLPerf": "mpm_dlrm_mlperf"}
# GPU: system (for its host), device, locked SM clock (hw_params_head.csv)
GPUS = {"V100": ("dgx1_v100_16gb", "v100_sxm2_16gb", 1297), "Titan Xp": ("dgx1_p100", "titan_xp", 1404),
        "P100": ("dgx1_p100", "p100_pcie_16gb", 1189)}
LAUNCH_US = 4           # T4, a constant of the published model
ACCUMULATE = "torch::autograd::AccumulateGrad"
WAITS = ("aten::to",)    # its T3 is the wait for a copy to end, no work of the host
NOT_CALLS = ("Optimizer.", "All2All", "torch.distributed")   # of the loop and of DDP; framework.host.per_step has the loop's


def rows_of(folder, name):
    with open(folder / name, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def bare(op):
    """AddmmBackward and AddmmBackward0 are one op of two releases."""
    op = op.rstrip("0")
    return op if op.startswith("aten") else op.removeprefix("torch::autograd::")


class Tables:
    def __init__(self, folder):
        self.t1, self.t2 = {}, collections.defaultdict(dict)   # workload: mean; workload: op: (mean, calls)
        t1_sum, pooled = [0.0, 0.0], collections.defaultdict(lambda: [0.0, 0.0])
        for r in rows_of(folder, "overheads_t1_t2_by_workload_exact.csv"):
            workload, mean, count = (r["model"], int(r["batch"])), float(r["mean_us"]), float(r["count"])
            total = t1_sum if r["type"] == "t1" else pooled[r["op"]]
            total[0] += mean * count
            total[1] += count
            if r["type"] == "t1":
                self.t1[workload] = mean
            elif not r["op"].startswith(NOT_CALLS):
                self.t2[workload][r["op"]] = (mean, count)
        self.shared_t1 = t1_sum[0] / t1_sum[1]
        self.shared_t2 = {op: s / n for op, (s, n) in pooled.items()}
        self.after, self.between, self.launches = self.rest(folder)

    @staticmethod
    def rest(folder):
        """T3, T5 and launches by op: of the later pictures, else of the first run of DLRM_default."""
        t3, t5, launches = {}, {}, {}
        for r in rows_of(folder, "overheads_t1_to_t5_dlrm_b2048_exact.csv"):
            if r["model"] != "DLRM_default":
                continue
            if r["type"] in ("t3", "t5") and r["op"] not in WAITS:
                (t3 if r["type"] == "t3" else t5).setdefault(bare(r["op"]), float(r["mean_us"]))
            if r["n_launches"]:
                launches.setdefault(bare(r["op"]), int(r["n_launches"]))
        for r in rows_of(folder, "overheads_head_pictures_approx.csv"):
            if r["type"] in ("t3", "t5"):
                (t3 if r["type"] == "t3" else t5)[bare(r["op"])] = float(r["mean_us"])
        return t3, t5, launches

    def call_us(self, workload, backward, shared):
        """Mean host time of a forward or backward call, without its launches."""
        total = calls = 0.0
        for op, (own, count) in self.t2[workload].items():
            is_backward = "Backward" in op or op == ACCUMULATE
            if is_backward != backward:
                continue
            t1, t2 = (self.shared_t1, self.shared_t2[op]) if shared else (self.t1[workload], own)
            name = bare(op)
            more = max(0, self.launches.get(name, 1) - 1) * self.between.get(name, 0)
            total += count * (t1 + t2 + self.after.get(name, 0) + more)
            calls += count
        return total / calls


def cases(folder):
    tables = Tables(folder)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["case_id", "family", "series", "cluster.system", "cluster.nodes", "cluster.gpus_per_node", "cluster.device", "device.clock.locked",
                     "cluster.host.dispatch_scale", "model.name", "model.global_batch", "framework.name", "framework.host.per_op",
                     "framework.host.per_op_backward", "framework.host.per_launch", "framework.host.scale", "framework.embedding.fused_interaction",
                     "framework.kernels.fused_optimizer", "measured_ms", "published_error_percent", "source"])
    for name, column in (("individual", "e2e_err_pct"), ("shared", "shared_overhead_e2e_err_pct")):
        for r in rows_of(folder, "e2e_dlrm_1gpu_v2_digitised.csv"):
            workload = (r["model"], int(r["batch"]))
            system, device, clock = GPUS[r["gpu"]]
            per_op, backward = (f"{tables.call_us(workload, b, name == 'shared'):.1f} us" for b in (False, True))
            writer.writerow([f"{name}-{device}-{MODELS[r['model']]}-b{r['batch']}", name, f"{name}-{device}-{MODELS[r['model']]}", system, 1, 1, device,
                             f"{clock} MHz", 1, MODELS[r["model"]], r["batch"], "pytorch_dlrm", per_op, backward, f"{LAUNCH_US} us", 1, "false", "false",
                             r["measured_iter_ms"], r[column],
                             "owensgroup/ml_perf_model, e2e_plot.ipynb (times and published errors read from a picture) and overheads_study.ipynb"])
    return out.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    text = cases(args.tables)
    if args.write:
        TARGET.write_text(text, encoding="utf-8")
    elif text != TARGET.read_text(encoding="utf-8"):
        raise SystemExit(f"{TARGET.name} differs from what these tables give; write it with --write")


if __name__ == "__main__":
    main()
