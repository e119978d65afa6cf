"""Programs in ONNX's text form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Program:
    """A model in text form, and its inputs."""

    text: str
    inputs: dict[str, Any]
