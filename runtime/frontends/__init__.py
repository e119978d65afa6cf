"""Reads model files into graphs; each file format has a front end that rejects what its specification rejects."""

from __future__ import annotations

import importlib
import os
import stat
from pathlib import Path

from ..errors import ModelError, file_error
from ..graph import Graph
from ..safe_file_reading import open_regular_file
from ..signal_deferral import defer_signals

#: Suffix -> module of this package with a ``read``. ONNX: protobuf, protobuf text, JSON, and ONNX's own text format.
_FRONTENDS = {
    **dict.fromkeys((".onnx", ".pb"), "onnx.reader"),
    **dict.fromkeys((".textproto", ".prototxt", ".txtpb", ".pbtxt"), "onnx.reader"),
    **dict.fromkeys((".json", ".onnxjson", ".onnxtxt", ".onnxtext"), "onnx.reader"),
    ".xml": "openvino.reader",
    ".py": "tensorrt.script",
}
#: Suffixes of model files.
MODEL_SUFFIXES = tuple(_FRONTENDS)
#: Suffixes of compiled models, and their descriptions.
_COMPILED_SUFFIXES = {
    ".engine": "a TensorRT engine",
    ".plan": "a TensorRT engine",
    ".trt": "a TensorRT engine",
    ".blob": "a blob that OpenVINO exported",
    ".ort": "a model in onnxruntime's own format",
}
#: The header of SQLite files, which include traces.
SQLITE_MAGIC = b"SQLite format 3\x00"


def split_model_path(path: str | os.PathLike[str]) -> tuple[Path, str]:
    """Split a model path into the file and the function of a script: ``model.py:function``.

    Raises:
        ModelError: the path is empty, or no function follows the colon.
    """
    if not os.fspath(path):
        raise ModelError("no model is named: the path is empty; give the path of a model file")
    full_path = Path(path)
    file, colon, function = os.fspath(path).rpartition(":")
    if not colon or not file.lower().endswith(".py") or os.path.exists(full_path):
        return full_path, ""
    if not function:
        raise ModelError(
            f"'{path}' names no function behind the colon; leave the colon out, or name one", name=str(path)
        )
    return Path(file), function


def is_sqlite_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is an SQLite file, and so perhaps a trace."""
    try:
        with open_regular_file(path) as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError:
        return False


def read_model(
    path: str | os.PathLike[str], weights: str | os.PathLike[str] | None = None, function: str = ""
) -> Graph:
    """Read a model file with the front end for its suffix; only that one is imported.

    A Python script is run; it, or its ``function``, builds a network with TensorRT's API. ``weights``: the file with
    the constants of an IR, by default the ``.bin`` in its folder.

    Raises:
        ModelError: the file does not exist, the format has no separate weights, no front end has the suffix, or the
        front end rejects the model.
        UnsupportedError: a valid model that is not supported.
    """
    path = Path(path)
    _check_regular_file(path, "give the path of a model file")
    module = _FRONTENDS.get(path.suffix.lower())
    if module is None:
        xml = path.with_suffix(".xml")
        hint = f"open '{xml.name}' next to it" if path.suffix == ".bin" and xml.exists() else _known_suffixes()
        compiled = _COMPILED_SUFFIXES.get(path.suffix.lower())
        if compiled is not None:
            raise ModelError(
                f"{path}: is {compiled}, a compiled form without its loops; open the model that it was made of",
                name=str(path),
                got=compiled,
            )
        raise ModelError(
            f"{path}: not a model file by its suffix '{path.suffix}'; {hint}", name=str(path), got=path.suffix
        )
    if weights is not None:
        if module != "openvino.reader":
            raise ModelError(f"{path}: only OpenVINO IR has its weights in a file of their own, so none can be named")
        _check_regular_file(weights, f"give the path of the weights of {path.name}")
    with defer_signals():  # an interrupted import of a compiled module can crash the process later
        frontend = importlib.import_module(f".{module}", __package__)
    extra_args = [function] if function else [] if weights is None else [Path(weights)]
    graph: Graph = frontend.read(path, *extra_args)
    return graph


def _check_regular_file(path: str | os.PathLike[str], hint: str) -> None:
    """Raise a ModelError unless there is a regular file."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise ModelError(f"{path}: no such file; {hint}", name=str(path), got="no file") from None
    except OSError as error:
        raise file_error(ModelError, path, "cannot be read", error) from None
    if stat.S_ISDIR(mode):
        raise ModelError(f"{path}: is a folder; {hint}", name=str(path), expected="a file", got="a folder")
    if not stat.S_ISREG(mode):
        raise ModelError(
            f"{path}: is a pipe or a device, no regular file; {hint}",
            name=str(path),
            expected="a regular file",
            got="a pipe or a device",
        )


def _known_suffixes() -> str:
    return f"known are {', '.join(_FRONTENDS)}"
