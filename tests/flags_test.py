#!/usr/bin/env python3
"""Every flag of every command, alone and beside every other: giving it changes an output, or the command refuses it, or names it as
without effect. A flag that the table below does not know fails the test.

flags_test.py DISTSIM [--only COMMAND]
"""
import argparse
import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/pressure"))
import jobs  # noqa: E402  also moves temporary folders into memory

TINY, FORMATS = jobs.TINY, jobs.FORMATS
KINETO = [str(jobs.TWO_RANKS / f"kineto_rank{r}.json.gz") for r in (0, 1)]
ET = ROOT / "tests/traces/data/formats/chakra.0.et"

# Flags that are meant to change no result.
SILENT = {"--jobs": "threads", "--stream": "memory", "--resume": "what is evaluated again"}
FILES = {"networks.yml": "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n",
         "system.json": '{"all-reduce-implementation": ["ring"], "all-gather-implementation": ["ring"], "reduce-scatter-implementation": ["ring"], '
                        '"all-to-all-implementation": ["direct"], "collective-optimization": "localBWAware", "endpoint-delay": 9000, '
                        '"active-chunks-per-dimension": 1, "preferred-dataset-splits": 2, "local-mem-bw": 1600}',
         "graph_cases.csv": "cluster.device,model.name,model.global_batch,framework.name,measured_ms\n"
                            + "".join(f"a100_sxm4_80gb,mlp,{64 << i},pytorch,{2 + i * 7 % 5 / 4}\n" for i in range(9)),
         "groups.json": '{"0": [0, 1]}',
         "stacks.txt": "main;train;forward 30\nmain;train;backward 60\n",
         "tables.csv": "rows,pooling_factor\n1000,3\n200000,1\n50,20\n",
         "events.json": '{"Layer": {"forward_events": ["a_start", "a_stop"], "backward_events": ["b_start", "b_stop"]}}',
         "serving.yaml": "gpus: [{name: a}]\nmodels: [{name: m, layer_times: [1 ms, 2 ms]}]\nload: {rate_per_s: 100, requests: 50}\npolicies: [fifo, sjf]\n",
         "ops.csv": jobs.OPS, "cases.csv": jobs.CASES}


def commands(d):
    """Per command: command lines that need nothing more, and for each flag what it is tried with. A pair: what the flag needs beside it."""
    out = f"{d}/out."
    experiment = {"--config": [], "--set": ["--set cluster.nodes=4", "--set model.dlrm.cross_rank=3"]}
    table = {"--csv": [f"--csv {out}csv", "--csv -"]}
    return {
        "predict": ([f"--config {TINY}"], experiment | table | {
            "--correction": ["--correction graph"], "--curves": [f"--curves {jobs.LOG}"], "--json": [f"--json {out}json", "--json -"], "--timeline": [f"--timeline {out}t.json"],
            "--timeline-ranks": [(f"--timeline {out}t.json", "--timeline-ranks 1")], "--write-et": [f"--write-et {out}w"],
            "--write-et-ranks": [(f"--write-et {out}w", "--write-et-ranks 2")], "--html": [f"--html {out}html"], "--graph": [f"--graph {out}dot", "--graph -"],
            "--trials": ["--trials 3"], "--seed": [("--trials 3", "--seed 5")], "--dump-after": ["--dump-after parse", "--dump-after analyse"],
            "--timings": ["--timings"]}),
        "sweep": ([f"--config {TINY} --set cluster.nodes=1,2"], experiment | table | {
            "--scaling": ["--scaling weak"], "--jobs": ["--jobs 2"], "--journal": [f"--journal {out}journal"], "--resume": [(f"--journal {out}journal", "--resume")],
            "--columns": ["--columns gpus,global_batch,iteration_ms,samples_per_s"], "--sort": ["--sort nodes:desc"], "--html": [f"--html {out}html", "--html -"], "--study": ["--study weak_scaling"]}),
        "plan": ([f"--config {TINY} --vary model.global_batch=64,128",
                  f"--config {ROOT}/configs/megatron_gpt_7_5b.yaml --vary parallel.tensor=2,4 --set parallel.pipeline=1"], experiment | table | {
            "--vary": ["--vary cluster.nodes=1,2", "--vary parallel.micro_batch=1,2"], "--gpus": ["--gpus 16,32"], "--top": ["--top 1"],
            "--objective": ["--objective memory"], "--pareto": ["--pareto time,memory"], "--exhaustive": ["--exhaustive"],
            "--max-played": ["--max-played 1"], "--draws": ["--draws 3"], "--price-per-gpu-hour": ["--price-per-gpu-hour 2"],
            "--tokens": ["--tokens 1e9"], "--samples": ["--samples 1e6"], "--jobs": ["--jobs 2"], "--json": [f"--json {out}json", "--json -"],
            "--html": [f"--html {out}html", "--html -"], "--write": [f"--write {out}yaml"],
            "--constraints": [], "--least-columns": [], "--placement": [], "--sharding-plan": [],
            "--journal": [f"--journal {out}journal"], "--resume": [(f"--journal {out}journal", "--resume")]}),
        "serve": ([], {"--config": [], "--port": [], "--listen": [], "--open": []}),  # does not end by itself: tests/serve_test.py
        "sensitivity": ([f"--config {TINY}"], experiment | table | {
            "--resource": ["--resource hbm_bandwidth"], "--factors": ["--factors 3"], "--json": [f"--json {out}json", "--json -"],
            "--html": [f"--html {out}html", "--html -"]}),
        "compare": ([f"{TINY} {ROOT}/configs/dgx_a100_4node.yaml"], table | {
            "--set": ["--set cluster.nodes=1"], "--html": [f"--html {out}html", "--html -"]}),
        "validate": ([f"--cases {d}/cases.csv"], table | {
            "--cases": [], "--plot": [f"--plot {out}svg", "--plot -"], "--explain": ["--explain b"], "--jobs": ["--jobs 2"]}),
        "replay": ([f"{FORMATS}/kineto.json", str(ET) + f" --config {TINY}"], table | {
            "--config": [f"--config {ROOT}/configs/dgx_a100_4node.yaml"], "--set": [(f"--config {TINY}", "--set cluster.nodes=4"), (f"--config {TINY}", "--set framework.overlap=false")],
            "--json": [f"--json {out}json", "--json -"], "--timeline": [f"--timeline {out}t.json"], "--step-pattern": ["--step-pattern nothing"],
            "--measured-on": ["--measured-on dgx_a100_80gb"], "--remove": ["--remove gemm"], "--fuse": ["--fuse elementwise"],
            "--leave-one-step-out": ["--leave-one-step-out"], "--network": [f"--network {d}/networks.yml"],
            "--network-system": [(f"--network {d}/networks.yml", f"--network-system {d}/system.json")], "--groups": [f"--groups {d}/groups.json"],
            "--ranks": ["--ranks 2"], "--priced": [], "--recorded-collectives": ["--recorded-collectives"], "--compute-scale": ["--compute-scale 2"]}),
        "profile": ([f"{FORMATS}/kineto.json"], table | {
            "--table": [(f"--csv {out}csv", "--table ops"), "--table kernels"], "--json": [f"--json {out}json", "--json -"], "--html": [f"--html {out}html", "--html -"], "--steps": ["--steps Optimizer"],
            "--stream": ["--stream"], "--host-stacks": [f"--host-stacks {d}/stacks.txt"], "--unprofiled": ["--unprofiled 1us"],
            "--record-cost": ["--record-cost 1us"], "--rank": ["--rank 0"], "--top": ["--top 1"], "--width": ["--width 300"]}),
        "cost op": ([f"--input {d}/ops.csv", "--gpu a100_sxm4_80gb --op linear --dtype bf16 m=128 n=256 k=512"], {"--csv": [f"--csv {out}csv"],
            "--input": [], "--gpu": [], "--op": ["--op linear"], "--pass": ["--pass bwd"], "--dtype": []}),
        "cost collective": (["--system dgx_a100_80gb --kind all_reduce --bytes 8,1MiB", "--system dgx_a100_80gb --kind all_to_all --nodes 2 --bytes 1MiB",
                             "--system dgx_h100 --kind send_recv --nodes 2 --bytes 1MiB"], {"--csv": [f"--csv {out}csv"],
            "--system": [], "--kind": [], "--bytes": [], "--nodes": ["--nodes 4"], "--gpus-per-node": ["--gpus-per-node 2"], "--curve": [f"--curve {jobs.LOG}"],
            "--launch": ["--launch single_process"], "--algorithms": ["--algorithms Tree"], "--protocols": ["--protocols Simple"],
            "--exchange": ["--exchange hierarchical"], "--all-reduce": ["--all-reduce one_shot"], "--side-by-side": ["--side-by-side"],
            "--allow-partial": ["--allow-partial"], "--no-curves": ["--no-curves"], "--explain": ["--explain"]}),
        "curves import": ([f"{jobs.LOG} --system dgx_a100_80gb --date 2026-01-02"], {
            "--system": [], "--date": [], "--launch": ["--launch single_process"], "--cuda-graph": ["--cuda-graph"], "--ranks": ["--ranks 8"], "--nodes": ["--nodes 4"],
            "--out": [f"--out {out}curve.txtpb"]}),
        "curves plan": ([f"--config {TINY}"], experiment | {"--out": [f"--out {out}csv"], "--results": [f"--results {TINY}"]}),
        "curves show": ([f"{ROOT}/configs/curves/dgx_a100_80gb.curve.txtpb"], {"--ranks": ["--ranks 8"], "--nodes": ["--nodes 1"]}),
        "calibrate ops": ([f"--input {d}/ops.csv --device a100_sxm4_80gb --report"], {
            "--input": [], "--device": [], "--out": [f"--out {d}"], "--report": [], "--csv": [f"--csv {out}csv", "--csv -"], "--worst": ["--worst 1"]}),
        "calibrate graph": ([f"--cases {d}/graph_cases.csv --report"], {
            "--cases": [], "--out": [f"--out {d}"], "--report": [], "--csv": [f"--csv {out}csv", "--csv -"], "--seed": ["--seed 5"], "--jobs": ["--jobs 2"]}),
        "calibrate features": ([f"--input {d}/ops.csv --kernel product16"], {"--input": [], "--kernel": [], "--csv": [f"--csv {out}csv"]}),
        "serving": ([f"--config {d}/serving.yaml"], table | {
            "--config": [], "--set": ["--set load.rate_per_s=200"], "--jobs": ["--jobs 2"], "--json": [f"--json {out}json", "--json -"],
            "--html": [f"--html {out}html", "--html -"], "--timeline": [f"--timeline {out}t.json"],
            "--online": ["--online --set policies=[sjf]"]}),
        "hugectr timeline": ([f"{FORMATS}/host.prof.json"], table | {
            "--json": [f"--json {out}json", "--json -"], "--svg": [f"--svg {out}svg"], "--events": [f"--events {d}/events.json"]}),
        "hugectr schedule": ([f"{d}/events.json", f"{d}/events.json --format events"], {
            "--out": [f"--out {out}x"], "--format": ["--format events"], "--warmup": ["--warmup 3"], "--repeat": ["--repeat 7"]}),
        "hugectr scaling": ([f"--run a={FORMATS}/host.prof.json"], table | {
            "--run": [f"--run b={FORMATS}/host.prof.json"], "--svg": [f"--svg {out}svg", "--svg -"], "--html": [f"--html {out}html", "--html -"],
            "--events": [f"--events {d}/events.json"]}),
        "generate dlrm": ([f"--system dgx_a100_80gb --nodes 1 --tasks 2 --out {d}/tasks"], {
            "--system": [], "--nodes": [], "--out": [], "--gpus-per-node": ["--gpus-per-node 2"], "--tasks": [], "--seed": ["--seed 9"], "--batch": ["--batch 640"],
            "--tables": [f"--tables {d}/tables.csv"], "--mixed-widths": ["--mixed-widths"]}),
        "list": (["systems", "config"], {"--markdown": ["--markdown"]}),
        "man": ([""], {}), "completion": (["bash", "systems"], {}),
    }


def names_of_commands(binary, *parents):
    """Of all commands that have no further ones, as --help lists them."""
    text = subprocess.run([binary, *parents, "--help"], capture_output=True, text=True, check=True).stdout
    below = re.findall(r"^  ([a-z]+) ", text.partition("\nSubcommands:\n")[2], re.M)
    return [name for word in below for name in names_of_commands(binary, *parents, word)] if below else [" ".join(parents)]


def flags_in_help(binary, command):
    text = subprocess.run([binary, *command.split(), "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", text, re.M)) - {"--help"}


class Runner:
    """Runs each command line once: flags in another order are the same one."""

    def __init__(self, binary):
        self.binary, self.known, self.lock = binary, {}, threading.Lock()

    def run(self, command, base, parts):
        """Exit code, all that was written, standard error."""
        key = (command, base, tuple(sorted(parts)))
        with self.lock:
            mine = key not in self.known
            result = self.known.setdefault(key, concurrent.futures.Future())
        if mine:
            try:
                result.set_result(self.fresh(*key))
            except BaseException as e:
                result.set_exception(e)
        return result.result()

    def fresh(self, command, base, parts):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in FILES.items():
                pathlib.Path(folder, name).write_text(text)
            words = [w.replace("@", folder) for w in [*command.split(), *base.split(), *" ".join(parts).split()]]
            environment = {k: v for k, v in os.environ.items() if not k.startswith("DISTSIM")}
            r = subprocess.run([self.binary, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=300, env=environment, cwd=ROOT)
            files = {str(p.relative_to(folder)): p.read_bytes().replace(folder.encode(), b"@") for p in pathlib.Path(folder).rglob("*")
                     if p.is_file() and p.name not in FILES}
        return r.returncode, (r.stdout.replace(folder.encode(), b"@"), files), r.stderr.decode()


def tries(flags):
    """(flag, what it needs, its words)"""
    return [(flag, *(t if isinstance(t, tuple) else ("", t))) for flag, all_tries in flags.items() for t in all_tries]


def first_tries(flags):
    """What is tried beside other flags: the first that is tried alone, and standard output, which changes what the others can do."""
    return {flag: [t for i, t in enumerate(all_tries) if i == 0 or str(t).endswith(" -")] for flag, all_tries in flags.items()}


def first_words(base, parts):
    """Of parts with the same flag only the first: a flag is given once."""
    seen, out = set(base.split()), []
    for p in parts:
        if p and p.split()[0] not in seen:
            seen.add(p.split()[0])
            out.append(p)
    return tuple(out)


def problem(runner, command, base, beside, one):
    flag, needs, words = one
    if flag in SILENT:
        return None
    context = first_words(base, [*((beside[1], beside[2]) if beside else ()), needs])
    given = {w for p in context for w in p.split()} | set(base.split())
    if flag in given:
        return None
    code, before, _ = runner.run(command, base, context)
    if code != 0:
        return None
    code, after, said = runner.run(command, base, (*context, words))
    if code == 2 and said.startswith("distsim: ") and said.count("\n") <= 3 or code == 0 and (after != before or flag in said):
        return None
    return f"{command} {base} {' '.join(context)}  and  {words}: " + ("no effect, and nothing says so" if code == 0 else f"exit code {code}: {said[:200]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    runner, work = Runner(os.path.abspath(options.binary)), []
    problems = [f"{name}: a command that this test does not know" for name in names_of_commands(options.binary) if name not in commands("@")]
    for command, (bases, flags) in commands("@").items():
        if options.only not in command:
            continue
        problems += [f"{command} {flag}: a flag that this test does not know" for flag in sorted(flags_in_help(options.binary, command) - set(flags))]
        for base in bases:
            code, _, said = runner.run(command, base, ())
            if code != 0:
                problems.append(f"{command} {base}: exit code {code}: {said}")
            given = [(None, t) for t in tries(flags)] + list(itertools.permutations(tries(first_tries(flags)), 2))
            work += [(runner, command, base, beside, one) for beside, one in given if not beside or beside[0] != one[0]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems += [p for p in pool.map(lambda w: problem(*w), work) if p]
    print(f"{len(runner.known)} runs, {len(problems)} problems")
    print("\n".join(problems[:400]))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
