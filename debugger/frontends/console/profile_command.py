"""The ``profile`` command: where a run spends its time and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...profiling.profile import MOST_NODES, profile_lines
from .arguments import parse_integer
from .command_registry import command

if TYPE_CHECKING:
    from .console import Console


@command("profile [N]", "time and memory of a run from start to end, by loop and node; the N nodes that take the most")
def _profile(console: Console, rest: str) -> None:
    most = parse_integer(rest, MOST_NODES, label="a number of nodes")
    for line in profile_lines(console.session.profile(), most):
        console.write_line(line)
