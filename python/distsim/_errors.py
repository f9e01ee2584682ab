"""What goes wrong."""
from __future__ import annotations

from typing import Optional


class ConfigError(ValueError):
    """Input that has no answer. str() is the line that the command ``distsim`` prints.

    Attributes
        problem  what was found and what was expected: "cluster.nodes: found '0', expected 1 .. 1048576"
        hint     the nearest spelling, or what to do; may be empty
        where    "x.yaml:12:5", "set cluster.nodes", or empty
        file     the file of ``where``; None where the input is no file
        line     in that file, from 1; None where unknown
        column   in bytes, from 1; None where unknown
    """

    def __init__(self, message: str, problem: str = "", hint: str = "", where: str = "", file: str = "", line: int = 0,
                 column: int = 0) -> None:
        super().__init__(message)
        self.problem: str = problem or message
        self.hint: str = hint
        self.where: str = where
        self.file: Optional[str] = file or None
        self.line: Optional[int] = line or None
        self.column: Optional[int] = column or None

    def __reduce__(self):  # type: ignore[no-untyped-def]  # pickled by process pools
        return (type(self), (str(self), self.problem, self.hint, self.where, self.file or "", self.line or 0, self.column or 0))


MOST_SHOWN = 60


def shown(value: object) -> str:
    """A value that was given, for a message: as Python writes it, cut as the library cuts what it quotes."""
    text = repr(value[:MOST_SHOWN + 1] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "..."
