"""The source location of a node, as far as the model file contains it."""

from __future__ import annotations

from ..record import record
from ..text import escape_unprintable

#: Callers shown in messages.
_SHOWN_CALLERS = 3


@record(frozen=True)
class Origin:
    """The source location of a node; every field may be missing. The values are unchecked, as in the file.

    >>> str(node.origin), node.origin.code
    ('model.py:87', 'x = self.cell(x, h)')
    """

    #: The path as the exporter wrote it.
    file: str = ""
    #: 1-based; 0 where it is unknown.
    line: int = 0
    #: The text of the line.
    code: str = ""
    #: The function that contains the line.
    function: str = ""
    #: The modules around the node, the outermost first: ``("decoder", "layers.0", "attn")``.
    scopes: tuple[str, ...] = ()
    #: The exporter's name for the node (torch: the name of the fx node, such as ``mul_2``).
    framework_node: str = ""
    #: The generated code of the line, where the exporter traced the code of a loop.
    traced: str = ""
    #: The call stack as (file, line), the outermost first.
    callers: tuple[tuple[str, int], ...] = ()
    #: Whether the file is the model itself, a script.
    script: bool = False

    @property
    def file_name(self) -> str:
        """The file name without folders, for paths of any operating system."""
        return self.file.replace("\\", "/").rpartition("/")[2]

    @property
    def called_from(self) -> str:
        """The call sites in a script that led to the helper function which contains the line, up to three, the
        innermost first: ``net.py:5, net.py:11``. They distinguish the nodes that the helper creates. Empty where there
        is none, and for nodes of other models."""
        if not self.script:
            return ""
        lines = [str(Origin(file, line)) for file, line in reversed(self.callers)]
        return ", ".join(lines[:_SHOWN_CALLERS]) + (", ..." if len(lines) > _SHOWN_CALLERS else "")

    def __str__(self) -> str:
        """``model.py:87``; empty where there is no file."""
        if not self.file:
            return ""
        return escape_unprintable(f"{self.file_name}:{self.line}" if self.line else self.file_name)


#: For nodes without a known origin.
UNKNOWN_ORIGIN = Origin()
