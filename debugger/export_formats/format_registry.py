"""Registry of export formats by file suffix, with ``/`` for a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from ...runtime.errors import UsageError
from ...runtime.graph import ValueType
from ...runtime.input_validation import Data

#: A folder of ONNX test data.
FOLDER_SUFFIX = "/"


@dataclass(frozen=True)
class ExportFormat:
    """``module``: the writer, imported on first use; ``matches_header``: whether a file that begins with these bytes
    may be replaced; ``values``: the format holds named values of a run; ``traces``: it holds recordings."""

    suffix: str
    description: str
    module: str
    matches_header: Callable[[bytes], bool]
    values: bool = True
    traces: bool = True


EXPORT_FORMATS: Mapping[str, ExportFormat] = {
    form.suffix: form
    for form in (
        ExportFormat(".npz", "NumPy's arrays", "npz", lambda start: start[:2] == b"PK"),
        ExportFormat(FOLDER_SUFFIX, "ONNX test data", "onnx_test_data", lambda start: True),
        ExportFormat(".safetensors", "safetensors", "safetensors", lambda start: start[8:9] == b"{"),
        ExportFormat(".parquet", "Parquet", "parquet", lambda start: start[:4] == b"PAR1"),
        ExportFormat(".csv", "a table", "", lambda start: True, values=False),
        ExportFormat(".jsonl", "JSON lines", "", lambda start: start[:1] == b"{", values=False),
    )
}


def find_format(name: str, kind: str, context: str = "") -> ExportFormat:
    """The format for a file name; ``kind``: ``values`` or ``traces``. Values without a suffix are ``.npz``.

    ``context``: the prefix of an error message, instead of the name.

    Raises:
        UsageError: no format matches, or it does not support this kind.
    """
    suffix = FOLDER_SUFFIX if name.endswith(FOLDER_SUFFIX) else Path(name).suffix.lower()
    if not suffix and kind == "values":
        suffix = ".npz"
    export_format = EXPORT_FORMATS.get(suffix)
    if export_format is None or not getattr(export_format, kind):
        names = ", ".join(f"{x.suffix} ({x.description})" for x in EXPORT_FORMATS.values() if getattr(x, kind))
        subject = "outputs are" if kind == "values" else "a trace is"
        raise UsageError(
            f"{context or name}: {subject} saved in the form that the ending names; there are {names}",
            name=str(context or name),
            expected=names,
        )
    return export_format


def write_values(
    export_format: ExportFormat, path: Path, values: Mapping[str, Data], types: Mapping[str, ValueType]
) -> list[str]:
    """Write named values; return remarks, one line each. ``types``: the types that a model declares.

    Raises:
        UsageError: a package for the format is not installed, or the format cannot hold a value.
        OSError: the file cannot be written.
    """
    remarks: list[str] = import_module(f".{export_format.module}", __package__).write(path, values, types)
    return remarks
