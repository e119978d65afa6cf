"""What ``loopdbg explain`` does: the loops of a model in words."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ...debugger.words.explain import Explanations, explained, json_lines
from ...debugger.words.source import source
from ...debugger.words.vocabulary.tensorrt import conditional_needs
from ...runtime.graph import System
from ...runtime.model import Model
from . import terminal
from .loop_info import variable_line, variables
from .recorded import model_of


def run(options: argparse.Namespace) -> int:
    """Print what the options ask for; returns the exit status."""
    model = model_of(options)
    system = None if options.system is None else System(options.system)
    found = explained(model, options.loop, options.system)
    if options.json:
        told = {
            "model": model.name,
            "system": model.graph.system.value,
            "as": (system or model.graph.system).value,
            "variables": variables(model.graph),
            "loops": [one.json() for one in found],
            "source": json_lines(source(model.graph)),
        }
        terminal.out_json(told)
        return 0
    for line in _text(model, found):
        terminal.out(line)
    if system is System.TENSORRT and model.graph.system is not system:
        for need in conditional_needs(model.graph):
            terminal.out(f"\n  needs       {need}")
    return 0


def _text(model: Model, found: Explanations) -> Iterator[str]:
    for one in variables(model.graph):
        yield f"Variable '{one['name']}', kept from run to run: {variable_line(one)}"
    if model.graph.variables:
        yield ""
    yield from found.lines()
