"""ONNX test data: a folder with ``output_0.pb``, ... and ``input_0.pb``, ... in the layout of ONNX's backend tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.atomic_file import atomic_folder, write_bytes
from ...runtime.graph import OptionalType, SequenceType, ValueType
from ...runtime.input_validation import Data
from ...runtime.signal_deferral import defer_signals


def write(path: Path, values: Mapping[str, Data], types: Mapping[str, ValueType]) -> list[str]:
    """Write values as outputs, in order.

    Raises:
        OSError: the folder cannot be written.
    """
    with atomic_folder(path) as folder:
        write_test_data(folder, "output", ((name, types[name], value) for name, value in values.items()))
    return []


def write_test_data(folder: Path, prefix: str, values: Iterable[tuple[str, ValueType, Any] | None]) -> None:
    """Write ``input_K.pb`` or ``output_K.pb`` for (name, declared type, value); None: the value is unknown.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with defer_signals():  # an interrupted import of compiled modules can crash the process later
        import onnx  # noqa: F401
    for k, (name, kind, value) in ((k, entry) for k, entry in enumerate(values) if entry is not None):
        write_bytes(folder / f"{prefix}_{k}.pb", to_protobuf(name, kind, value).SerializeToString())


def to_protobuf(name: str, kind: ValueType, value: Any) -> Any:
    """A value as the protobuf message for its declared type."""
    from onnx import OptionalProto, SequenceProto, numpy_helper

    if isinstance(kind, OptionalType):
        # The package cannot represent the type of an empty optional.
        return OptionalProto(name=name) if value is None else numpy_helper.from_optional(value, name)
    if isinstance(kind, SequenceType):
        if not value:
            return SequenceProto(name=name, elem_type=SequenceProto.TENSOR)
        return numpy_helper.from_list([np.asarray(element) for element in value], name)
    return numpy_helper.from_array(np.asarray(value), name)
