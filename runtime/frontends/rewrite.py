"""A copy of a model file in which something is written otherwise."""

from __future__ import annotations

from pathlib import Path

from ..errors import ModelError, one_line
from ..graph import Graph
from .changes import Changes


def rewrite(source: Path, weights: Path | None, graph: Graph, changes: Changes, target: Path) -> list[Path]:
    """Write a copy of a model file with changes; returns the files that were written, the model first.

    ``weights``: of an IR the file with its constants, if not the one beside it; ``graph``: what was read from the file.

    Raises:
        ModelError: the file changed since it was opened, or the new one cannot be written.
        UnsupportedError: its form has no words for a change.
    """
    try:
        if source.suffix == ".xml":
            from .openvino.rewrite import rewritten

            return rewritten(source, weights, graph, changes, target)
        from .onnx.rewrite import rewritten as in_onnx

        return in_onnx(source, graph, changes, target)
    except OSError as error:
        raise ModelError(f"{target}: cannot be written: {error.strerror or one_line(error)}") from None
