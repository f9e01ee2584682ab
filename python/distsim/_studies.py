"""Many predictions: sweep, plan, compare."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence

from . import _distsim
from ._errors import ConfigError, shown
from ._experiment import (Config, Sets, about, count_of, experiment_of, flag_of, number_of, path_text, text_of, texts_of,
                          variant_of, vary_texts)
from ._report import Record, Table, _attribute, framed


class Sweep(Table):
    """The points of a sweep, the first key varying slowest. A row has the swept keys, nodes, gpus, global_batch, iteration_ms,
    low_ms, high_ms, samples_per_s, tokens_per_s_per_gpu, compute_ms, exposed_comm_ms, waiting_ms, host_bound_ms, idle_ms, mfu,
    memory_gb, fits, speedup, efficiency, limited_by, and error, which is empty where the point has a prediction; figures are
    None where it has none."""

    def __init__(self, sweep: _distsim.Sweep, keep: object = None) -> None:
        super().__init__([sweep.point(i) for i in range(sweep.size())])
        self._sweep = sweep
        self._keep = keep  # files of captured graphs, which without_effect reads again
        self.keys: List[str] = sweep.keys()

    @property
    def without_effect(self) -> List[str]:
        """What was asked and changes none of the points, in lines that begin with the argument: "vary parallel.tensor: no effect at
        any point", "set model.accumulation=2: no effect on the prediction" (of a large sweep "on the 16 predictions tried"), "scaling: no
        effect, ...". The first look takes some predictions for each key of ``set`` and point."""
        return self._sweep.without_effect()

    def best(self, figure: str = "samples_per_s") -> Record:
        """The row with the largest figure, of those that fit; where none does, of all that have a prediction."""
        rows = [row for row in self._rows if not row["error"]]
        rows = [row for row in rows if row["fits"] is not False] or rows
        self.column(figure)
        return Record(max(rows, key=lambda row: float(row[figure])))

    def to_csv(self) -> str:
        """The bytes of ``distsim sweep --csv``, in UTF-8."""
        return self._sweep.csv()

    def to_html(self) -> str:
        """A self-contained page with charts: ``distsim sweep --html``."""
        return self._sweep.html()

    def __str__(self) -> str:
        return self._sweep.text()

    def _repr_html_(self) -> str:
        return framed(self.to_html(), 700)


def sweep(config: Config, vary: Mapping[str, Any], *, set: Sets = None, scaling: Optional[str] = None, jobs: int = 0) -> Sweep:
    """Predicts every combination of the values of some keys.

    config    path of an experiment, or the experiment as a dict
    vary      {"cluster.nodes": [1, 2, 4, 8]}: values as in ``set``; a text may be a range: "1..64:x2", "1..9:2"
    scaling   "strong": the global batch stays; "weak": the samples per GPU stay; None: whichever of them the experiment gives
    jobs      threads, 0 to 256; 0: as many as the process has cores to itself

    speedup = samples/s over that of the point with the fewest GPUs and else the same values; efficiency = speedup over the growth
    in GPUs, 1 is perfect. At most 10,000,000 points. Raises ConfigError, also where no point has a prediction."""
    if scaling not in (None, "strong", "weak"):
        raise ConfigError(f"scaling: found {shown(scaling)}, expected 'strong', 'weak' or None")
    axes = vary_texts(vary, "vary")
    experiment = experiment_of(config, set)
    with about(config):
        return Sweep(_distsim.sweep(experiment, axes, scaling or "", count_of(jobs, "jobs", 0, 256)), (config, vary, set))


class Plan(Table):
    """The best ways to run an experiment. A row has sets (the keys that make it, as a dict of texts), placement, iteration_ms (None
    where there is an error), fits (False where the GPUs lack the memory) and error ("memory", or why there is no prediction).
    placement is empty but for recommenders, whose rows it makes together with sets: where the tables lie, the text of a file that
    ``parallel.placement_file`` names. Attributes of the plan are the keys of ``to_dict()``."""

    def __init__(self, plan: _distsim.Plan, keep: object = None) -> None:
        rows: List[Dict[str, Any]] = []
        for sets, placement, iteration_ms, fits, error in plan.rows():
            keys = dict(one.split("=", 1) for one in sets)
            rows.append({"sets": keys, "placement": placement, "iteration_ms": None if error else iteration_ms, "fits": fits,
                         "error": error})
        super().__init__(rows)
        self._plan = plan
        self._keep = keep  # files of captured graphs, which without_effect reads again
        self._data: Optional[Dict[str, Any]] = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._data is None:
            self._data = self.to_dict()
        return _attribute(self._data, name, "the plan")

    @property
    def without_effect(self) -> List[str]:
        """What was asked and changes none of the rows, in lines that begin with the argument: "vary framework.gradients.bucket_size: no
        effect on any row", "set model.accumulation=2: no effect on the 5 predictions tried", "top: no effect, no more were played". An argument
        that has its default value counts as not given. The first look takes some predictions for each key of ``set``."""
        return self._plan.without_effect()

    def to_dict(self) -> Dict[str, Any]:
        return json.loads(self.to_json())  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The bytes of ``distsim plan --json``, in UTF-8."""
        return self._plan.json()

    def to_csv(self) -> str:
        """The bytes of ``distsim plan --csv``, in UTF-8."""
        return self._plan.csv()

    def to_html(self) -> str:
        return self._plan.html()

    def __str__(self) -> str:
        return self._plan.text()

    def _repr_html_(self) -> str:
        return framed(self.to_html(), 700)


def plan(config: Config, *, set: Sets = None, vary: Optional[Mapping[str, Any]] = None, gpus: str = "", objective: str = "",
         pareto: str = "", top: int = 10, exhaustive: bool = False, max_played: int = 0, draws: int = 0, jobs: int = 1,
         price_per_gpu_hour: float = 0, tokens: float = 0, samples: float = 0, constraints: str = "",
         least_columns: int = 0) -> Plan:
    """Finds the best layout of a model on its cluster.

    vary         {key: values} to choose from; None: what the framework offers
    gpus         numbers of GPUs to choose from: "64,96", or "64..1024" in powers of two
    objective    what is least, of a sample: "time" (as without), "cost", "energy" or "memory"
    pareto       two of these: "time,memory": all rows that nothing beats in both
    draws        layouts drawn at random, to say where the experiment stands
    tokens, samples, price_per_gpu_hour   what is trained on and what a GPU costs, for cost and energy

    Raises ConfigError, also where nothing fits, with the smallest change found that would."""
    experiment = experiment_of(config, set)
    rest = {
        "gpus": text_of(gpus, "gpus"), "objective": text_of(objective, "objective"), "pareto": text_of(pareto, "pareto"),
        "top": count_of(top, "top", 1, 100_000), "exhaustive": flag_of(exhaustive, "exhaustive"),
        "max_played": count_of(max_played, "max_played"), "draws": count_of(draws, "draws", 0, 100_000),
        "jobs": count_of(jobs, "jobs", 1, 256), "price_per_gpu_hour": number_of(price_per_gpu_hour, "price_per_gpu_hour"),
        "tokens": number_of(tokens, "tokens"), "samples": number_of(samples, "samples"),
        "constraints": path_text(constraints, "constraints") if constraints else "",
        "least_columns": count_of(least_columns, "least_columns", 0, 1 << 20),
    }
    with about(config):
        return Plan(_distsim.plan(experiment, vary_texts(vary, "vary", every_point=False), rest), (config, set, vary))


class Comparison(Table):
    """Experiments side by side. A row has name, iteration_ms, and ratio: its time per sample over that of the first, with low
    and high, in which errors that both predictions share cancel."""

    def __init__(self, comparison: _distsim.Comparison, keep: object = None) -> None:
        names = ("name", "iteration_ms", "ratio", "low", "high")
        super().__init__([dict(zip(names, side)) for side in comparison.sides()])
        self._comparison = comparison
        self._keep = keep  # files of captured graphs, which without_effect reads again

    @property
    def without_effect(self) -> List[str]:
        """Keys of ``set`` that change no side, and keys of ``variants`` that change nothing of theirs, in lines: "set
        model.accumulation=2: no effect on the prediction". The first look takes some predictions for each of these keys."""
        return self._comparison.without_effect()

    def to_csv(self) -> str:
        """The bytes of ``distsim compare --csv``, in UTF-8."""
        return self._comparison.csv()

    def to_html(self) -> str:
        return self._comparison.html()

    def __str__(self) -> str:
        return self._comparison.text()

    def _repr_html_(self) -> str:
        return framed(self.to_html(), 900)


def compare(*configs: Config, set: Sets = None, variants: Optional[Mapping[str, Mapping[str, Any]]] = None) -> Comparison:
    """Compares experiments with the first: inputs that differ, where the time goes, the range of the ratio.

    configs    two or more experiments, each with ``set`` laid on it; or one and
    variants   {"8 nodes": {"cluster.nodes": 8}}: the experiment itself is compared with it under each of these

    Raises ConfigError."""
    if not configs:
        raise TypeError("compare() takes at least one experiment")
    sides = []
    for i, config in enumerate(configs):
        name = os.fspath(config) if isinstance(config, (str, os.PathLike)) else f"experiment {i + 1}"
        sides.append((str(name), experiment_of(config, set)))
    if variants is not None:
        if len(configs) > 1:
            raise ConfigError(f"variants: found {len(configs)} experiments, expected one")
        if not isinstance(variants, Mapping):
            raise TypeError(f"variants: found {type(variants).__name__}, expected a dict of dicts")
        for title, sets in variants.items():
            sides.append((text_of(title, "variants"), variant_of(configs[0], set, sets)))
    as_dict = next((config for config in configs if isinstance(config, Mapping)), configs[0])  # an error names the side
    with about(as_dict):
        return Comparison(_distsim.compare(sides), (configs, set, variants))


