"""Errors of sets of rows, and what is held out together."""
import collections

import numpy as np

from .profiles import device_of_system, family_of_device

KINDS = ("system", "family", "generation", "series")  # what cross-validation holds out


def family_of_model(name):
    """"bert", "resnet50"; two words where one says too little."""
    words = name.split("_")
    return "_".join(words[: 2 if words[0] in ("dle", "transformer", "tfde", "wide") or name.startswith("dlrm_dcnv2") else 1])


def quantiles(errors):
    return (len(errors), 100 * np.median(errors), 100 * np.quantile(errors, 0.9), 100 * errors.max()) if len(errors) else (0, 0, 0, 0)


def series_key(r):
    return (r["series"], r["model_id"], r["framework_id"], r["system_id"], r["precision"], r["accum"])


def scaling_errors(rows, predicted, measured):
    groups = collections.defaultdict(list)
    for i, r in enumerate(rows):
        groups[series_key(r)].append(i)
    out = []
    for members in groups.values():
        members.sort(key=lambda i: int(rows[i]["gpus"]))
        first = members[0]
        for i in members[1:]:
            if int(rows[i]["gpus"]) > int(rows[first]["gpus"]):
                out.append(abs(predicted[i] / predicted[first] / (measured[i] / measured[first]) - 1))
    return np.array(out)


RECOMMENDERS = ("dle_dlrm", "dle_dcnv2", "dlrm", "tfde", "torchrec")


def table(rows, predicted, measured):
    error = np.abs(predicted / measured - 1)
    sets = [
        ("all rows", lambda r: True),
        ("tier A", lambda r: r["tier"] == "A"),
        ("DLRM, DCNv2 and synthetic recommenders, several GPUs", lambda r: r["model_id"].startswith(RECOMMENDERS) and int(r["gpus"]) > 1),
        ("recommenders of all kinds, several nodes", lambda r: r["model_id"].startswith(RECOMMENDERS + ("wide_deep",)) and int(r["nodes"]) > 1),
        ("several nodes, all families", lambda r: int(r["nodes"]) > 1),
    ]
    lines = [(name, *quantiles(error[[i for i, r in enumerate(rows) if belongs(r)]])) for name, belongs in sets]
    lines.append(("scaling ratios within a series", *quantiles(scaling_errors(rows, predicted, measured))))
    return lines


def print_table(title, lines, out):
    print(f"\n{title}", file=out)
    for name, n, median, p90, worst in lines:
        print(f"  {name:<54} {n:>4}  median {median:5.1f} %  p90 {p90:5.1f} %  worst {worst:5.0f} %", file=out)


def configuration(r):
    return (r["model_id"], r["framework_id"], r["system_id"], r["precision"], r["nodes"], r["gpus"], r["global_batch"], r["accum"])


def series_groups(rows):
    """For each row the first of all rows that are connected to it by a series or an equal configuration."""
    first = list(range(len(rows)))

    def find(i):
        while first[i] != i:
            i = first[i]
        return i

    seen = {}
    for i, r in enumerate(rows):
        for key in (("series", r["series"]), configuration(r)):
            first[find(i)] = find(seen.setdefault(key, i))
    return [find(i) for i in range(len(rows))]


def folds_of(rows, kind):
    if kind == "system":
        return [r["system_id"] for r in rows]
    if kind == "family":
        return [family_of_model(r["model_id"]) for r in rows]
    if kind == "generation":
        return [str(family_of_device(device_of_system(r["system_id"]))) for r in rows]
    groups = series_groups(rows)
    order = {g: i % 6 for i, g in enumerate(sorted(set(groups)))}
    return [order[g] for g in groups]


def print_families(title, rows, predicted, measured, out):
    error = np.abs(predicted / measured - 1)
    families = [family_of_model(r["model_id"]) for r in rows]
    lines = [(f, *quantiles(error[[i for i, mine in enumerate(families) if mine == f]])) for f in sorted(set(families))]
    print_table(title + ", by family", lines, out)


def markdown_table(title, lines):
    out = [f"### {title}", "", "| set | cases | median | 90th percentile | worst |", "|---|---|---|---|---|"]
    out += [f"| {name} | {n} | {median:.1f} % | {p90:.1f} % | {worst:.0f} % |" for name, n, median, p90, worst in lines]
    return "\n".join(out) + "\n"
