"""From Python's values to the texts that the library reads."""
from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Set as AbstractSet
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _distsim
from ._capture import Graph
from ._errors import ConfigError, shown

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Sets = Optional[Mapping[str, Any]]
CALLED = "config"  # what messages call an experiment that is a dict
MOST_DEPTH = 32
MOST_VALUES = 200_000
MOST_PARTS = 16  # of a key
MOST_POINTS = 10_000_000  # as many as the library takes
MOST_VARIED = 100_000  # values of a key that a plan takes
MOST_TAKEN = 100_000  # values of what does not say how many it has: more than a command line holds


def _kind(value: object) -> str:
    return type(value).__name__


_AS_IT_IS = frozenset((str, int, bool, type(None)))
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "), check_circular=False)


class _Plain:
    """A value as JSON has it: checked, without anything that only Python knows. Graphs become the files that hold them."""

    def __init__(self) -> None:
        self.values = 0
        self.open: List[int] = []

    def of(self, value: Any, place: str) -> Any:
        self.values += 1
        if self.values > MOST_VALUES:
            raise ConfigError(f"{place or CALLED}: found more than {MOST_VALUES} values, expected fewer")
        kind = type(value)
        if kind in _AS_IT_IS:  # the usual ones first: a dict is converted in some microseconds
            return value
        if kind is dict or kind is list:
            return self._container(value, place)
        if isinstance(value, str):
            return str(value)
        if isinstance(value, Graph):
            return {"kind": "graph", "graph": {"file": value.path}}
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(f"{place or CALLED}: found {_kind(value)}, expected text or a number")
        if isinstance(value, Mapping) or isinstance(value, (list, tuple)):
            return self._container(value, place)
        return self._number(value, place)

    def _container(self, value: Any, place: str) -> Any:
        if id(value) in self.open:
            raise ConfigError(f"{place or CALLED}: found a {_kind(value)} that contains itself, expected plain values")
        if len(self.open) >= MOST_DEPTH:
            raise ConfigError(f"{place or CALLED}: found values nested more than {MOST_DEPTH} deep, expected fewer levels")
        self.open.append(id(value))
        try:
            if isinstance(value, (list, tuple)):
                return [self.of(item, f"{place}.{i}" if place else str(i)) for i, item in enumerate(value)]
            out = {}
            for key, item in value.items():
                if not isinstance(key, str):
                    raise TypeError(f"{place or CALLED}: found the key {shown(key)} of type {_kind(key)}, expected text")
                out[key] = self.of(item, f"{place}.{key}" if place else key)
            return out
        finally:
            self.open.pop()

    @staticmethod
    def _number(value: Any, place: str) -> Union[int, float]:
        try:
            whole = value.__index__() if hasattr(value, "__index__") else None
            number = float(value) if whole is None and hasattr(value, "__float__") else None
        except (TypeError, ValueError, OverflowError, RuntimeError):  # arrays of several numbers
            whole = number = None
        if whole is not None:
            return int(whole)
        if number is None:
            raise TypeError(f"{place or CALLED}: found {_kind(value)}, expected text, a number, a list or a dict")
        if not math.isfinite(number):
            raise ConfigError(f"{place or CALLED}: found {number}, expected a finite number")
        return number


def _dumped(value: Any, place: str) -> str:
    try:
        text = _ENCODER.encode(value)
    except ValueError as error:  # a number of more digits than Python writes
        raise ConfigError(f"{place}: {error}") from error
    return _whole(text, place)


def _whole(text: str, place: str) -> str:
    """Text that has an encoding."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ConfigError(f"{place}: found half of a surrogate pair, expected text of whole characters") from error
    return text


def value_text(value: Any, place: str) -> str:
    """A value as in --set: text as it is ("8", "25 GB/s", "[1, 2]"), everything else as JSON, which YAML includes."""
    plain = _Plain().of(value, place)
    if isinstance(plain, str):
        return _whole(plain, place)
    return _dumped(plain, place)


def _check_order(keys: Sequence[str]) -> None:
    """A map that comes after one of its keys would replace it."""
    within: Dict[str, str] = {}
    for key in keys:
        if key in within:
            raise ConfigError(f"set: found {shown(within[key])} before {shown(key)}, which would replace it, expected it after that")
        parts = key.split(".", MOST_PARTS)
        for count in range(1, len(parts)):
            within.setdefault(".".join(parts[:count]), key)


def set_texts(sets: Sets) -> List[str]:
    if sets is None:
        return []
    if not isinstance(sets, Mapping):
        raise TypeError(f"set: found {_kind(sets)}, expected a dict such as {{'cluster.nodes': 8}}")
    out = []
    for key, value in sets.items():
        if not isinstance(key, str):
            raise TypeError(f"set: found the key {shown(key)} of type {_kind(key)}, expected text")
        if "=" in key or not key:
            raise ConfigError(f"set: found the key {shown(key)}, expected one such as cluster.nodes")
        _whole(key, "set")
        if isinstance(value, Graph):  # its keys join what is there
            out += [f"{key}.kind=graph", f"{key}.graph.file={_dumped(value.path, key)}"]
        else:
            out.append(f"{key}={value_text(value, key)}")
    _check_order([key for key, value in sets.items() if not isinstance(value, Graph)])
    return out


def path_text(path: object, place: str) -> str:
    if isinstance(path, str):
        text = path
    elif isinstance(path, os.PathLike):
        text = os.fspath(path)
    else:
        raise TypeError(f"{place}: found {_kind(path)}, expected a path")
    if not isinstance(text, str):
        raise TypeError(f"{place}: found a path of bytes, expected text (os.fsdecode)")
    if not text:
        raise ConfigError(f"{place}: found no path, expected one")
    return _whole(text, place)


def experiment_of(config: Config, sets: Sets = None, place: str = "config") -> _distsim.Experiment:
    """A path of an experiment's file, or the experiment as a dict."""
    usual = _distsim.plain_experiment(config, sets, CALLED)
    return checked_experiment(config, set_texts(sets), place) if usual is None else usual


def variant_of(config: Config, sets: Sets, variant: Sets) -> _distsim.Experiment:
    """The same with the settings of a variant after those of all, whose keys it may replace."""
    own = set_texts(variant)
    common = {key: value for key, value in (sets or {}).items() if key not in (variant or {})}
    return checked_experiment(config, set_texts(common) + own, "config")


def checked_experiment(config: Config, texts: List[str], place: str) -> _distsim.Experiment:
    """The same of arguments that may be anything."""
    if isinstance(config, Mapping):
        return _distsim.Experiment(CALLED, _dumped(_Plain().of(config, ""), CALLED), texts)
    if not isinstance(config, (str, os.PathLike)):
        raise TypeError(f"{place}: found {_kind(config)}, expected a path, or the experiment as a dict")
    return _distsim.Experiment(path_text(config, place), None, texts)


def without_place(config: Config, error: ConfigError) -> ConfigError:
    """Errors in a dict name its keys; lines and columns of the text that was made of it say nothing."""
    if not isinstance(config, Mapping) or error.file != CALLED:
        return error
    text = error.problem + (f"; {error.hint}" if error.hint else "")
    return ConfigError(text, error.problem, error.hint)


class about:
    """A block whose errors are about an experiment."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, ConfigError):
            raise without_place(self.config, error) from None


def _check_points(sizes: Sequence[Optional[int]]) -> None:
    """Of values that say how many they are, before any becomes a text: a range may be longer than memory."""
    known = [max(1, size or 1) for size in sizes]
    if math.prod(known) > MOST_POINTS:
        product = " x ".join(f"{size:,}" for size in known)
        raise ConfigError(f"vary: found {product} points, expected at most {MOST_POINTS:,}")


def _check_varied(key: str, size: Optional[int]) -> None:
    if size is not None and size > MOST_VARIED:
        raise ConfigError(f"vary {key}: found {size:,} values, expected at most {MOST_VARIED:,}")


def _size_of(values: Any) -> Optional[int]:
    """How many there are; None where that is known only once they are taken."""
    try:
        return len(values)
    except TypeError:
        return None
    except OverflowError:  # a range of more than a word counts
        return sys.maxsize


def taken(values: Iterable[Any], place: str) -> Iterator[Any]:
    """Each of them. An iterator may never end."""
    size = _size_of(values)
    for count, value in enumerate(values):
        if size is None and count == MOST_TAKEN:
            raise ConfigError(f"{place}: found an iterator ({_kind(values)}) of more than {MOST_TAKEN:,} values, expected fewer, or a list")
        if size is not None and count == size:
            raise ConfigError(f"{place}: found a {_kind(values)} of length {size:,} with more values, expected no more")
        yield value


def _texts_of_values(values: Any, key: str) -> List[str]:
    """Iterators may repeat themselves for ever: a study takes each value once."""
    if _size_of(values) is not None:
        return [value_text(value, key) for value in taken(values, key)]
    texts: Dict[str, None] = {}
    for value in taken(values, key):
        text = value_text(value, key)
        if text in texts:
            raise ConfigError(f"vary {key}: found {shown(text)} twice, expected each value once")
        texts[text] = None
    return list(texts)


def vary_texts(vary: Optional[Mapping[str, Any]], place: str, every_point: bool = True) -> List[Tuple[str, List[str]]]:
    """every_point: each combination of values is predicted, so that they must not be too many together."""
    if vary is None:
        return []
    if not isinstance(vary, Mapping):
        raise TypeError(f"{place}: found {_kind(vary)}, expected a dict such as {{'cluster.nodes': [1, 2, 4]}}")
    axes = []
    for key, values in vary.items():
        if not isinstance(key, str):
            raise TypeError(f"{place}: found the key {shown(key)} of type {_kind(key)}, expected text")
        if isinstance(values, (bytearray, memoryview, Mapping)):
            raise TypeError(f"{key}: found {_kind(values)}, expected a value or a list of values")
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            values = [values]
        if isinstance(values, AbstractSet):
            raise TypeError(f"{key}: found a {_kind(values)}, whose values have no order, expected a list")
        axes.append((_whole(key, place), values))
    sizes = [_size_of(values) for _, values in axes]
    if every_point:
        _check_points(sizes)
    else:
        for (key, _), size in zip(axes, sizes):
            _check_varied(key, size)
    return [(key, _texts_of_values(values, key)) for key, values in axes]


def texts_of(values: object, place: str) -> List[str]:
    """A text, or several."""
    if isinstance(values, str):
        return [_whole(values, place)]
    if values is None:
        return []
    if not isinstance(values, Sequence) or isinstance(values, (bytes, bytearray)):
        raise TypeError(f"{place}: found {_kind(values)}, expected text or a list of texts")
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{place}: found {_kind(value)}, expected text")
        _whole(value, place)
    return list(values)


def text_of(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{place}: found {_kind(value)}, expected text")
    return _whole(value, place)


def count_of(value: object, place: str, least: int = 0, most: int = 2 ** 63 - 1) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{place}: found {_kind(value)}, expected a whole number")
    number = int(value.__index__())
    if not least <= number <= most:
        raise ConfigError(f"{place}: found {number}, expected {least} .. {most}")
    return number


def number_of(value: object, place: str) -> float:
    if isinstance(value, (bool, str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"{place}: found {_kind(value)}, expected a number")
    number = float(value)
    if not math.isfinite(number):
        raise ConfigError(f"{place}: found {number}, expected a finite number")
    return number


def flag_of(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{place}: found {_kind(value)}, expected True or False")
    return value
