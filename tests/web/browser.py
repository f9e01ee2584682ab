"""Chromium without a window, by its DevTools protocol."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import urllib.request

from client import WebSocket, until

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def program():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One tab. .said: errors on its console, exceptions, refused loads."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        self.process = subprocess.Popen(
            [program(), "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={self.folder}", "--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-default-browser-check", "--hide-scrollbars", "about:blank"],
            env={**os.environ, "TMPDIR": self.folder}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # it leaves files behind
        place = pathlib.Path(self.folder, "DevToolsActivePort")
        until(lambda: place.exists() and place.read_text().count("\n") >= 1, 90, "chromium starts")
        port = int(place.read_text().splitlines()[0])
        pages = until(lambda: [p for p in json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30)) if p["type"] == "page"], 30, "a tab")
        self.socket = WebSocket("127.0.0.1", port, "/devtools/page/" + pages[0]["id"], timeout=120)
        self.said, self.loads, self.next_id = [], [], 1
        for domain in ("Page", "Runtime", "Log", "Network", "DOM", "Accessibility"):
            self.call(domain + ".enable")

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **params):
        number, self.next_id = self.next_id, self.next_id + 1
        self.socket.frame(json.dumps({"id": number, "method": method, "params": params}).encode())
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def note(self, message):
        method, params = message.get("method", ""), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.said.append(params["exceptionDetails"].get("exception", {}).get("description", str(params)))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.said.append(str([a.get("value", a.get("description")) for a in params["args"]]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.said.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.loads.append(params["request"]["url"])

    def open(self, url):
        self.call("Page.navigate", url=url)

    def js(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"].get("exception", {}).get("description", str(result)))
        return result["result"].get("value")

    def text(self, selector):
        """Of what content-visibility leaves undrawn until it is near the window, too, which has no innerText before."""
        return self.js(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); return e?.innerText || e?.textContent || ''; }})()")

    def click(self, selector):
        """Waits until it is there: views come with scripts of their own."""
        self.wait_for(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e?.click(); return !!e; }})()", 20)

    def wait_for(self, expression, seconds=60):
        return until(lambda: self.js(expression), seconds, expression)

    def fill(self, selector, text, event="input"):
        """As typing does: a value and its event. Waits until it is there."""
        self.wait_for(f"""(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return false; e.focus();
            Object.getOwnPropertyDescriptor(Object.getPrototypeOf(e), 'value').set.call(e, {json.dumps(text)}); e.dispatchEvent(new Event('{event}', {{bubbles: true}})); return true; }})()""", 20)

    def press(self, key, code=0, modifiers=0):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, modifiers=modifiers, **({"text": key} if kind == "keyDown" and len(key) == 1 and not modifiers else {}))

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def size(self, width, height, is_phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone)

    def picture(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
