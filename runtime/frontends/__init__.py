"""Model file -> Graph: one front end a file format; each rejects what its own specification rejects."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ModelError
from ..graph import Graph

#: Suffix -> module of this package. ONNX: protobuf, protobuf's text form, JSON, and ONNX's own text form.
_FRONTENDS = {
    **dict.fromkeys((".onnx", ".pb"), "onnx"),
    **dict.fromkeys((".textproto", ".prototxt", ".txtpb", ".pbtxt"), "onnx"),
    **dict.fromkeys((".json", ".onnxjson", ".onnxtxt", ".onnxtext"), "onnx"),
    ".xml": "openvino",
    ".py": "tensorrt",
}


def read(path: str | os.PathLike[str], weights: str | os.PathLike[str] | None = None) -> Graph:
    """Read a model file with the front end that its suffix asks for; only that one is imported.

    ``weights``: where an IR has its constants, if not in the ``.bin`` beside it.

    Raises:
        ModelError: no such file, weights of a model that has none apart, a suffix that no front end knows, or a model
            that the front end rejects.
        UnsupportedError: a legal model that cannot be run here.
    """
    path = Path(path)
    if path.is_dir():
        raise ModelError(f"{path}: is a folder; give the path of a model file")
    module = _FRONTENDS.get(path.suffix.lower())
    if module is None:
        beside = path.with_suffix(".xml")
        hint = f"open '{beside.name}' beside it" if path.suffix == ".bin" and beside.exists() else _known()
        raise ModelError(f"{path}: not a model file by its suffix '{path.suffix}'; {hint}")
    if not path.is_file():
        raise ModelError(f"{path}: no such file; give the path of a model file")
    if weights is not None:
        if module != "openvino":
            raise ModelError(f"{path}: only OpenVINO IR has its weights in a file of their own, so none can be named")
        if not Path(weights).is_file():
            raise ModelError(f"{weights}: no such file; give the path of the weights of {path.name}")
    with _uninterrupted():
        frontend = importlib.import_module(f".{module}.reader", __package__)
    graph: Graph = frontend.read(path) if weights is None else frontend.read(path, Path(weights))
    return graph


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits: what is left of a compiled module whose import was broken off can crash the process later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _known() -> str:
    return f"known are {', '.join(_FRONTENDS)}"
