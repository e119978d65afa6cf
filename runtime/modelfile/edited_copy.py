"""Writes copies of model files with changed constants, initial values, trip counts and conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..atomic_file import atomic_folder
from ..errors import ModelError, file_error
from ..graph import Graph
from .model_file import ModelEdits, ModelFile


def write_edited_copy(source: Path, weights: Path | None, graph: Graph, edits: ModelEdits, target: Path) -> list[Path]:
    """Write an edited copy of a model file; returns the files that were written, the model first.

    ``weights``: the file with the constants of an IR, if not the one in its folder; ``graph``: the graph of the file.

    Raises:
        ModelError: the file changed since it was opened, or the new one cannot be written.
        UnsupportedError: the file format cannot express an edit.
    """
    try:
        with atomic_folder(target.parent) as folder:
            file = _open_model_file(source, weights, graph)
            file.apply(edits)
            files = file.save(folder / target.name, target.parent)
        return [target.parent / path.relative_to(folder) for path in files]
    except OSError as error:
        raise file_error(ModelError, target, "cannot be written", error) from None


def _open_model_file(path: Path, weights: Path | None, graph: Graph) -> ModelFile[Any]:
    if path.suffix == ".xml":
        from .openvino_ir import IrFile

        return IrFile(path, weights, graph)
    from .onnx import OnnxFile

    return OnnxFile(path, graph)
