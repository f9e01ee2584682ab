#!/usr/bin/env python3
"""One answer to the bit, whatever may not change it: the number of threads, the locale, the order of folders, the vector units of the
machine's mathematics library, the time zone.

determinism_test.py DISTSIM SHUFFLE_SHIM                  a bounded sample, for the tests: all kinds of conditions at once, each in some run; where the
                                                          answer is another, one by one, to name what does it
determinism_test.py DISTSIM SHUFFLE_SHIM --all            every condition by itself
determinism_test.py DISTSIM SHUFFLE_SHIM --against OTHER  the plain run alone, by two builds: CI compares the release with the sanitized
                                                          one, which is compiled with -O1
determinism_test.py DISTSIM SHUFFLE_SHIM --digests FILE   also compare with the digests in FILE, which is made if it is not there:
                                                          scripts/determinism.sh does so for builds of two compilers at -O0 and -O3
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from jobs import ROOT, Job, jobs

# What glibc is told not to use: its exp, log and pow have variants for these units.
UNITS = {"all": "", "no AVX-512": "-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD", "no AVX2, no FMA": "-AVX512F,-AVX512VL,-AVX2,-FMA,-AVX2_Usable,-FMA_Usable",
         "SSE2 alone": "-AVX512F,-AVX512VL,-AVX2,-FMA,-AVX,-SSE4_2,-SSE4_1,-AVX2_Usable,-FMA_Usable,-FMA4"}
LOCALES = ["C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"]  # one that is not installed is C, which is as well


def conditions(everything: bool) -> dict[str, dict]:
    """Each by its name: threads, and the environment."""
    out = {"plain": {"threads": 1, "environment": {}}}
    for threads in range(2, 17) if everything else (2, 3, 16):
        out[f"{threads} threads"] = {"threads": threads, "environment": {}}
    for name in LOCALES[1:]:
        out[name] = {"threads": 2, "environment": {"LC_ALL": name, "LANG": name}}
    for seed in range(1, 9) if everything else (1, 2):
        out[f"folders shuffled {seed}"] = {"threads": 2, "environment": {"SHUFFLE_SEED": str(seed)}}
    for name, units in UNITS.items():
        if units:
            out[name] = {"threads": 1, "environment": {"GLIBC_TUNABLES": f"glibc.cpu.hwcaps={units}"}}
    out["another time zone"] = {"threads": 1, "environment": {"TZ": "Asia/Kathmandu"}}
    return out


def together(single: dict[str, dict]) -> dict[str, dict]:
    """Runs under several conditions each, one of a kind at most, which have all of `single`."""
    pick = {
        "16 threads, Turkish, SSE2 alone, shuffled": ["16 threads", "tr_TR.UTF-8", "folders shuffled 1", "SSE2 alone", "another time zone"],
        "3 threads, German, no AVX2, shuffled": ["3 threads", "de_DE.UTF-8", "folders shuffled 2", "no AVX2, no FMA"],
        "2 threads, UTF-8, no AVX-512": ["2 threads", "C.UTF-8", "no AVX-512"]}
    assert {n for names in pick.values() for n in names} | {"plain"} == set(single), "a condition that no run has"
    out = {"plain": single["plain"]}
    for title, names in pick.items():
        environment = {k: v for n in names for k, v in single[n]["environment"].items()}
        out[title] = {"threads": max(single[n]["threads"] for n in names[:1]), "environment": environment, "of": names}
    return out


def commands(folder: pathlib.Path) -> dict[str, Job]:
    """What is compared: all jobs, and a prediction of each shipped experiment."""
    shipped = {f"predict {path.stem}": Job(["--config", str(path), "--json", str(folder / "x.json")], [str(folder / "x.json")])
               for path in sorted((ROOT / "configs").glob("*.yaml"))}
    return jobs(folder) | shipped


# What a study says of itself every few seconds is that of the clock: "distsim: plan: 40 played, 12/s".
HOW_FAR = re.compile(rb"distsim: \w+: [\d,]+ (of [\d,]+ \w+|played)\b")


def digest(binary: str, shim: str, name: str, threads: int, environment: dict) -> str:
    """Of all that a command writes, with its folder's name left out."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("DISTSIM", "LC_", "LANG"))}
    if "SHUFFLE_SEED" in environment:
        environment = environment | {"LD_PRELOAD": shim}
    with tempfile.TemporaryDirectory() as folder:
        job = commands(pathlib.Path(folder))[name]
        args = list(job.args)
        if job.threads:
            args[args.index("--jobs") + 1] = str(threads)
        r = subprocess.run([binary, *args], capture_output=True, timeout=600, env=clean | environment)
        if r.returncode != 0:
            sys.exit(f"{name}: {r.stderr.decode()}")
        said = b"".join(line for line in r.stderr.splitlines(keepends=True) if not HOW_FAR.match(line))
        parts = [r.stdout, said] + [pathlib.Path(p).read_bytes() for p in job.outputs]
        return hashlib.sha256(b"\0".join(p.replace(folder.encode(), b"").replace(str(ROOT).encode(), b"") for p in parts)).hexdigest()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("shim")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--digests")
    parser.add_argument("--against")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        all_jobs = commands(pathlib.Path(folder))
    chosen = {"plain": {"threads": 1, "environment": {}}, options.against: {"threads": 2, "environment": {}}} if options.against else conditions(True) if options.all else together(conditions(False))
    cases = [(name, condition, c) for condition, c in chosen.items() for name, job in all_jobs.items()
             if options.all or options.against or c["threads"] == 1 or job.threads or c["environment"]]

    def digest_of(case):
        name, condition, c = case
        return digest(condition if condition == options.against else options.binary, options.shim, name, c["threads"], c["environment"])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        digests = list(pool.map(digest_of, cases))
    plain = {name: d for (name, condition, _), d in zip(cases, digests) if condition == "plain"}
    differing = []
    for (name, condition, c), d in zip(cases, digests):
        if d == plain[name]:
            continue
        alone = [n for n in c.get("of", []) if digest_of((name, n, conditions(False)[n])) != plain[name]]
        differing.append(f"{name}: another answer with {', '.join(alone) or condition}")
    if options.digests and pathlib.Path(options.digests).exists():
        known = json.loads(pathlib.Path(options.digests).read_text())
        differing += [f"{name}: another answer than {options.digests} has" for name in plain if known.get(name) != plain[name]]
    elif options.digests:
        pathlib.Path(options.digests).write_text(json.dumps(plain, indent=1) + "\n")
    print(f"{len(cases)} runs of {len(plain)} commands, {len(differing)} differ")
    print("\n".join(differing))
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
