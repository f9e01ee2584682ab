"""How long one iteration of distributed training takes on a GPU cluster, and why: predictions without a GPU.

    >>> import distsim
    >>> report = distsim.predict("configs/dgx_a100_4node.yaml", set={"cluster.nodes": 8})
    >>> report.iteration_ms, report.limited_by

Functions release the GIL and may be called by several threads. Bad input is a ConfigError with file, line and column; Ctrl-C ends
a long call. Guide: docs/python.md; keys of experiments: docs/config_reference.md; of reports: docs/report_schema.md."""
from __future__ import annotations

from typing import List, Optional

from . import _distsim
from ._capture import Graph, capture
from ._costs import CollectiveCosts, OpCost, Replay, cost_collective, cost_op, replay
from ._errors import ConfigError
from ._experiment import CALLED, Config, Sets, count_of, experiment_of, text_of, without_place
from ._report import Record, Report, Table
from ._serving import Serving, ServingPolicy, ServingState, serving
from ._studies import Comparison, Plan, Sweep, compare, plan, sweep

__all__ = ["CollectiveCosts", "Comparison", "Config", "ConfigError", "Graph", "OpCost", "Plan", "Record", "Replay", "Report", "Serving",
           "ServingPolicy", "ServingState", "Sets", "Sweep", "Table", "capture", "compare", "config_folders", "cost_collective", "cost_op", "names", "plan", "predict", "replay",
           "serving", "sweep"]
__version__: str = _distsim.version()


def predict(config: Config, *, set: Sets = None, trials: int = 0, seed: Optional[int] = None) -> Report:
    """Time of one training iteration in steady state, and where it goes: what ``distsim predict`` does.

    config   path of an experiment, or the experiment as a dict: {"cluster": {"system": "dgx_a100_80gb", "nodes": 4},
             "model": {"name": "dlrm_mlperf"}, "framework": {"name": "pytorch"}}. Relative paths in a file start from its folder,
             those in a dict from the working directory.
    set      {"cluster.nodes": 8}: overrides any key, as ``--set`` does. A text is read as it would be there: "8" is a number,
             "25 GB/s" a bandwidth, "[1, 2]" a list.
    trials   iterations with randomized op, link and rank speeds, 0 to 1,000,000; percentiles in report.trials
    seed     of the trials, 1 where none is given; without trials it would change nothing and is refused

    Times of the report are in milliseconds. iteration = compute + exposed communication + waiting + host-bound + idle (means over
    ranks). Files and cost models are kept between calls, and read again when they change. Raises ConfigError."""
    try:
        prediction = _distsim.predict_plain(config, set, CALLED) if trials == 0 and seed is None else None
        if prediction is None:
            count = count_of(trials, "trials", 0, 1_000_000)
            start = count_of(1 if seed is None else seed, "seed", 0, 2 ** 64 - 1)
            if seed is not None and count == 0:
                raise ConfigError(f"seed: found {start} without trials, expected it only with them")
            prediction = _distsim.predict(experiment_of(config, set), count, start)
        return Report(prediction, (config, set))
    except ConfigError as error:
        raise without_place(config, error) from None


def config_folders() -> List[str]:
    """Folders whose systems, devices, models and frameworks are found by name, the first in order of trust first: those of
    the environment variable DISTSIM_CONFIGS, then what came with the module."""
    return _distsim.config_folders()


def names(kind: str) -> List[str]:
    """What there is to choose from; kind is "systems", "devices", "models" or "frameworks"."""
    return _distsim.names(text_of(kind, "kind"))
