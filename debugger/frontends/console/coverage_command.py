"""The ``coverage`` command: what a run covers of the loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...coverage.report import coverage_lines
from .command_registry import command

if TYPE_CHECKING:
    from .console import Console


@command("coverage", "what a run from start to end covers of the loops; the source on the screen has it as + ~ -")
def _coverage(console: Console, rest: str) -> None:
    for line in coverage_lines(console.session.coverage()):
        console.write_line(line)
