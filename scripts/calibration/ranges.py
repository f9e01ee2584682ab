"""Half-widths of [low, high], and whether what was measured lies within."""
import numpy as np

from .fit import weights_of
from .tables import family_of_model, folds_of

INSIDE = 0.8  # share of the measured times that [low, high] is meant to hold
STRANGER = 3  # systems of a framework that nobody knows, which the systems of one's own are counted against
NO_TWO_ALIKE = 0.05  # no two machines are closer than that


def weighted_quantile(values, weights, share):
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, share * reached[-1])])


def widths_needed(rows, predicted, measured):
    """Half-width u of each row with which the end of [low, high] = hypot(u, range of the costs) lies on what was measured. `rows` carry low_ms and high_ms
    from the costs only, of predictions with other factors: their relative widths count."""
    costs = np.array([1 - float(r["low_ms"]) / float(r["predicted_ms"]) if m < p else float(r["high_ms"]) / float(r["predicted_ms"]) - 1
                      for r, p, m in zip(rows, predicted, measured)])
    return np.sqrt(np.maximum(0, (measured / predicted - 1) ** 2 - costs**2))


def uncertainties(rows, needed, taking_part):
    """The half-width of each framework, and of one that has no rows (key None), from the rows that take part. What holds INSIDE of a framework's own rows is
    weighed by the number of its systems; the width of a stranger, which INSIDE of the frameworks do not exceed, counts as STRANGER systems."""
    weight = weights_of(rows) * taking_part
    frameworks = np.array([r["framework"] for r in rows])
    own, systems = {}, {}
    for f in sorted(set(frameworks[weight > 0])):
        mine = frameworks == f
        own[f] = weighted_quantile(needed[mine], weight[mine], INSIDE)
        systems[f] = len({r["system_id"] for r, w in zip(rows, weight * mine) if w > 0})
    stranger = float(np.quantile(list(own.values()), INSIDE))
    out = {f: max(NO_TWO_ALIKE, (systems[f] * own[f] + STRANGER * stranger) / (systems[f] + STRANGER)) for f in own}
    return {**out, None: stranger}


def inside(rows, needed, folds):
    """Whether each row is within its range, the width of its framework found without its fold."""
    out = np.zeros(len(rows), bool)
    for fold in sorted(set(folds)):
        mine = folds == fold
        widths = uncertainties(rows, needed, ~mine)
        out[mine] = [needed[i] <= widths.get(rows[i]["framework"], widths[None]) for i in np.flatnonzero(mine)]
    return out


def extra_of_a_generation(rows, needed, usual):
    """What is added in squares to the width of a framework on a GPU whose generation no row knows, so that INSIDE of the rows are within when their
    generation is held out (`needed`); `usual`: widths needed with systems held out."""
    generations = np.array(folds_of(rows, "generation"))
    missing = np.zeros(len(rows))
    for generation in sorted(set(generations)):
        widths = uncertainties(rows, usual, generations != generation)
        for i in np.flatnonzero(generations == generation):
            missing[i] = np.sqrt(max(0, needed[i] ** 2 - widths.get(rows[i]["framework"], widths[None]) ** 2))
    return weighted_quantile(missing, np.ones(len(rows)), INSIDE)


def range_table(rows, results, measured, costs_of):
    """Markdown: share of the measured times in the range, by family, with systems and with families held out."""
    families = np.array([family_of_model(r["model_id"]) for r in rows])
    held = {}
    for kind in ("system", "family"):
        held[kind] = inside(rows, widths_needed(costs_of, results[kind], measured), np.array(folds_of(rows, kind)))
    out = ["| family | cases | systems held out | families held out |", "|---|---|---|---|"]
    for name, mine in [("all", np.full(len(rows), True))] + [(f, families == f) for f in sorted(set(families))]:
        out.append(f"| {name} | {mine.sum()} | " + " | ".join(f"{100 * held[kind][mine].mean():.0f} %" for kind in ("system", "family")) + " |")
    return "\n".join(out) + "\n"
