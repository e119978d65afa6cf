"""Where in somebody's code a node comes from, as far as the file of a model tells."""

from __future__ import annotations

from ..record import record
from ..text import escape_unprintable

#: Calls that messages name.
_SHOWN_CALLERS = 3


@record(frozen=True)
class Origin:
    """Where a node was written; every part may be missing. Nothing here was checked: it stands as in the file.

    >>> str(node.origin), node.origin.code
    ('model.py:87', 'x = self.cell(x, h)')
    """

    #: The path as the exporter wrote it.
    file: str = ""
    #: From 1 on; 0 where it is not known.
    line: int = 0
    #: The text of the line, where the model has it.
    code: str = ""
    #: The function that the line stands in.
    function: str = ""
    #: The modules around the node, the outermost first: ``("decoder", "layers.0", "attn")``.
    scopes: tuple[str, ...] = ()
    #: What the exporter called the node (torch: the name of the fx node, such as ``mul_2``).
    framework_node: str = ""
    #: What the exporter made of the line, where it traced the code of a loop into code of its own.
    traced: str = ""
    #: The lines that called the function, each with its file, the outermost first.
    callers: tuple[tuple[str, int], ...] = ()
    #: The file is the model itself, a script.
    script: bool = False

    @property
    def file_name(self) -> str:
        """The file without its folders, whichever system wrote the path."""
        return self.file.replace("\\", "/").rpartition("/")[2]

    @property
    def called_from(self) -> str:
        """``net.py:5, net.py:11``: the lines of a script that led to the helper function which contains the line, the
        innermost three of them first to last; they tell apart the nodes that the helper makes. Empty where there is
        none, and for nodes of other models."""
        if not self.script:
            return ""
        lines = [str(Origin(file, line)) for file, line in reversed(self.callers)]
        return ", ".join(lines[:_SHOWN_CALLERS]) + (", ..." if len(lines) > _SHOWN_CALLERS else "")

    def __str__(self) -> str:
        """``model.py:87``; empty where there is no file."""
        if not self.file:
            return ""
        return escape_unprintable(f"{self.file_name}:{self.line}" if self.line else self.file_name)


#: Of nodes of which nothing is known.
UNKNOWN_ORIGIN = Origin()
