#!/usr/bin/env python3
"""Two network namespaces joined by a link of known latency and rate: does collective_bench's tcp backend find them?

    shaped_link.py --bin build/bin [--delay-ms 2] [--mbit 200] [--csv FILE]

Needs root (ip netns). Where the kernel has netem the link is a veth pair with `tc netem delay`; else two tun devices whose packets this script carries
itself, each after the delay and at the rate. The truth of the rate counts whole IP packets, of which TCP's payload is 1448 in 1500 bytes.
"""
import argparse
import csv
import fcntl
import heapq
import os
import re
import select
import statistics
import struct
import subprocess
import sys
import time

NAMES, ADDRESSES = ("distsim_a", "distsim_b"), ("10.99.7.1", "10.99.7.2")
ERRORS = ("latency_error", "rate_error", "alpha_error", "beta_error")
PAYLOAD, PACKET, ETHERNET = 1448, 1500, 14
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


def sh(command, check=True):
    done = subprocess.run(command.split(), capture_output=True, text=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"{command}: {done.stderr.strip()}")
    return done.returncode == 0


def remove():
    for name in NAMES:
        sh(f"ip netns del {name}", check=False)


def veth(delay_ms, mbit):
    """Both directions: half a queue of netem each; True where this kernel has it."""
    sh(f"ip link add v0 netns {NAMES[0]} type veth peer name v0 netns {NAMES[1]}")
    for name, address in zip(NAMES, ADDRESSES):
        sh(f"ip -n {name} addr add {address}/24 dev v0")
        sh(f"ip -n {name} link set v0 up")
        if not sh(f"ip netns exec {name} tc qdisc add dev v0 root netem delay {delay_ms}ms rate {mbit}mbit limit 100000", check=False):
            sh(f"ip -n {NAMES[0]} link del v0")
            return False
    return True


def open_tun(name, address):
    """A tun device, moved into its namespace; the file stays here."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", f"t_{name}".encode()[:15], IFF_TUN | IFF_NO_PI))
    device = f"t_{name}"[:15]
    sh(f"ip link set {device} netns {name}")
    sh(f"ip -n {name} addr add {address}/24 dev {device}")
    sh(f"ip -n {name} link set {device} mtu {PACKET} txqueuelen 10000 up")
    return tun


def real_time(priority):
    """The truth is the link's: neither it nor its two ends wait for other programs of this machine, where that is allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        pass


def carry(tuns, delay_s, bytes_per_s, stop):
    """Packets from each device to the other: serialised at the rate, then delayed. Runs until `stop` is readable."""
    real_time(50)
    free, due, number = [0.0, 0.0], [], 0
    while True:
        now = time.monotonic()
        timeout = 0.05 if not due else max(0.0, due[0][0] - now)
        ready = select.select(tuns + [stop], [], [], timeout)[0]
        if stop in ready:
            return
        now = time.monotonic()
        for side, tun in enumerate(tuns):
            while tun in ready:
                try:
                    packet = os.read(tun, 65536)
                except BlockingIOError:
                    break
                free[side] = max(free[side], now) + len(packet) / bytes_per_s
                number += 1
                heapq.heappush(due, (free[side] + delay_s, number, 1 - side, packet))
        while due and due[0][0] <= time.monotonic():
            _, _, side, packet = heapq.heappop(due)
            try:
                os.write(tuns[side], packet)
            except OSError:
                pass  # a full device drops packets, as a link does


def ranks(args, flags):
    """collective_bench on both sides; rank 0's output."""
    started = [subprocess.Popen(["ip", "netns", "exec", name, f"{args.bin}/collective_bench", "--backend", "tcp", "--hosts", ",".join(ADDRESSES), "--rank", str(r), *flags],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: real_time(20)) for r, name in enumerate(NAMES)]
    outputs = [p.communicate(timeout=240) for p in started]
    if any(p.returncode != 0 for p in started):
        sys.exit("collective_bench failed: " + outputs[0][1] + outputs[1][1])
    return outputs[0][0]


def measure(args):
    latency = ranks(args, ["--pair-tests", "latency", "-b", "8", "-e", "512K", "-f", "4", "-n", "15", "--streams", str(args.streams)])
    bandwidth = ranks(args, ["--pair-tests", "bandwidth", "-b", "256K", "-e", "512K", "-f", "2", "-n", "3", "--streams", str(args.streams)])
    small = float(re.search(r"^ +8 +([\d.]+)", latency, re.M).group(1))
    rate = float(re.findall(r"^ +\d+ .* ([\d.]+)$", bandwidth, re.M)[-1])
    alpha, beta = re.search(r"alpha ([\d.]+) us, beta ([\d.]+) GB/s", latency).groups()
    return {"small_us": small, "rate_GBps": rate, "alpha_us": float(alpha), "beta_GBps": float(beta)}


def row(args, delay_ms, mbit, link, found):
    whole = PACKET + (ETHERNET if link == "netem" else 0)
    truth = {"small_us": delay_ms * 1e3, "rate_GBps": mbit / 8e3 * PAYLOAD / whole}
    return {"link": link, "delay_ms": delay_ms, "mbit": mbit, "streams": args.streams, "latency_us": found["small_us"], "latency_truth_us": truth["small_us"],
            "latency_error": found["small_us"] / truth["small_us"] - 1, "rate_GBps": found["rate_GBps"], "rate_truth_GBps": truth["rate_GBps"],
            "rate_error": found["rate_GBps"] / truth["rate_GBps"] - 1, "fit_alpha_us": found["alpha_us"], "fit_beta_GBps": found["beta_GBps"],
            "alpha_error": found["alpha_us"] / truth["small_us"] - 1, "beta_error": found["beta_GBps"] / truth["rate_GBps"] - 1}


def one_link(args, delay_ms, mbit):
    remove()
    for name in NAMES:
        sh(f"ip netns add {name}")
        sh(f"ip -n {name} link set lo up")
    try:
        if not args.tun and veth(delay_ms, mbit):
            return row(args, delay_ms, mbit, "netem", measure(args))
        tuns = [open_tun(name, address) for name, address in zip(NAMES, ADDRESSES)]
        stop_read, stop_write = os.pipe()
        carrier = os.fork()
        if carrier == 0:
            os.close(stop_write)
            carry(tuns, delay_ms / 1e3, mbit * 1e6 / 8, stop_read)
            os._exit(0)
        os.close(stop_read)
        try:
            return row(args, delay_ms, mbit, "tun", measure(args))
        finally:
            os.close(stop_write)
            os.waitpid(carrier, 0)
            for tun in tuns:
                os.close(tun)
    finally:
        remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--delay-ms", type=float, nargs="*", default=[2, 10])
    parser.add_argument("--mbit", type=float, nargs="*", default=[50, 200])
    parser.add_argument("--runs", type=int, default=1, help="of every link")
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--tun", action="store_true", help="carry the packets here even where the kernel has netem")
    parser.add_argument("--csv")
    args = parser.parse_args()
    if os.geteuid() != 0:
        print("skipped: network namespaces need root")
        return 0
    rows = [dict(one_link(args, delay, mbit), run=run) for run in range(args.runs) for delay in args.delay_ms for mbit in args.mbit]
    show(rows)
    if args.csv:
        with open(args.csv, "w", newline="") as f:
            writer = csv.DictWriter(f, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return 0 if max(abs(r[e]) for r in rows for e in ERRORS) <= 0.10 else 1


def show(rows):
    print(f"{'link':6} {'delay ms':>8} {'Mb/s':>6} {'8 B us':>10} {'error':>7} {'GB/s':>8} {'error':>7} {'fit alpha us':>13} {'error':>7} {'fit beta GB/s':>14} {'error':>7}")
    for r in rows:
        print(f"{r['link']:6} {r['delay_ms']:8g} {r['mbit']:6g} {r['latency_us']:10.1f} {100 * r['latency_error']:6.1f}% {r['rate_GBps']:8.4f} {100 * r['rate_error']:6.1f}% "
              f"{r['fit_alpha_us']:13.1f} {100 * r['alpha_error']:6.1f}% {r['fit_beta_GBps']:14.4f} {100 * r['beta_error']:6.1f}%")
    for error in ERRORS:
        found = sorted(abs(r[error]) for r in rows)
        print(f"{error:14} median {100 * statistics.median(found):5.1f} %, worst {100 * found[-1]:5.1f} %, of {len(found)} links")


if __name__ == "__main__":
    sys.exit(main())
