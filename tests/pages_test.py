#!/usr/bin/env python3
"""The scripts of pages are what their sources make, the lockfile names no host, and a page is small and loads nothing.

pages_test.py DISTSIM     The comparison needs npm and web/node_modules (npm ci in web); it is left out where they are absent.
"""
import gzip
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
CONFIG = ROOT / "configs/dgx_a100_4node.yaml"


def page(binary, *words):
    done = subprocess.run([binary, "sweep", "--config", str(CONFIG), *words, "--html", "-"], capture_output=True, check=True, timeout=120)
    return done.stdout.decode()


def main():
    assert "://" not in (WEB / "package-lock.json").read_text().replace("https://opencollective.com", "").replace("https://github.com", ""), \
        "web/package-lock.json names a host: npm config set omit-lockfile-registry-resolved true"
    built = (WEB / "dist/study_page.js").read_text()
    for words in (["--set", "model.global_batch=8192,16384"], ["--set", "cluster.nodes=1,2", "--set", "model.global_batch=8192,16384"],
                  ["--set", "cluster.nodes=1,2", "--set", "model.global_batch=8192,16384", "--set", "engine.contention=true,false"],
                  ["--set", "cluster.nodes=1..8", "--set", "model.global_batch=1024..65536:64"]):
        text = page(sys.argv[1], *words)
        assert built in text and len(text.encode()) < 1_000_000, f"a page of {len(text.encode())} bytes"
        rest = text.replace(built, "")
        assert not re.search(r"(src|href)=|@import|url\(|https?:", rest), "a page that loads something"
    served = sum(len(gzip.compress((WEB / "dist" / name).read_bytes())) for name in ("index.html", "app.js", "app.css", "icon.svg"))
    assert served < 400_000, f"the page of distsim serve takes {served} bytes, compressed"
    for name in ("index.html", "icon.svg"):
        assert (WEB / "dist" / name).read_bytes() == (WEB / "src/app" / name).read_bytes(), f"web/dist/{name}: npm run build in web"
    hostile = page(sys.argv[1], "--set", "title=</script><script>alert(1)</script>", "--set", "framework.name=pytorch_dlrm,</script><img>").replace(built, "")
    assert "<img>" not in hostile and "<script>alert" not in hostile, "text of the user's became markup"
    if not shutil.which("npx") or not (WEB / "node_modules").is_dir():
        print("dist/study_page.js: not compared, no npm or no web/node_modules")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for script, name in (("study", "study_page.js"), ("app", "app.js"), ("style", "app.css")):
            out = pathlib.Path(folder) / name
            subprocess.run(["npm", "run", "-s", script, "--", f"--outfile={out}"], cwd=WEB, check=True, capture_output=True, timeout=300)
            assert out.read_text() == (WEB / "dist" / name).read_text(), f"web/dist/{name} is not what web/src makes: npm run build in web"
    subprocess.run(["npm", "run", "-s", "check"], cwd=WEB, check=True, timeout=300)
    return 0


if __name__ == "__main__":
    sys.exit(main())
