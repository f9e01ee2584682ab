#!/usr/bin/env python3
"""The script of all pages is what its sources make, the lockfile names no host, and pages are small, load nothing and hold what --json writes.

pages_test.py DISTSIM     The comparison needs npm and web/node_modules (npm ci in web); it is left out where they are absent.
"""
import csv
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
CONFIG = ROOT / "configs/dgx_a100_4node.yaml"
PIPELINE = ROOT / "configs/megatron_gpt_145b.yaml"
MOST_BYTES = 1_000_000
CLASSES = "classes=[{name: gold, weight: 1, priority: 5, deadline: 40 ms}, {name: other, weight: 3}]"


def page(binary, *words):
    done = subprocess.run([binary, *map(str, words), "--html", "-"], capture_output=True, check=True, timeout=120)
    return done.stdout.decode()


def split(text):
    """The page without its script and style sheet, and what its components show."""
    for name in ("page.js", "page.css"):
        shared = (WEB / "dist" / name).read_text()
        assert shared in text, f"a page without web/dist/{name}"
        text = text.replace(shared, "")
    found = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', text, re.S)
    return text, json.loads(found.group(1))


def checked(binary, *words):
    text = page(binary, *words)
    assert len(text.encode()) < MOST_BYTES, f"a page of {len(text.encode())} bytes"
    own, data = split(text)
    assert not re.search(r"(src|href)=|@import|url\(|https?:", own), "a page that loads something"
    assert "default-src 'none'" in own and own.count("<script") == 2, "a page without its policy, or with a script of its own"
    printed = re.search(r"<noscript><pre>(.*?)</pre></noscript>", own, re.S).group(1)
    assert len(printed.strip()) > 20, "nothing to read without scripts"
    return data


def report_page(binary, folder):
    for config in (CONFIG, PIPELINE):
        files = [str(pathlib.Path(folder, name)) for name in ("r.html", "r.json")]
        subprocess.run([binary, "--config", str(config), "--html", files[0], "--json", files[1]], capture_output=True, check=True, timeout=120)
        text = pathlib.Path(files[0]).read_text()
        assert len(text.encode()) < MOST_BYTES, f"{config.name}: a page of {len(text.encode())} bytes"
        data, whole = split(text)[1], json.loads(pathlib.Path(files[1]).read_text())
        assert data["kind"] == "report" and (data["schedule"] is None) == (config == CONFIG)
        for key, value in whole.items():
            if key not in ("critical_path", "ranks"):  # of which a page holds only as many as somebody reads
                assert data["report"][key] == value, f"{config.name}: {key} differs from --json"
        assert data["report"]["critical_path"] == whole["critical_path"][:2000] and data["report"].get("path_steps", len(data["report"]["critical_path"])) == len(whole["critical_path"])
        assert data["timeline"]["tracks"] and data["links"]["levels"]


def main():
    binary = sys.argv[1]
    assert "://" not in (WEB / "package-lock.json").read_text().replace("https://opencollective.com", "").replace("https://github.com", ""), \
        "web/package-lock.json names a host: npm config set omit-lockfile-registry-resolved true"
    sweep = ["sweep", "--config", CONFIG]
    for words, axes in ((["--set", "model.global_batch=8192,16384"], 1), (["--set", "cluster.nodes=1,2", "--set", "model.global_batch=8192,16384"], 2),
                        (["--set", "cluster.nodes=1,2", "--set", "model.global_batch=8192,16384", "--set", "engine.contention=true,false"], 3),
                        (["--set", "cluster.nodes=1..8", "--set", "model.global_batch=1024..65536:64"], 2)):
        data = checked(binary, *sweep, *words)
        assert data["kind"] == "sweep" and len(data["axes"]) == axes and data["points"]
    with tempfile.TemporaryDirectory() as folder:
        report_page(binary, folder)
    data = checked(binary, "sensitivity", "--config", CONFIG)
    whole = json.loads(subprocess.run([binary, "sensitivity", "--config", str(CONFIG), "--json", "-"], capture_output=True, check=True, timeout=120).stdout)
    assert data["kind"] == "sensitivity" and data["result"] == whole
    data = checked(binary, "--config", ROOT / "configs/bert_large_dgx_a100.yaml", "--set", "cluster.nodes=4")  # thousands of steps
    assert all(len(n) < 3 or data["timeline"]["arg_sets"][n[2]]["op"] for n in data["timeline"]["names"])
    with tempfile.TemporaryDirectory() as folder:  # 10,000 kernels of 10,000 names
        large = pathlib.Path(folder, "large.yaml")
        large.write_text("cluster: {system: dgx_h100, nodes: 4}\nmodel: {name: gpt_1t, global_batch: 256, memory_check: false}\nframework: {name: pytorch}\n")
        data = checked(binary, "predict", "--config", large)
        assert len(data["timeline"]["names"]) > 2000 and data["timeline"]["total"] > 10_000
        checked(binary, "compare", large, ROOT / "configs/bert_large_dgx_a100.yaml")
    data = checked(binary, "compare", CONFIG, ROOT / "configs/dlrm_skewed_2node.yaml")
    assert data["kind"] == "compare" and [s["letter"] for s in data["sides"]] == ["A", "B"]
    data = checked(binary, "plan", "--config", PIPELINE)
    assert data["kind"] == "plan" and data["plan"]["rows"]
    traces = ROOT / "tests/data/traces"
    data = checked(binary, "profile", traces / "hta/resnet_a100_ncclmeta_rank0of2.json.gz")
    whole = json.loads(subprocess.run([binary, "profile", str(traces / "hta/resnet_a100_ncclmeta_rank0of2.json.gz"), "--json", "-"], capture_output=True, check=True, timeout=120).stdout)
    assert data["kind"] == "profile" and [r["rank"] for r in data["profile"]["ranks"]] == [r["rank"] for r in whole["ranks"]]
    for mine, theirs in zip(data["profile"]["ranks"], whole["ranks"]):
        for name in ("steps", "tree", "ops", "kernels", "variants"):
            assert mine[name] == theirs[name][:len(mine[name])] and mine["rows"][name] == len(theirs[name]), f"profile: {name} differ from --json"
        assert mine["kernels"], "a profile without kernels"
    data = checked(binary, "serving", "--config", ROOT / "configs/serving/two_gpus.yaml", "--set", "load.requests=2000", "--set", "run.rates_per_s=[200,400]", "--set", CLASSES)
    assert data["kind"] == "serving" and {"class gold", "class other"} <= set(data["rows"]) and len({p["rate_per_s"] for p in data["points"]}) == 2
    assert all(len(p["rows"]) == len(data["rows"]) for p in data["points"])
    serving = ["sweep", "--config", ROOT / "configs/serving/two_gpus.yaml", "--set", "load.requests=500"]
    data = checked(binary, *serving, "--set", "load.rate_per_s=200,3000", "--set", "batching.size=1,0")
    rows = list(csv.DictReader(subprocess.run([binary, *map(str, serving), "--set", "load.rate_per_s=200,3000", "--set", "batching.size=1,0", "--csv", "-"], capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()))
    assert data["kind"] == "serving_sweep" and [a["name"] for a in data["axes"]] == ["rate_per_s", "size", "policy"] and len(data["points"]) > 4
    names, played = [f["name"] for f in data["figures"]], [r for r in rows if r["p99_ms"]]
    whole = {"rate_per_s": "load.rate_per_s", "size": "batching.size"}
    for point in data["points"]:
        values = {a["name"]: a["values"][i] for a, i in zip(data["axes"], point)}
        row = next(r for r in played if all(r[whole.get(k, k)] == v for k, v in values.items()))
        for name, value in zip(names, point[len(data["axes"]):-1]):
            assert abs(value - float(row[name])) <= 1e-5 * abs(value), (values, name, value, row[name])
        assert (point[-1] == 3) == bool(row["saturates_at_per_s"])
    assert "batching.size" in data["reasons"], "why there are no points of size 0"
    data = checked(binary, *serving, "--set", "run.rates_per_s=[200,400]", "--set", "gpus.1.speed=1,2")
    assert [a["name"] for a in data["axes"]] == ["speed", "offered/s", "policy"] and data["axes"][1]["values"] == ["200", "400"]
    run = ROOT / "tests/traces/data/formats/host.prof.json"
    data = checked(binary, "hugectr", "scaling", "--run", f"a={run}", "--run", f"b={run}")
    assert data["kind"] == "hugectr" and [r["name"] for r in data["runs"]] == ["a", "b"] and data["events"]
    served = sum(len(gzip.compress(file.read_bytes())) for file in (WEB / "dist").iterdir() if file.name not in ("page.js", "page.css", "style.sha256", "LICENSES.txt"))
    assert served < 400_000, f"the page of distsim serve takes {served} bytes, compressed"
    hostile = split(page(binary, *sweep, "--set", "title=</script><script>alert(1)</script>", "--set", "framework.name=pytorch_dlrm,</script><img>"))[0]
    assert "<img>" not in hostile and "<script>alert" not in hostile, "text of the user's became markup"
    if not shutil.which("npx") or not (WEB / "node_modules").is_dir():
        print("web/dist: not compared with its sources, no npm or no web/node_modules")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "run", "-s", "build", "--", folder], cwd=WEB, check=True, capture_output=True, timeout=300)
        made, kept = ({file.name: file.read_bytes() for file in pathlib.Path(place).iterdir()} for place in (folder, WEB / "dist"))
        assert sorted(made) == sorted(kept), f"web/dist is not what web/src makes, npm run build in web: {sorted(set(made) ^ set(kept))}"
        for name, text in made.items():
            assert text == kept[name], f"web/dist/{name} is not what web/src makes: npm run build in web"
    for script in ("check", "test"):
        subprocess.run(["npm", "run", "-s", script], cwd=WEB, check=True, timeout=300)
    return 0


if __name__ == "__main__":
    sys.exit(main())
