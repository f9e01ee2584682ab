"""Single ops and collectives, and recorded traces."""
from __future__ import annotations

import builtins
import json
from typing import AbstractSet, Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _distsim
from ._experiment import (Config, Sets, count_of, experiment_of, flag_of, number_of, path_text, taken, text_of, texts_of,
                          value_text)
from ._errors import ConfigError
from ._report import Record, Table, _attribute, table_html


class OpCost(Record):
    """us, low_us, high_us (mean, and about the 10th and 90th percentile), basis, source, op, device, remarks (on sizes without
    effect). str() is the line that the command prints."""

    def __str__(self) -> str:
        return str(self._data["text"])

    def __repr__(self) -> str:
        return f"<distsim.OpCost {str(self).rstrip()}>"

    def _repr_html_(self) -> str:
        return table_html([self._data], ["op", "device", "us", "low_us", "high_us", "basis", "source"])


def cost_op(gpu: str, op: str, dtype: str = "", *, pass_: str = "", **sizes: Any) -> OpCost:
    """Time of one op on one GPU, in microseconds: the kernel itself, without its launch.

    gpu     a device, by any of its names: "h100_sxm5_80gb"
    op      "linear", "conv2d", "embedding_bag", "flash_attention", "adam", ... (docs/op_models.md)
    dtype   "fp32", "tf32", "fp16", "bf16", "fp8", ...; an op without one, such as "copy_h2d", needs none
    pass_   "fwd" (as without), "bwd", "bwd_data", "bwd_weight" or "bwd+OPTIMIZER"
    sizes   by the names of docs/op_models.md: m=4096, n=1024, k=1024

    Raises ConfigError."""
    given = [(name, value_text(value, name)) for name, value in sizes.items()]
    cost = _distsim.cost_op(text_of(gpu, "gpu"), text_of(op, "op"), text_of(dtype, "dtype"), text_of(pass_, "pass_"), given)
    return OpCost(cost)


class CollectiveCosts(Table):
    """A row for each size: bytes, us, low_us, high_us, algbw_GBps, busbw_GBps, basis, source, error. ``remarks``: on the files of
    ``curves`` and on the system, on sizes that are no multiple of the ranks, and arguments that change nothing."""

    def __init__(self, rows: List[Dict[str, Any]], csv: str, remarks: List[str]) -> None:
        super().__init__(rows, csv, csv)
        self.remarks = remarks


def cost_collective(system: str, kind: str, bytes: Union[int, str, Sequence[Union[int, str]]], *, nodes: int = 1,
                    gpus_per_node: int = 0, curves: Sequence[str] = (), algorithms: Sequence[str] = (),
                    protocols: Sequence[str] = (), launch: str = "mpi", exchange: str = "grouped", all_reduce: str = "nccl",
                    use_curves: bool = True, allow_partial: bool = False, side_by_side: bool = False,
                    explain: bool = False) -> CollectiveCosts:
    """Time of one collective over the first GPUs of each node, in microseconds, for each size.

    system          a name of configs/systems, or a file
    kind            "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv", ...
    bytes           sizes as in the size column of nccl-tests: 8, "1MiB", "1G"; one, or a list
    nodes           1 to 1,048,576
    gpus_per_node   that take part; 0: all
    curves          measurements to prefer: curve files, nccl-tests logs

    algbw = bytes / time; busbw = algbw x 2(n-1)/n for all_reduce, (n-1)/n for all_gather, reduce_scatter and all_to_all, 1 for
    the others. Raises ConfigError, also where no size has a cost."""
    if isinstance(bytes, (builtins.bytes, bytearray, memoryview, Mapping, AbstractSet)):
        raise TypeError(f"bytes: found {type(bytes).__name__}, expected a size or a list of sizes")
    if isinstance(bytes, (str, int)) or hasattr(bytes, "__index__"):
        bytes = [bytes]  # type: ignore[list-item]
    if not hasattr(bytes, "__iter__"):
        raise TypeError(f"bytes: found {type(bytes).__name__}, expected a size or a list of sizes")
    sizes = [value_text(size, "bytes") for size in taken(bytes, "bytes")]
    rest = {
        "nodes": count_of(nodes, "nodes", 1, 1 << 20), "gpus_per_node": count_of(gpus_per_node, "gpus_per_node", 0, 1024),
        "curves": texts_of(curves, "curves"), "algorithms": texts_of(algorithms, "algorithms"),
        "protocols": texts_of(protocols, "protocols"), "launch": text_of(launch, "launch"),
        "exchange": text_of(exchange, "exchange"), "all_reduce": text_of(all_reduce, "all_reduce"),
        "use_curves": flag_of(use_curves, "use_curves"), "allow_partial": flag_of(allow_partial, "allow_partial"),
        "side_by_side": flag_of(side_by_side, "side_by_side"), "explain": flag_of(explain, "explain"),
    }
    return CollectiveCosts(*_distsim.cost_collective(text_of(system, "system"), text_of(kind, "kind"), sizes, rest))


class Replay:
    """A replayed trace. Attributes are the keys of ``to_dict()``; str() is the text that the command prints."""

    def __init__(self, json_text: str, csv: str, text: str) -> None:
        self._json, self._csv, self._text = json_text, csv, text
        self._data: Optional[Dict[str, Any]] = None

    def to_dict(self) -> Dict[str, Any]:
        return json.loads(self._json)  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._data is None:
            self._data = self.to_dict()
        return _attribute(self._data, name, "the replay")

    def to_json(self) -> str:
        """The bytes of ``distsim replay --json``, in UTF-8."""
        return self._json

    def to_csv(self) -> str:
        """The bytes of ``distsim replay --csv``, in UTF-8."""
        return self._csv

    def __str__(self) -> str:
        return self._text


def replay(traces: Union[str, Sequence[str]], config: Optional[Config] = None, *, set: Sets = None, priced: bool = False,
           step_pattern: str = "", measured_on: str = "", remove: Sequence[str] = (), fuse: Sequence[str] = (),
           leave_one_step_out: bool = False, network: str = "", network_system: str = "", groups: str = "", ranks: Optional[int] = None,
           recorded_collectives: bool = False, compute_scale: float = 1) -> Replay:
    """Plays recorded traces, unchanged or as a what-if: PyTorch, Nsight Systems, nvprof, HugeCTR, Chakra.

    traces     files, folders or patterns, all of one job
    config     the experiment whose cluster and device they are replayed on; None: where they were recorded
    priced     one execution trace without times, priced from its shapes
    ranks      that the job is moved to; of Chakra, to which a single trace is replicated. None: as the traces or the experiment say
    Profiler traces: step_pattern, measured_on, remove, fuse, leave_one_step_out. Chakra: network, network_system, groups,
    recorded_collectives, compute_scale. Each is what the flag of the same name is (``distsim replay --help``).

    Raises ConfigError."""
    given = [traces] if isinstance(traces, str) or hasattr(traces, "__fspath__") else traces
    files = [path_text(one, "traces") for one in taken(given, "traces")]
    if config is None and set:
        raise ConfigError("set: found keys without config, expected the experiment that they belong to")
    experiment = None if config is None else experiment_of(config, set)
    rest = {
        "priced": flag_of(priced, "priced"), "step_pattern": text_of(step_pattern, "step_pattern"),
        "measured_on": text_of(measured_on, "measured_on"), "remove": texts_of(remove, "remove"), "fuse": texts_of(fuse, "fuse"),
        "leave_one_step_out": flag_of(leave_one_step_out, "leave_one_step_out"), "network": text_of(network, "network"),
        "network_system": text_of(network_system, "network_system"), "groups": text_of(groups, "groups"),
        "ranks": None if ranks is None else count_of(ranks, "ranks", 1, 1 << 24),
        "recorded_collectives": flag_of(recorded_collectives, "recorded_collectives"),
        "compute_scale": number_of(compute_scale, "compute_scale"),
    }
    return Replay(*_distsim.replay(files, experiment, rest))
