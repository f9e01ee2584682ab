#!/usr/bin/env python3
"""`distsim serve` over its protocol (docs/serve.md): answers are those of the command line, and the command begins and ends as it says.

serve_test.py DISTSIM
"""
import base64
import gzip
import hashlib
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "web"))
from client import HANG, Server, WebSocket, talk, until  # noqa: E402
from serving import BINARY, CONFIG, LLM, LONG, ROOT, Serving, TEXT, command  # noqa: E402


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

    def test_a_sweep_says_what_has_no_effect(self):
        t = self.talk()
        for axis, notes in (("model.global_batch=65536,131072", ["weak: no effect, neither cluster.nodes nor cluster.gpus_per_node is swept"]), ("cluster.nodes=1,2", None)):
            self.assertEqual(t.ask(type="sweep", text=TEXT, axes=[axis], weak=True).get("notes"), notes, axis)

    def test_a_sweep_is_cancelled_and_keeps_no_slider_waiting(self):
        t = self.talk()
        sweep = t.send(type="sweep", text=TEXT, axes=["model.global_batch=2048..65536:32"])
        self.assertEqual(t.ask(type="predict", text=TEXT, edits=[{"key": "cluster.nodes", "value": "3"}])["type"], "prediction")
        t.send(type="cancel", of=sweep)
        answer = next((a for a in t.others if a["id"] == sweep and a["type"] != "progress"), None) or t.wait(sweep)
        self.assertEqual(answer["type"], "cancelled")
        self.assertLess(answer["done"], answer["total"])

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
        t.send(type="cancel", of=plan)
        self.assertEqual(t.wait(plan)["type"], "cancelled")

    def test_a_prediction_that_nobody_waits_for_is_stopped(self):
        """One that would take minutes: every step of every rank, with contention."""
        t = self.talk()
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
        moved = t.ask(type="replay", files=[file], text=TEXT.replace("dgx_a100_80gb", "dgx_h100", 1), measured_on="p4d_a100_40gb", ranks=2)
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

    def test_too_few_open_files_are_no_fault_of_a_flag(self):
        for limit in range(5, 13):  # with fewer the libraries cannot be opened, with more it serves
            process = subprocess.Popen([BINARY, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
                                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))  # noqa: B023
            with self.subTest(limit):
                if process.stdout.readline().startswith("http"):
                    process.terminate()
                    self.assertEqual(process.communicate(timeout=HANG)[1], "")
                    continue
                said = process.communicate(timeout=HANG)[1]
                if process.returncode != 127:
                    self.assertEqual((process.returncode, said), (3, "distsim: the system refused what was asked of it: Too many open files\n"))

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
    unittest.main()
