"""Loops in the terms of each system: its port names, requirements and unsupported features."""

from __future__ import annotations

from ....runtime.graph import System
from .onnx import onnx_terms
from .openvino import openvino_terms
from .tensorrt import tensorrt_terms
from .terms_context import LoopTerms, TermsContext, TermsSection

__all__ = ["LoopTerms", "TermsContext", "TermsSection", "loop_terms"]

_TERMS_BY_SYSTEM = {System.ONNX: onnx_terms, System.OPENVINO: openvino_terms, System.TENSORRT: tensorrt_terms}


def loop_terms(context: TermsContext, system: System) -> LoopTerms:
    """Describe a loop in the terms of a system, its own or another."""
    return _TERMS_BY_SYSTEM[system](context)
