"""The one table of forms in which values leave: by the ending of a name, with ``/`` for a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from ...runtime.errors import UsageError
from ...runtime.graph import ValueType
from ...runtime.inputs import Data

#: A folder of ONNX test data.
FOLDER = "/"


@dataclass(frozen=True)
class Form:
    """``what`` it is; ``module``: what writes it, imported when something is; ``begins``: whether a file that begins so
    may be one of it, and be replaced; ``values``: named values of a run go into it; ``traces``: recordings do."""

    ending: str
    what: str
    module: str
    begins: Callable[[bytes], bool]
    values: bool = True
    traces: bool = True


FORMS: Mapping[str, Form] = {
    form.ending: form
    for form in (
        Form(".npz", "NumPy's arrays", "arrays", lambda start: start[:2] == b"PK"),
        Form(FOLDER, "ONNX test data", "test_data", lambda start: True),
        Form(".safetensors", "safetensors", "tensors", lambda start: start[8:9] == b"{"),
        Form(".parquet", "Parquet", "tables", lambda start: start[:4] == b"PAR1"),
        Form(".csv", "a table", "", lambda start: True, values=False),
        Form(".jsonl", "JSON lines", "", lambda start: start[:1] == b"{", values=False),
    )
}


def form_of(name: str, kind: str, told: str = "") -> Form:
    """The form that a name asks for; ``kind``: ``values`` or ``traces``. Without an ending values are ``.npz``.

    ``told``: what an error begins with, instead of the name.

    Raises:
        UsageError: there is none, or it has no room for what is written.
    """
    ending = FOLDER if name.endswith(FOLDER) else Path(name).suffix.lower()
    if not ending and kind == "values":
        ending = ".npz"
    form = FORMS.get(ending)
    if form is None or not getattr(form, kind):
        known = ", ".join(f"{one.ending} ({one.what})" for one in FORMS.values() if getattr(one, kind))
        what = "outputs are" if kind == "values" else "a trace is"
        raise UsageError(f"{told or name}: {what} saved in the form that the ending names; there are {known}")
    return form


def write_values(form: Form, path: Path, values: Mapping[str, Data], types: Mapping[str, ValueType]) -> list[str]:
    """Write named values; returns what there is to say about it, one line each. ``types``: as a model declares them.

    Raises:
        UsageError: a package that writes the form is not installed, or the form has no room for a value.
        OSError: the file cannot be written.
    """
    found: list[str] = import_module(f".{form.module}", __package__).write(path, values, types)
    return found
