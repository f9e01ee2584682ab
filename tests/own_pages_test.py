#!/usr/bin/env python3
"""The pages that `--html` writes, opened as files in Chromium. Left out (exit code 77) where there is no Chromium.

own_pages_test.py DISTSIM     DISTSIM_PICTURES=FOLDER keeps pictures of the pages.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/web"))
from browser import Browser, program  # noqa: E402
from client import until  # noqa: E402
from in_sight import AXE, CUT, HIDDEN, NARROW, NO_AXE, NUMBERS_OUT_OF_SIGHT, ODD, TINY, TOUCHING, axe  # noqa: E402

CONFIG = "configs/dgx_a100_4node.yaml"


class OwnPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def made(self, name, *words):
        path = pathlib.Path(self.folder.name, name + ".html")
        if not path.exists():
            subprocess.run([BINARY, *words, "--html", str(path)], cwd=ROOT, check=True, capture_output=True, timeout=120)
        return path

    def check(self, name, selectors, *words):
        path, b = self.made(name, *words), self.browser
        b.said.clear()
        b.loads.clear()
        for scheme in ("light", "dark"):
            b.scheme(scheme)
            b.size(1400, 1000)
            b.open("about:blank")
            b.open(path.as_uri())
            for selector in selectors:
                b.wait_for(f"document.querySelector({selector!r}) !== null")
            b.wait_for("[...document.querySelectorAll('.timeline canvas')].every((c) => c.height > 100 && c.toDataURL().length > 3000)")
            self.assertEqual(axe(b), [], f"{name}, {scheme}")
            self.assertEqual([b.js(CUT), b.js(HIDDEN), b.js(ODD)], [[], [], []], f"{name}, {scheme}")
            if "DISTSIM_PICTURES" in os.environ:
                b.size(1400, min(6000, b.js("document.documentElement.scrollHeight")))
                b.picture(pathlib.Path(os.environ["DISTSIM_PICTURES"], f"own_{name}_{scheme}.png"))
        b.size(390, 844, is_phone=True)
        b.wait_for(NARROW)
        self.assertLessEqual(b.js("document.documentElement.scrollWidth"), 390, f"{name} is wider than a phone")
        self.assertEqual([b.js(NUMBERS_OUT_OF_SIGHT), b.js(CUT), b.js(TINY), b.js(TOUCHING)], [[], [], [], []], f"{name}, phone")
        self.assertEqual(b.said, [], f"{name} said something on the console")
        self.assertEqual([url for url in b.loads if not url.startswith(("file:", "about:", "blob:", "data:"))], [])

    def test_report(self):
        self.check("report", ["#iteration", "#timeline", "#causes", "#network", "#basis"], "predict", "--config", CONFIG)
        self.assertEqual(self.browser.js("document.querySelector('#schedule')"), None)
        self.browser.js("document.querySelector('#iteration').closest('button').click()")
        self.browser.wait_for("document.querySelector('dialog.why-panel').open")

    def test_report_of_a_pipeline(self):
        self.check("pipeline", ["#iteration", "#schedule", "#network"], "predict", "--config", "configs/megatron_gpt_145b.yaml")
        b = self.browser
        b.size(1400, 1000)
        self.assertRegex(b.text("#folded"), r"Drawn are [\d.]+ m?s of the iteration's \d+\.\d+ s: \d+ of \d+ micro-batches are simulated")
        b.js("document.querySelector('#schedule').scrollIntoView()")
        before = b.js("document.querySelectorAll('#schedule path').length + document.querySelector('#schedule').innerHTML.length")
        box = b.js("(() => { const r = document.querySelector('#schedule').getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()")
        b.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + box[2] * 0.5, y=box[1] + box[3] * 0.5)
        b.wait_for("/Stage \\d+/.test(document.querySelector('.schedule .pointed-line').innerText)")
        b.js("document.querySelector('.schedule .scroll').focus()")
        b.press("w", 87)
        b.wait_for(f"document.querySelectorAll('#schedule path').length + document.querySelector('#schedule').innerHTML.length !== {before}")

    def test_sweeps(self):
        sweep = ["sweep", "--config", CONFIG, "--set", "cluster.nodes=1,2,4"]
        self.check("curve", ["#sweep-chart", "#sweep-table"], *sweep)
        self.check("heat", ["#heat-map", "#sweep-chart", "#sweep-table"], *sweep, "--set", "model.global_batch=16384,32768")
        self.check("parallel", ["#parallel", "#sweep-table"], *sweep, "--set", "model.global_batch=16384,32768", "--set", "engine.contention=true,false")
        b = self.browser
        rows = "[...document.querySelectorAll('#sweep-table tbody tr')].map((r) => r.children[3].innerText)"
        before = b.js(rows)
        b.js("[...document.querySelectorAll('#sweep-table th button')][3].click()")
        b.wait_for(f"JSON.stringify({rows}) !== {json.dumps(json.dumps(before, ensure_ascii=False, separators=(',', ':')))}")
        b.fill("#sweep-figure", "3", "change")
        self.assertEqual(b.said, [])

    def test_compare(self):
        self.check("compare", ["#sides", ".waterfall", "#timeline-A", "#timeline-B"], "compare", CONFIG, "configs/dlrm_skewed_2node.yaml")
        self.assertEqual(self.browser.js("document.querySelectorAll('.timeline canvas').length"), 2)

    def test_sensitivity(self):
        self.check("sensitivity", ["#tornado"], "sensitivity", "--config", CONFIG)

    def test_plan(self):
        self.check("plan", ["#plan-chart", "#plan-table"], "plan", "--config", "configs/megatron_gpt_145b.yaml")

    def test_schedule_colours_what_is_computed_again(self):
        config = pathlib.Path(self.folder.name, "again.yaml")
        config.write_text("cluster: {system: dgx_h100, nodes: 1}\nmodel: {name: llama3_8b, global_batch: 32, memory_check: false}\nframework: {name: megatron_core}\nparallel: {pipeline: 4, tensor: 1, micro_batch: 1, recompute: full}\n")
        self.check("again", ["#schedule path.c-again", "#schedule path.c-compute", "#schedule path.c-memory"], "predict", "--config", str(config))
        b = self.browser
        self.assertIn("forward computed again", b.text(".schedule .legend"))
        colours = b.js("['c-compute', 'c-again', 'c-memory', 'c-comm', 'c-waiting'].map((c) => { const e = document.createElementNS('http://www.w3.org/2000/svg', 'rect'); e.setAttribute('class', c); document.querySelector('#schedule').append(e); return getComputedStyle(e).fill; })")
        self.assertEqual(len(set(colours)), 5, colours)
        b.size(1400, 1000)
        box = b.js("(() => { const e = document.querySelector('#schedule'); e.scrollIntoView(); const r = e.querySelector('path.c-again').getBoundingClientRect(); return [r.x, r.y, r.height]; })()")
        b.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + 2, y=box[1] + box[2] / 2)
        b.wait_for("document.querySelector('.schedule .pointed-line').innerText.includes('forward computed again')")
        self.made("not_again", "predict", "--config", str(config), "--set", "parallel.recompute=none")
        b.open(pathlib.Path(self.folder.name, "not_again.html").as_uri())
        b.wait_for("document.querySelector('#schedule') !== null")
        self.assertEqual(b.js("document.querySelectorAll('#schedule path.c-again').length"), 0)
        self.assertNotIn("computed again", b.text(".schedule .legend"))

    def test_profile(self):
        self.check("profile", ["#trace-steps", "#trace-kernels", "#trace-tree", "#trace-collectives"], "profile", "tests/data/traces/hta/resnet_a100_ncclmeta_rank0of2.json.gz")
        self.assertGreater(self.browser.js("document.querySelectorAll('#trace-steps rect').length"), 3)
        self.assertEqual(self.browser.js("document.querySelectorAll('#trace-kernels tbody button').length"), 0)

    def test_serving(self):
        classes = "classes=[{name: gold, weight: 1, priority: 5, deadline: 40 ms}, {name: other, weight: 3}]"
        self.check("serving", ["#serving-latencies", "#serving-load", "#serving-table"], "serving", "--config", "configs/serving/two_gpus.yaml", "--set", "load.requests=2000", "--set", "run.rates_per_s=[200,400,800]", "--set", classes)
        b = self.browser
        curve = "document.querySelector('#serving-latencies polyline').getAttribute('points')"
        before, rows = b.js(curve), b.js("[...document.querySelectorAll('#serving-row option')].map((o) => o.innerText)")
        self.assertIn("class gold", rows)
        b.fill("#serving-row", str(rows.index("class gold")), "change")
        b.wait_for(f"{curve} !== {json.dumps(before)}")
        before = b.js("document.querySelector('#serving-load polyline').getAttribute('points')")
        b.fill("#serving-figure", "late", "change")
        b.wait_for(f"document.querySelector('#serving-load polyline').getAttribute('points') !== {json.dumps(before)}")
        self.assertTrue("class gold" in b.text("#serving-table").replace("\u00a0", " "), "no row of the class")

    def test_names_of_any_length(self):
        """A name widens no part of the page, and one that turns the direction of writing is shown as what it is."""
        path = self.made("names", "serving", "--config", "configs/serving/two_gpus.yaml", "--set", "load.requests=2000", "--set", "title=a\u202eb",
                         "--set", f"classes=[{{name: {'long ' * 120}}}, {{name: other}}]")
        b = self.browser
        for width in (1400, 390):
            b.size(width, 1000)
            b.open("about:blank")
            b.open(path.as_uri())
            b.wait_for("document.querySelector('#serving-row') !== null")
            self.assertLessEqual(b.js("document.documentElement.scrollWidth"), width)
        self.assertEqual(b.text("h1"), "a\\xe2\\x80\\xaeb")

    def test_sweep_of_serving(self):
        self.check("serving_sweep", ["#sweep-chart", "#sweep-table"], "sweep", "--config", "configs/serving/two_gpus.yaml", "--set", "load.requests=2000", "--set", "load.rate_per_s=200,400,800,3000")
        b = self.browser
        self.assertEqual(b.text("h1").split(": ")[-1], "rate_per_s")
        self.assertGreater(b.js("document.querySelectorAll('#sweep-chart circle.hollow').length"), 0, "no point is above capacity")
        pieces = b.js("""[...document.querySelectorAll('#sweep-table td.breaks')].flatMap((c) => [...c.childNodes].filter((n) => n.nodeType === 3)).map((n) => { const r = document.createRange(); r.selectNodeContents(n); return [n.data, r.getClientRects().length]; })""")
        self.assertIn(["preemptive", 1], pieces)
        self.assertEqual([p for p in pieces if p[1] > 1], [], "broken within a word")
        self.assertEqual(b.js("[...document.querySelectorAll('#sweep-chart circle')].filter((c) => { const box = c.ownerSVGElement.viewBox.baseVal, r = Number(c.getAttribute('r')) + 1, x = c.cx.baseVal.value, y = c.cy.baseVal.value; return x < r || y < r || x > box.width - r || y > box.height - r; }).length"), 0, "markers are cut")
        before = b.js("document.querySelector('#sweep-chart polyline').getAttribute('points')")
        b.js("(() => { const s = document.querySelector('#sweep-figure'); s.value = [...s.options].find((o) => o.innerText === 'goodput/s').value; s.dispatchEvent(new Event('change', {bubbles: true})); })()")
        b.wait_for(f"document.querySelector('#sweep-chart polyline').getAttribute('points') !== {json.dumps(before)}")

    def test_hugectr(self):
        run = "tests/traces/data/formats/host.prof.json"
        self.check("hugectr", ["#hugectr-chart rect", "#hugectr-table"], "hugectr", "scaling", "--run", f"a={run}", "--run", f"b={run}")

    def test_reads_without_scripts(self):
        path, b = self.made("report", "predict", "--config", CONFIG), self.browser
        b.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            b.open(path.as_uri())
            until(lambda: "ms per iteration" in whole_page(b).split("</noscript>")[0], 30, "text")
        finally:
            b.call("Emulation.setScriptExecutionDisabled", value=False)


def whole_page(browser):
    """Without scripts; empty while one page takes the place of another."""
    try:
        return browser.call("DOM.getOuterHTML", nodeId=browser.call("DOM.getDocument")["root"]["nodeId"])["outerHTML"]
    except AssertionError:
        return ""


if __name__ == "__main__":
    if program() is None:
        print("no Chromium (apt-get install chromium)")
        sys.exit(77)
    BINARY = os.path.abspath(sys.argv.pop(1))
    if not AXE.exists():
        print(NO_AXE)
    unittest.main()
