#!/usr/bin/env python3
"""plan_regret.py DISTSIM CASES CHOICE_SETS: what it costs to take the plan that distsim predicts to be fastest, of plans that were
measured on one system: the measured time of its choice over that of the best, and how many of the pairs that differ by 5 % it orders
rightly. CASES and CHOICE_SETS are tables of published steps (tests/data has samples of both)."""
import collections
import csv
import itertools
import pathlib
import statistics
import subprocess
import sys
import tempfile
import typing

NOTICED = 1.05  # pairs of plans whose measured times differ by less are not counted
LAYOUT = ("parallel.tensor", "parallel.sequence_parallel", "parallel.context", "parallel.pipeline", "parallel.virtual_stages",
          "parallel.expert", "parallel.data", "parallel.shard", "parallel.shard_group", "parallel.micro_batch", "model.global_batch",
          "parallel.recompute", "finetune")


def rows_of(path: str) -> list[dict]:
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def cases_of_plans(cases: list[dict], plans: list[dict]) -> list[dict]:
    """A case for each plan: its own, or where it was not timed that of another plan of its set with its layout."""
    by_id = {c["case_id"]: c for c in cases}
    sets = collections.defaultdict(list)
    for p in plans:
        sets[p["set_id"]] += [by_id[c] for c in p["case_ids"].replace(",", ";").split(";") if c.strip() in by_id]
    out = []
    for p in plans:
        own = [by_id[c.strip()] for c in p["case_ids"].replace(",", ";").split(";") if c.strip() in by_id]
        if not own and not sets[p["set_id"]]:
            continue
        case = dict((own or sets[p["set_id"]])[0])
        if not own:
            case |= {k: p[k] for k in LAYOUT if k in case and k in p}
        out.append(case | {"case_id": p["plan"], "measured_ms": ""})
    return out


def predicted(distsim: str, cases: list[dict]) -> dict[str, dict]:
    with tempfile.TemporaryDirectory() as folder:
        table, out = pathlib.Path(folder, "cases.csv"), pathlib.Path(folder, "out.csv")
        with table.open("w", newline="") as f:
            writer = csv.DictWriter(f, list(cases[0]))
            writer.writeheader()
            writer.writerows(cases)
        subprocess.run([distsim, "validate", "--cases", table, "--csv", out], check=True, capture_output=True)
        return {r["case_id"]: r for r in rows_of(str(out))}


def time_of(plan: dict, answers: dict[str, dict]) -> float | None:
    """Predicted milliseconds of a sample; none where it is said not to fit."""
    answer = answers.get(plan["plan"], {})
    return float(answer["predicted_ms"]) / float(plan["model.global_batch"]) if answer.get("predicted_ms") else None


def right_pairs(ran: list[dict], times: dict[str, float]) -> tuple[int, int]:
    right = all_pairs = 0
    for a, b in itertools.combinations(ran, 2):
        fast, slow = sorted((a, b), key=lambda p: float(p["ms_per_sample"]))
        if float(slow["ms_per_sample"]) < NOTICED * float(fast["ms_per_sample"]):
            continue
        all_pairs += 1
        right += times.get(fast["plan"], 1e99) < times.get(slow["plan"], 1e99)
    return right, all_pairs


class Judged(typing.NamedTuple):
    """A set of plans: what its choice loses (infinite where that plan did not run), and its pairs."""
    name: str
    plans: int
    lost: float | None  # none where no plan is predicted or none ran
    right: int
    pairs: int
    taken: str


def judged(distsim: str, cases: pathlib.Path, choices: pathlib.Path) -> list[Judged]:
    plans = rows_of(choices)
    answers = predicted(distsim, cases_of_plans(rows_of(cases), plans))
    sets = collections.defaultdict(list)
    for p in plans:
        sets[p["set_id"]].append(p)
    out = []
    for name, members in sets.items():
        times = {p["plan"]: t for p in members if (t := time_of(p, answers)) is not None}
        ran = [p for p in members if p["outcome"] == "ran"]
        if not times or not ran:
            out.append(Judged(name, len(members), None, 0, 0, ""))
            continue
        choice = min(members, key=lambda p: times.get(p["plan"], 1e99))
        lost = float(choice["ratio_to_best"]) - 1 if choice["outcome"] == "ran" else float("inf")
        out.append(Judged(name, len(members), lost, *right_pairs(ran, times), choice["plan"].rsplit("/", 1)[-1]))
    return out


def main() -> None:
    sets = judged(*sys.argv[1:4])
    print(f"{'set':<58} plans  time lost  pairs in order  taken")
    for s in sets:
        known = "not predicted" if s.lost is None else f"{100 * s.lost:>8.1f} % {s.right:>8} of {s.pairs:<5} {s.taken}"
        print(f"{s.name:<58} {s.plans:>5} {known}")
    lost = [s.lost for s in sets if s.lost is not None]
    right, pairs = sum(s.right for s in sets), sum(s.pairs for s in sets)
    print(f"\n{len(lost)} sets: time lost median {100 * statistics.median(lost):.1f} %, worst {100 * max(lost):.1f} %; "
          f"{right} of {pairs} pairs that differ by 5 % in the right order ({100 * right / max(1, pairs):.0f} %)")


if __name__ == "__main__":
    main()
