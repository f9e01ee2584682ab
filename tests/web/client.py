"""A server for a test, and a WebSocket client of 60 lines: for `distsim serve`, and for Chromium's DevTools."""
import base64
import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import time
import urllib.parse

HANG = 500  # s that anything is waited for: against what never comes, and under the 600 s of a test


class Server:
    """`distsim serve` on a free port. .url, .host, .port, .token."""

    def __init__(self, binary, *flags, cwd=None):
        environment = {k: v for k, v in os.environ.items() if k != "DISTSIM_CONFIGS"}
        self.process = subprocess.Popen([binary, "serve", "--port", "0", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=environment)
        self.url = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://([^/]+):(\d+)/\?token=([0-9a-f]{32})", self.url)
        if not match:
            raise AssertionError(f"first line {self.url!r}, standard error {self.process.communicate(timeout=HANG)[1]!r}")
        self.host, self.port, self.token = match[1], int(match[2]), match[3]

    def end(self, how=signal.SIGTERM):
        """Exit code and standard error."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            _, said = self.process.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, said

    def connect(self, timeout=HANG):
        return socket.create_connection((self.host, self.port), timeout=timeout)

    def get(self, target, **headers):
        """Status, headers, body."""
        lines = {"Host": f"{self.host}:{self.port}", "Connection": "close"} | {k.replace("_", "-"): v for k, v in headers.items()}
        return self.raw(f"GET {target} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items() if v is not None) + "\r\n")

    def raw(self, request, timeout=HANG):
        with self.connect(timeout) as s:
            s.sendall(request.encode() if isinstance(request, str) else request)
            return response_of(read_all(s))

    def post(self, target, body, **headers):
        """Status, headers, body."""
        lines = {"Host": f"{self.host}:{self.port}", "Connection": "close", "Content-Length": str(len(body))} | {k.replace("_", "-"): v for k, v in headers.items()}
        return self.raw(f"POST {target} HTTP/1.1\r\n".encode() + "".join(f"{k}: {v}\r\n" for k, v in lines.items() if v is not None).encode() + b"\r\n" + body)

    def upload(self, path):
        """The id of a file that was sent."""
        with open(path, "rb") as f:
            status, _, body = self.post(f"/upload?token={self.token}&name={urllib.parse.quote(os.path.basename(path))}", f.read())
        assert status == 201, (status, body)
        return json.loads(body)["file"]

    def memory(self):
        """Resident bytes."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def read_all(s):
    out = b""
    with contextlib.suppress(ConnectionResetError):
        while part := s.recv(1 << 16):
            out += part
    return out


def response_of(data):
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    status = int(lines[0].split()[1]) if lines[0].startswith("HTTP/") else 0
    return status, {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:])}, body


class WebSocket:
    """Client side of RFC 6455, whole text messages only."""

    def __init__(self, host, port, target, headers=(), timeout=HANG):
        self.socket = socket.create_connection((host, port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {target} HTTP/1.1", f"Host: {host}:{port}", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", *headers]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.unread, self.next_id, self.others = b"", 1, []
        while b"\r\n\r\n" not in self.unread:
            part = self.socket.recv(1 << 16)
            if not part:
                break
            self.unread += part
        self.status = response_of(self.unread)[0]
        self.unread = self.unread.partition(b"\r\n\r\n")[2]
        if self.status != 101:
            self.socket.close()

    def close(self):
        self.socket.close()

    def frame(self, data, opcode=1, is_last=True, is_masked=True):
        mask = os.urandom(4) if is_masked else b""
        size = len(data)
        head = bytes([(0x80 if is_last else 0) | opcode])
        flag = 0x80 if is_masked else 0
        head += bytes([flag | size]) if size < 126 else bytes([flag | 126]) + struct.pack(">H", size) if size < 65536 else bytes([flag | 127]) + struct.pack(">Q", size)
        if is_masked and size:
            repeated = (mask * (size // 4 + 1))[:size]
            data = (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
        self.socket.sendall(head + mask + data)

    def take(self, size):
        while len(self.unread) < size:
            part = self.socket.recv(1 << 18)
            if not part:
                raise ConnectionError("closed")
            self.unread += part
        out, self.unread = self.unread[:size], self.unread[size:]
        return out

    def receive(self):
        """The next message; answers pings."""
        message = b""
        while True:
            first, second = self.take(2)
            size = second & 0x7F
            if size > 125:
                size = struct.unpack(">H" if size == 126 else ">Q", self.take(2 if size == 126 else 8))[0]
            data, opcode = self.take(size), first & 0x0F
            if opcode == 8:
                raise ConnectionError(f"closed: {struct.unpack('>H', data[:2])[0] if data else ''}")
            if opcode == 9:
                self.frame(data, 10)
            elif opcode in (0, 1, 2):
                message += data
                if first & 0x80:
                    return message.decode()

    def send(self, **body):
        """Its id."""
        body = {"id": self.next_id} | body
        self.next_id += 1
        self.frame(json.dumps(body).encode())
        return body["id"]

    def wait(self, number, on_other=None):
        """The last answer to a message."""
        while True:
            answer = json.loads(self.receive())
            if answer.get("id") == number and answer.get("type") != "progress":
                return answer
            (on_other or self.others.append)(answer)

    def ask(self, **body):
        return self.wait(self.send(**body))


def talk(server, **keywords):
    out = WebSocket(server.host, server.port, f"/ws?token={server.token}", **keywords)
    assert out.status == 101, out.status
    return out


def until(condition, seconds=HANG, what="a condition"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.03)
    raise AssertionError(f"not within {seconds} s: {what}")
