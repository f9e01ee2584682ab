#!/usr/bin/env python3
"""The page of `distsim serve` in Chromium, as a person uses it. Left out (exit code 77) where there is no Chromium.

page_test.py DISTSIM     DISTSIM_PICTURES=FOLDER keeps pictures of the page.
"""
import base64
import gzip
import json
import os
import pathlib
import re
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/web"))
from browser import Browser, program  # noqa: E402
from client import Server  # noqa: E402
from in_sight import AXE, CUT, HIDDEN, NARROW, NO_AXE, NUMBERS_OUT_OF_SIGHT, ODD, TINY, TOUCHING, axe  # noqa: E402

CONFIG = "configs/dgx_a100_4node.yaml"
AS_IT_WAS = "document.querySelectorAll('.as-it-was').length"
READY = "Number(document.documentElement?.dataset.answers) > 0 && document.querySelector('#iteration') !== null"
LLM = "cluster: {system: dgx_h100, nodes: 1}\nmodel: {name: llama3_8b, global_batch: 16}\nframework: {name: megatron_core}\n"
LONG = "cluster: {system: dgx_a100_80gb, nodes: 1024}\nmodel: {name: dlrm_mlperf, global_batch: 1048576}\nframework: {name: pytorch_dlrm}\nengine: {contention: true}\n"
SLIDER = "input[type=range][data-key='cluster.nodes']"

# Width and height of the PNG that a button makes, and the beginning of the SVG: what is saved goes to no file.
SAVED = """(async () => {
  const blobs = [], make = URL.createObjectURL.bind(URL);
  URL.createObjectURL = (blob) => { blobs.push(blob); return make(blob); };
  const click = HTMLAnchorElement.prototype.click;
  let names = [];
  HTMLAnchorElement.prototype.click = function () { names.push(this.download); };
  const place = document.querySelector(SELECTOR).closest('.picture');
  const press = (text) => [...place.querySelectorAll('.take button')].find((b) => b.innerText === text).click();
  press('SVG');
  press('PNG');
  for (let i = 0; i < 100 && names.length < 2; ++i) await new Promise((r) => setTimeout(r, 50));
  HTMLAnchorElement.prototype.click = click;
  URL.createObjectURL = make;
  const png = blobs.find((b) => b.type === 'image/png'), svg = blobs.find((b) => b.type === 'image/svg+xml');
  const image = await createImageBitmap(png), text = await svg.text();
  const o = new OffscreenCanvas(image.width, image.height), g = o.getContext('2d');
  g.drawImage(image, 0, 0);
  const d = g.getImageData(0, 0, image.width, image.height).data, colours = new Set();
  for (let i = 0; i < d.length; i += 4) colours.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
  return {names, width: image.width, height: image.height, colours: colours.size, parse: new DOMParser().parseFromString(text, 'image/svg+xml').querySelector('parsererror') === null, text: text.slice(0, 400), length: text.length};
})()"""


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BINARY, "--config", CONFIG, cwd=ROOT)
        cls.addClassCleanup(cls.server.end)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.b = self.browser
        self.b.said.clear()
        self.b.scheme("light")
        self.b.size(1400, 1000)
        self.b.open("about:blank")
        self.b.open(self.server.url)
        self.b.wait_for(READY)

    def tearDown(self):
        self.assertEqual(self.b.said, [], "the page said something on its console")

    def answered(self, act):
        """Does something and waits for the answer to it."""
        before = self.b.js("Number(document.documentElement.dataset.answers)")
        act()
        self.b.wait_for(f"Number(document.documentElement.dataset.answers) > {before}")

    def move(self, selector, by):
        place = int(self.b.js(f"document.querySelector(\"{selector}\").value"))
        self.answered(lambda: self.b.fill(selector, str(place + by)))

    def show(self, tab):
        """Opens a view, and waits until it is drawn: its script may have to be fetched first."""
        self.b.click(tab)
        self.b.js("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        self.b.wait_for("document.querySelector('.loading') === null")

    def editor(self, script):
        """Evaluates with `content`, what is edited, and `lines`."""
        self.show("#ask-text")
        self.b.wait_for("document.querySelector('#experiment-text')?.shadowRoot?.querySelector('.cm-content') != null")
        return self.b.js(f"(() => {{ const content = document.querySelector('#experiment-text').shadowRoot.querySelector('.cm-content'), lines = [...content.querySelectorAll('.cm-line')].map((l) => l.textContent); {script} }})()")

    def written(self):
        """The experiment's text, of which all is in sight."""
        return self.editor("return lines.join('\\n');")

    def write(self, text):
        """Pasted over everything."""
        self.editor("content.focus();")
        self.b.press("a", 65, modifiers=2)
        self.editor(f"const data = new DataTransfer(); data.setData('text/plain', {json.dumps(text)}); content.dispatchEvent(new ClipboardEvent('paste', {{clipboardData: data, bubbles: true, cancelable: true}}));")

    def on_a_phone(self, name):
        """What is shown can be read there."""
        self.b.size(390, 844, is_phone=True)
        self.b.wait_for(NARROW)
        self.assertEqual([self.b.js(CUT), self.b.js(TINY), self.b.js(TOUCHING), self.b.js(NUMBERS_OUT_OF_SIGHT)], [[], [], [], []], name)
        self.assertLessEqual(self.b.js("document.documentElement.scrollWidth"), 390, name)
        self.picture(name)
        self.b.size(1400, 1000)

    def picture(self, name):
        if "DISTSIM_PICTURES" in os.environ:
            self.b.picture(pathlib.Path(os.environ["DISTSIM_PICTURES"], name + ".png"))

    def test_loads_nothing_from_elsewhere(self):
        for url in self.b.loads:
            self.assertTrue(url.startswith((f"http://127.0.0.1:{self.server.port}/", f"ws://127.0.0.1:{self.server.port}/", "about:", "data:")), url)
        self.assertLess(self.b.js("performance.getEntriesByType('resource').length"), 10)
        self.assertIsNone(self.b.js("performance.getEntriesByType('resource').map((r) => r.name).find((n) => /editor|explore|traces|timeline/.test(n)) ?? null"), "a view that nobody opened was fetched")

    def test_a_slider_changes_the_headline_the_text_and_the_link(self):
        before = self.b.text("#iteration")
        self.assertRegex(before, r"^[\d.]+ ms$")
        self.move(SLIDER, 1)
        self.assertNotEqual(self.b.text("#iteration"), before)
        text = self.written()
        self.assertRegex(text, r"(?m)^  nodes: (5|8)$")
        self.assertIn("# configs/systems/dgx_a100_80gb.yaml; any of its keys", text)
        self.b.wait_for("location.hash.startsWith('#e=')")
        now = self.b.text("#iteration")
        url = self.b.js("location.href")
        self.b.open("about:blank")
        self.b.open(url)
        self.b.wait_for(READY)
        self.assertEqual(self.b.text("#iteration"), now)

    def test_a_link_pasted_into_the_open_page(self):
        before = self.b.text("#iteration")
        self.b.wait_for("location.hash.startsWith('#e=')")
        first = self.b.js("location.hash")
        self.move(SLIDER, 2)
        now = self.b.text("#iteration")
        self.b.wait_for(f"location.hash !== {json.dumps(first)}")
        link = self.b.js("location.hash")
        self.answered(lambda: self.b.click("#undo"))
        self.b.wait_for(f"location.hash !== {json.dumps(link)}")
        self.answered(lambda: self.b.js(f"location.hash = {json.dumps(link)}; 0"))
        self.assertEqual(self.b.text("#iteration"), now)
        self.answered(lambda: self.b.click("#undo"))
        self.assertEqual(self.b.text("#iteration"), before)
        for damaged in ("#e=garbage", link[:len(link) // 2], "#e=%F0%9F"):
            self.b.js(f"location.hash = {json.dumps(damaged)}; 0")
            self.b.wait_for("document.querySelector('.notice').textContent.startsWith('This link is damaged or cut off.')")
            self.assertEqual(self.b.text("#iteration"), before)
            self.b.wait_for("document.querySelector('.notice').textContent === ''")

    def test_a_wrong_value_can_be_corrected_where_it_was_typed(self):
        def typed(text):
            self.b.fill("#k-cluster-nodes", text)
            self.answered(lambda: self.b.press("Enter", 13))
        before = self.b.text("#iteration")
        for wrong in ("-1", "abc", "4.5"):
            typed(wrong)
            self.assertEqual(self.b.js("[document.activeElement.id, document.activeElement.value, document.activeElement.getAttribute('aria-invalid')]"),
                             ["k-cluster-nodes", wrong, "true"])
            self.assertEqual(self.b.text("#iteration"), before)
        typed("4")
        self.assertEqual(self.b.js("document.querySelector('#k-cluster-nodes').getAttribute('aria-invalid')"), "false")
        self.assertEqual(self.b.text("#iteration"), before)

    def test_a_wrong_value_outlives_a_reload(self):
        """And the last figures with it; where there are none, those that the server began with."""
        first = self.b.text("#iteration")
        self.move(SLIDER, 1)
        good = self.b.text("#iteration")
        self.assertNotEqual(good, first)
        self.b.wait_for(f"sessionStorage.length > 0 && [...Array(sessionStorage.length).keys()].some((i) => /nodes: [58]/.test(sessionStorage.getItem(sessionStorage.key(i))))")
        self.b.fill("#k-cluster-nodes", "-1")
        self.answered(lambda: self.b.press("Enter", 13))
        link = self.b.js("location.hash")
        self.b.wait_for(f"location.hash !== {json.dumps(link)}")
        url = self.b.js("location.href")
        for expected, words in ((good, "the last experiment that could be predicted"), (first, "the experiment that distsim serve was started with")):
            self.b.open("about:blank")
            self.b.open(url)
            self.b.wait_for(READY)
            self.assertEqual(self.b.text("#iteration"), expected)
            self.assertIn("cluster.nodes: found '-1', expected 1 .. 1000000", self.b.text("#problem"))
            self.assertIn(words, self.b.text("#problem"))
            self.assertEqual(self.b.js("['value', 'ariaInvalid'].map((p) => document.querySelector('#k-cluster-nodes')[p])"), ["-1", "true"])
            self.assertGreater(self.b.js("document.querySelectorAll('#view table tbody tr').length"), 3)
            if expected == good:
                self.picture("reload_of_a_wrong_value")
                self.b.js("sessionStorage.clear()")
        self.answered(lambda: self.b.click("#back-to-good"))
        self.assertEqual(self.b.text("#problem"), "")
        self.assertEqual(self.b.js("document.querySelector('#k-cluster-nodes').value"), "4")
        self.b.js("sessionStorage.clear()")

    def test_a_model_that_does_not_fit_offers_ways_out(self):
        self.b.click("#ask-text")
        self.answered(lambda: self.write("cluster: {system: dgx_h100, nodes: 8}\nmodel: {name: mixtral_8x7b, global_batch: 256}\nframework: {name: megatron_core}\n"))
        self.assertIn("it fits with parallel.shard=weights", self.b.text("#problem"))
        self.assertNotIn("--set", self.b.text("#problem"))
        self.picture("does_not_fit")
        ways = self.b.js("[...document.querySelectorAll('#problem .way')].map((e) => e.innerText)")
        self.assertGreater(len(ways), 1)
        self.answered(lambda: self.b.click("#problem .way"))
        self.assertEqual(self.b.text("#problem"), "")
        self.assertIn("shard: weights", self.written())
        self.assertIn("mixtral_8x7b on 8 x 8 dgx_h100", self.b.text("header"))
        self.assertNotIn("dgx_a100_4node", self.b.text("header"))

    def test_a_text_with_an_error_moves_the_controls_too(self):
        self.b.click("#ask-text")
        text = self.written()
        self.answered(lambda: self.write(text.replace("nodes: 4", "nodes: 2").replace("65536", "many")))
        pale = "document.querySelector('#view').classList.contains('old')"
        self.assertTrue(self.b.js(pale))
        for tab in ("compare", "explore", "traces"):  # which do not show the prediction
            self.b.click(f"#tab-{tab}")
            self.b.wait_for(f"!{pale}")
        self.b.click("#tab-overview")
        self.b.call("Emulation.setEmulatedMedia", media="print")
        self.assertIn("found 'many'", self.b.text("main .print-only"), "figures of another experiment on paper")
        self.b.call("Emulation.setEmulatedMedia", media="")
        self.b.scheme("light")
        self.b.click("#ask-main-keys")
        self.assertEqual(self.b.js("['cluster-nodes', 'model-global_batch', 'cluster-nic-count'].map((k) => document.querySelector(`#k-${k}`).value)"), ["2", "many", "8"])

    def test_figures_keep_the_values_that_they_are_of(self):
        """Beside an error: pins, comparisons and the basis are of the experiment that was predicted, the controls of the text."""
        picked = "['cluster-system', 'model-name', 'framework-name'].map((k) => document.querySelector(`#pick-${k}`).value)"
        self.answered(lambda: self.write("cluster: {system: pcie_rtx4090, nodes: 2}\nmodel: {name: llama2_7b, global_batch: 128}\nframework: {name: fsdp2_torchtitan}\n"))
        self.assertIn("cluster.nic.count: found 0", self.b.text("#problem"))
        self.assertEqual(self.b.js(picked), ["pcie_rtx4090", "llama2_7b", "fsdp2_torchtitan"])
        self.show("#tab-basis")
        self.assertIn("65536", self.b.text("#basis"))
        for word in ("llama2_7b", "pcie_rtx4090"):
            self.assertNotIn(word, self.b.text("#basis"))
        self.b.click("#pin")
        self.answered(lambda: self.b.click("#back-to-good"))
        self.assertEqual(self.b.js(picked), ["dgx_a100_80gb", "dlrm_mlperf", "pytorch_dlrm"])
        self.show("#tab-compare")
        self.b.wait_for("document.querySelector('#compare .keys')?.innerText.includes('No key differs')")
        self.answered(lambda: self.write("cluster: {system: dgx_h100, nodes: 0}\nmodel: {name: dlrm_mlperf, global_batch: 65536}\nframework: {name: pytorch_dlrm}\n"))
        self.show("#ask-main-keys")
        self.b.fill("#k-cluster-nodes", "2")
        self.answered(lambda: self.b.press("Enter", 13))
        self.assertEqual(self.b.text("#problem"), "")
        self.assertEqual(self.b.js("document.querySelector('#k-cluster-nic-bandwidth').value"), "400 Gb/s", "values of another system")

    def test_a_key_that_is_reset_keeps_its_control(self):
        controls = "[...document.querySelectorAll('.controls .field')].map((e) => e.id)"
        self.b.click("#ask-text")
        self.answered(lambda: self.write(LLM + "parallel: {tensor: 2}\n"))
        self.b.click("#ask-main-keys")
        before = self.b.js(controls)
        self.assertIn("k-parallel-tensor", before)
        resets = self.b.js("[...document.querySelectorAll('button.reset')].map((e) => e.getAttribute('aria-label'))")
        self.assertGreater(len(resets), 2)
        for label in resets:
            self.answered(lambda: self.b.click(f"button[aria-label='{label}']"))
            self.assertLessEqual(set(before), set(self.b.js(controls)), label)
            self.assertTrue(self.b.js("document.activeElement.classList.contains('field')"), "the focus is lost")
        self.b.fill("#k-parallel-tensor", "4")
        self.answered(lambda: self.b.press("Enter", 13))
        self.b.fill("#k-parallel-tensor", "")
        self.answered(lambda: self.b.press("Enter", 13))
        self.assertLessEqual(set(before), set(self.b.js(controls)))

    def test_the_first_pin_stays(self):
        names = "[...document.querySelectorAll('#compare .pin-name')].map((e) => e.value)"
        for i in range(8):
            self.b.click("#pin")
            self.b.fill("#k-cluster-nodes", str(5 + i))
            self.answered(lambda: self.b.press("Enter", 13))
        self.assertIn("Not pinned", self.b.text(".notice"))
        self.b.click("#tab-compare")
        self.b.wait_for("document.querySelector('#compare') !== null")
        kept = self.b.js(names)
        self.assertEqual(len(kept), 6)
        self.assertTrue(kept[0].startswith("4 x 8"), kept)
        self.assertEqual(self.b.js(HIDDEN), [])
        self.picture("compare_six_light")
        self.b.click("button[aria-label^='Unpin 5 x 8']")
        self.b.click("#pin")
        self.b.wait_for(f"{names}.length === 6 && {names}[5].startsWith('12 x 8')")

    def test_everything_that_matters_is_in_sight(self):
        """At 1400 pixels no table has columns out of sight, and no chart cuts a text; on a phone a number of each row is seen."""
        texts = {"dlrm": None, "llm": LLM, "bert": "cluster: {system: dgx_a100_80gb, nodes: 4}\nmodel: {name: bert_large_seq128}\nframework: {name: pytorch}\n",
                 "one GPU a node": "cluster: {system: dgx_a100_80gb, nodes: 4, gpus_per_node: 1}\nmodel: {name: resnet50_v1_5, per_gpu_batch: 64}\nframework: {name: pytorch}\n"}
        for name, text in texts.items():
            self.b.size(1400, 1000)
            if text is not None:
                self.b.click("#ask-text")
                self.answered(lambda: self.write(text))
                self.assertEqual(self.b.text("#problem"), "")
            for tab in ("overview", "timeline", "network", "ops-and-collectives", "memory-and-ranks", "basis"):
                self.b.size(1400, 1000)
                self.b.click(f"#tab-{tab}")
                self.b.wait_for(f"document.querySelector('#tab-{tab}').getAttribute('aria-selected') === 'true' && document.querySelector('#view').innerText.length > 100")
                if tab == "network":
                    self.b.wait_for("document.querySelector('#network') !== null && document.querySelector('#view .old') === null", 120)
                if tab == "basis":
                    self.b.js("document.querySelector('#basis input[type=checkbox]').click()")
                where = f"{name}, {tab}"
                self.assertEqual(self.b.js(HIDDEN), [], where)
                self.assertEqual(self.b.js(CUT), [], where)
                self.assertEqual(self.b.js(ODD), [], where)
                self.picture(f"{name.replace(' ', '_')}_{tab}")
                self.b.size(390, 844, is_phone=True)
                self.b.wait_for(NARROW)
                self.assertEqual([self.b.js(NUMBERS_OUT_OF_SIGHT), self.b.js(TINY), self.b.js(TOUCHING)], [[], [], []], f"{where}, phone")
                self.assertLessEqual(self.b.js("document.documentElement.scrollWidth"), 390, f"{where}, phone")

    def test_a_long_title(self):
        self.b.click("#ask-text")
        text = self.written()
        self.answered(lambda: self.write(text.replace("title: ", "title: " + "very_long_word_" * 40)))
        for width, is_phone in ((1400, False), (390, True)):
            self.b.size(width, 1000, is_phone)
            self.assertLessEqual(self.b.js("document.documentElement.scrollWidth"), width)
            self.assertLessEqual(self.b.js("document.querySelector('header .long').getBoundingClientRect().right"), width)
            self.assertLess(self.b.js("document.querySelector('header .title').getBoundingClientRect().height"), 50)
        self.picture("long_title")

    def test_undo_and_redo(self):
        before = self.b.text("#iteration")
        self.move(SLIDER, 2)
        after = self.b.text("#iteration")
        self.answered(lambda: self.b.click("#undo"))
        self.assertEqual(self.b.text("#iteration"), before)
        self.answered(lambda: self.b.press("z", 90, 2 | 8))
        self.assertEqual(self.b.text("#iteration"), after)
        self.assertTrue(self.b.js("document.querySelector('#redo').disabled"))

    def test_an_error_in_the_text_stands_at_its_line(self):
        before = self.b.text("#iteration")
        text = self.written()
        self.answered(lambda: self.write(text.replace("nodes: 4", "nodes: four")))
        self.b.wait_for("document.querySelector('#problem') !== null")
        self.assertIn("Line 8, column 10", self.b.text("#problem"))
        self.assertEqual(self.editor("return [...content.closest('.cm-editor').querySelectorAll('.cm-lintRange-error')].map((e) => e.textContent);"), ["four"])
        self.assertEqual(self.b.text("#iteration"), before)
        self.editor("content.blur();")
        self.b.js("[...document.querySelectorAll('.editor-box button')].find((e) => e.innerText === 'Go to line 8').click()")
        self.assertEqual(self.editor("return content.getRootNode().activeElement === content && content.querySelector('.cm-activeLine').textContent.trim();"), "nodes: four")
        self.picture("error_light")
        self.answered(lambda: self.write(text.replace("nodes: 4", "nodes: 2")))
        self.b.wait_for("document.querySelector('#problem') === null")
        self.assertNotEqual(self.b.text("#iteration"), before)

    def test_the_text_is_completed_explained_and_left_by_keyboard(self):
        root = "document.querySelector('#experiment-text').shadowRoot"
        self.editor("")
        self.b.wait_for(f"new Set([...{root}.querySelectorAll('.cm-content span')].map((e) => getComputedStyle(e).color)).size > 1")  # keys and comments differ
        self.write("cluster: {system: dgx_a100_80gb, nodes: 4}\nmodel: {name: dlrm_mlperf, global_batch: 65536}\nframework: {name: pytorch_dlrm}\nengine:\n  ")
        for letter in "contenti":
            self.b.press(letter, ord(letter.upper()))
        self.b.wait_for(f"[...{root}.querySelectorAll('.cm-tooltip-autocomplete li')].some((e) => e.textContent.startsWith('contention'))")
        self.picture("completion_light")
        time.sleep(0.2)  # what is shown for less is not accepted
        self.b.press("Enter", 13)
        self.b.wait_for(f"[...{root}.querySelectorAll('.cm-tooltip-autocomplete li')].map((e) => e.textContent).join() === 'false,true'")
        time.sleep(0.2)
        self.b.press("ArrowDown", 40)
        self.answered(lambda: self.b.press("Enter", 13))
        self.assertTrue(self.written().endswith("engine:\n  contention: true"), self.written())
        self.assertIsNone(self.b.js("document.querySelector('#problem')"))
        self.show("#ask-all-keys")
        self.assertIn("contention: true", self.written())
        at = self.editor("const e = [...content.querySelectorAll('.cm-line')].find((l) => l.textContent.includes('contention')).getBoundingClientRect(); return [e.x + 60, e.y + e.height / 2];")
        for step in (0, 3):
            self.b.call("Input.dispatchMouseEvent", type="mouseMoved", x=at[0] + step, y=at[1])
        self.b.wait_for(f"{root}.querySelector('.cm-tooltip-hover')?.textContent.startsWith('engine.contention')")
        self.assertEqual(axe(self.b), [])
        self.picture("hover_light")
        self.editor("content.focus();")
        self.b.press("Home", 36)
        before = self.written()
        self.answered(lambda: self.b.press("Tab", 9))  # to the indented line
        self.assertNotEqual(self.written(), before, "Tab indents")
        self.b.press("Escape", 27)
        self.b.press("Tab", 9)
        self.assertNotEqual(self.b.js("document.activeElement.id"), "experiment-text")

    def test_controls_change_the_text_where_it_stands(self):
        before = self.written()
        self.editor("content.focus();")
        self.b.press("End", 35, modifiers=2)
        self.show("#ask-main-keys")
        self.move(SLIDER, 1)
        after = self.written()
        self.assertEqual([a for a, b in zip(before.split("\n"), after.split("\n")) if a != b], ["  nodes: 4"])
        self.answered(lambda: self.b.click("#undo"))
        self.b.wait_for("document.querySelector('#experiment-text').shadowRoot.querySelector('.cm-content').textContent.includes('nodes: 4')")
        self.answered(lambda: self.write(before.replace("nodes: 4", "nodes: 2")))
        self.editor("content.focus();")
        self.answered(lambda: self.b.press("z", 90, 2))  # of the editor: what was typed
        self.assertEqual(self.written(), before)

    def test_pin_and_compare(self):
        self.b.click("#pin")
        self.move(SLIDER, 1)
        self.show("#tab-compare")
        drawn = "[...document.querySelectorAll('#compare tr')].some((r) => r.children[0].innerText === 'iteration' && r.innerText.includes('%'))"
        self.b.wait_for(drawn + " && document.querySelector('svg.chart') !== null")
        rows = self.b.js("[...document.querySelectorAll('#compare tr')].map((r) => [...r.children].map((c) => c.innerText))")
        named = {r[0]: r[1:] for r in rows if r}
        self.assertNotEqual(named["iteration"][0], named["iteration"][1].split("\n")[0])
        self.assertRegex(named["iteration"][1], r"[+−][\d.]+ %")
        self.assertEqual(named["cluster.nodes"][0], "4")
        self.assertIn("Waterfall", self.b.js("document.querySelector('svg.chart').getAttribute('aria-label')"))
        self.picture("compare_light")
        self.on_a_phone("compare_phone")

    def test_system_is_searched_and_chosen(self):
        self.b.wait_for("document.querySelector('#pick-cluster-system') !== null")
        before = self.b.text("#iteration")
        def choose():
            self.b.js("document.querySelector('#pick-cluster-system').focus()")
            self.b.fill("#pick-cluster-system", "dgx_h100")
            self.b.wait_for("[...document.querySelectorAll('#pick-cluster-system-list [role=option] b')].some((e) => e.innerText === 'dgx_h100')")
            self.b.press("Enter", 13)
        self.answered(choose)
        self.assertNotEqual(self.b.text("#iteration"), before)
        self.assertEqual(self.b.js("document.querySelector('#pick-cluster-system').value"), "dgx_h100")
        answers = self.b.js("document.documentElement.dataset.answers")
        for pick, now in (("model-name", "dlrm_mlperf"), ("cluster-system", "dgx_h100"), ("framework-name", "pytorch_dlrm")):
            self.b.js(f"document.querySelector('#pick-{pick}').focus()")
            self.b.wait_for(f"document.querySelector('#pick-{pick}-list [role=option][aria-selected=true] b')?.innerText === '{now}'")
            if pick == "model-name":
                self.assertRegex(self.b.text(f"#pick-{pick}-list"), r"\d+ more; type a part of the name\.$")
            self.b.press("Enter", 13)
            self.b.wait_for(f"document.querySelector('#pick-{pick}-list') === null && document.querySelector('#pick-{pick}').value === '{now}'")
        self.assertEqual(self.b.js("document.documentElement.dataset.answers"), answers, "Enter chose what nobody had asked for")

    def test_every_key_is_found(self):
        self.show("#ask-all-keys")
        self.b.fill("#key-search", "nic latency")
        self.b.wait_for("document.querySelector('#a-cluster-nic-latency, #k-cluster-nic-latency') !== null")
        self.b.fill("#key-search", "model.precision")
        self.b.wait_for("document.querySelector('select#a-model-precision') !== null")
        before = self.b.text("#iteration")
        self.answered(lambda: self.b.fill("#a-model-precision", "fp32", "change"))
        self.assertNotEqual(self.b.text("#iteration"), before)

    def test_timeline_is_drawn_zoomed_and_pointed_at(self):
        self.show("#tab-timeline")
        colours = ("(() => { const c = document.querySelector('#timeline'), o = new OffscreenCanvas(c.width, c.height), g = o.getContext('2d', {willReadFrequently: true}); g.drawImage(c, 0, 0); const d = g.getImageData(100, 0, c.width - 100, c.height).data, s = new Map();"
                   " for (let i = 0; i < d.length; i += 4) { const k = d[i] + ',' + d[i+1] + ',' + d[i+2]; s.set(k, (s.get(k) ?? 0) + 1); } return [...s].filter(([, n]) => n > 200).length; })()")
        self.b.wait_for(f"{colours} > 4")
        self.picture("timeline_light")
        box = self.b.js("(() => { const r = document.querySelector('#timeline').getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()")
        def sweep():
            for y in range(45, int(box[3]), 9):
                self.b.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + box[2] * 0.6, y=box[1] + y)
                if self.b.js("document.querySelector('.pointed b') !== null"):
                    return True
            return False
        self.assertTrue(sweep(), "nothing to point at")
        self.b.js("document.querySelector('#timeline').focus()")
        picture = "document.querySelector('#timeline').toDataURL().length"
        before = self.b.js(picture)
        for _ in range(4):
            self.b.press("w", 87)
        self.b.wait_for(f"{picture} !== {before}")
        self.b.fill("#timeline-search", "all_to_all")
        self.picture("timeline_zoomed_light")

    def test_ranks_of_a_pipeline_by_class(self):
        """Of many equal ranks one of each stage comes first, and the longest steps are told once."""
        self.answered(lambda: self.write("cluster: {system: dgx_h100, nodes: 16}\nmodel: {name: llama3_70b, global_batch: 256}\nframework: {name: megatron_core}\nparallel: {tensor: 8, pipeline: 4}\n"))
        names = self.b.js("[...document.querySelectorAll('[aria-label=\"Longest steps of the critical cycle\"] tbody tr')].map((r) => r.children[0].innerText + r.children[3].innerText)")
        self.assertGreater(len(names), 4)
        self.assertEqual(len(set(names)), len(names))
        self.assertTrue(any(re.search(r"^backward \(\d+\)", n.replace("\n", " ")) for n in names), names)
        self.assertEqual(self.b.js(ODD), [], "units")
        self.show("#tab-timeline")
        self.b.wait_for("document.querySelector('#timeline')?.height > 400")
        text = self.b.js("""(async () => { let svg = null; const make = URL.createObjectURL.bind(URL), click = HTMLAnchorElement.prototype.click;
          URL.createObjectURL = (blob) => { svg = blob; return make(blob); }; HTMLAnchorElement.prototype.click = () => {};
          [...document.querySelector('#timeline').closest('.picture').querySelectorAll('.take button')].find((b) => b.innerText === 'SVG').click();
          URL.createObjectURL = make; HTMLAnchorElement.prototype.click = click; return svg.text(); })()""")
        self.assertEqual(re.findall(r">rank (\d+) \(node \d+, gpu 0\), and 31 with the same times<", text), ["0", "32", "64", "96"])
        self.picture("pipeline_timeline_light")
        self.answered(lambda: self.write("cluster: {system: dgx_h100, nodes: 16}\nmodel: {name: mixtral_8x7b, global_batch: 1024}\nframework: {name: megatron_core}\nparallel: {tensor: 4, expert: 8, pipeline: 2}\n"))
        self.show("#tab-network")
        self.b.wait_for("document.querySelector('#schedule') !== null && document.querySelector('#network') !== null && document.querySelector('#view .old') === null", 60)
        self.assertEqual([self.b.js(CUT), self.b.js(ODD)], [[], []])

    def test_a_frame_of_the_timeline_costs_the_same_however_many_steps_there_are(self):
        self.show("#ask-text")
        calls, steps = [], []
        for batch in (64, 2048):
            self.answered(lambda: self.write(f"cluster: {{system: dgx_h100, nodes: 1}}\nmodel: {{name: llama3_8b, global_batch: {batch}, memory_check: false}}\nframework: {{name: megatron_core}}\nparallel: {{pipeline: 8, tensor: 1, micro_batch: 1, schedule: gpipe}}\n"))
            self.show("#ask-main-keys")
            self.show("#tab-timeline")
            self.b.wait_for("/[\\d.]+ k? ?steps/.test(document.querySelector('.pointed')?.innerText) && document.querySelector('#timeline').height > 400", 120)
            time.sleep(1)  # what the view lacks has come
            steps.append(self.b.text(".pointed"))
            calls.append(self.b.js("""new Promise((resolve) => {
              const kind = CanvasRenderingContext2D.prototype, kept = {}, width = Object.getOwnPropertyDescriptor(Element.prototype, 'clientWidth');
              let count = 0, layouts = 0;
              for (const name of ['fillRect', 'strokeRect', 'drawImage', 'fillText', 'stroke', 'fill']) { kept[name] = kind[name]; kind[name] = function (...a) { ++count; return kept[name].apply(this, a); }; }
              Object.defineProperty(Element.prototype, 'clientWidth', {configurable: true, get() { ++layouts; return width.get.call(this); }});
              const canvas = document.querySelector('#timeline');
              canvas.focus();
              canvas.dispatchEvent(new KeyboardEvent('keydown', {key: 'd', bubbles: true}));
              requestAnimationFrame(() => requestAnimationFrame(() => { Object.assign(kind, kept); Object.defineProperty(Element.prototype, 'clientWidth', width); resolve([count, layouts]); }));
            })"""))
            self.show("#tab-overview")
        self.assertNotEqual(steps[0], steps[1])
        for count, layouts in calls:
            self.assertTrue(20 < count < 1500, calls)
            self.assertLess(layouts, 5, "each step asks for the layout")

    def test_steps_that_are_too_short_say_what_they_mostly_are(self):
        self.answered(lambda: self.write("cluster: {system: dgx_h100, nodes: 1}\nmodel: {name: llama3_8b, global_batch: 2048, memory_check: false}\nframework: {name: megatron_core}\nparallel: {pipeline: 8, tensor: 1, micro_batch: 1, schedule: gpipe}\n"))
        self.show("#tab-timeline")
        self.b.wait_for("document.querySelector('#timeline')?.height > 300")
        self.b.wait_for("/[\\d.]+ k? ?steps/.test(document.querySelector('.pointed').innerText)")
        box = self.b.js("(() => { const r = document.querySelector('#timeline').getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()")
        said = set()
        for x in range(110, int(box[2]), 7):
            self.b.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + x, y=box[1] + (67 if x % 2 else 85))
            said.add(self.b.text(".pointed").split("\n")[0])
        self.assertTrue(any(re.search(r"several short steps.*, mostly \w+", s) for s in said), said)

    def test_sensitivity_and_sweep(self):
        self.show("#tab-explore")
        self.b.click("#run-sensitivity")
        self.b.wait_for("document.querySelector('#tornado') !== null", 120)
        self.assertEqual(self.b.js(CUT), [])
        self.assertIn("twice as good", self.b.js("document.querySelector('#tornado').getAttribute('aria-label')"))
        self.b.click("#run-sweep")
        self.b.wait_for("document.querySelectorAll('#sweep-chart circle').length > 3 && document.querySelector('#run-sweep') !== null", 120)
        self.assertEqual(self.b.js(AS_IT_WAS), 0)
        self.picture("explore_light")
        self.assertEqual([self.b.js(CUT), self.b.js(HIDDEN), self.b.js(ODD)], [[], [], []])
        self.on_a_phone("explore_phone")
        before = self.b.text("#iteration")
        self.b.js("document.querySelector('#sweep-chart circle').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        self.b.wait_for(f"document.querySelector('#iteration').innerText !== '{before}'")
        self.show("#tab-explore")
        self.b.wait_for("document.querySelector('#sweep-chart') !== null")
        self.assertEqual(self.b.js(AS_IT_WAS), 2)  # of the sensitivity and of the sweep

    def test_a_sweep_says_what_is_wrong_with_it(self):
        self.b.click("#tab-explore")
        self.b.wait_for("document.querySelector('#run-sweep') !== null")
        for key, values, expected in (("cluster.nodes", "", "Values of cluster.nodes: found none, expected values with commas"), ("cluster.nodes", "1,,2", "found an empty one"), ("no.such", "1", "Key: found 'no.such'"),
                                      ("cluster.nodes", "1..100000", "found more than 5000 points"), ("cluster.nodes", "4..1", "found '4..1', expected A..B")):
            self.b.fill("section input[list=sweep-keys]", key, "change")
            self.b.fill("section input[placeholder='1,2,4,8 or 1..8:x2']", values, "change")
            self.b.click("#run-sweep")
            self.b.wait_for(f"document.querySelector('main .problem')?.innerText.includes({json.dumps(expected)})")
            self.assertNotRegex(self.b.text("main .problem"), r"message|axes")
        self.b.fill("section input[list=sweep-keys]", "model.precision", "change")
        self.b.fill("section input[placeholder='1,2,4,8 or 1..8:x2']", "bf16,nope", "change")
        self.b.click("#run-sweep")
        self.b.wait_for("document.querySelectorAll('#sweep-table tbody tr').length === 2")
        self.assertIn("model.precision: found 'nope', expected one of fp32", self.b.text("#sweep-table"))
        self.assertNotIn("--set", self.b.text("#sweep-table"))
        self.assertEqual(self.b.js(ODD), [])

    def explore(self, view):
        self.show("#tab-explore")
        self.b.wait_for(f"document.querySelector('#explore-{view}') !== null")
        self.show(f"#explore-{view}")
        self.b.wait_for(f"document.querySelector('#explore-{view}').getAttribute('aria-selected') === 'true'")

    def test_a_plan_is_searched_and_a_layout_becomes_the_experiment(self):
        self.answered(lambda: self.write(LLM))
        before = self.b.text("#iteration")
        self.explore("plan")
        self.b.fill("#plan-second", "memory", "change")
        self.b.click("#run-plan")
        self.b.wait_for("document.querySelectorAll('#plan-chart circle').length > 3", 120)
        self.b.wait_for("document.querySelector('#plan-table') !== null", 240)
        self.assertIn("as it is", self.b.text("#plan-table"))
        self.assertIn("played", self.b.text("#plan-summary"))
        self.assertRegex(self.b.text("#plan-summary"), r"an iteration: [\d.]+ (J|kJ|kWh)")
        self.assertEqual([self.b.js(CUT), self.b.js(HIDDEN), self.b.js(ODD)], [[], [], []])
        self.assertEqual(self.b.js("[...document.querySelectorAll('#plan-chart > text')].map((t) => t.textContent)"), ["memory of the fullest GPU", "iteration"])
        self.picture("plan_light")
        best = self.b.js("document.querySelector('#plan-table tbody tr').children[1].innerText.split('\\n')[0]")
        self.on_a_phone("plan_phone")
        self.answered(lambda: self.b.click("#plan-table tbody tr button"))
        self.b.wait_for(f"document.querySelector('#iteration').innerText === {json.dumps(best)}")
        self.assertNotEqual(best, before)
        self.show("#tab-overview")
        self.explore("plan")
        self.assertIn("as it is", self.b.text("#plan-table"), "a plan is lost by looking elsewhere")
        self.assertEqual(self.b.js(AS_IT_WAS), 1)
        point = "[...document.querySelectorAll('#plan-chart .line-1 circle')].at(-1)"
        said = self.b.js(f"{point}.querySelector('title').textContent").split(",")[0]
        self.b.js(f"{point}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        self.b.wait_for(f"document.querySelector('#iteration').innerText === {json.dumps(said)}")

    def test_a_plan_says_what_is_wrong_with_it(self):
        self.explore("plan")
        for field, value, expected in (("#plan-price", "two", "price per GPU and hour: found 'two'"), ("#plan-price", "-1", "price per GPU and hour: found '-1'"), ("#plan-gpus", "many", "GPUs"), ("#plan-vary", "nonsense", "also vary")):
            self.b.fill(field, value)
            self.b.click("#run-plan")
            self.b.wait_for(f"document.querySelector('main .problem')?.innerText.includes({json.dumps(expected)})")
            self.assertNotRegex(self.b.text("main .problem"), r"message:|--")
            self.b.fill(field, "")

    def test_what_is_typed_as_soon_as_a_field_is_there_counts(self):
        self.show("#tab-explore")
        self.b.wait_for("document.querySelector('#explore-plan') !== null")
        self.b.js("""new MutationObserver((_, watch) => {
            const field = document.querySelector('#plan-price');
            if (!field) return;
            watch.disconnect();
            Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, 'two');
            field.dispatchEvent(new Event('input', {bubbles: true}));
            setTimeout(() => document.querySelector('#run-plan').click(), 300);
        }).observe(document.body, {childList: true, subtree: true}); null""")
        self.b.click("#explore-plan")
        self.b.wait_for("document.querySelector('main .problem')?.innerText.includes(\"found 'two'\")")

    def test_a_plan_is_cancelled(self):
        self.answered(lambda: self.write(LLM.replace("nodes: 1", "nodes: 64").replace("batch: 16", "batch: 2048")))
        self.explore("plan")
        self.b.click("#run-plan")
        self.b.wait_for("document.querySelector('#cancel-plan') !== null")
        self.b.click("#cancel-plan")
        self.b.wait_for("document.querySelector('#run-plan') !== null", 60)
        self.assertIn("Cancelled", self.b.text("main [role=alert]"))

    def test_what_was_found_before_a_plan_is_cancelled_stays(self):
        self.answered(lambda: self.write(LLM.replace("nodes: 1", "nodes: 8").replace("batch: 16", "batch: 512")))
        self.explore("plan")
        self.b.click("#run-plan")
        self.b.wait_for("document.querySelectorAll('#plan-chart .pale-dots circle').length > 3", 120)
        self.b.click("#cancel-plan")
        self.b.wait_for("document.querySelector('#plan-partial') !== null", 60)
        self.assertRegex(self.b.text("#plan-partial"), r"Cancelled.*\d+ of \S+.* layouts had been played")
        self.assertIn("Partial", self.b.text("#plan-partial-table caption"))
        self.assertGreater(self.b.js("document.querySelectorAll('#plan-chart circle').length"), 3)
        self.picture("plan_partial_light")
        self.show("#tab-overview")
        self.explore("plan")
        rows = self.b.js("[...document.querySelectorAll('#plan-partial-table tbody tr')].map((r) => r.children[1].innerText)")
        self.assertGreater(len(rows), 2)
        self.answered(lambda: self.b.click("#plan-partial-table tbody button"))
        self.b.wait_for(f"document.querySelector('#iteration').innerText === {json.dumps(rows[0])}")

    def test_what_was_found_before_a_sweep_is_cancelled_stays(self):
        self.answered(lambda: self.write(LLM.replace("nodes: 1", "nodes: 8").replace("batch: 16", "batch: 512")))
        self.show("#tab-explore")
        self.b.wait_for("document.querySelector('#run-sweep') !== null")
        self.b.fill("section input[list=sweep-keys]", "cluster.nic.bandwidth", "change")
        self.b.fill("section input[placeholder='1,2,4,8 or 1..8:x2']", ",".join(f"{n} GB/s" for n in range(10, 4010)), "change")
        self.b.click("#run-sweep")
        self.b.wait_for("document.querySelector('.progress button') !== null || document.querySelector('main .problem') !== null", 30)
        self.assertEqual(self.b.js("document.querySelector('main .problem')?.innerText ?? ''"), "")
        self.b.wait_for("document.querySelectorAll('#sweep-table tbody tr').length > 3", 120)
        self.b.js("[...document.querySelectorAll('.progress button')].at(-1).click()")
        self.b.wait_for("document.querySelector('#sweep-partial') !== null", 60)
        done, total = map(int, re.search(r"(\d+) of (\d+) points", self.b.text("#sweep-partial")).groups())
        self.assertTrue(3 < done < total == 4000, (done, total))
        self.assertEqual(self.b.js("document.querySelectorAll('#sweep-table tbody tr').length"), done)
        self.assertGreater(self.b.js("document.querySelectorAll('#sweep-chart circle').length"), 3)
        self.picture("sweep_partial_light")

    def test_a_long_prediction_gives_way_to_a_newer_one(self):
        text = self.written()
        before = self.b.text("#iteration")
        self.write(LONG)
        time.sleep(1)  # it runs, and takes several times as long
        self.assertEqual(self.b.text("#iteration"), before, "the last good answer stays")
        self.answered(lambda: self.write(text.replace("nodes: 4", "nodes: 2")))
        self.assertNotEqual(self.b.text("#iteration"), before)
        self.assertEqual(self.b.text("#problem"), "")

    def test_a_collective_and_an_op_are_priced(self):
        self.explore("calculator")
        self.b.wait_for("document.querySelector('#collective-chart polyline') !== null")
        self.b.fill("#collective-nodes", "1")
        self.b.wait_for("document.querySelectorAll('#collective-chart .measured circle').length > 3")
        price = self.b.text("#collective-price")
        self.assertRegex(price, r"us|ms")
        self.assertIn("measured", self.b.js("document.querySelector('#collective-chart .measured title').textContent"))
        self.assertEqual(self.b.js("[...document.querySelectorAll('#collective-chart > g > text')].map((t) => t.textContent).filter((t) => / ?[kMG]B$/.test(t))"), [], "sizes of nccl-tests are powers of two")
        for field, value, back in (("#collective-nodes", "abc", "1"), ("#collective-nodes", "-3", "1"), ("#collective-nodes", "1.5", "1"), ("#collective-nodes", "0", "1"), ("#collective-gpus", "x", ""), ("#collective-from", "", "1 KiB"),
                                   ("#collective-at", "abc", "64 MiB"), ("#collective-at", "0", "64 MiB")):
            self.b.fill(field, value)
            self.b.wait_for("document.querySelector('main .problem')?.innerText.includes('expected')")
            self.assertIn("found", self.b.text("main .problem"))
            self.assertEqual([self.b.text("#collective-price"), self.b.js(f"document.querySelector('{field}').ariaInvalid")], ["", "true"], f"{field} {value}: the price of another question")
            self.b.fill(field, back)
            self.b.wait_for("document.querySelector('main .problem') === null && document.querySelector('#collective-price') !== null")
        self.b.fill("#collective-at", "256 MiB")
        self.b.wait_for(f"document.querySelector('#collective-price').innerText !== {json.dumps(price)}")
        self.b.wait_for("document.querySelector('#op-chart polyline') !== null")
        price = self.b.text("#op-price")
        self.b.fill("#op-size-k", "16384")
        self.b.wait_for(f"document.querySelector('#op-price').innerText !== {json.dumps(price)}")
        for value in ("", "abc", "-1"):
            self.b.fill("#op-size-k", value)
            self.b.wait_for("document.querySelector('main .problem')?.innerText.startsWith('k: found')")
            self.assertEqual(self.b.text("#op-price"), "")
        self.b.fill("#op-size-k", "16384")
        self.b.wait_for("document.querySelector('#op-price') !== null")
        self.assertEqual(self.b.js(ODD), [])
        self.b.fill("#op-kind", "embedding_bag", "change")
        self.b.wait_for("document.querySelector('#op-price')?.innerText.includes('embedding')")
        self.picture("calculator_light")
        self.on_a_phone("calculator_phone")
        self.b.fill("#collective-system", "no_such_system", "change")
        self.b.wait_for("document.querySelector('main .problem')?.innerText.includes('no_such_system')")

    def test_measured_iterations_lead_to_why_and_to_their_experiments(self):
        self.explore("measured-iterations")
        self.b.wait_for("document.querySelectorAll('#validation-chart circle').length > 4", 120)
        self.b.js("document.querySelector('#validation-chart circle').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        self.b.wait_for("document.querySelector('#case-explanation') !== null")
        self.assertIn("critical cycle", self.b.text("#case-explanation"))
        self.picture("validation_light")
        row = self.b.js("[...document.querySelectorAll('#validation-table tr[aria-current]')[0].children].map((c) => c.innerText)")
        self.on_a_phone("validation_phone")
        self.assertEqual(self.b.js("[...document.querySelectorAll('#validation-table tbody td.cut')].filter((c) => c.getBoundingClientRect().height > 60).length"), 0, "a name is broken into lines")
        self.assertEqual([self.b.js(CUT), self.b.js(HIDDEN)], [[], []])
        for i in range(self.b.js("document.querySelectorAll('#validation-table tbody button').length")):
            self.b.size(390, 844, is_phone=True)
            before = self.b.text("#case-explanation h3")
            self.b.click(f"#validation-table tbody tr:nth-child({i + 1}) button")
            self.b.wait_for(f"document.querySelector('#case-explanation h3').innerText !== {json.dumps(before)} || {i} === 0")
            self.assertLessEqual(self.b.js("document.documentElement.scrollWidth"), 390, "wider than a phone")
            wrapped = "[...document.querySelectorAll('.explanation .columns-of-text')].map((e) => e.getBoundingClientRect().height)"
            self.assertTrue(all(0 < high < 25 for high in self.b.js(wrapped)), "columns that wrap are none")
        self.assertEqual(self.b.js(NUMBERS_OUT_OF_SIGHT), [])
        self.picture("validation_phone")
        self.b.size(1400, 1000)
        self.b.js("document.querySelector('#validation-chart circle').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        self.b.wait_for(f"document.querySelector('#validation-table tr[aria-current]').innerText.startsWith({json.dumps(row[0].split(chr(10))[0])})")
        self.answered(lambda: self.b.click("#open-case"))
        self.b.wait_for(f"document.querySelector('#iteration').innerText === {json.dumps(row[2])}")

    def drop(self, *paths):
        """Files from outside, let go over the page."""
        files = [{"name": pathlib.Path(p).name, "data": base64.b64encode((ROOT / p).read_bytes()).decode()} for p in paths]
        self.b.js(f"""(() => {{ const t = new DataTransfer();
            for (const f of {json.dumps(files)}) t.items.add(new File([Uint8Array.from(atob(f.data), (c) => c.charCodeAt(0))], f.name));
            for (const kind of ['dragover', 'drop']) document.body.dispatchEvent(new DragEvent(kind, {{dataTransfer: t, bubbles: true, cancelable: true}})); }})()""")

    def test_a_trace_is_dropped_profiled_and_asked_what_if(self):
        self.drop("tests/data/traces/hta/resnet_a100_ncclmeta_rank0of2.json.gz")
        self.b.wait_for("document.querySelector('#trace-steps rect') !== null", 120)
        self.assertEqual(self.b.js("document.querySelector('#tab-traces').getAttribute('aria-selected')"), "true")
        self.assertRegex(self.b.text("#replay-line"), r"replayed, [\d.]+ m?s measured")
        self.b.click("#trace-kernels tbody button")
        self.b.wait_for("document.querySelector('#whatif')?.innerText.includes('relative to the replay')")
        self.assertIn("−", self.b.text("#whatif"), "without a kernel it is no longer")
        self.assertIn("without rank 1 of 2", self.b.text("#trace-partial"))
        self.assertEqual([self.b.js(CUT), self.b.js(ODD)], [[], []])
        self.picture("trace_profile_light")
        self.b.click("#whatif-moved")
        self.b.fill("#whatif-remove", "", "change")
        self.b.fill("#whatif-on", "dgx_h100")
        self.b.click("#run-whatif")
        self.b.wait_for("[...document.querySelectorAll('main .problem')].some((e) => e.innerText.includes('measured on'))")

    def test_a_trace_that_was_cut_off_says_so_above_its_figures(self):
        whole = (ROOT / "tests/data/traces/hta/resnet_a100_ncclmeta_rank0of2.json.gz").read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            cut = pathlib.Path(folder, "cut.json")
            cut.write_bytes(gzip.decompress(whole)[:-200_000])
            self.drop(cut)
            self.b.wait_for("document.querySelector('#trace-names')?.innerText === 'cut.json' && document.querySelector('#trace-steps rect') !== null", 120)
        self.assertIn("Partial trace", self.b.text("#trace-partial"))
        self.assertIn("the rest of a file that is cut off", self.b.text("#trace-partial"))
        above = "(document.querySelector('#trace-partial').compareDocumentPosition(document.querySelector('#trace-steps')) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0"
        self.assertTrue(self.b.js(above), "the warning is below the figures")
        self.assertTrue(self.b.js("document.querySelector('#trace-partial').closest('details') === null"))
        self.picture("trace_cut_light")

    def test_a_chakra_job_and_a_file_that_is_none(self):
        self.drop(*[f"tests/data/traces/astra_et/all_reduce_8npus_1MB_all_reduce.{i}.et" for i in range(8)])
        self.b.wait_for("document.querySelector('#chakra') !== null", 60)
        self.assertRegex(self.b.text("#chakra"), r"^[\d.]+ [mu]?s on 4 x 8 a100_sxm4_80gb \(dgx_a100_80gb\), 8 ranks\.")
        self.assertIn("communication in all", self.b.text("#chakra"))
        self.assertEqual(self.b.js(ODD), [])
        self.drop("README.md")
        self.b.wait_for("document.querySelector('main .problem') !== null")
        self.assertIn("README.md", self.b.text("main .problem"))
        self.assertIn("Still shown: all_reduce_8npus", self.b.text("main"))

    def test_downloads(self):
        self.b.js("""window.saved = []; const blobs = new Map(), make = URL.createObjectURL.bind(URL);
          URL.createObjectURL = (blob) => { const url = make(blob); blobs.set(url, blob); return url; };
          HTMLAnchorElement.prototype.click = function () { const [name, url] = [this.download, this.href]; (blobs.get(url)?.text() ?? Promise.resolve('')).then((text) => window.saved.push([name, url, text])); }; 0""")
        for number, (word, kind) in enumerate((("YAML", "yaml"), ("JSON", "json"), ("CSV", "csv"), ("HTML", "html"), ("Perfetto", "trace"))):
            self.b.js(f"[...document.querySelectorAll('.menu button')].find((e) => e.innerText.includes('{word}') || e.textContent.includes('{word}')).click()")
            self.b.wait_for(f"window.saved.length === {number + 1}")
            name, url, text = self.b.js(f"window.saved[{number}]")
            if kind != "yaml":
                status, _, body = self.server.get(url[url.index("/file/"):])
                self.assertEqual(status, 200, kind)
                text = body.decode()
            begin = {"yaml": "# MLPerf DLRM", "json": "{", "csv": "title,", "html": "<!doctype html>", "trace": "{"}[kind]
            self.assertTrue(text.startswith(begin), (kind, text[:60]))
            if kind == "yaml":
                self.assertEqual((name, text), ("experiment.yaml", (ROOT / CONFIG).read_text()))
            if kind in ("json", "trace"):
                self.assertIn({"json": "iteration_ms", "trace": "traceEvents"}[kind], json.loads(text))
            if kind == "html":
                self.assertLess(len(text), 1_000_000)

    def test_traces_of_other_profilers(self):
        for path in ("tests/traces/data/formats/nsys.sqlite", "tests/traces/data/formats/host.prof.json", "tests/traces/data/formats/nvprof.nvvp"):
            self.drop(path)
            name = pathlib.Path(path).name
            self.b.wait_for(f"document.querySelector('#trace-names')?.innerText === '{name}' && document.querySelectorAll('#trace-kernels tbody tr').length > 0", 60)
            self.assertEqual(self.b.js("document.querySelectorAll('main [role=alert]').length"), 0, path)
            self.assertEqual([self.b.js(ODD), self.b.js(HIDDEN), self.b.js(CUT)], [[], [], []], path)
            self.assertNotIn("0", self.b.js("[...document.querySelectorAll('#trace-collectives tbody tr')].map((r) => r.children[1].innerText)"), "a group of no ranks")
            self.picture(f"trace_{name}_light")

    def test_dark_and_light_and_a_phone(self):
        contrast = """(() => {
          const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
          const light = (c) => { const [r, g, b] = rgb(c).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
          const back = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (c !== 'rgba(0, 0, 0, 0)') return c; } return 'rgb(255, 255, 255)'; };
          const poor = [];
          for (const e of document.querySelectorAll('h1, h2, th, td, p, label, button:not(:disabled), dt, dd, footer')) {
            if (!e.innerText || e.offsetParent === null) continue;
            const a = light(getComputedStyle(e).color), b = light(back(e)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < 4.5) poor.push(e.tagName + ' ' + e.innerText.slice(0, 30) + ' ' + ratio.toFixed(2));
          }
          return poor; })()"""
        unnamed = """[...document.querySelectorAll('button, input, select, textarea, canvas, [role=img]')].filter((e) => e.offsetParent !== null &&
          !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length || e.closest('label'))).map((e) => e.outerHTML.slice(0, 90))"""
        pages = {}
        for scheme in ("light", "dark"):
            self.b.scheme(scheme)
            pages[scheme] = self.b.js("getComputedStyle(document.body).backgroundColor")
            for tab in ("overview", "timeline", "network", "ops-and-collectives", "memory-and-ranks", "basis", "compare", "explore", "traces"):
                self.show(f"#tab-{tab}")
                self.b.wait_for(f"document.querySelector('#tab-{tab}').getAttribute('aria-selected') === 'true'")
                self.assertEqual(self.b.js(contrast), [], f"{scheme}, {tab}: contrast below 4.5")
                self.assertEqual(self.b.js(unnamed), [], f"{tab}: controls without a name")
                if tab == "network":
                    self.b.wait_for("document.querySelector('#network') !== null")
                self.assertEqual(axe(self.b), [], f"{scheme}, {tab}")
                self.picture(f"{tab}_{scheme}")
        self.assertNotEqual(pages["light"], pages["dark"])
        self.b.size(390, 844, is_phone=True)
        self.show("#tab-overview")
        self.assertLessEqual(self.b.js("document.documentElement.scrollWidth"), 390, "wider than a phone")
        for key in ("cluster.nodes", "device.hbm.capacity"):  # wherever one moves a slider, the answer is in sight
            self.b.js(f"document.querySelector('input.slider[data-key=\"{key}\"]').scrollIntoView({{block: 'center'}})")
            top, bottom = self.b.js("(() => { const r = document.querySelector('#iteration').getBoundingClientRect(); return [r.top, r.bottom]; })()")
            self.assertTrue(0 <= top and bottom <= 200, (key, top, bottom))
        self.picture("phone_dark")
        self.b.scheme("light")
        self.b.js("document.querySelector('.figures').scrollIntoView()")
        self.picture("phone_light")

    def test_a_number_says_what_it_rests_on(self):
        self.b.js("document.querySelector('#iteration').closest('button').click()")
        self.b.wait_for("document.querySelector('dialog.why-panel').open")
        self.assertIn("critical cycle", self.b.text("dialog.why-panel"))
        self.assertRegex(self.b.text("#why-basis"), r"analytic \d+ %")
        self.assertIn("host time per call", self.b.text("dialog.why-panel"))
        self.assertEqual(axe(self.b), [])
        self.picture("why_light")
        self.b.press("Escape", 27)
        self.b.wait_for("!document.querySelector('dialog.why-panel').open")
        self.b.wait_for("document.activeElement.contains(document.querySelector('#iteration'))")  # the focus is back
        self.show("#tab-ops-and-collectives")
        self.b.js("[...document.querySelectorAll('.why-row')].find((r) => r.innerText.includes('embedding.exchange')).children[5].click()")
        self.b.wait_for("document.querySelector('dialog.why-panel').open")
        self.assertIn("scaled", self.b.text("#why-basis"))
        self.assertIn("Source:", self.b.text("dialog.why-panel"))
        self.b.click("#why-all")
        self.b.wait_for("document.querySelector('#tab-basis').getAttribute('aria-selected') === 'true'")
        bare = """[...document.querySelectorAll('main td.n')].filter((c) => /\\d/.test(c.innerText) && !c.closest('.why-row, #basis')).map((c) => c.closest('table').id + ' ' + c.innerText)"""
        for tab in ("overview", "timeline", "network", "ops-and-collectives", "memory-and-ranks"):
            self.show(f"#tab-{tab}")
            if tab == "network":
                self.b.wait_for("document.querySelector('#link-levels') !== null")
            self.b.wait_for("document.querySelector('main .why-row, main .picture') !== null")
            self.assertEqual(self.b.js(bare), [], f"{tab}: numbers that do not say what they rest on")
            self.assertEqual(self.b.js("[...document.querySelectorAll('main .picture')].filter((p) => !p.querySelector('.take .why')).length"), 0, f"{tab}: pictures without a basis")

    def test_network(self):
        self.show("#tab-network")
        self.b.wait_for("document.querySelector('#network') !== null")
        kinds = self.b.js("document.querySelectorAll('#network .net-box').length")
        self.assertTrue(1 <= kinds <= 4, kinds)
        self.assertEqual(self.b.js("document.querySelectorAll('#network .net-gpu').length"), 8 * kinds)
        self.assertEqual(self.b.js("document.querySelectorAll('#network .net-nic').length"), 8 * kinds)
        self.assertIn("of the critical cycle", self.b.text("#limiting-link"))
        rows = self.b.js("[...document.querySelectorAll('#link-levels tbody tr')].map((r) => [...r.children].map((c) => c.innerText))")
        self.assertEqual([r[0] for r in rows][:2], ["NVLink of a GPU", "NIC"])
        self.assertTrue(all(re.match(r"[\d.]+ [GM]B", r[3]) for r in rows[:2]), rows)
        box = self.b.js("(() => { const r = document.querySelectorAll('#network .link-hit')[0].getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        self.b.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
        self.b.wait_for("/busy for .*of the iteration/.test(document.querySelector('.network .pointed-line').innerText)")
        self.picture("network_light")
        for _ in range(3):
            self.move(SLIDER, 2)
        self.b.wait_for("/ alike|other nodes|node/.test(document.querySelector('#network').textContent) && document.querySelectorAll('#network .net-box').length <= 8")
        self.assertLessEqual(self.b.js("document.querySelectorAll('#network .net-gpu').length"), 64)
        self.picture("network_large_light")

    def test_pictures_can_be_saved(self):
        for tab, selector in (("overview", ".stack"), ("timeline", "#timeline"), ("network", "#network"), ("memory-and-ranks", ".columns")):
            self.show(f"#tab-{tab}")
            self.b.wait_for(f"document.querySelector('{selector}') !== null")
            if tab == "timeline":
                self.b.wait_for("document.querySelector('#timeline').height > 300")
            saved = self.b.js(SAVED.replace("SELECTOR", repr(selector)))
            self.assertEqual([n.rsplit(".", 1)[1] for n in saved["names"]], ["svg", "png"], tab)
            self.assertTrue(saved["parse"], saved["text"])
            self.assertGreater(saved["width"], 500, tab)
            self.assertGreater(saved["height"], 50, tab)
            self.assertGreater(saved["colours"], 3, f"{tab}: an empty picture")
            self.assertNotIn("var(", saved["text"])

    def test_by_keyboard_alone(self):
        self.b.js("document.querySelector('#tab-overview').focus()")
        self.b.press("ArrowRight", 39)
        self.assertEqual(self.b.js("document.querySelector('#tab-timeline').getAttribute('aria-selected')"), "true")
        for key, code, tab in (("End", 35, "tab-traces"), ("Home", 36, "tab-overview"), ("ArrowLeft", 37, "tab-traces")):
            self.b.press(key, code)
            self.assertEqual(self.b.js("[document.activeElement.id, document.activeElement.getAttribute('aria-selected')]"), [tab, "true"], key)
        self.b.js("document.querySelector('#ask-main-keys').focus()")
        self.b.press("End", 35)
        self.b.wait_for("document.querySelector('#experiment-text') !== null")
        self.assertEqual(self.b.js("document.activeElement.id"), "ask-text")
        self.b.press("Home", 36)
        self.b.js(f"document.querySelector(\"{SLIDER}\").focus()")
        self.answered(lambda: self.b.press("ArrowRight", 39))
        menu = "document.querySelector('.menu')"
        for leave in (lambda: self.b.press("Escape", 27), lambda: self.b.js("document.querySelector('#tab-overview').focus()")):
            self.b.js(f"{menu}.open = true; {menu}.querySelector('button').focus()")
            leave()
            self.b.wait_for(f"!{menu}.open")
        order = self.b.js("[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')].filter((e) => e.tabIndex > 0).length")
        self.assertEqual(order, 0)

    def test_tab_reaches_everything_in_sight(self):
        """From the top of the page with Tab alone: every focus is seen, and nothing holds it."""
        seen = []
        for _ in range(60):
            self.b.press("Tab", 9)
            at = self.b.js("""(() => { const e = document.activeElement, r = e.getBoundingClientRect(), s = getComputedStyle(e);
              return [e.id || e.dataset.key || e.tagName, r.width > 0 && r.height > 0, s.outlineStyle !== 'none' || e.closest(':focus-visible') !== null, (e.getAttribute('role') ?? '') + e.tagName]; })()""")
            seen.append(at)
            if at[0] == "BODY":
                break
        names = [s[0] for s in seen]
        for wanted in ("pick-cluster-system", "ask-main-keys", "k-cluster-nodes", "basis-button", "tab-overview"):
            self.assertIn(wanted, names)
        self.assertFalse([n for n in names if n.endswith("-list")], "a list of choices is a stop of its own")
        hidden = [s for s in seen if s[0] != "BODY" and not (s[1] and s[2])]
        self.assertEqual(hidden, [])

    def test_the_server_comes_back(self):
        own = Server(BINARY, "--config", CONFIG, cwd=ROOT)
        self.b.open("about:blank")
        self.b.open(own.url)
        self.b.wait_for(READY)
        own.end()
        self.b.wait_for("document.body.innerText.includes('No connection to the server')")
        self.b.open("about:blank")
        self.b.said.clear()  # it tried again meanwhile


if __name__ == "__main__":
    if program() is None:
        print("no Chromium (apt-get install chromium)")
        sys.exit(77)
    BINARY = os.path.abspath(sys.argv.pop(1))
    if not AXE.exists():
        print(NO_AXE)
    unittest.main()
