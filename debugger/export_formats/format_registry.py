"""The one table of forms in which values leave: by the ending of a name, with ``/`` for a folder."""

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
    """``what`` it is; ``module``: what writes it, imported when something is; ``begins``: whether a file that begins so
    may be one of it, and be replaced; ``values``: named values of a run go into it; ``traces``: recordings do."""

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


def find_format(name: str, kind: str, told: str = "") -> ExportFormat:
    """The form that a name asks for; ``kind``: ``values`` or ``traces``. Without an ending values are ``.npz``.

    ``told``: what an error begins with, instead of the name.

    Raises:
        UsageError: there is none, or it has no room for what is written.
    """
    ending = FOLDER_SUFFIX if name.endswith(FOLDER_SUFFIX) else Path(name).suffix.lower()
    if not ending and kind == "values":
        ending = ".npz"
    form = EXPORT_FORMATS.get(ending)
    if form is None or not getattr(form, kind):
        known = ", ".join(f"{one.suffix} ({one.description})" for one in EXPORT_FORMATS.values() if getattr(one, kind))
        what = "outputs are" if kind == "values" else "a trace is"
        raise UsageError(f"{told or name}: {what} saved in the form that the ending names; there are {known}")
    return form


def write_values(
    form: ExportFormat, path: Path, values: Mapping[str, Data], types: Mapping[str, ValueType]
) -> list[str]:
    """Write named values; returns what there is to say about it, one line each. ``types``: as a model declares them.

    Raises:
        UsageError: a package that writes the form is not installed, or the form has no room for a value.
        OSError: the file cannot be written.
    """
    found: list[str] = import_module(f".{form.module}", __package__).write(path, values, types)
    return found
