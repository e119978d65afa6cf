"""Models of the lessons in ONNX's text format."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnx.parser

from sample import Array, SampleModel

HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'


def onnx_text(text: str) -> bytes:
    """The text of a model from the text of its graph, dedented.

    Raises:
        onnx.parser.ParseError: the text is not a graph.
        onnx.checker.ValidationError: the graph is not a valid model.
    """
    lines = text.strip("\n").splitlines()
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    model_text = HEADER + "\n".join(line[margin:].rstrip() for line in lines) + "\n"
    onnx.checker.check_model(onnx.parser.parse_model(model_text), full_check=True)
    return model_text.encode()


def text_sample(text: str, inputs: Mapping[str, object]) -> SampleModel:
    """A sample in ONNX's text format; constants are initializers of the body and so do not appear in listings."""
    arrays: dict[str, Array] = {
        name: np.array(value, np.bool_ if isinstance(value, bool) else np.int64) for name, value in inputs.items()
    }
    return SampleModel({".onnxtxt": onnx_text(text)}, arrays)
