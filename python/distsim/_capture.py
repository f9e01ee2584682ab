"""capture(): a PyTorch module as a graph that an experiment can have as its model."""
from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
import threading
import weakref
from typing import Any, Dict, List, Optional, Tuple

from ._errors import ConfigError


def _remove_own(folder: str, process: int) -> None:
    """Not in a forked child, whose parent still has it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


class Graph:
    """The calls of a module's training step with their shapes and types: docs/graph_format.md.

    It can be the model of an experiment: ``{"model": graph, "cluster": ...}``, or ``set={"model": graph}``. Attributes:
    ``name``, ``samples`` (the batch it was captured with), ``any_batch`` (whether other batches are served), ``calls`` and
    ``parameters`` (their numbers), ``one_batch`` (why it serves no other batch), ``remarks`` (what a report will say of it),
    ``data`` (the whole graph as a dict)."""

    def __init__(self, data: Dict[str, Any]) -> None:
        self.data: Dict[str, Any] = data
        self.name: str = data["name"]
        self.samples: int = data["samples"]
        self.any_batch: bool = data["any_batch"]
        self.one_batch: str = data.get("one_batch", "")
        self.remarks: List[str] = list(data.get("remarks", []))
        self.calls: int = len(data["nodes"])
        trained = {g["parameter"] for g in data["gradients"]}
        self.parameters: int = sum(_product(t["shape"]) for i, t in enumerate(data["tensors"]) if i in trained)
        self._lock = threading.Lock()
        self._path: Optional[str] = None

    def __reduce__(self) -> "Tuple[type, Tuple[Dict[str, Any]]]":
        return Graph, (self.data,)  # a copy, also in another process, has a file of its own

    @property
    def path(self) -> str:
        """A file that holds the graph, as long as this object lives."""
        with self._lock:
            if self._path is None:
                folder = tempfile.mkdtemp(prefix="distsim_graph_")
                weakref.finalize(self, _remove_own, folder, os.getpid())
                path = os.path.join(folder, "captured.graph")
                self.save(path)
                self._path = path
            return self._path

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Writes the graph to a file, gzipped unless it ends in .json: the whole file or none."""
        name = os.fspath(path)
        text = json.dumps(self.data, separators=(",", ":")).encode()
        packed = text if name.endswith(".json") else gzip.compress(text, 6, mtime=0)
        folder = os.path.dirname(os.path.abspath(name))
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".distsim_capture")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(packed)
            os.chmod(temporary, 0o644)
            os.replace(temporary, name)
        except BaseException:
            os.unlink(temporary)
            raise

    def __repr__(self) -> str:
        batch = "any batch" if self.any_batch else f"a batch of {self.samples} only"
        return f"<distsim.Graph {self.name}: {self.calls} calls, {self.parameters:,} trained parameters, {batch}>"


def _product(shape: List[Any]) -> int:
    n = 1
    for size in shape:
        n *= size if isinstance(size, int) else size[0]
    return n


def capture(module: Any, inputs: Any, *, loss: str = "sum", any_batch: bool = True, channels_last: bool = False,
            inference: bool = False, name: str = "") -> Graph:
    """The graph of a PyTorch module, without a GPU and without computing anything.

    module   a torch.nn.Module, or a function without arguments that returns one, or one and a function from its output to
             the loss. A function lets modules be captured that are larger than the memory.
    inputs   what the module is given, the batch first: texts such as "64x3x224x224" or "8x512:int64", tuples of sizes, or
             tensors, of which only size and type are used. One, or a list of them.
    loss     "sum" of the output, "cross_entropy" over its last dimension, or "output": the module returns its loss

    any_batch  False: the sizes of this batch alone, in a third of the time. Otherwise the pass runs with three batches; where
             their sizes do not follow the batch in a line the graph serves the given one only, and ``one_batch`` says why.

    Captures of several threads run one after the other. Needs torch 1.13 or later. Raises ConfigError where the module cannot be captured, with the place in its code; ImportError
    without torch."""
    try:
        import torch
    except ImportError as error:
        raise ImportError("distsim.capture() needs torch, which is not installed: pip install torch") from error
    import distsim_capture
    from distsim_capture.errors import place_of, reason_of

    given = inputs if isinstance(inputs, list) else [inputs]
    title = name or getattr(module, "__name__", "") or type(module).__name__
    build = (lambda: module) if isinstance(module, torch.nn.Module) else module
    if not callable(build):
        raise TypeError(f"module: found {type(module).__name__}, expected a torch.nn.Module or a function that returns one")
    specs = [_spec(one) for one in given]
    try:
        return Graph(distsim_capture.capture(build, specs, loss, any_batch, channels_last, inference, title))
    except distsim_capture.CaptureError as error:
        raise _config_error(_of_arguments(str(error))) from error
    except Exception as error:  # of the user's module
        raise _config_error(reason_of(error), place_of(error)) from error


def _of_arguments(text: str) -> str:
    """Flags of the command as the arguments that they are here."""
    for flag, argument in (("--input", "inputs"), ("--loss ", "loss="), ("--loss:", "loss:"), ("--inference", "inference=True")):
        text = text.replace(flag, argument)
    return text


def _config_error(text: str, place: str = "") -> ConfigError:
    file, _, line = place.rstrip(": ").rpartition(":")
    return ConfigError(place + text, text, where=place.rstrip(": "), file=file, line=int(line) if line else 0)


def _spec(one: Any) -> Any:
    from distsim_capture import InputSpec, parse_input

    if isinstance(one, InputSpec):
        return one
    if isinstance(one, str):
        try:
            return parse_input(one)
        except ValueError as error:
            raise ConfigError(str(error).replace("--input", "inputs")) from None
    if hasattr(one, "shape") and hasattr(one, "dtype"):
        shape, dtype = tuple(one.shape), str(one.dtype).rsplit(".", 1)[-1]
    elif isinstance(one, tuple):
        shape, dtype = one, "float32"
    else:
        raise TypeError(f"inputs: found {type(one).__name__}, expected text such as '64x3x224x224', a tuple of sizes or a tensor")
    if not shape or any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in shape):
        raise ConfigError(f"inputs: found {shape}, expected sizes of 1 or more, the batch first")
    return InputSpec(shape, dtype)
