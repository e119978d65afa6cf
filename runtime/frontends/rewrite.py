"""Writes edited copies of model files."""

from __future__ import annotations

from pathlib import Path

from ..atomic_file import atomic_folder
from ..errors import ModelError, one_line
from ..graph import Graph
from .model_edits import ModelEdits


def rewrite(source: Path, weights: Path | None, graph: Graph, changes: ModelEdits, target: Path) -> list[Path]:
    """Write an edited copy of a model file; returns the files that were written, the model first.

    ``weights``: the file with the constants of an IR, if not the one in its folder; ``graph``: the graph of the file.

    Raises:
        ModelError: the file changed since it was opened, or the new one cannot be written.
        UnsupportedError: the file format cannot express an edit.
    """
    try:
        with atomic_folder(target.parent) as folder:
            path = folder / target.name
            if source.suffix == ".xml":
                from .openvino.rewrite import write_edited_copy

                model_files, data_files = write_edited_copy(source, weights, graph, changes, path), []
            else:
                from .onnx.rewrite import copy_external_data
                from .onnx.rewrite import write_edited_copy as in_onnx

                model_files = [in_onnx(source, graph, changes, path)]
                data_files = copy_external_data(path, source.parent, target.parent)
        return [target.parent / path.relative_to(folder) for path in (*model_files, *data_files)]
    except OSError as error:
        raise ModelError(f"{target}: cannot be written: {error.strerror or one_line(error)}") from None
