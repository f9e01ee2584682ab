#!/usr/bin/env python3
"""Hostile requests to `distsim serve` get a clear status and disturb nobody.

serve_hostile_test.py DISTSIM
"""
import json
import os
import pathlib
import socket
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "web"))
from client import HANG, WebSocket, read_all, response_of, talk, until  # noqa: E402
from serving import LLM, ROOT, Serving, TEXT  # noqa: E402


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
                               ("collectives.constants", "/etc/passwd"), ("cluster.device", str(secret)), ("model.graph.file", f"{folder}/curves.txt"), ("model.graph.file", "/etc/passwd")):
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

    def test_what_is_refused_is_cut(self):
        """Every member of every message, and of what is in it, as a value or a name of 100,000 characters."""
        t, trace = self.talk(), self.server.upload(ROOT / "tests/traces/data/formats/kineto.json")
        text = {"text": TEXT, "edits": []}
        size = {"m": "1", "n": "1", "k": "1"}
        bodies = ({"type": "predict", **text, "values": True}, {"type": "effects", **text}, {"type": "pictures", **text}, {"type": "sensitivity", **text},
                  {"type": "timeline", **text, "from": 0, "to": 9, "columns": 64, "first": 0, "count": 1, "names": True},
                  {"type": "sweep", **text, "axes": ["cluster.nodes=1"], "weak": True}, {"type": "file", **text, "kind": "json"}, {"type": "cancel", "of": 5},
                  {"type": "plan", "text": LLM, "edits": [], "objective": "time", "gpus": "8", "vary": ["parallel.pipeline=1"], "top": 1, "most_played": 1, "price": 1},
                  {"type": "collective", "system": "dgx_a100_80gb", "kind": "all_reduce", "nodes": 2, "gpus_per_node": 8, "from": 8, "to": 9, "at": 8},
                  {"type": "op", "gpu": "h100_sxm5_80gb", "op": "linear", "dtype": "bf16", "pass": "fwd", "sizes": size, "vary": "m", "from": 1, "to": 2},
                  {"type": "op", **text, "op": "linear", "dtype": "bf16", "sizes": size}, {"type": "case", "case": "x"}, {"type": "trace", "files": [trace], "steps": "x"},
                  {"type": "replay", "files": [trace], **text, "steps": "", "remove": ["a"], "fuse": ["b"], "sets": ["cluster.nodes=1"], "measured_on": "p4d_a100_40gb", "ranks": 2,
                   "timeline": True}, *({"type": kind} for kind in ("schema", "lists", "ops", "cases", "traces")))

        def spoilt(value, bad):
            yield from (bad, [bad], {bad: "1"})
            if isinstance(value, list):
                yield from ([bad + "=1"], ["cluster.nodes=" + bad], ["cluster.nodes=1,," + bad], [{"key": bad, "value": "1"}], [{"key": "model." + bad, "value": "1"}],
                            [{"key": "cluster.nodes", "value": bad}])
            if isinstance(value, dict):
                yield {**value, "m": bad}

        for body in bodies:
            for bad in ("x" * 100_000, "9" * 100_000, "x y " * 25_000):
                tried = [{**body, bad: 1}] + [{**body, name: value} for name in body for value in spoilt(body[name], bad)]
                for one in tried:
                    answer = t.ask(**one)
                    if answer["type"] == "error":
                        self.assertLess(len(json.dumps(answer["error"])), 3_000, (body["type"], answer["error"]["what"][:200]))

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
        self.is_well()
        time.sleep(0.5)
        slow[0].sendall(b" x")
        slow[0].settimeout(HANG)
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
                s.settimeout(HANG)
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


if __name__ == "__main__":
    unittest.main()
