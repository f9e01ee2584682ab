#!/usr/bin/env python3
"""Frames a second of the timeline of `distsim serve` in Chromium, while it is zoomed and moved without a pause, and what a frame
costs: the page's own thread, of that its scripts, and the threads that put the picture together, which without a GPU paint in software.

measure_timeline.py DISTSIM [--config FILE] [--seconds 10] [--most MS]     By default a job with more than a million slices.
--most MS: exit code 1 where a frame costs the page's own thread more.
"""
import argparse
import collections
import os
import pathlib
import re
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/web"))
from browser import Browser, program  # noqa: E402
from client import Server, talk  # noqa: E402

READY = "Number(document.documentElement?.dataset.answers) > 0 && document.querySelector('#iteration') !== null"
LARGE = """cluster: {system: dgx_h100, nodes: 8}
model: {name: llama3_8b, global_batch: 20480, memory_check: false}
framework: {name: megatron_core}
parallel: {pipeline: 8, tensor: 1, micro_batch: 1, schedule: gpipe}
"""
# Zooms in by a factor of 60 and out again, and moves, at every frame; the times between frames.
RUN = """new Promise((resolve) => {
  const canvas = document.querySelector('#timeline'), box = canvas.getBoundingClientRect(), times = [], began = performance.now();
  canvas.focus();
  let last = 0, at = box.left + 0.6 * box.width;
  const frame = (now) => {
    if (last > 0) times.push(now - last);
    last = now;
    const t = (now - began) / 1000;
    if (t > SECONDS) return resolve(times);
    canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: -45 * Math.sin(t * 1.3), ctrlKey: true, clientX: at, clientY: box.top + 80, bubbles: true, cancelable: true}));
    canvas.dispatchEvent(new WheelEvent('wheel', {deltaX: 6 * Math.cos(t * 2.1), shiftKey: true, clientX: at, clientY: box.top + 80, bubbles: true, cancelable: true}));
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})"""


def slices_of(server, text):
    """All slices that the timeline holds, and on how many streams."""
    t = talk(server)
    first = t.ask(type="timeline", text=text, columns=64)
    t.close()
    return first["total"], len(first["tracks"])


def cpu(browser):
    """Seconds of a core that the page's main thread has used, which other work of the machine does not change; and seconds that its scripts
    have taken, by the clock."""
    found = {m["name"]: m["value"] for m in browser.call("Performance.getMetrics")["metrics"]}
    return found["ThreadTime"], found["ScriptDuration"]


def other_threads(browser):
    """Seconds of a core by process and thread, but for the page's main thread."""
    processes = {int(p.name): p for p in pathlib.Path("/proc").iterdir() if p.name.isdigit()}
    parents = {}
    for pid, place in processes.items():
        try:
            parents[pid] = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
    mine = {browser.process.pid}
    while grown := {pid for pid, parent in parents.items() if parent in mine} - mine:
        mine |= grown
    out, tick = collections.Counter(), os.sysconf("SC_CLK_TCK")
    for pid in mine:
        try:
            words = (processes[pid] / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ").split()
            kind = next((w.split("=", 1)[1] for w in words if w.startswith("--type=")), "browser")
            for thread in (processes[pid] / "task").iterdir():
                name, rest = (thread / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                if kind == "renderer" and int(thread.name) == pid:
                    continue
                fields = rest.split()
                out[kind, re.sub(r"\d+$", "", name)] += (int(fields[11]) + int(fields[12])) / tick
        except OSError:
            continue
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--config")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--most", type=float)
    o = parser.parse_args()
    if program() is None:
        sys.exit("no Chromium (apt-get install chromium)")
    with tempfile.TemporaryDirectory() as folder:
        config = o.config or str(pathlib.Path(folder, "large.yaml"))
        if not o.config:
            pathlib.Path(config).write_text(LARGE)
        server, browser = Server(os.path.abspath(o.binary), "--config", config, cwd=ROOT), Browser()
        try:
            count, tracks = slices_of(server, pathlib.Path(config).read_text())
            print(f"{count} slices on {tracks} streams; load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            browser.size(1400, 1000)
            browser.open(server.url)
            browser.wait_for(READY, 300)
            browser.click("#tab-timeline")
            browser.wait_for("document.querySelector('#timeline')?.height > 400", 300)
            browser.call("Performance.enable")
            threads, (before, scripts) = other_threads(browser), cpu(browser)
            times = browser.js(RUN.replace("SECONDS", str(o.seconds)))
            (after, scripts_after), threads_after = cpu(browser), other_threads(browser)
            frames, each = sorted(times), 1000 / len(times)
            print(f"{len(times) / sum(times) * 1000:.1f} frames a second over {sum(times) / 1000:.1f} s; "
                  f"time between frames: median {statistics.median(frames):.1f} ms, p95 {frames[int(0.95 * len(frames))]:.1f} ms, worst {frames[-1]:.1f} ms")
            own = each * (after - before)
            print(f"each frame: {own:.1f} ms of a core for the page's own thread; its scripts {each * (scripts_after - scripts):.1f} ms by the clock")
            used = sorted(((each * (seconds - threads[name]), name) for name, seconds in threads_after.items()), reverse=True)
            print("other threads, ms of a core a frame: " + ", ".join(f"{kind} {name} {ms:.1f}" for ms, (kind, name) in used if ms >= 0.1)
                  + f"; together {sum(ms for ms, _ in used):.1f}")
            if o.most and own > o.most:
                sys.exit(f"more than {o.most} ms")
        finally:
            browser.close()
            server.end()


if __name__ == "__main__":
    main()
