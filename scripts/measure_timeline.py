#!/usr/bin/env python3
"""Frames a second of the timeline of `distsim serve` in Chromium, while it is zoomed and moved without a pause.

measure_timeline.py DISTSIM [--config FILE] [--set KEY=VALUE ...] [--seconds 10]     By default a job with about a million slices.
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/web"))
from browser import Browser, program  # noqa: E402
from client import Server, talk  # noqa: E402

READY = "Number(document.documentElement?.dataset.answers) > 0 && document.querySelector('#iteration') !== null"
LARGE = """cluster: {system: dgx_h100, nodes: 8}
model: {name: llama3_8b, global_batch: 4096, memory_check: false}
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
    """All slices, counted through windows that are narrow enough to see each."""
    t = talk(server)
    first = t.ask(type="timeline", text=text, columns=64)
    period, tracks, windows, seen = first["period"], len(first["tracks"]), 64, 0
    for w in range(windows):
        for begin in range(0, tracks, 64):
            part = t.ask(type="timeline", text=text, columns=8192, first=begin, count=64, **{"from": max(1, period * w // windows), "to": period * (w + 1) // windows})
            seen += sum(len(track.get("slices", [])) // 3 for track in part["tracks"])
    t.close()
    return seen, tracks


def cpu(browser):
    """Seconds of a core that the page's main thread has used: what other work of the machine does not change."""
    return next(m["value"] for m in browser.call("Performance.getMetrics")["metrics"] if m["name"] == "ThreadTime")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--config")
    parser.add_argument("--seconds", type=float, default=10)
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
            print(f"at least {count} slices on {tracks} streams")
            browser.size(1400, 1000)
            browser.open(server.url)
            browser.wait_for(READY)
            browser.click("#tab-timeline")
            browser.wait_for("document.querySelector('#timeline')?.height > 200", 120)
            browser.call("Performance.enable")
            before = cpu(browser)
            times = browser.js(RUN.replace("SECONDS", str(o.seconds)))
            frames = sorted(times)
            print(f"{len(times) / sum(times) * 1000:.1f} frames a second over {sum(times) / 1000:.1f} s; "
                  f"time between frames: median {statistics.median(frames):.1f} ms, p95 {frames[int(0.95 * len(frames))]:.1f} ms, worst {frames[-1]:.1f} ms; "
                  f"{1000 * (cpu(browser) - before) / len(times):.1f} ms of a core for the page's own thread in each")
        finally:
            browser.close()
            server.end()


if __name__ == "__main__":
    main()
