"""Requests on several GPUs: scheduling policies, latency tails, goodput."""
from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from . import _distsim
from ._experiment import CALLED, Config, Sets, about, count_of, experiment_of
from ._report import Table, framed

ServingState = _distsim.ServingState

try:
    from typing import Protocol
except ImportError:  # before Python 3.8
    Protocol = object  # type: ignore[assignment]


class ServingPolicy(Protocol):
    """What a policy of your own has; docs/serving.md. Requests are named by ids, which are used again after an answer."""

    def arrived(self, state: ServingState, id: int) -> Optional[int]:
        """A request has come, or some of its layers are done. Returns the GPU that it may start on; None: any."""
        ...

    def next(self, state: ServingState, gpu: int) -> Union[None, List[int], Tuple[List[int], int]]:
        """A GPU has a free slot. Returns requests of one model to execute there as a batch, and perhaps how many of their layers;
        None or an empty list: nothing now. What is handed out is no longer the policy's."""
        ...


class Serving(Table):
    """A row for each rate, policy and model, and one with model ``all``, as the CSV of ``distsim serving`` has them; figures are None
    where nothing was answered. ``to_dict()`` has intervals, parts of the latency, GPUs and links, too."""

    def __init__(self, found: _distsim.Serving, is_dict: bool = False) -> None:
        self._found = found
        self._is_dict = is_dict
        rows: List[Dict[str, Any]] = []
        for point in self.to_dict()["points"]:
            for result in point.get("results", []):
                figures = dict.fromkeys(("rate_per_s", "mean_ms", "p50_ms", "p90_ms", "p99_ms", "p999_ms", "throughput_per_s", "goodput_per_s",
                                         "utilisation", "moves", "batches"))
                rows.append({"policy": point["policy"], "unstable": point["unstable"], **figures, **result})
        super().__init__(rows)

    @property
    def without_effect(self) -> List[str]:
        """The lines that the command writes before it begins: keys of the experiment that change nothing, and why ("x.yaml:9:12:
        models[0].priority: no effect, no policy goes by priority"), those of ``set`` likewise, and what is doubtful in its files. The
        first look reads the experiment once more for each key of ``set``."""
        lines = self._found.without_effect()
        return [re.sub(rf"^{CALLED}:\d+:\d+: ", "", line) for line in lines] if self._is_dict else lines

    def to_dict(self) -> Dict[str, Any]:
        return json.loads(self.to_json())  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The bytes of ``distsim serving --json``, in UTF-8."""
        return self._found.json()

    def to_csv(self) -> str:
        """The bytes of ``distsim serving --csv``, in UTF-8."""
        return self._found.csv()

    def to_html(self) -> str:
        return self._found.html()

    def __str__(self) -> str:
        return self._found.text()

    def _repr_html_(self) -> str:
        return framed(self.to_html(), 700)


def serving(config: Config, *, policy: Optional[Callable[[], ServingPolicy]] = None, set: Sets = None, jobs: int = 1) -> Serving:
    """Plays requests on several GPUs: what ``distsim serving`` does.

    config   path of a serving experiment (docs/serving.md), or the experiment as a dict
    policy   a policy of your own instead of those of the experiment: a class, or what else makes a ServingPolicy without arguments,
             one for each run. With an attribute ``takes_branches`` that is true, branches of a request's graph come as requests of
             their own.
    set      {"load.rate_per_s": 400}: as ``--set``
    jobs     threads, 1 to 256

    Raises ConfigError, also where a policy does what cannot be done (a GPU that does not exist), asks its state for what there is not,
    or leaves a request waiting; what the policy itself raises comes out as it is, with its traceback."""
    if policy is not None and not callable(policy):
        made = hasattr(policy, "arrived") and hasattr(policy, "next")
        raise TypeError(f"policy: found {'an object of class ' if made else ''}{type(policy).__name__}, expected "
                        + ("the class itself, of which each run has an object of its own" if made else "a class or a function that makes a policy"))
    name = getattr(policy, "__name__", "policy")
    experiment = experiment_of(config, set)
    with about(config):
        return Serving(_distsim.serving(experiment, policy, str(name), bool(getattr(policy, "takes_branches", False)),
                                        count_of(jobs, "jobs", 1, 256)), isinstance(config, Mapping))
