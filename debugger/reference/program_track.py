"""What a reference knows of a value of an exported program beyond its numbers: where it stands in the program."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from .reference import Key, Track


@dataclass(frozen=True)
class ProgramTrack(Track):
    """A value of an exported program. The tracks of one program come in its order, as it is written.

    ``reads``: what the node is given, in order: ``%name`` is another node of the same graph, anything else the text of
    a constant.
    """

    #: Filled while the program runs.
    values: MutableMapping[Key, Any] = field(default_factory=dict)
    #: The graph it stands in, from the outermost: names of calls and of what they call ("while_loop", "body").
    graph: tuple[str, ...] = ()
    #: Which of several results of the node.
    output: int | None = None
    #: Which carried value or part, of a parameter of a loop's body, and of a loop of Python of what becomes of it.
    position: int | None = None
    reads: tuple[str, ...] = ()
    #: It is one value of many nodes, the copies of a line in a loop of Python; a model need not have the loop.
    folded: bool = False
    #: The path of a loop in a loop of Python, whose iterations these values are as well.
    inside: str = ""
