"""An ONNX model as text: ONNX's own notation with abbreviated constants."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx.numpy_helper
import onnx.printer
from onnx import AttributeProto, ModelProto, TensorProto

from ....runtime.modelfile.onnx_graph import walk_graphs
from ....runtime.modelfile.onnx_storage import is_external, tensors
from ....runtime.text import escape_unprintable

#: Maximum number of elements written in full, and number of the first elements of a longer constant.
_MAX_ELEMENTS, _FIRST_ELEMENTS = 64, 4


def model_text(proto: ModelProto) -> str:
    """Return a model in ONNX's notation; constants with more than 64 elements show the first four: ``{1, 2, 3, 4, ...
    600 elements}``."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    _make_printable(copy)
    shortened = _ConstantShortener()
    for tensor in tensors(copy):
        shortened.shorten_tensor(tensor)
    for nodes in (*(graph.node for graph in walk_graphs(copy.graph)), *(function.node for function in copy.functions)):
        for node in nodes:
            for attribute in node.attribute:
                shortened.shorten_attribute(attribute)
    return shortened.fill_placeholders(str(onnx.printer.to_text(copy)))


class _ConstantShortener:
    """Placeholders for constants in the printed text, and the texts that replace them."""

    def __init__(self) -> None:
        # No name in a model equals it.
        self._token = uuid.uuid4().hex
        self._texts: list[str] = []

    def shorten_tensor(self, tensor: TensorProto) -> None:
        """Replace a large tensor by a placeholder."""
        count = int(np.prod(tensor.dims, dtype=object))
        if count <= _MAX_ELEMENTS:
            return
        first: Iterable[Any] = () if is_external(tensor) else onnx.numpy_helper.to_array(tensor).flat[:_FIRST_ELEMENTS]
        texts = [_quote_string(x) if isinstance(x, bytes | str) else f"{x!s:.16}" for x in first]
        for field in (
            "raw_data",
            "float_data",
            "int32_data",
            "string_data",
            "int64_data",
            "double_data",
            "uint64_data",
        ):
            tensor.ClearField(field)
        del tensor.external_data[:]
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(
            key="location", value=self._add_placeholder(f"{{{_abbreviate_elements(texts, count)}}}")
        )

    def shorten_attribute(self, attribute: AttributeProto) -> None:
        """Replace a long list of numbers or strings by a placeholder."""
        for field in ("floats", "ints", "strings"):
            values = getattr(attribute, field)
            if len(values) > _MAX_ELEMENTS:
                texts = [_quote_string(x) if field == "strings" else f"{x:.7g}" for x in values[:_FIRST_ELEMENTS]]
                text = f"{field} = [{_abbreviate_elements(texts, len(values))}]"
                del values[:]
                attribute.type = AttributeProto.STRING
                attribute.s = self._add_placeholder(text).encode()

    def fill_placeholders(self, text: str) -> str:
        """Substitute the short texts for the placeholders."""
        tensor, attribute = rf' ?\["location": "{self._token} (\d+)"\]', rf'string = "{self._token} (\d+)"'
        text = re.sub(tensor, lambda match: f" {self._texts[int(match[1])]}", text)
        return re.sub(attribute, lambda match: self._texts[int(match[1])], text)

    def _add_placeholder(self, text: str) -> str:
        self._texts.append(text)
        return f"{self._token} {len(self._texts) - 1}"


def _abbreviate_elements(texts: list[str], count: int) -> str:
    return ", ".join([*texts, f"... {count} elements"])


def _quote_string(text: bytes | str) -> str:
    """The beginning of a string of a model, in quotes."""
    decoded = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return escape_unprintable(json.dumps(decoded[:24], ensure_ascii=False))


def _make_printable(message: Any) -> None:
    """Escape unprintable characters in all texts of a message, such as names."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            texts = [value] if isinstance(value, str) else list(value)
            if not all(map(str.isprintable, texts)):
                message.ClearField(field.name)
                escaped = [escape_unprintable(text) for text in texts]
                if isinstance(value, str):
                    setattr(message, field.name, escaped[0])
                else:
                    getattr(message, field.name).extend(escaped)
        elif field.type == field.TYPE_MESSAGE:
            for child in [value] if hasattr(value, "ListFields") else value:
                _make_printable(child)
