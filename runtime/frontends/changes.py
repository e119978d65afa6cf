"""What is written otherwise in a copy of a model file, in terms of its graph; each front end knows the words for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from ..errors import ModelError, one_line
from ..graph import Array, Graph, Loop, Value
from ..record import record


@record(frozen=True)
class Changes:
    """``constants``: what constants hold; ``begins``: what parameters of loops get in iteration 0, in place of what the
    loop is given around it; ``trips``: the most iterations of loops; ``conditions``: their initial conditions."""

    constants: Mapping[Value, Array] = field(default_factory=dict)
    begins: Mapping[tuple[Loop, Value], Array] = field(default_factory=dict)
    trips: Mapping[Loop, int] = field(default_factory=dict)
    conditions: Mapping[Loop, bool] = field(default_factory=dict)


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
