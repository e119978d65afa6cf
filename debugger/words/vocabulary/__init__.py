"""One loop in the words of each system: its ports as that system names them, and what it cannot express."""

from __future__ import annotations

from ....runtime.graph import System
from .onnx import onnx_terms
from .openvino import openvino_terms
from .tensorrt import tensorrt_terms
from .terms import Context, Section, Terms

__all__ = ["Context", "Section", "Terms", "terms"]

_WRITERS = {System.ONNX: onnx_terms, System.OPENVINO: openvino_terms, System.TENSORRT: tensorrt_terms}


def terms(context: Context, system: System) -> Terms:
    """A loop in the words of a system, its own or another."""
    return _WRITERS[system](context)
