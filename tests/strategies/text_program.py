"""Programs in ONNX's text form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class TextProgram:
    """A model in text form, and its inputs."""

    text: str
    inputs: dict[str, Any]


#: Constants of a main graph: slice bounds that reverse an axis, and that take all of it.
SLICE_CONSTANTS = """flip_from = Constant <value_ints = [-1]> ()
      flip_to = Constant <value_ints = [-1000]> ()
      flip_by = Constant <value_ints = [-1]> ()
      turn_from = Constant <value_ints = [0]> ()
      turn_to = Constant <value_ints = [1000]> ()
      turn_by = Constant <value_ints = [1]> ()"""
