#!/usr/bin/env python3
"""The same job said in another way gives the same answer, to the last event: other names, another order of keys and tables, other units,
ranks in another order, --set or file, a program or its Chakra traces.

metamorphic_test.py BINARY
"""
import copy
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = str(pathlib.Path(sys.argv.pop(1)).resolve())
SEEDS = range(6)

EXPERIMENTS = {
    "dlrm": {
        "cluster": {"system": "dgx_a100_80gb", "nodes": 2, "nic": {"count": 8, "bandwidth": "200 Gb/s"}, "pcie": {"latency": "500 ns"}},
        "device": {"hbm": {"capacity": "80 GB"}},
        "model": {"kind": "dlrm", "global_batch": 16384, "precision": "fp16", "dlrm": {
            "dense_features": 13, "embedding_dim": 64, "bottom_mlp": [256, 64], "top_mlp": [256, 1],
            "tables": [{"rows": rows, "pooling_factor": pooling} for rows, pooling in
                       [(1000, 1), (40000, 3), (250000, 2), (3000000, 7), (9000000, 11), (120000, 5), (70000, 13), (5000000, 17)]]}},
        "parallel": {"data_parallel_below": "1 MB"},
        "framework": {"name": "pytorch_dlrm", "host": {"per_op": "7 us"}}},
    "gpt": {
        "cluster": {"system": "dgx_a100_80gb", "nodes": 2},
        "model": {"name": "megatron_gpt_7_5b", "global_batch": 16},
        "parallel": {"tensor": 8, "pipeline": 1, "shard": "optimizer"},
        "framework": {"name": "megatron", "kernels": {"attention": "flash"}}},
    "resnet": {
        "cluster": {"system": "dgx_h100", "nodes": 4}, "model": {"name": "resnet50_v1_5", "per_gpu_batch": 64, "precision": "bf16"},
        "framework": {"name": "pytorch", "gradients": {"bucket_size": "25 MB"}},
        "engine": {"slow_gpus": [{"rank": 3, "speed": 0.5}, {"rank": 9, "speed": 0.75}], "slow_nics": [{"node": 1, "nic": 2, "speed": 0.25}, {"node": 2, "nic": 0, "speed": 0.5}]}},
}
SAME_UNITS = {"200 Gb/s": ["25 GB/s", "25000 MB/s", "0.2 Tb/s"], "500 ns": ["0.5 us", "500e-9 s", "0.0005 ms"], "80 GB": ["80000 MB", "0.08 TB", "80e9 B"],
              "1 MB": ["1000 KB", "1000000 B"], "7 us": ["7000 ns", "0.007 ms"], "25 MB": ["25000 KB", "0.025 GB"]}


def command(*args: str, cwd: str) -> str:
    r = subprocess.run([BINARY, *args], cwd=cwd, capture_output=True, text=True, timeout=120)
    assert r.returncode == 0, (args, r.stderr)
    return r.stdout


def predicted(experiment: dict, *args: str, yaml: str = "") -> dict:
    """JSON is YAML."""
    with tempfile.TemporaryDirectory() as d:
        (pathlib.Path(d) / "x.yaml").write_text(yaml or json.dumps(experiment))
        return json.loads(command("--config", "x.yaml", *args, "--json", "-", cwd=d))


def figures(report: dict) -> tuple:
    return report["digest"], report["iteration_ms"], report["low_ms"], report["high_ms"], report["breakdown"], report["memory"], report["limited_by"]


def shuffled(node, rng: random.Random):
    if isinstance(node, dict):
        items = list(node.items())
        rng.shuffle(items)
        return {k: shuffled(v, rng) for k, v in items}
    return node


def in_other_units(node, rng: random.Random):
    if isinstance(node, dict):
        return {k: in_other_units(v, rng) for k, v in node.items()}
    if isinstance(node, list):
        return [in_other_units(v, rng) for v in node]
    return rng.choice(SAME_UNITS[node]) if node in SAME_UNITS else node


def as_block_yaml(node, indent: int = 0) -> str:
    pad, out = "  " * indent, ""
    for key, value in node.items():
        if isinstance(value, dict):
            out += f"{pad}{key}:   # a comment\n{as_block_yaml(value, indent + 1)}"
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            out += f"{pad}{key}:\n" + "".join(f"{pad}- {{{', '.join(f'{k}: {v}' for k, v in item.items())}}}\n" for item in value)
        else:
            out += f"{pad}{key}: {json.dumps(value) if isinstance(value, list) else value}\n"
    return out


def sets_of(node: dict, path: str = "") -> list[str]:
    out = []
    for key, value in node.items():
        at = f"{path}.{key}" if path else key
        out += sets_of(value, at) if isinstance(value, dict) else [f"{at}={json.dumps(value) if isinstance(value, list) else value}"]
    return out


class SameAnswer(unittest.TestCase):
    def each(self, change, seeds=SEEDS):
        for name, experiment in EXPERIMENTS.items():
            expected = figures(predicted(experiment))
            for seed in seeds:
                with self.subTest(experiment=name, seed=seed):
                    self.assertEqual(figures(predicted(change(copy.deepcopy(experiment), random.Random(seed)))), expected)

    def times(self, experiment: dict, key: str, values: list[int]) -> list[float]:
        return [predicted(experiment, "--set", f"{key}={v}")["iteration_ms"] for v in values]

    def test_longer_documents_are_never_cheaper(self):
        packed = [64, 128, 129, 511, 512, 513, 1000, 2047, 2048]
        for framework, attention in (("fsdp2_torchtitan", "flash"), ("megatron_core", "unfused"), ("megatron_core", "fused_softmax")):
            experiment = {"cluster": {"system": "dgx_a100_80gb", "nodes": 1},
                          "model": {"name": "megatron_gpt_7_5b", "global_batch": 16, "llm": {"sequence": 2048}},
                          "parallel": {"tensor": 2, "shard": "optimizer", "recompute": "none"}, "framework": {"name": framework, "kernels": {"attention": attention}}}
            times = self.times({**experiment, "model": {**experiment["model"], "memory_check": False}}, "model.llm.mean_tokens", packed)
            self.assertEqual(times, sorted(times), (framework, attention))
            self.assertGreater(times[-1], times[0], (framework, attention))

    def test_wider_mlps_are_never_cheaper(self):
        experiment = {"cluster": {"system": "dgx_h100", "nodes": 1},
                      "model": {"kind": "llm", "global_batch": 16, "precision": "bf16", "llm": {"layers": 8, "hidden": 1024, "heads": 16, "sequence": 1024}},
                      "parallel": {"tensor": 4, "sequence_parallel": True, "overlap_tensor": True, "micro_batch": 1}, "framework": {"name": "megatron_core"}}
        times = self.times(experiment, "model.llm.ffn_hidden", [2048, 3072, 4032, 4096, 4160, 6144, 8192])
        self.assertEqual(times, sorted(times))

    def test_adapters_pay_for_no_weights_that_are_frozen(self):
        """A split optimizer gathers the adapters it has updated, a few percent at most, and no frozen weight."""
        for model, framework, layout in (("llama2_7b", "nemo", {}), ("llama2_7b", "megatron_core", {"tensor": 2}), ("gpt2_xl", "megatron_core", {"pipeline": 2}),
                                         ("llama3_8b", "fsdp2_torchtitan", {}), ("mixtral_8x7b", "megatron_core", {"expert": 8, "tensor": 4})):
            experiment = {"cluster": {"system": "dgx_a100_80gb", "nodes": 4, "nic": {"count": 1, "bandwidth": "100 Gb/s"}},
                          "model": {"name": model, "global_batch": 64, "llm": {"training": "lora"}, "memory_check": False},
                          "parallel": {**layout, "recompute": "none"}, "framework": {"name": framework}}
            whole, *split = [predicted(experiment, "--set", f"parallel.shard={level}")["iteration_ms"] for level in ("none", "optimizer", "gradients")]
            for time in split:
                self.assertLess(time, 1.05 * whole, (model, framework, layout))
            self.assertGreater(predicted(experiment, "--set", "parallel.shard=optimizer", "--set", "model.llm.training=pretrain")["iteration_ms"], whole)

    def test_keys_in_another_order(self):
        self.each(shuffled)

    def test_other_units(self):
        self.each(in_other_units)

    def test_another_title_and_description(self):
        self.each(lambda e, rng: {**e, "title": f"run {rng.random()}", "description": "x"}, seeds=range(1))

    def test_another_name_of_the_file(self):
        for name, experiment in EXPERIMENTS.items():
            expected = figures(predicted(experiment))
            with self.subTest(experiment=name), tempfile.TemporaryDirectory() as d:
                folder = pathlib.Path(d) / "some where" / "deep"
                folder.mkdir(parents=True)
                (folder / "other.yml").write_text(json.dumps(experiment))
                self.assertEqual(figures(json.loads(command("--config", "some where/deep/other.yml", "--json", "-", cwd=d))), expected)

    def test_block_style_with_comments(self):
        for name, experiment in EXPERIMENTS.items():
            with self.subTest(experiment=name):
                self.assertEqual(figures(predicted({}, yaml=as_block_yaml(experiment))), figures(predicted(experiment)))

    def test_set_or_file(self):
        """Every key by --set, in any order, on an experiment that names only files."""
        for name, experiment in EXPERIMENTS.items():
            bare = {s: {k: v for k, v in keys.items() if k in ("system", "name", "kind")} for s, keys in experiment.items()}
            bare = {s: keys for s, keys in bare.items() if keys}
            if name == "dlrm":
                bare["model"]["dlrm"] = {"tables": experiment["model"]["dlrm"]["tables"]}
            expected = figures(predicted(experiment))
            for seed in SEEDS:
                sets = [s for s in sets_of(experiment) if not s.split("=")[0].endswith((".system", ".name", ".kind", ".tables"))]
                random.Random(seed).shuffle(sets)
                with self.subTest(experiment=name, seed=seed):
                    self.assertEqual(figures(predicted(bare, *[w for s in sets for w in ("--set", s)])), expected)

    def test_tables_in_another_order(self):
        """Of tables that differ in all that the planner looks at. The lookups of a rank are one op, whatever the order of its tables."""
        experiment = EXPERIMENTS["dlrm"]
        expected = predicted(experiment)
        for seed in SEEDS:
            e = copy.deepcopy(experiment)
            random.Random(seed).shuffle(e["model"]["dlrm"]["tables"])
            now = predicted(e)
            with self.subTest(seed=seed):
                self.assertEqual(now["iteration_ms"], expected["iteration_ms"])
                self.assertEqual(now["breakdown"], expected["breakdown"])
                self.assertEqual(sorted(now["memory"]["used_bytes_per_rank"]), sorted(expected["memory"]["used_bytes_per_rank"]))

    def test_tables_of_equal_load_in_another_order(self):
        """Tables that the planner weighs alike, though they differ in rows or features."""
        experiment = copy.deepcopy(EXPERIMENTS["dlrm"])
        experiment["parallel"] = {"balance": "cost"}
        experiment["model"]["dlrm"]["tables"] = [
            {"rows": rows, "pooling_factor": pooling, "features": features}
            for rows in (1000, 90000, 90000, 2500000, 7000000) for pooling, features in ((1.1, 1), (3.3, 1), (3.3, 2), (6.6, 2), (1.1, 1))]
        expected = predicted(experiment)
        for seed in SEEDS:
            random.Random(seed).shuffle(experiment["model"]["dlrm"]["tables"])
            now = predicted(experiment)
            with self.subTest(seed=seed):
                self.assertEqual(now["iteration_ms"], expected["iteration_ms"])
                self.assertEqual(now["breakdown"], expected["breakdown"])

    def test_planned_tables_in_another_order(self):
        """What the search finds; the constraints go where their tables go. (Copies of tables are dense weights, which gradient buckets take in order.)"""
        e = {"cluster": {"system": "dgx_a100_80gb", "nodes": 1, "gpus_per_node": 8}, "framework": {"name": "torchrec"},
             "model": {"kind": "dlrm", "global_batch": 16384, "dlrm": {"embedding_dim": 64, "bottom_mlp": [64], "tables": [
                 {"rows": rows, "pooling_factor": pooling} for rows in (30000, 90000, 2500000, 7000000) for pooling in (1, 5, 5, 9, 20)]}}}
        words = {i: ("row_wise" if i % 3 == 0 else "table_wise column_wise") for i in range(20)}
        answers = []
        for seed in range(2):
            order = list(range(20))
            if seed > 0:
                random.Random(seed).shuffle(order)
            job = copy.deepcopy(e)
            job["model"]["dlrm"]["tables"] = [e["model"]["dlrm"]["tables"][i] for i in order]
            with tempfile.TemporaryDirectory() as d:
                (pathlib.Path(d) / "x.yaml").write_text(json.dumps(job))
                (pathlib.Path(d) / "c.csv").write_text("table,sharding_types\n" + "".join(f"{n},{words[i]}\n" for n, i in enumerate(order)))
                command("plan", "--config", "x.yaml", "--constraints", "c.csv", "--placement", "p.csv", "--csv", "r.csv", cwd=d)
                rows = [line.split(",")[:6] for line in (pathlib.Path(d) / "r.csv").read_text().splitlines()]
                lines = list(csv.DictReader((pathlib.Path(d) / "p.csv").read_text().splitlines()))
                kinds = [""] * 20
                for line in lines:
                    kinds[order[int(line["table"])]] += line["sharding"]
                answers.append((rows, kinds))
        self.assertTrue(all(answers[0][1][i] == "row_wise" for i in range(0, 20, 3)))
        for answer in answers[1:]:
            self.assertEqual(answer[0], answers[0][0])

    def test_a_count_of_tables_or_as_many_tables(self):
        one, many = copy.deepcopy(EXPERIMENTS["dlrm"]), copy.deepcopy(EXPERIMENTS["dlrm"])
        one["model"]["dlrm"]["tables"] = [{"rows": 100000, "pooling_factor": 3, "count": 8}]
        many["model"]["dlrm"]["tables"] = [{"rows": 100000, "pooling_factor": 3}] * 8
        self.assertEqual(figures(predicted(one)), figures(predicted(many)))

    def test_slow_parts_in_another_order(self):
        def change(e, rng):
            for key in ("slow_gpus", "slow_nics"):
                rng.shuffle(e["engine"][key])
            return e
        expected = figures(predicted(EXPERIMENTS["resnet"]))
        for seed in SEEDS:
            self.assertEqual(figures(predicted(change(copy.deepcopy(EXPERIMENTS["resnet"]), random.Random(seed)))), expected)

    def test_ranks_of_a_node_in_another_order(self):
        """The GPUs of a node are alike: which of them is slow makes no difference."""
        e = copy.deepcopy(EXPERIMENTS["resnet"])
        del e["engine"]["slow_nics"]
        expected = predicted(e)
        for seed in SEEDS:
            rng = random.Random(seed)
            node = rng.randrange(4)
            e["engine"]["slow_gpus"] = [{"rank": 8 * node + rng.randrange(8), "speed": 0.5}, {"rank": 8 * ((node + 1) % 4) + rng.randrange(8), "speed": 0.75}]
            now = predicted(e)
            self.assertEqual((now["iteration_ms"], now["breakdown"]), (expected["iteration_ms"], expected["breakdown"]))


class SameProgram(unittest.TestCase):
    def test_chakra_traces_of_a_prediction(self):
        """The files of a set however they are named, and in a folder with others."""
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(d)
            (folder / "x.yaml").write_text((ROOT / "tests/golden/tiny.yaml").read_text())
            (folder / "run").mkdir()
            command("--config", "x.yaml", "--write-et", "run/t", "--csv", "-", cwd=d)
            files = [f"run/t.{r}.et" for r in range(4)]
            answers = set()
            for words in (["run/t"], ["run"], ["run/t.*.et"], files, files[::-1], [files[2], files[0], files[3], files[1]]):
                answers.add(command("replay", *words, "--config", "x.yaml", "--recorded-collectives", "--csv", "-", cwd=d))
            self.assertEqual(len(answers), 1)

    def test_a_program_and_its_chakra_traces(self):
        """Played back, the three iterations end when the predicted ones do, to the picosecond."""
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(d)
            program = {"cluster": {"system": "dgx_a100_80gb", "nodes": 2},
                       "model": {"kind": "program", "global_batch": 16, "program": {"steps": [
                           {"name": "work", "compute": "1 ms"}, {"collective": "all_reduce", "size": "1 MB"},
                           {"name": "more", "compute": "250 us"}, {"collective": "all_gather", "size": "4 MB", "group": "node"}]}}}
            (folder / "x.yaml").write_text(json.dumps(program))
            command("--config", "x.yaml", "--write-et", "t", "--csv", "-", cwd=d)
            timeline = command("--config", "x.yaml", "--dump-after", "simulate", cwd=d)
            one = json.loads(command("replay", "t", "--config", "x.yaml", "--recorded-collectives", "--json", "-", cwd=d))
            again = json.loads(command("replay", "t.*.et", "--config", "x.yaml", "--recorded-collectives", "--json", "-", cwd=d))
            self.assertEqual(one, again)
            self.assertIn(f"makespan_ps {one['makespan_ps']} ", timeline.splitlines()[0])

    def test_messages_of_a_program_and_its_chakra_traces(self):
        """Priced anew, a message to the next rank is not a message to all."""
        for nodes, gpus in ((2, 1), (1, 2), (2, 8)):
            with self.subTest(nodes=nodes, gpus=gpus), tempfile.TemporaryDirectory() as d:
                program = {"cluster": {"system": "dgx_a100_80gb", "nodes": nodes, "gpus_per_node": gpus},
                           "model": {"kind": "program", "global_batch": 16, "program": {"steps": [
                               {"name": "work", "compute": "10 us"}, {"collective": "send_recv", "size": "64 MB"}]}}}
                (pathlib.Path(d) / "x.yaml").write_text(json.dumps(program))
                timeline = command("--config", "x.yaml", "--write-et", "t", "--dump-after", "simulate", cwd=d)
                played = json.loads(command("replay", "t", "--config", "x.yaml", "--json", "-", cwd=d))
                self.assertIn(f"makespan_ps {played['makespan_ps']} ", timeline.splitlines()[0])

    def test_a_long_pipeline_and_its_chakra_traces(self):
        """All micro-batches are written, though a prediction plays the first and extends what follows."""
        with tempfile.TemporaryDirectory() as d:
            job = ("--config", str(ROOT / "configs/megatron_gpt_7_5b.yaml"), "--set", "cluster.nodes=1", "--set", "parallel.tensor=2",
                   "--set", "parallel.pipeline=4", "--set", "parallel.micro_batch=1", "--set", "model.global_batch=64")
            predicted = json.loads(command(*job, "--write-et", "t", "--json", "-", cwd=d))
            self.assertTrue(any("micro-batches are simulated" in a for a in predicted["assumptions"]))
            played = json.loads(command("replay", "t", "--config", str(ROOT / "configs/megatron_gpt_7_5b.yaml"), "--set", "cluster.nodes=1",
                                        "--recorded-collectives", "--json", "-", cwd=d))
            self.assertAlmostEqual(played["makespan_ps"] * 1e-9 / (3 * predicted["iteration_ms"]), 1, delta=0.01)

    def test_an_uneven_exchange_and_its_chakra_traces(self):
        """The job read back exchanges as much as its busiest rank did."""
        with tempfile.TemporaryDirectory() as d:
            config = str(ROOT / "configs/dlrm_skewed_2node.yaml")
            predicted = json.loads(command("--config", config, "--write-et", "t", "--json", "-", cwd=d))
            played = json.loads(command("replay", "t", "--config", config, "--json", "-", cwd=d))
            self.assertAlmostEqual(played["makespan_ps"] * 1e-9 / (3 * predicted["iteration_ms"]), 1, delta=0.04)

    def test_traces_of_ranks_in_another_order(self):
        files = sorted(str(p) for p in (ROOT / "tests/traces/data/two_ranks").glob("kineto_rank*.json.gz"))
        with tempfile.TemporaryDirectory() as d:
            answers = {command("replay", *words, "--json", "-", cwd=d) for words in (files, files[::-1])}
            self.assertEqual(len(answers), 1)


if __name__ == "__main__":
    unittest.main()
