#!/usr/bin/env python3
"""Writes the small traces of this folder with a real PyTorch on the CPU (Debian 12: apt install python3-torch, version 1.13.1).

  python3 make_samples.py

two_ranks/  two ranks of data-parallel training over gloo, three profiled steps each: Kineto JSON and an execution trace of the same run.
Names of hosts and users are not part of the files. The traces differ from run to run in their times; the tests use what is structural.
"""
import gzip
import json
import os
import pathlib
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

HERE = pathlib.Path(__file__).resolve().parent
RANKS, STEPS = 2, 3


def model() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))


def train(rank: int) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", GLOO_SOCKET_IFNAME="lo")
    torch.manual_seed(1)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    net = DistributedDataParallel(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    inputs, target = torch.randn(32, 64), torch.randn(32, 8)

    def step() -> None:
        optimizer.zero_grad()
        with torch.profiler.record_function("## forward ##"):
            loss = torch.nn.functional.mse_loss(net(inputs), target)
        loss.backward()
        optimizer.step()

    for _ in range(3):
        step()
    out = HERE / "two_ranks"
    out.mkdir(exist_ok=True)
    observer = torch.profiler.ExecutionGraphObserver()
    observer.register_callback(str(out / f"et_rank{rank}.json"))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True,
                                schedule=torch.profiler.schedule(wait=0, warmup=0, active=STEPS, repeat=1),
                                on_trace_ready=lambda p: p.export_chrome_trace(str(out / f"kineto_rank{rank}.json"))) as prof:
        observer.start()
        for _ in range(STEPS):
            step()
            prof.step()
        observer.stop()
    observer.unregister_callback()
    dist.destroy_process_group()


def pack(path: pathlib.Path) -> None:
    text = json.dumps(json.loads(path.read_text(), strict=False), separators=(",", ":"))
    text = text.replace(str(HERE), ".")
    with gzip.GzipFile(str(path) + ".gz", "wb", 9, mtime=0) as packed:
        packed.write(text.encode())
    path.unlink()


def main() -> int:
    mp.spawn(train, nprocs=RANKS)
    for path in sorted((HERE / "two_ranks").glob("*.json")):
        pack(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
