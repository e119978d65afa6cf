"""A copy of a model file in which something is written otherwise."""

from __future__ import annotations

from pathlib import Path

from ..atomic_file import atomic_folder
from ..errors import ModelError, one_line
from ..graph import Graph
from .model_edits import ModelEdits


def rewrite(source: Path, weights: Path | None, graph: Graph, changes: ModelEdits, target: Path) -> list[Path]:
    """Write a copy of a model file with changes; returns the files that were written, the model first.

    ``weights``: of an IR the file with its constants, if not the one beside it; ``graph``: what was read from the file.

    Raises:
        ModelError: the file changed since it was opened, or the new one cannot be written.
        UnsupportedError: its form has no words for a change.
    """
    try:
        with atomic_folder(target.parent) as folder:
            at = folder / target.name
            if source.suffix == ".xml":
                from .openvino.rewrite import write_edited_copy

                made, beside = write_edited_copy(source, weights, graph, changes, at), []
            else:
                from .onnx.rewrite import copy_external_data
                from .onnx.rewrite import write_edited_copy as in_onnx

                made = [in_onnx(source, graph, changes, at)]
                beside = copy_external_data(at, source.parent, target.parent)
        return [target.parent / path.relative_to(folder) for path in (*made, *beside)]
    except OSError as error:
        raise ModelError(f"{target}: cannot be written: {error.strerror or one_line(error)}") from None
