"""Models of the lessons in ONNX's text form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnx.parser

from sample import Array, SampleModel

HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'


def onnx_text(text: str) -> bytes:
    """A graph's text as a model's, its margin taken off.

    Raises:
        onnx.parser.ParseError: the text is not a graph.
        onnx.checker.ValidationError: the graph is not a valid model.
    """
    lines = text.strip("\n").splitlines()
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    whole = HEADER + "\n".join(line[margin:].rstrip() for line in lines) + "\n"
    onnx.checker.check_model(onnx.parser.parse_model(whole), full_check=True)
    return whole.encode()


def text_sample(text: str, inputs: Mapping[str, object]) -> SampleModel:
    """A sample in ONNX's text form; constants are initializers of the body, so that no line of a listing is theirs."""
    given: dict[str, Array] = {
        name: np.array(value, np.bool_ if isinstance(value, bool) else np.int64) for name, value in inputs.items()
    }
    return SampleModel({".onnxtxt": onnx_text(text)}, given)
