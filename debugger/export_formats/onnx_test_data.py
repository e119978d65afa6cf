"""A folder of ONNX test data: ``output_0.pb``, ... and ``input_0.pb``, ... as ONNX's own backend tests have them."""

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
    """Write values as outputs, in their order.

    Raises:
        OSError: the folder cannot be written.
    """
    with atomic_folder(path) as folder:
        write_test_data(folder, "output", ((name, types[name], value) for name, value in values.items()))
    return []


def write_test_data(folder: Path, what: str, values: Iterable[tuple[str, ValueType, Any] | None]) -> None:
    """Write ``input_K.pb`` or ``output_K.pb`` for names, declared types and values; None: its value is not known.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with defer_signals():  # an import of compiled modules that is broken off can crash the process later
        import onnx  # noqa: F401
    for k, (name, kind, value) in ((k, one) for k, one in enumerate(values) if one is not None):
        write_bytes(folder / f"{what}_{k}.pb", to_protobuf(name, kind, value).SerializeToString())


def to_protobuf(name: str, kind: ValueType, value: Any) -> Any:
    """A value as the message that test data hold for its declared type."""
    from onnx import OptionalProto, SequenceProto, numpy_helper

    if isinstance(kind, OptionalType):
        # Of an empty one the package reads no type.
        return OptionalProto(name=name) if value is None else numpy_helper.from_optional(value, name)
    if isinstance(kind, SequenceType):
        if not value:
            return SequenceProto(name=name, elem_type=SequenceProto.TENSOR)
        return numpy_helper.from_list([np.asarray(one) for one in value], name)
    return numpy_helper.from_array(np.asarray(value), name)
