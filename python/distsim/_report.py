"""What calls return: reports with attributes, tables, and how notebooks show them."""
from __future__ import annotations

import difflib
import html
import json
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence

from . import _distsim
from ._errors import shown


class Record(Mapping[str, Any]):
    """A part of a report: its keys are attributes, too. Read-only."""

    __slots__ = ("_data",)

    def __init__(self, data: Dict[str, Any]) -> None:
        object.__setattr__(self, "_data", data)

    def __getitem__(self, key: str) -> Any:
        return _wrapped(self._data[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __getattr__(self, name: str) -> Any:
        return _attribute(self._data, name, "this part of the report")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name}: a report is read-only")

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self._data]

    def __repr__(self) -> str:
        return f"Record({self._data!r})"

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (Record, (self._data,))

    def to_dict(self) -> Dict[str, Any]:
        """Plain dicts and lists."""
        return json.loads(json.dumps(self._data))  # type: ignore[no-any-return]


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrapped(item) for item in value]
    return value


def _attribute(data: Mapping[str, Any], name: str, of: str) -> Any:
    if name in data:
        return _wrapped(data[name])
    near = difflib.get_close_matches(name, list(data), 1)
    raise AttributeError(f"{of} has no {shown(name)}" + (f"; did you mean {near[0]!r}?" if near else ""))


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas, which is not installed: pip install pandas") from error
    return pandas


def framed(page: str, height: int) -> str:
    """A page within the page of a notebook, with nothing of its own outside of the frame."""
    return (f'<iframe srcdoc="{html.escape(page, quote=True)}" sandbox="allow-scripts" '
            f'style="width:100%;height:{height}px;border:0" title="distsim"></iframe>')


def table_html(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    def cell(value: Any) -> str:
        if value is None:
            return ""
        return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))

    head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
    body = "".join("<tr>" + "".join(f"<td>{cell(row.get(c))}</td>" for c in columns) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Report:
    """A prediction of one training iteration. Its attributes are the keys of the JSON report (docs/report_schema.md):
    ``report.iteration_ms``, ``report.breakdown.exposed_comm_ms``, ``report.ops[0].kind``. str() is the text that the command
    prints; a notebook shows the page of ``--html``.

    iteration_ms and samples_per_second are known at once. Everything else is made when it is first asked for: the JSON report
    also says which keys of the experiment change nothing, which takes up to two more predictions for each key."""

    def __init__(self, prediction: _distsim.Prediction, keep: object = None) -> None:
        self._prediction = prediction
        self._keep = keep  # files of captured graphs, which are read again for the report
        self._data: Optional[Dict[str, Any]] = None

    def _all(self) -> Dict[str, Any]:
        if self._data is None:
            self._data = json.loads(self._prediction.json())
        return self._data

    @property
    def iteration_ms(self) -> float:
        """Steady-state time of one training iteration, in milliseconds."""
        return self._prediction.iteration_ms

    @property
    def low_ms(self) -> float:
        """About the 10th percentile of what the iteration may take, in milliseconds."""
        return self._prediction.low_ms

    @property
    def high_ms(self) -> float:
        """About the 90th percentile of what the iteration may take, in milliseconds."""
        return self._prediction.high_ms

    @property
    def samples_per_second(self) -> float:
        """Samples of an iteration, of all ranks, over its time."""
        return self._prediction.samples_per_second

    @property
    def mfu(self) -> float:
        """Model FLOP/s over the peak at the model's precision, 0 to 1."""
        return self._prediction.mfu

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _attribute(self._all(), name, "the report")

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self._all()]

    def to_dict(self) -> Dict[str, Any]:
        """The JSON report as plain dicts and lists."""
        return json.loads(self.to_json())  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The JSON report: the bytes of ``distsim predict --json``, in UTF-8."""
        return self._prediction.json()

    def to_csv(self) -> str:
        """A header and one row: ``distsim predict --csv``."""
        return self._prediction.csv()

    def to_html(self) -> str:
        """A self-contained page: ``distsim predict --html``."""
        return self._prediction.html()

    def to_pandas(self, table: str = "summary") -> Any:
        """A pandas.DataFrame: "summary" (one row: context and figures), or a list of the report: "ops", "collectives",
        "critical_path", "cycle". Raises ImportError without pandas."""
        pandas = _pandas()
        data = self._all()
        if table == "summary":
            rows = [_flat({k: v for k, v in data.items() if not isinstance(v, list)})]
        elif table in ("ops", "collectives", "critical_path", "cycle"):
            rows = [_flat(row) for row in data[table]]
        else:
            raise ValueError(f"table: found {shown(table)}, expected summary, ops, collectives, critical_path or cycle")
        return pandas.DataFrame(rows)

    def __str__(self) -> str:
        return self._prediction.text()

    def __repr__(self) -> str:
        return (f"<distsim.Report {self.iteration_ms:.6g} ms ({self.low_ms:.4g} to {self.high_ms:.4g}), "
                f"{self.samples_per_second:.6g} samples/s>")

    def _repr_html_(self) -> str:
        return framed(self.to_html(), 900)


def _flat(data: Mapping[str, Any], before: str = "") -> Dict[str, Any]:
    """{"context": {"nodes": 4}} as {"context.nodes": 4}; lists within are left out."""
    out: Dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict):
            out.update(_flat(value, f"{before}{key}."))
        elif not isinstance(value, list):
            out[before + key] = value
    return out


class Table(Sequence[Record]):
    """Rows with the same keys: ``table[0].iteration_ms``, ``table.column("iteration_ms")``."""

    def __init__(self, rows: List[Dict[str, Any]], text: str = "", csv: str = "") -> None:
        self._rows = rows
        self._text = text
        self._csv = csv

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [Record(row) for row in self._rows[index]]
        return Record(self._rows[index])

    @property
    def columns(self) -> List[str]:
        return list(self._rows[0]) if self._rows else []

    def column(self, name: str) -> List[Any]:
        """The values of all rows."""
        if self._rows and name not in self._rows[0]:
            _attribute(self._rows[0], name, "the table")
        return [row[name] for row in self._rows]

    def to_dicts(self) -> List[Dict[str, Any]]:
        return [dict(row) for row in self._rows]

    def to_csv(self) -> str:
        """What the command writes with ``--csv``."""
        return self._csv

    def to_pandas(self) -> Any:
        """A pandas.DataFrame. Raises ImportError without pandas."""
        return _pandas().DataFrame(self._rows)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<distsim.{type(self).__name__}: {len(self)} row{'' if len(self) == 1 else 's'}>"

    def _repr_html_(self) -> str:
        return table_html(self._rows, self.columns)
