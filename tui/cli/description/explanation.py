"""Implements ``loopdbg explain``: describes the loops of a model."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ....debugger.describe.explain import ExplanationList, explain_loops, lines_as_json
from ....debugger.describe.pseudo_code import build_pseudo_code
from ....debugger.describe.vocabulary.tensorrt import if_branch_requirements
from ....runtime.graph import System
from ....runtime.model import Model
from .. import terminal
from ..model_or_trace import load_model_or_trace
from .model_info import variable_line, variables


def run_explain(options: argparse.Namespace) -> int:
    """Print the explanation; returns the exit status."""
    model = load_model_or_trace(options)
    system = None if options.system is None else System(options.system)
    explanations = explain_loops(model, options.loop, options.system)
    if options.json:
        report = {
            "model": model.name,
            "system": model.graph.system.value,
            "as": (system or model.graph.system).value,
            "variables": variables(model.graph),
            "loops": [explanation.json() for explanation in explanations],
            "source": lines_as_json(build_pseudo_code(model.graph)),
        }
        terminal.out_json(report)
        return 0
    for line in _explanation_lines(model, explanations):
        terminal.out(line)
    if system is System.TENSORRT and model.graph.system is not system:
        for need in if_branch_requirements(model.graph):
            terminal.out(f"\n  needs       {need}")
    return 0


def _explanation_lines(model: Model, explanations: ExplanationList) -> Iterator[str]:
    for variable in variables(model.graph):
        yield f"Variable '{variable['name']}', kept from run to run: {variable_line(variable)}"
    if model.graph.variables:
        yield ""
    yield from explanations.lines()
