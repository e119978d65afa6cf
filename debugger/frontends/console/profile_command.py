"""The commands about a run as a whole: its time and memory, and what is suspicious in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...profiling.profile import MOST_NODES, profile_lines
from .arguments import parse_integer, reject_arguments
from .command_registry import command

if TYPE_CHECKING:
    from .console import Console


@command("profile [N]", "time and memory of a run from start to end, by loop and node; the N nodes that take the most")
def _profile(console: Console, rest: str) -> None:
    most = parse_integer(rest, MOST_NODES, label="a number of nodes")
    for line in profile_lines(console.session.profile(), most):
        console.write_line(line)


@command(
    "diagnose", "what is suspicious in the run so far: overflow, NaN that decides, a state that no longer changes, ..."
)
def _diagnose(console: Console, rest: str) -> None:
    reject_arguments(rest, "diagnose")
    for line in console.session.diagnose().lines():
        console.write_line(line)
