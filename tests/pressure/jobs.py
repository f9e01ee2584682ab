"""A run of every command with every output, small enough to be repeated some thousand times: what the tests of this folder put under
pressure."""
import dataclasses
import os
import pathlib
import tempfile

if os.access("/dev/shm", os.W_OK):  # thousands of runs flush their files: in memory that takes no time
    tempfile.tempdir = "/dev/shm"

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TINY = str(ROOT / "tests/golden/tiny.yaml")
FORMATS = ROOT / "tests/traces/data/formats"
TWO_RANKS = ROOT / "tests/traces/data/two_ranks"
LOG = str(ROOT / "tests/data/collectives/a100_2n16g_all_reduce_oke_gpu4.txt")

OPS = """gpu,op,pass,dtype,m,n,k,latency_us
A100-SXM4-80GB,linear,fwd,bf16,128,5120,10240,75.8
A100-SXM4-80GB,linear,fwd,bf16,97,6144,12288,132.4
A100-SXM4-80GB,linear,fwd,bf16,4096,4096,4096,600.0
"""
CASES = """case_id,cluster.system,cluster.nodes,framework.name,model.name,model.precision,model.global_batch,measured_ms
a,dgx_a100_80gb,1,pytorch_dlrm,dlrm_mlperf,fp16,65536,3.1
b,dgx_a100_80gb,2,pytorch_dlrm,dlrm_mlperf,fp16,65536,3.9
c,dgx_a100_80gb,4,pytorch_dlrm,dlrm_mlperf,fp16,65536,
"""


@dataclasses.dataclass
class Job:
    args: list            # of the command line
    outputs: list         # files that it writes
    partial: bool = False # rows of its table may fail on their own
    named: bytes = b""    # parts of its result may be left out where it says so: with one of these words, or why the call failed
    threads: bool = False # takes --jobs


def jobs(folder: pathlib.Path) -> dict[str, Job]:
    """The commands, whose inputs and outputs are in `folder`."""
    (folder / "ops.csv").write_text(OPS)
    (folder / "cases.csv").write_text(CASES)
    (folder / "events.json").write_text('{"Layer": {"forward_events": ["a_start", "a_stop"], "backward_events": ["b_start", "b_stop"]}}')

    def job(words: str, *, partial=False, threads=False, named=b"", also=()):
        """OUT:name in the words is an output."""
        args, outputs = [], [str(folder / name) for name in also]
        for word in words.split():
            if word.startswith("OUT:"):
                word = str(folder / word[4:])
                outputs.append(word)
            args.append(word)
        return Job(args, outputs, partial=partial, named=named, threads=threads)

    return {
        "predict": job(f"--config {TINY} --json OUT:p.json --csv OUT:p.csv --timeline OUT:p.pftrace.gz --html OUT:p.html"),
        "predict on standard output": job(f"--config {ROOT}/configs/dgx_a100_4node.yaml --timeline OUT:t.json"),
        "write_et": job(f"--config {TINY} --write-et {folder}/et --json -", also=[f"et.{r}.et" for r in range(4)] + ["et.groups.json"]),
        "trials": job(f"--config {TINY} --trials 20 --seed 7 --json -"),
        "dump": job(f"--config {TINY} --dump-after simulate"),
        "sweep": job(f"sweep --config {TINY} --set cluster.nodes=1,2,4 --set model.global_batch=64,128 --jobs 2 --csv OUT:s.csv",
                     partial=True, threads=True),
        "plan": job(f"plan --config {ROOT}/configs/megatron_gpt_7_5b.yaml --vary parallel.tensor=4,8 --vary parallel.micro_batch=1,2 "
                    "--vary parallel.pipeline=1,2 --set parallel.virtual_stages=1 --csv OUT:l.csv --json OUT:l.json --html OUT:l.html --write OUT:l.yaml"),
        "plan tables": job(f"plan --config {TINY} --json OUT:w.json --csv OUT:a.csv"),
        "validate": job(f"validate --cases {folder}/cases.csv --jobs 2 --csv OUT:v.csv --plot OUT:v.svg", partial=True, threads=True),
        "sensitivity": job(f"sensitivity --config {TINY} --csv OUT:n.csv --json OUT:n.json --html OUT:n.html", named=b"annot"),
        "compare": job(f"compare {TINY} {ROOT}/configs/dgx_a100_4node.yaml --csv OUT:c.csv --html OUT:c.html"),
        "cost collective": job("cost collective --system dgx_a100_80gb --kind all_reduce --nodes 2 --bytes 8,1MiB,64MiB --csv OUT:cc.csv"),
        "cost op": job(f"cost op --input {folder}/ops.csv --csv OUT:co.csv", named=b"of 3 rows could"),
        "curves import": job(f"curves import {LOG} --system dgx_a100_80gb --date 2026-01-02 --out OUT:i.curve.txtpb"),
        "curves plan": job(f"curves plan --config {TINY} --out OUT:plan.csv"),
        "curves show": job(f"curves show {ROOT}/configs/curves/dgx_a100_80gb.curve.txtpb"),
        "profile": job(f"profile {FORMATS}/kineto.json --csv OUT:k.csv --json OUT:k.json"),
        "profile sqlite": job(f"profile {FORMATS}/nsys.sqlite --json OUT:q.json"),
        "profile csv": job(f"profile {FORMATS}/gputrace.csv --json OUT:g.json"),
        "replay": job(f"replay {TWO_RANKS}/kineto_rank0.json.gz {TWO_RANKS}/kineto_rank1.json.gz --csv OUT:r.csv --json OUT:r.json "
                      "--timeline OUT:r.json.gz"),
        "replay chakra": job(f"replay {FORMATS}/chakra.0.et --config {TINY} --csv OUT:h.csv --json OUT:h.json"),
        "hugectr timeline": job(f"hugectr timeline {FORMATS}/host.prof.json --json OUT:u.json --svg OUT:u.svg"),
        "hugectr schedule": job(f"hugectr schedule {folder}/events.json --out OUT:prof.schedule"),
        "serving": job(f"serving --config {ROOT}/configs/serving/two_gpus.yaml --set load.requests=200 --jobs 2 --csv OUT:e.csv --json OUT:e.json "
                       "--html OUT:e.html --timeline OUT:e.json.gz", partial=True, threads=True),
        "calibrate": job(f"calibrate ops --input {folder}/ops.csv --device a100_sxm4_80gb --out {folder}", also=["a100_sxm4_80gb.ops"]),
        "features": job(f"calibrate features --input {folder}/ops.csv --kernel product16 --csv OUT:f.csv", named=b"rows kept"),
        "list": job("list systems", named=b"cannot be read"),
        "list config": job("list config --markdown"),
        "man": job("man"),
    }
