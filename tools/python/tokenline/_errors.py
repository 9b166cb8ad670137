"""What goes wrong: the user's mistakes, output that cannot be written, and our bugs."""

from __future__ import annotations

from typing import NamedTuple, Sequence


class Diagnostic(NamedTuple):
    """One mistake of an input file: where, on which path, what, and what to do."""

    file: str
    #: Counts from 1, as ``column`` does.
    line: int
    column: int
    #: ``engine.block_size``; empty where the mistake is on no key.
    path: str
    message: str
    #: May be empty.
    hint: str


class ConfigError(ValueError):
    """Every mistake of an input at once. ``str()`` is the report that the command line prints."""

    def __init__(self, report: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(report, list(diagnostics))

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """Each mistake with its file, line, column, path, message and hint."""
        diagnostics: list[Diagnostic] = self.args[1]
        return diagnostics


class OutputError(OSError):
    """Results cannot be written: no directory of ours, no permission, no space."""


class InternalError(RuntimeError):
    """A broken invariant or a failed audit: our bug, never a mistake of yours."""
