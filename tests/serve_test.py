#!/usr/bin/env python3
"""`distsim serve` over its protocol (docs/serve.md): answers are those of the command line, and hostile requests get a clear status and
disturb nobody.

serve_test.py DISTSIM
"""
import base64
import gzip
import hashlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/web"))
from client import Server, WebSocket, read_all, response_of, talk, until  # noqa: E402

BINARY = os.path.abspath(sys.argv.pop(1))
CONFIG = "configs/dgx_a100_4node.yaml"
TEXT = (ROOT / CONFIG).read_text()
LLM = "cluster: {system: dgx_h100, nodes: 1}\nmodel: {name: llama3_8b, global_batch: 16}\nframework: {name: megatron_core}\n"
LONG = "cluster: {system: dgx_a100_80gb, nodes: 512}\nmodel: {name: dlrm_mlperf, global_batch: 1048576}\nframework: {name: pytorch_dlrm}\nengine: {contention: true}\n"


def command(*words):
    return subprocess.run([BINARY, *words], capture_output=True, text=True, cwd=ROOT, timeout=300)


class Serving(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BINARY, "--config", CONFIG, cwd=ROOT)

    @classmethod
    def tearDownClass(cls):
        code, said = cls.server.end()
        assert code == 0 and said == "", f"exit code {code}, standard error {said!r}"

    def talk(self):
        out = talk(self.server)
        self.addCleanup(out.close)
        return out

    def is_well(self):
        """A page that was there, or comes now, is served."""
        answer = self.talk().ask(type="predict", text=TEXT)
        self.assertEqual(answer["type"], "prediction")


class Answers(Serving):
    def test_schema_has_the_keys_of_the_reference_and_the_first_text(self):
        answer = self.talk().ask(type="schema")
        keys = {k["key"]: k for s in answer["sections"] for k in s["keys"]}
        listed = set(re.findall(r"^  (\w+\.[\w.\[\]]+)  \(", command("list", "config").stdout, re.M))
        self.assertGreater(len(listed), 300)
        self.assertEqual(listed - set(keys), set())
        self.assertEqual(answer["text"], TEXT)
        self.assertEqual((keys["cluster.nodes"]["min"], keys["cluster.nodes"]["max"]), (1, 1000000))
        self.assertEqual(keys["cluster.gpu_links.kind"]["choices"][0], "nvswitch")
        self.assertEqual(keys["cluster.nic.bandwidth"]["max"], 1e13)

    def test_lists_are_those_of_the_command(self):
        answer = self.talk().ask(type="lists")
        for kind in ("systems", "models", "frameworks"):
            text = command("list", kind).stdout
            self.assertGreater(len(answer[kind]), 10)
            for entry in answer[kind]:
                self.assertIn(entry["name"], text)

    def test_prediction_is_that_of_the_command(self):
        for sets in ([], ["cluster.nodes=8"], ["cluster.nic.bandwidth=50 GB/s", "model.global_batch=131072"]):
            edits = [{"key": s.split("=")[0], "value": s.split("=")[1]} for s in sets]
            answer = self.talk().ask(type="predict", text=TEXT, edits=edits, values=True)
            expected = json.loads(command("predict", "--config", CONFIG, *[w for s in sets for w in ("--set", s)], "--json", "-").stdout)
            for key in ("iteration_ms", "low_ms", "high_ms", "breakdown", "collectives", "ops", "critical_path", "ranks", "memory", "digest"):
                self.assertEqual(answer["report"][key], expected[key], f"{sets}: {key}")
        self.assertEqual(answer["values"]["cluster.nic.bandwidth"][2], 50e9)
        self.assertIn("systems/dgx_a100_80gb.yaml:", answer["values"]["cluster.gpus_per_node"][1])

    def test_edits_keep_the_text(self):
        t = self.talk()
        answer = t.ask(type="predict", text=TEXT, edits=[{"key": "cluster.nodes", "value": "2"}])
        self.assertEqual(answer["text"], TEXT.replace("nodes: 4\n", "nodes: 2\n", 1))
        answer = t.ask(type="predict", text=TEXT, edits=[{"key": "cluster.nic.bandwidth", "value": "12.5 GB/s"}])
        self.assertEqual(answer["type"], "prediction")
        self.assertEqual(answer["text"].replace("  nic:\n    bandwidth: 12.5 GB/s\n", ""), TEXT)
        back = t.ask(type="predict", text=answer["text"], edits=[{"key": "cluster.nic", "value": None}])
        self.assertEqual(back["type"], "prediction")

    def test_errors_are_data_with_their_place(self):
        t = self.talk()
        answer = t.ask(type="predict", text=TEXT.replace("nodes: 4", "nodes: four"))
        self.assertEqual((answer["type"], answer["error"]["line"], answer["error"]["column"]), ("error", 8, 10))
        self.assertIn("cluster.nodes: found 'four'", answer["error"]["what"])
        answer = t.ask(type="predict", text=TEXT, edits=[{"key": "cluster.nodes", "value": "0"}])
        self.assertEqual((answer["type"], answer["error"]["line"]), ("error", 8))
        self.assertIn("nodes: 0", answer["text"])
        answer = t.ask(type="predict", text="cluster: [")
        self.assertEqual(answer["type"], "error")
        answer = t.ask(type="predict", text=TEXT, edits=[{"key": "cluster.nodes", "value": "[}"}])
        self.assertEqual(answer["type"], "error")

    def test_a_newer_prediction_makes_older_ones_stale(self):
        t = self.talk()
        ids = [t.send(type="predict", text=TEXT, edits=[{"key": "model.global_batch", "value": str(1024 * (i + 5))}]) for i in range(12)]
        last = t.wait(ids[-1])
        self.assertEqual(last["type"], "prediction")
        kinds = [a["type"] for a in t.others]
        self.assertEqual(len(kinds), 11)
        self.assertTrue(set(kinds) <= {"prediction", "stale"} and "stale" in kinds, kinds)

    def test_pictures(self):
        t = self.talk()
        a = t.ask(type="pictures", text=TEXT)
        self.assertEqual(a["type"], "pictures")
        self.assertIsNone(a["schedule"])
        links = a["links"]
        self.assertEqual(sum(c["count"] for c in links["node_classes"]), links["nodes"])
        for level, list_name in (("gpu", "gpus"), ("nic", "nics")):
            total = sum(c["count"] * load[0] for c in links["node_classes"] for load in c[list_name])
            whole = next(x["bytes"] for x in links["levels"] if x["level"] == level)
            self.assertAlmostEqual(total / whole, 1, 5, level)
        pipelined = t.ask(type="pictures", text=(ROOT / "configs/megatron_gpt_145b.yaml").read_text())
        schedule = pipelined["schedule"]
        self.assertEqual(len(schedule["rows"]), schedule["stages"])
        self.assertLess(len(json.dumps(schedule)), 1_000_000)
        self.assertEqual(t.ask(type="pictures", text="x")["type"], "error")

    def test_timeline_is_bounded_and_fills_the_window(self):
        t = self.talk()
        whole = t.ask(type="timeline", text=TEXT, columns=200, first=0, count=64, names=True)
        self.assertGreater(whole["period"], 10**9)
        self.assertGreater(len(whole["names"]), 20)
        shown = [track for track in whole["tracks"] if "slices" in track]
        self.assertEqual(len(shown), 64)
        for track in shown:
            self.assertLessEqual(len(track["slices"]) // 3, 2 * 200 + 8)
            self.assertTrue(all(gap >= 0 for gap in track["slices"][3::3]), "slices overlap")  # the first may have begun before
        fine = t.ask(type="timeline", text=TEXT, columns=4000, **{"from": 0, "to": whole["period"] // 20}, first=0, count=8)
        names = [n for track in fine["tracks"][:8] for n in track["slices"][2::3]]
        self.assertGreater(sum(n >= 0 for n in names), sum(n < 0 for n in names))
        self.assertTrue(all(-1 - n < len(fine["categories"]) for n in names))
        self.assertGreater(whole["total"], sum(len(track["slices"]) // 3 for track in shown))

    def test_sensitivity_is_that_of_the_command_and_tells_how_far_it_is(self):
        t = self.talk()
        answer = t.ask(type="sensitivity", text=TEXT)
        expected = json.loads(command("sensitivity", "--config", CONFIG, "--json", "-").stdout)
        self.assertEqual(answer["result"], expected)
        self.assertGreater(sum(a["type"] == "progress" for a in t.others), 3)

    def test_sweep_is_that_of_the_command(self):
        t = self.talk()
        answer = t.ask(type="sweep", text=TEXT, axes=["cluster.nodes=1,2,4,8", "model.global_batch=65536,131072"])
        points = [p for a in [*t.others, answer] for p in a.get("points", [])]
        points.sort(key=lambda p: p["index"])
        rows = [line.split(",") for line in command("sweep", "--config", CONFIG, "--set", "cluster.nodes=1,2,4,8", "--set", "model.global_batch=65536,131072", "--csv", "-").stdout.splitlines()]
        self.assertEqual((len(points), len(rows)), (8, 9))
        for point, row in zip(points, rows[1:]):
            self.assertEqual(point["values"], row[:2])
            self.assertEqual(f"{point['iteration_ms']:.4f}", row[rows[0].index("iteration_ms")])

    def test_a_sweep_is_cancelled_and_keeps_no_slider_waiting(self):
        t = self.talk()
        sweep = t.send(type="sweep", text=TEXT, axes=["model.global_batch=2048..65536:32"])
        begin = time.monotonic()
        self.assertEqual(t.ask(type="predict", text=TEXT, edits=[{"key": "cluster.nodes", "value": "3"}])["type"], "prediction")
        t.send(type="cancel", of=sweep)
        answer = next((a for a in t.others if a["id"] == sweep and a["type"] != "progress"), None) or t.wait(sweep)
        self.assertEqual(answer["type"], "cancelled")
        self.assertLess(answer["done"], answer["total"])
        self.assertLess(time.monotonic() - begin, 60)

    def test_plan_is_that_of_the_command(self):
        t = self.talk()
        answer = t.ask(type="plan", text=LLM, vary=["parallel.pipeline=1", "parallel.context=1"], top=3)
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "x.yaml")
            config.write_text(LLM)
            expected = json.loads(command("plan", "--config", str(config), "--vary", "parallel.pipeline=1", "--vary", "parallel.context=1", "--top", "3", "--json", "-").stdout)
        self.assertEqual(answer["result"], expected)
        told = [a for a in t.others if a["type"] == "progress"]
        played = [p for a in told for p in a["points"]]
        self.assertEqual(len(played), expected["counts"]["played"])
        self.assertIn(expected["rows"][0]["iteration_ms"], [p["iteration_ms"] for p in played])

    def test_a_plan_is_cancelled(self):
        t = self.talk()
        plan = t.send(type="plan", text=LLM.replace("nodes: 1", "nodes: 64").replace("batch: 16", "batch: 4096"), objective="time,memory", gpus="64..512")
        while not any(a["id"] == plan and a["type"] == "progress" for a in t.others):
            t.others.append(json.loads(t.receive()))
        begin = time.monotonic()
        t.send(type="cancel", of=plan)
        self.assertEqual(t.wait(plan)["type"], "cancelled")
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_prediction_that_nobody_waits_for_is_stopped(self):
        """One that would take minutes: every step of every rank, with contention."""
        t = self.talk()
        begin = time.monotonic()
        long = t.send(type="predict", text=LONG)
        time.sleep(0.5)
        newer = t.send(type="predict", text=TEXT)
        answers = {}
        while len(answers) < 2:
            a = json.loads(t.receive())
            answers[a["id"]] = a["type"]
        self.assertEqual(answers, {long: "stale", newer: "prediction"})
        long = t.send(type="predict", text=LONG)
        time.sleep(0.5)
        t.send(type="cancel", of=long)
        self.assertEqual(t.wait(long)["type"], "cancelled")
        self.assertLess(time.monotonic() - begin, 60)
        many = [self.talk() for _ in range(12)]  # more than there are workers
        for one in many:
            one.send(type="predict", text=LONG)
            one.close()
        self.is_well()

    def test_collective_and_op_cost_what_the_command_says(self):
        t = self.talk()
        answer = t.ask(type="collective", system="dgx_a100_80gb", kind="all_reduce", nodes=2, **{"from": 1 << 20, "to": 1 << 26, "at": 1 << 26})
        line = command("cost", "collective", "--system", "dgx_a100_80gb", "--kind", "all_reduce", "--nodes", "2", "--bytes", str(1 << 26)).stdout.splitlines()[1].split(",")
        self.assertEqual([f"{v:.6g}" for v in answer["at"][1:4]], line[4:7])
        self.assertEqual(answer["at"][4], line[9])
        self.assertIn("algorithm", answer["explanation"])
        self.assertTrue(any(c["origin"] == "of this system" and c["points"] for c in answer["measured"]), "a curve of this system comes with distsim")
        answer = t.ask(type="op", gpu="h100_sxm5_80gb", op="linear", dtype="bf16", sizes={"m": "4096", "n": "1024", "k": "1024"}, vary="m", **{"from": 64, "to": 8192})
        said = command("cost", "op", "--gpu", "h100_sxm5_80gb", "--op", "linear", "--dtype", "bf16", "m=4096", "n=1024", "k=1024").stdout
        self.assertIn(f"{answer['at'][1]:.6g} us", said)
        self.assertIn(answer["what"], said)
        times = [p[1] for p in answer["points"]]
        self.assertGreater(len(times), 10)
        self.assertGreater(times[-1], times[0])

    def test_measured_iterations_and_why(self):
        t = self.talk()
        answer = t.ask(type="cases")
        rows = command("validate", "--csv", "-").stdout.splitlines()
        self.assertEqual(len(answer["cases"]), len(rows) - 1)
        case = answer["cases"][0]
        self.assertEqual(t.ask(type="case", case=case["id"])["explanation"], command("validate", "--explain", case["id"]).stdout)

    def test_a_trace_is_sent_profiled_and_replayed(self):
        t = self.talk()
        trace = ROOT / "tests/data/traces/hta/resnet_a100_ncclmeta_rank0of2.json.gz"
        file = self.server.upload(trace)
        answer = t.ask(type="trace", files=[file])
        self.assertEqual(answer["type"], "trace", answer)
        expected = json.loads(command("profile", str(trace), "--json", "-").stdout)
        for rank in (*expected["ranks"], *answer["profile"]["ranks"]):
            rank["file"] = os.path.basename(rank["file"])
        for mine, theirs in zip(answer["profile"]["ranks"], expected["ranks"]):
            self.assertEqual(mine.pop("rows"), {name: len(theirs[name]) for name in ("steps", "tree", "ops", "kernels", "variants")})
        self.assertEqual(answer["profile"], expected)
        replayed = json.loads(command("replay", str(trace), "--json", "-").stdout)
        self.assertEqual(answer["replay"], replayed)
        kernel = answer["profile"]["ranks"][0]["kernels"][0]["name"]
        pattern = "^" + re.escape(kernel) + "$"
        whatif = t.ask(type="replay", files=[file], remove=[pattern])
        self.assertEqual(whatif["result"]["what_if_ms"], json.loads(command("replay", str(trace), "--remove", pattern, "--json", "-").stdout)["what_if_ms"])
        self.assertLess(whatif["result"]["what_if_ms"], replayed["replayed_ms"])
        moved = t.ask(type="replay", files=[file], text=TEXT.replace("dgx_a100_80gb", "dgx_h100", 1), measured_on="dgx_a100_80gb", ranks=2)
        self.assertEqual(moved["type"], "replay", moved)
        self.assertNotEqual(moved["result"]["what_if_ms"], replayed["replayed_ms"])
        path = t.ask(type="replay", files=[file], timeline=True)["path"]
        status, _, body = self.server.get(f"{path}?token={self.server.token}")
        self.assertEqual(status, 200)
        self.assertGreater(len(json.loads(body)["traceEvents"]), 100)

    def test_a_chakra_job_is_played_on_the_experiment(self):
        t = self.talk()
        names = [ROOT / f"tests/data/traces/astra_et/all_reduce_8npus_1MB_all_reduce.{i}.et" for i in range(8)]
        files = [self.server.upload(n) for n in names]
        self.assertEqual(t.ask(type="trace", files=files)["format"], "chakra")
        answer = t.ask(type="replay", files=files, text=TEXT)
        self.assertEqual(answer["type"], "replay", answer)
        expected = json.loads(command("replay", *map(str, names), "--config", CONFIG, "--json", "-").stdout)
        self.assertEqual(answer["result"]["makespan_ps"], expected["makespan_ps"])
        self.assertEqual(t.ask(type="replay", files=files)["type"], "error")

    def test_too_much_is_refused(self):
        t = self.talk()
        for body, words in (({"type": "sweep", "text": TEXT, "axes": ["model.global_batch=1..100000"]}, "more than 5000 points"),
                            ({"type": "sweep", "text": TEXT, "axes": []}, "axes"),
                            ({"type": "predict", "text": TEXT, "edits": [{"key": "cluster.nodes", "value": "1000000"}]}, "8000000 GPUs"),
                            ({"type": "plan", "text": LLM, "gpus": "1024..1048576"}, "at most 131072"),
                            ({"type": "plan", "text": LLM, "vary": ["model.global_batch=1..5000"]}, "1000 combinations"),
                            ({"type": "plan", "text": LLM, "objective": "speed"}, "time, cost, energy or memory"),
                            ({"type": "collective", "text": TEXT, "kind": "all_reduce", "nodes": 100000}, "131072 GPUs"),
                            ({"type": "trace", "files": ["0" * 32]}, "send it again"),
                            ({"type": "trace"}, "the traces to look at"),
                            ({"type": "predict", "text": "#" * (300 << 10)}, "256 KiB"),
                            ({"type": "predict", "text": TEXT, "edits": [{"key": "cluster.nodes", "value": "2"}] * 65}, "64 edits")):
            answer = t.ask(**body)
            self.assertEqual(answer["type"], "error", body["type"])
            self.assertIn(words, answer["error"]["text"])

    def test_files_are_fetched_once_made(self):
        t = self.talk()
        for kind, begin, expected in (("json", b"{", "application/json"), ("csv", b"title,", "text/csv"), ("html", b"<!doctype html>", "octet-stream"), ("trace", b"{", "application/json")):
            path = t.ask(type="file", kind=kind, text=TEXT)["path"]
            status, headers, body = self.server.get(f"{path}?token={self.server.token}")
            self.assertEqual(status, 200)
            self.assertTrue(body.lower().startswith(begin), body[:40])
            self.assertIn(expected, headers["content-type"])
            self.assertTrue(headers["content-disposition"].startswith("attachment"))
            if kind in ("json", "trace"):
                json.loads(body)
            self.assertEqual(self.server.get(path)[0], 403)
        self.assertEqual(self.server.get(f"/file/{'0' * 32}/report.json?token={self.server.token}")[0], 404)
        self.assertEqual(t.ask(type="file", kind="exe", text=TEXT)["type"], "error")

    def test_files_are_those_of_the_command(self):
        text = TEXT.rstrip() + "\nengine: {contention: true}\n"
        self.assertIn("contention", self.talk().ask(type="effects", text=text)["without_effect"][0]["key"])
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "x.yaml"
            file.write_text(text)
            for kind, flag in (("json", "--json"), ("csv", "--csv"), ("html", "--html")):
                path = self.talk().ask(type="file", kind=kind, text=text)["path"]
                served = self.server.get(f"{path}?token={self.server.token}")[2].decode()
                self.assertEqual(served, command("--config", str(file), flag, "-").stdout.replace(str(file), CONFIG), kind)

    def test_keys_without_effect_are_named(self):
        answer = self.talk().ask(type="effects", text=TEXT, edits=[{"key": "model.dlrm.cross_rank", "value": "3"}])
        self.assertEqual([k["key"] for k in answer["without_effect"]], ["model.dlrm.cross_rank"])


class Page(Serving):
    def test_assets_and_their_policy(self):
        query, kinds = f"?token={self.server.token}", {".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
        served = [f for f in sorted((ROOT / "web/dist").iterdir()) if f.suffix in kinds and f.name not in ("page.js", "page.css")]
        self.assertGreater(len(served), 10)
        for file in served:
            path = "/" + query if file.name == "index.html" else "/" + file.name
            status, headers, body = self.server.get(path)
            self.assertEqual(status, 200, path)
            self.assertTrue(headers["content-type"].startswith(kinds[file.suffix]))
            policy = headers["content-security-policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual(headers["x-content-type-options"], "nosniff")
            self.assertEqual(body, file.read_bytes())
            self.assertEqual("immutable" in headers["cache-control"], "-" in file.name, path)  # named by its content
            self.assertEqual(headers["vary"], "Accept-Encoding")
            _, headers, packed = self.server.get(path, Accept_Encoding="deflate, gzip;q=0.8")
            self.assertEqual((headers["content-encoding"], gzip.decompress(packed)), ("gzip", body))
            self.assertLess(len(packed), 0.5 * len(body) if len(body) > 4000 else len(body) + 20, path)
            for refused in ("gzip;q=0", "gzip; q=0.000", "identity", "xgzip", "", "br, gzip ; q=0"):
                _, headers, plain = self.server.get(path, Accept_Encoding=refused)
                self.assertEqual((headers.get("content-encoding"), plain), (None, body), refused)
        page = self.server.get("/" + query)[2].decode()
        style = re.search("<style>(.*?)</style>", page, re.S)[1]
        self.assertIn(f"style-src 'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}';", policy)
        self.assertNotRegex(page, r"<script>|style=|onclick|https?:")
        for name in re.findall(r'(?:href|src)="/([^"]+)"', page):
            self.assertTrue((ROOT / "web/dist" / name).exists(), name)
        for name in ("index.html", "style.sha256", "page.js", "LICENSES.txt"):
            self.assertEqual(self.server.get(f"/{name}{query}")[0], 404)

    def test_token(self):
        token = self.server.token
        for query in ("", "?token=", f"?token={token[:-1]}", f"?token={token}0", f"?token={token[::-1]}x", "?tok=" + token, f"?token={token.upper()}x"):
            self.assertEqual(self.server.get("/" + query)[0], 403, query)
            self.assertEqual(self.server.get("/ws" + query)[0], 403, query)
        self.assertEqual(self.server.get(f"/?a=b&token={token}")[0], 200)
        self.assertEqual(WebSocket(self.server.host, self.server.port, "/ws?token=0").status, 403)


class Hostile(Serving):
    def test_host_and_origin(self):
        port, page = self.server.port, f"/?token={self.server.token}"
        for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1:{port + 1}", "127.0.0.1", f"127.0.0.1.evil.example:{port}", f"localhost:{port}:{port}", "x" * 300, f"10.0.0.1:{port}", ""):
            self.assertEqual(self.server.get(page, Host=host)[0], 421, host)
        self.assertIn(self.server.raw(f"GET {page} HTTP/1.1\r\nConnection: close\r\n\r\n")[0], (400, 421))
        self.assertIn(self.server.raw(f"GET {page} HTTP/1.1\r\nConnection: close\r\nHost: localhost:{port}\r\nHost: evil.example\r\n\r\n")[0], (400, 421))
        self.assertEqual(self.server.get(page, Host=f"LOCALHOST:{port}")[0], 200)
        for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port}.evil.example"):
            self.assertEqual(self.server.get(page, Origin=origin)[0], 403, origin)
            self.assertEqual(WebSocket("127.0.0.1", port, f"/ws?token={self.server.token}", headers=[f"Origin: {origin}"]).status, 403)
        good = WebSocket("127.0.0.1", port, f"/ws?token={self.server.token}", headers=[f"Origin: http://127.0.0.1:{port}"])
        self.assertEqual(good.status, 101)
        good.close()

    def test_no_path_leads_out(self):
        for path in ("/../../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/icon.svg/..", "/%2e%2e/icon.svg", "/file/../icon.svg", "/file/", "/file", "/icon.svg%00", "/ICON.SVG", "/page.js", "/configs/dgx_a100_4node.yaml",
                     "http://evil.example/", "*", "/\\..\\x"):
            self.assertIn(self.server.get(f"{path}?token={self.server.token}")[0], (400, 404), path)

    def test_no_name_leads_to_other_files(self):
        t = self.talk()
        with tempfile.TemporaryDirectory() as folder:
            secret = pathlib.Path(folder, "secret.yaml")
            secret.write_text("password: hunter2\n")
            pathlib.Path(folder, "curves.txt").write_text("password hunter2\n")
            for key, value in (("model.name", str(secret)), ("cluster.system", str(secret)), ("framework.name", f"{folder}/secret.yaml"), ("device.name", "/etc/hostname.yaml"), ("model.name", "../../README.yaml"),
                               ("parallel.placement_file", f"{folder}/curves.txt"), ("collectives.curve_files", f"['{folder}/curves.txt']"), ("collectives.constants", f"{folder}/curves.txt"),
                               ("collectives.constants", "/etc/passwd"), ("cluster.device", str(secret))):
                answer = t.ask(type="predict", text=TEXT, edits=[{"key": key, "value": value}])
                self.assertEqual(answer["type"], "error", key)
                self.assertNotIn("hunter2", json.dumps(answer))
                self.assertNotIn("root:", json.dumps(answer))
                self.assertRegex(answer["error"]["text"], r"the folders that the page may read|without '\.\.'", key)
            for body in ({"type": "plan", "text": LLM, "vary": [f"model.name=llama3_8b,{secret}"]}, {"type": "collective", "system": str(secret), "kind": "all_reduce"}, {"type": "collective", "system": "../../README", "kind": "all_reduce"},
                         {"type": "op", "gpu": str(secret), "op": "gemm", "dtype": "bf16", "sizes": {}}, {"type": "trace", "files": [str(secret)]}, {"type": "trace", "files": ["../secret.yaml"]},
                         {"type": "replay", "files": [], "text": TEXT, "measured_on": str(secret)}, {"type": "case", "case": str(secret)}):
                answer = t.ask(**body)
                self.assertEqual(answer["type"], "error", body)
                self.assertNotIn("hunter2", json.dumps(answer))
            swept = t.ask(type="sweep", text=TEXT, axes=[f"model.name=dlrm_mlperf,{secret}"])
            self.assertNotIn("hunter2", json.dumps([swept, t.others]))

    def test_other_methods_and_bodies(self):
        host = f"Host: 127.0.0.1:{self.server.port}\r\nConnection: close\r\n"
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "HEAD"):
            self.assertEqual(self.server.raw(f"{method} / HTTP/1.1\r\n{host}\r\n")[0], 405, method)
        self.assertIn(self.server.raw(f"GET / HTTP/1.1\r\n{host}Content-Length: 100000000\r\n\r\n" + "x" * 1000)[0], (400, 403, 413))
        self.assertIn(self.server.raw(f"POST / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\nffffffff\r\n")[0], (400, 405))
        self.is_well()

    def test_uploads_are_bounded_and_for_those_who_may(self):
        target, host = f"/upload?token={self.server.token}&name=x.json", f"{self.server.host}:{self.server.port}"
        self.assertEqual(self.server.post("/upload?name=x", b"x")[0], 403)
        self.assertEqual(self.server.post(target, b"x", Origin="http://evil.example")[0], 403)
        self.assertEqual(self.server.post(target, b"x", Host="evil.example")[0], 421)
        self.assertEqual(self.server.get(target)[0], 405)
        self.assertEqual(self.server.raw(f"POST {target} HTTP/1.1\r\nHost: {host}\r\n\r\n")[0], 411)
        self.assertEqual(self.server.raw(f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {3 << 30}\r\n\r\n")[0], 413)
        self.assertEqual(self.server.raw(f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: -1\r\n\r\n")[0], 400)
        self.assertEqual(self.server.raw(f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")[0], 400)
        self.assertEqual(self.server.raw(f"POST {target} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")[0], 400)
        self.assertEqual(self.server.raw(f"POST {target} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")[0], 201)
        for name in ("..%2F..%2Fetc%2Fpasswd", "%00", "%zz", "a" * 5000, "%2e%2e", ""):
            status, _, body = self.server.post(f"/upload?token={self.server.token}&name={name}", b"x")
            self.assertEqual(status, 201, name)
            self.assertRegex(json.loads(body)["name"], r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$")
        status, _, body = self.server.post(f"/upload?token={self.server.token}&name=x&name=y", b"x")
        self.assertEqual(status, 400)
        self.assertIn(b"name twice", body)
        folder = self.folder_of_server()
        self.assertTrue(folder and oct(os.stat(folder).st_mode & 0o777) == "0o700", folder)
        count = lambda: sum(len(files) for _, _, files in os.walk(folder))  # noqa: E731
        before = count()
        with self.server.connect() as s:  # one that ends in the middle leaves nothing
            s.sendall(f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000000\r\n\r\n".encode() + b"x" * 1000)
            until(lambda: count() > before, what="the file is being received")
        until(lambda: count() == before, what="nothing is left of it")
        with self.server.connect() as s:  # what curl does with large files
            s.sendall(f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n".encode())
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 100 "))
            s.sendall(b"hello")
            self.assertEqual(response_of(read_all(s))[0], 201)
        broken = json.loads(self.server.post(target, b"\0\1\2 no trace")[2])["file"]
        answer = self.talk().ask(type="trace", files=[broken])
        self.assertEqual(answer["type"], "error")
        self.assertNotIn("distsim-serve", json.dumps(answer))
        self.assertEqual(self.talk().ask(type="replay", files=[broken], remove=["(" * 500])["type"], "error")
        self.is_well()

    def test_many_who_send_slowly(self):
        host, slow = f"{self.server.host}:{self.server.port}", []
        for _ in range(30):
            s = self.server.connect()
            s.sendall(f"POST /upload?token={self.server.token}&name=x HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000\r\n\r\nx".encode())
            slow.append(s)
        self.is_well()
        self.assertIn(503, [response_of(read_all(s))[0] for s in slow[20:]])
        for s in slow:
            s.close()
        until(lambda: self.server.post(f"/upload?token={self.server.token}&name=x", b"x")[0] == 201, what="there is room again")

    def folder_of_server(self):
        parent = pathlib.Path(os.environ.get("TMPDIR", "/tmp"))
        return next((str(f) for f in parent.glob(f"distsim-serve-{self.server.process.pid}-*")), None)

    def test_broken_requests(self):
        for data in (b"\0" * 100, b"\xff\xfe\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nHost\r\n\r\n", b"A" * 100_000, b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n", b"\x16\x03\x01\x02\x00\x01"):
            self.assertIn(self.server.raw(data)[0], (400, 431), data[:30])
        self.is_well()

    def test_broken_frames(self):
        for spoil in (lambda t: t.frame(b"{}", is_masked=False), lambda t: t.frame(b"\xff\xfe"), lambda t: t.frame(b"x", opcode=3), lambda t: t.frame(b"{}", opcode=2), lambda t: t.frame(b"x" * 126, opcode=9),
                      lambda t: t.frame(b"x" * (600 << 10)), lambda t: t.socket.sendall(b"\x81\xff" + b"\x7f" + b"\xff" * 7 + b"abcd"), lambda t: (t.frame(b"a", is_last=False), t.frame(b"b"))):
            t = talk(self.server)
            spoil(t)
            with self.assertRaises((ConnectionError, TimeoutError)):
                for _ in range(3):
                    t.receive()
            t.close()
        self.is_well()

    def test_broken_messages(self):
        t = self.talk()
        for text in ("", "{", "[]", "null", "7", '{"id":1}', '{"type":"predict"}', '{"id":"1","type":"predict"}', '{"id":1,"type":"Predict"}', '{"id":1,"type":7}', "[" * 100_000, '{"id":1e99,"type":"lists"}', '{"a":' * 5000):
            t.frame(text.encode())
            self.assertEqual(json.loads(t.receive())["type"], "error", text[:40])
        for body in ({"type": "predict"}, {"type": "predict", "text": 5}, {"type": "predict", "text": TEXT, "edits": 5}, {"type": "predict", "text": TEXT, "edits": [5]}, {"type": "predict", "text": TEXT, "edits": [{"key": "x"}]},
                     {"type": "predict", "text": TEXT, "edits": [{"key": "", "value": "1"}]}, {"type": "predict", "text": TEXT, "edits": [{"key": "a..b", "value": "1"}]}, {"type": "predict", "text": "\0"},
                     {"type": "predict", "text": "a: *b"}, {"type": "predict", "text": "a: &x {b: *x}"}, {"type": "predict", "text": TEXT, "edits": [{"key": "title", "value": "a: b: c\nx"}]}, {"type": "sweep", "text": TEXT, "axes": [1]}, {"type": "timeline", "text": "x"}):
            self.assertEqual(t.ask(**body)["type"], "error", str(body)[:80])
        for kind in ("plan", "collective", "op", "ops", "cases", "case", "traces", "trace", "replay", "sensitivity", "file"):
            for spoiled in ({"objective": 7}, {"vary": "x"}, {"gpus": []}, {"kind": {}}, {"op": 1, "dtype": 2}, {"sizes": {"m": 4}}, {"files": "x"}, {"files": [[]]}, {"remove": {"a": 1}}, {"ranks": -1}, {"ranks": 1e300},
                            {"case": None}, {"from": 0}, {"to": -1}, {"from": 10**30}, {"nodes": 1.5}, {"price": "x"}, {"top": 0}, {"text": None}, {"sets": [1]}, {"timeline": "yes"}):
                if kind in ("cases", "plan", "sensitivity") and set(spoiled) - {"objective", "vary", "gpus", "price", "top"}:
                    continue  # these would be answered at length
                if kind in ("cases", "sensitivity"):
                    continue
                answer = t.ask(**({"type": kind, "text": TEXT} | spoiled))
                self.assertNotIn("internal error", json.dumps(answer), (kind, spoiled))
        for value in (True, "1", [], {}, None, -5, 10**18, 1.5):
            self.assertIn(t.ask(type="timeline", text=TEXT, columns=value, first=value, count=value, **{"from": value, "to": value})["type"], ("timeline", "error"), value)
            self.assertIn(t.ask(type="predict", text=TEXT, values=value)["type"], ("prediction", "error"), value)
            answer = t.ask(type="timeline", text=TEXT, names=value)
            self.assertNotIn("internal error", json.dumps(answer)[:2000], value)
        self.is_well()

    def test_slow_clients_do_not_keep_others_waiting(self):
        slow = [self.server.connect() for _ in range(100)]
        for s in slow:
            s.sendall(b"GET / HTTP/1.1\r\nHost:")
        begin = time.monotonic()
        self.is_well()
        self.assertLess(time.monotonic() - begin, 30)
        time.sleep(0.5)
        slow[0].sendall(b" x")
        slow[0].settimeout(30)
        self.assertEqual(slow[0].recv(10), b"", "a request that never ends is not given up")
        for s in slow:
            s.close()

    def test_a_page_that_does_not_read(self):
        t = talk(self.server)
        for _ in range(40):
            t.send(type="schema")
        self.is_well()
        t.close()

    def test_very_many_connections(self):
        before, open_ones = self.talk(), []
        try:
            for _ in range(10_000):
                s = socket.socket()
                s.settimeout(20)
                s.connect((self.server.host, self.server.port))
                open_ones.append(s)
                if len(open_ones) > 900:  # this process has a limit of its own
                    open_ones.pop(0).close()
            self.assertEqual(before.ask(type="predict", text=TEXT)["type"], "prediction")
        finally:
            for s in open_ones:
                s.close()
        time.sleep(0.3)
        self.is_well()

    def test_many_pages_at_once(self):
        problems = []

        def work(i):
            try:
                t = talk(self.server)
                for j in range(5):
                    answer = t.ask(type="predict", text=TEXT, edits=[{"key": "model.global_batch", "value": str(1024 * (1 + (i + j) % 20))}])
                    if answer["type"] != "prediction":
                        problems.append(answer)
                t.close()
            except Exception as e:  # noqa: BLE001
                problems.append(repr(e))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])


class Command(unittest.TestCase):
    def test_ends_cleanly_by_either_signal_also_while_it_works(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            server = Server(BINARY, cwd=ROOT)
            t = talk(server)
            t.send(type="sweep", text=TEXT, axes=["model.global_batch=2048..65536:32"])
            t.send(type="predict", text=TEXT)
            time.sleep(0.1)
            code, said = server.end(how)
            self.assertEqual((code, said), (0, ""))
            t.close()

    def test_sent_files_go_when_it_ends(self):
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            server = Server(BINARY, cwd=ROOT)
            folder = lambda: list(pathlib.Path(os.environ.get("TMPDIR", "/tmp")).glob(f"distsim-serve-{server.process.pid}-*"))  # noqa: B023, E731
            self.assertEqual(folder(), [], "a folder that nobody needs")
            server.upload(ROOT / CONFIG)
            self.assertEqual(len(folder()), 1)
            self.assertEqual(server.end(how), (0, ""))
            self.assertEqual(folder(), [])

    def test_traces_of_the_command_line(self):
        trace = "tests/data/traces/hta/resnet_a100_ncclmeta_rank0of2.json.gz"
        server = Server(BINARY, trace, cwd=ROOT)
        t = talk(server)
        self.assertEqual(t.ask(type="traces")["given"], [trace])
        self.assertEqual(t.ask(type="trace")["profile"]["ranks"][0]["file"], trace)
        self.assertEqual(server.end(), (0, ""))

    def test_open(self):
        """A browser is given a file that leads to the URL, and no token stands among its words."""
        with tempfile.TemporaryDirectory() as folder:
            said = pathlib.Path(folder, "said")
            browser = pathlib.Path(folder, "browser")
            browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {said}.part\ncat "${{2#file://}}" >> {said}.part\nmv {said}.part {said}\n')
            browser.chmod(0o755)
            with unittest.mock.patch.dict(os.environ, {"BROWSER": f"no-such-browser:{browser} --new %s"}):
                server = Server(BINARY, "--open", cwd=ROOT)
            until(said.exists, what="the browser is started")
            words, page = said.read_text().split("\n", 2)[:2], said.read_text()
            self.assertEqual(words[0], "--new")
            self.assertRegex(words[1], r"^file:///.*/open\.html$")
            self.assertNotIn(server.token, words[0] + words[1])
            self.assertIn(f"url={server.url}", page)
            self.assertEqual(server.end(), (0, ""))
            self.assertFalse(pathlib.Path(words[1][7:]).exists())
        for program, words in (("no-such-browser", "found no no-such-browser"), ("false", "false failed")):
            with unittest.mock.patch.dict(os.environ, {"BROWSER": program}):
                server = Server(BINARY, "--open", cwd=ROOT)
            time.sleep(0.3)
            code, text = server.end()
            self.assertEqual((code, text.count("\n")), (0, 1), text)
            self.assertIn(words, text)

    def test_what_cannot_be_served_is_refused(self):
        for words, said in ((["no_such_trace.json"], "no_such_trace.json"), (["--config", "no_such.yaml"], "no_such.yaml"), (["--config", "README.md"], "README.md"), (["--listen", "localhost"], "expected an address of this machine"),
                            (["--listen", "203.0.113.1"], "expected an address of this machine")):
            r = command("serve", "--port", "0", *words)
            self.assertEqual((r.returncode, r.stdout, r.stderr.count("\n")), (2, "", 1), words)
            self.assertIn(said, r.stderr)

    def test_port_in_use(self):
        server = Server(BINARY, cwd=ROOT)
        r = command("serve", "--port", str(server.port))
        self.assertEqual(r.returncode, 2)
        self.assertIn("which another program uses", r.stderr)
        self.assertEqual(server.end()[0], 0)

    def test_other_addresses_are_warned_of(self):
        server = Server(BINARY, "--listen", "0.0.0.0", cwd=ROOT)
        self.assertEqual(server.get(f"/?token={server.token}", Host=f"192.0.2.7:{server.port}")[0], 200)
        self.assertEqual(server.get(f"/?token={server.token}", Host=f"evil.example:{server.port}")[0], 421)
        code, said = server.end()
        self.assertEqual(code, 0)
        self.assertIn("other machines reach this server", said)

    def test_version_6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            return
        server = Server(BINARY, "--listen", "::1", cwd=ROOT)
        self.assertEqual(server.end()[0], 0)


if __name__ == "__main__":
    assert response_of and read_all
    unittest.main()
