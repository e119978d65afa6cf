"""A value of an exported program: its numbers and its position in the program."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from .reference import Key, Track


@dataclass(frozen=True)
class ProgramTrack(Track):
    """A value of an exported program. The tracks of one program are in program order.

    ``reads``: the operands, in order: ``%name`` is another node of the same graph, anything else the text of a
    constant.
    """

    #: Filled while the program runs.
    values: MutableMapping[Key, Any] = field(default_factory=dict)
    #: Its graph, from the outermost: names of calls and of the called graphs ("while_loop", "body").
    graph: tuple[str, ...] = ()
    #: Index among several results of the node.
    output: int | None = None
    #: Index of the carried value or slice: of a loop body's parameter, and of a node of a Python loop its next value.
    position: int | None = None
    reads: tuple[str, ...] = ()
    #: One value of several nodes, the copies of a line in a Python loop; a model need not have the loop.
    folded: bool = False
    #: The path of a loop in a Python loop that also has these values in its iterations.
    inside: str = ""
