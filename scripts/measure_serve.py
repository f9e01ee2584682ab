#!/usr/bin/env python3
"""How fast `distsim serve` answers, and what it holds: first paint and size of the page; random moves of sliders in Chromium, from the move to
the painted answer; many pages that ask at once; and random use for long, with the server's memory on the way. At the end one table of all
figures against their goals.

measure_serve.py DISTSIM [--paints 10] [--moves 200] [--pages 100] [--rate 10] [--seconds 20] [--requests 0] [--timeline 0] [--all]

0 leaves a part out. --all: everything at the length of the goals, --seconds 300, --requests 200000 (an hour or more on two cores), --timeline 10.
"""
import argparse
import collections
import concurrent.futures
import gzip
import multiprocessing
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/web"))
from browser import Browser, program  # noqa: E402
from client import Server, talk  # noqa: E402

CONFIG = "configs/dgx_a100_4node.yaml"
READY = "Number(document.documentElement?.dataset.answers) > 0 && document.querySelector('#iteration') !== null"
# A move of one slider: resolves when its answer is on the page and the frame after it was begun.
MOVE = """new Promise((resolve) => {
  const sliders = [...document.querySelectorAll('input.slider')], slider = sliders[%d %% sliders.length];
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  const most = Number(slider.max), now = Number(slider.value), next = (now + 1 + Math.floor(%f * most)) %% (most + 1);
  const root = document.documentElement, before = Number(root.dataset.answers), began = performance.now();
  const watch = new MutationObserver(() => {
    if (Number(root.dataset.answers) <= before) return;
    watch.disconnect();
    requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => resolve([document.querySelector('#problem') !== null, performance.now() - began]); c.port2.postMessage(0); });
  });
  watch.observe(root, {attributes: true});
  set.call(slider, String(next));
  slider.dispatchEvent(new Event('input', {bubbles: true}));
})"""


Place = collections.namedtuple("Place", "host port token")


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


Figure = collections.namedtuple("Figure", "name goal value unit is_met")
FIGURES = []


def figure(name, value, unit, most):
    """A line of the table; `most` None: no goal."""
    FIGURES.append(Figure(name, "" if most is None else f"at most {most:g} {unit}", value, unit, None if most is None else value <= most))


def table():
    rows = [("figure", "measured", "goal", "")] + [(f.name, f"{f.value:.1f} {f.unit}" if f.value % 1 else f"{f.value:.0f} {f.unit}", f.goal, {None: "", True: "met", False: "MISSED"}[f.is_met]) for f in FIGURES]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    print(f"\nload of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def summary(name, values):
    print(f"{name}: {len(values)}, median {statistics.median(values):.1f} ms, p95 {quantile(values, 0.95):.1f} ms, p99 {quantile(values, 0.99):.1f} ms, worst {max(values):.1f} ms")


def page(binary, count):
    """First paints of a new tab, and what the page takes on the wire."""
    server, paints, figures_at = Server(binary, "--config", CONFIG, cwd=ROOT), [], []
    try:
        sizes = {"at first": [], "in all": []}
        index = server.get(f"/?token={server.token}")[2].decode()
        at_first = ["", *re.findall(r'(?:href|src)="/([^"]+)"', index)]
        for name in {*at_first, *(f.name for f in (ROOT / "web/dist").glob("*-*"))}:
            target = f"/{name}" if name else f"/?token={server.token}"
            status, _, body = server.get(target)
            packed = server.get(target, Accept_Encoding="gzip")[2]
            assert status == 200, (target, status)
            for what in ("at first", "in all") if name in at_first else ("in all",):
                sizes[what].append((len(body), len(packed)))
        for what, list_of in sizes.items():
            print(f"page, {what}: {len(list_of)} files, {sum(s for s, _ in list_of) / 1000:.0f} kB, {sum(p for _, p in list_of) / 1000:.0f} kB compressed, as they are sent to browsers")
        figure("page, compressed", sum(p for _, p in sizes["in all"]) / 1000, "kB", 400)
        for _ in range(count if program() is not None else 0):
            browser = Browser()
            try:
                browser.open(server.url)
                browser.wait_for(READY)
                paints.append(browser.js("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
                figures_at.append(browser.js("performance.getEntriesByName('first figures')[0].startTime"))
            finally:
                browser.close()
        if paints:
            summary("first paints", paints)
            summary("first predictions on the page", figures_at)
            figure(f"first paint, 95th percentile of {count} new browsers", quantile(paints, 0.95), "ms", 300)
    finally:
        server.end()


def moves(binary, count, nodes, goal):
    server, browser, draw = Server(binary, "--config", CONFIG, cwd=ROOT), Browser(), random.Random(7)
    try:
        browser.open(server.url)
        browser.wait_for(READY)
        slider = "input[data-key='cluster.nodes']"
        while int(browser.js("document.querySelector('#k-cluster-nodes').value")) < nodes:
            before = browser.js("Number(document.documentElement.dataset.answers)")
            browser.fill(slider, str(int(browser.js(f"document.querySelector(\"{slider}\").value")) + 1))
            browser.wait_for(f"Number(document.documentElement.dataset.answers) > {before}")
        took = []
        for _ in range(count):
            took.append(browser.js(MOVE % (draw.randrange(1000), draw.random())))
            if nodes > 4 or draw.random() < 0.3:  # back to the size that is measured
                before = browser.js("Number(document.documentElement.dataset.answers)")
                browser.click("#undo")
                browser.wait_for(f"Number(document.documentElement.dataset.answers) > {before}")
        times = [t for _, t in took]
        summary(f"moves of sliders from {nodes * 8} GPUs ({sum(bad for bad, _ in took)} of them to what cannot be predicted)", times)
        figure(f"slider at {nodes * 8} GPUs until painted, 95th percentile of {count}", quantile(times, 0.95), "ms", goal)
    finally:
        browser.close()
        server.end()


def ask_from_pages(server, numbers, pages, rate, seconds):
    """Times and problems of some of the pages, each a thread of this process."""
    text, took, problems, draw = (ROOT / CONFIG).read_text(), [], [], random.Random(3)
    batches = [str(1024 * draw.randrange(1, 129)) for _ in range(1000)]

    def page(number):
        try:
            t, begin = talk(server), time.monotonic() + number / pages / rate
            for i in range(int(rate * seconds)):
                time.sleep(max(0, begin + i / rate - time.monotonic()))
                at = time.monotonic()
                number_of_it = t.send(type="predict", text=text, edits=[{"key": "model.global_batch", "value": batches[(number * 37 + i) % 1000]}])
                while f'"id":{number_of_it},' not in (answer := t.receive()):
                    pass
                took.append(1000 * (time.monotonic() - at))
                if '"type":"prediction"' not in answer and '"type":"error"' not in answer:  # an error: a batch that 32 ranks cannot share
                    problems.append(answer)
            t.close()
        except Exception as e:  # noqa: BLE001
            problems.append(repr(e))

    threads = [threading.Thread(target=page, args=(i,)) for i in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took, problems


def load(binary, pages, rate, seconds):
    server, processes = Server(binary, "--config", CONFIG, cwd=ROOT), 4
    talk(server).ask(type="predict", text=(ROOT / CONFIG).read_text())
    before = server.memory()
    with concurrent.futures.ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("fork")) as pool:
        place = Place(server.host, server.port, server.token)
        answers = [pool.submit(ask_from_pages, place, range(i, pages, processes), pages, rate, seconds) for i in range(processes)]
        time.sleep(seconds / 4)
        warm = server.memory()
        results = [a.result() for a in answers]
    took, problems = [t for r in results for t in r[0]], [p for r in results for p in r[1]]
    summary(f"{pages} pages, {rate:g} a second each, for {seconds:g} s", took)
    after = server.memory()
    print(f"memory {before / 1e6:.0f} MB before, {warm / 1e6:.0f} MB after a quarter of the time, {after / 1e6:.0f} MB at the end; {len(problems)} problems {problems[:3]}")
    name = f"{pages} pages, {rate:g} requests a second each, {seconds:g} s"
    figure(f"{name}: 99th percentile", quantile(took, 0.99), "ms", 250)
    figure(f"{name}: errors", len(problems), "", 0)
    figure(f"{name}: memory in the last three quarters", (after - warm) / 1e6, "MB more", 10)
    server.end()


def experiment(draw, text):
    """One of millions: the shipped example with other numbers, each a prediction of its own."""
    edits = [{"key": "model.global_batch", "value": str(1024 * draw.randrange(32, 512))}, {"key": "cluster.nodes", "value": str(draw.choice([1, 2, 3, 4, 6, 8, 16]))},
             {"key": "cluster.nic.bandwidth", "value": f"{draw.randrange(50, 1000) / 10} GB/s"}, {"key": "device.hbm.bandwidth", "value": f"{draw.randrange(1000, 4000)} GB/s"}]
    return {"text": text, "edits": draw.sample(edits, draw.randrange(1, 5))}


def one_request(draw, text):
    """As pages ask: mostly predictions, of which some with all values; now and then a timeline, what has no effect, a file, a price."""
    kind = draw.choices(["predict", "values", "timeline", "effects", "file", "collective", "op", "stale"], [70, 8, 6, 2, 2, 5, 5, 2])[0]
    asked = experiment(draw, text)
    if kind == "values":
        return {"type": "predict", "values": True} | asked
    if kind == "timeline":
        return {"type": "timeline", "columns": 1200, "first": 0, "count": 32, "names": True} | asked
    if kind == "file":
        return {"type": "file", "kind": draw.choice(["json", "csv", "html"])} | asked
    if kind == "collective":
        return {"type": "collective", "kind": draw.choice(["all_reduce", "all_to_all", "all_gather"]), "nodes": draw.randrange(1, 9), "text": text, "from": 1024, "to": 1 << draw.randrange(20, 31)}
    if kind == "op":
        sizes = {name: str(64 * draw.randrange(1, 256)) for name in "mnk"}
        return {"type": "op", "text": text, "op": "gemm", "dtype": "fp16", "sizes": sizes, "vary": "m", "from": 64, "to": 16384}
    if kind == "stale":
        return {"type": "predict", "text": "cluster: [", "edits": []}
    return {"type": kind} | asked


def use_at_random(place, seed, count):
    """So many requests of one page after the other; a page is left and another opened every few hundred."""
    text, draw, problems, t = (ROOT / CONFIG).read_text(), random.Random(seed), [], None
    for i in range(count):
        if i % 300 == 0:
            if t is not None:
                t.close()
            t = talk(place)
        number = t.send(**one_request(draw, text))
        while f'"id":{number},' not in (answer := t.receive()):
            pass
        if '"type":"busy"' in answer or '"type":"timeout"' in answer or "internal error" in answer:
            problems.append(answer[:200])
    t.close()
    return problems


def long_use(binary, requests, pages):
    server = Server(binary, "--config", CONFIG, cwd=ROOT)
    place, rounds = Place(server.host, server.port, server.token), 20
    each = max(1, requests // (rounds * pages))
    begin, problems, held = time.monotonic(), [], []
    print(f"{server.memory() / 1e6:.0f} MB before the first request")
    with concurrent.futures.ProcessPoolExecutor(pages, mp_context=multiprocessing.get_context("fork")) as pool:
        for r in range(rounds):
            for p in pool.map(use_at_random, [place] * pages, range(r * pages, (r + 1) * pages), [each] * pages):
                problems += p
            held.append(server.memory() / 1e6)
            print(f"{(r + 1) * each * pages} requests, {time.monotonic() - begin:.0f} s: {held[-1]:.0f} MB", flush=True)
    print(f"{len(problems)} problems {problems[:3]}")
    figure(f"{rounds * each * pages} requests of random use: errors", len(problems), "", 0)
    figure(f"{rounds * each * pages} requests of random use: memory in the second half", held[-1] - held[rounds // 2 - 1], "MB more", 10)
    figure(f"{rounds * each * pages} requests of random use: resident at the end", held[-1], "MB", None)
    server.end()


def timeline(binary, seconds):
    """By measure_timeline.py, whose output is passed on."""
    said = subprocess.run([sys.executable, str(ROOT / "scripts/measure_timeline.py"), binary, "--seconds", str(seconds)], capture_output=True, text=True, check=True).stdout
    print(said, end="")
    slices = int(re.match(r"\d+", said).group())
    figure(f"timeline of {slices} steps: the page's own thread, each frame", float(re.search(r"each frame: ([\d.]+) ms", said).group(1)), "ms", 16)
    figure(f"timeline of {slices} steps: time between frames, median", float(re.search(r"median ([\d.]+) ms", said).group(1)), "ms", 17)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--paints", type=int, default=10)
    parser.add_argument("--moves", type=int, default=200)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--rate", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--timeline", type=float, default=0, help="seconds")
    parser.add_argument("--all", action="store_true")
    o = parser.parse_args()
    if o.all:
        o.seconds, o.requests, o.timeline = 300, 200_000, 10
    binary = os.path.abspath(o.binary)
    if o.paints > 0:
        page(binary, o.paints)
    if program() is not None and o.moves > 0:
        moves(binary, o.moves, 4, 50)
        moves(binary, o.moves, 128, 150)
    if o.pages > 0:
        load(binary, o.pages, o.rate, o.seconds)
    if o.requests > 0:
        long_use(binary, o.requests, 2)
    if o.timeline > 0 and program() is not None:
        timeline(binary, o.timeline)
    table()


if __name__ == "__main__":
    main()
