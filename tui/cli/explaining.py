"""What ``loopdbg explain`` does: the loops of a model in words."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ...debugger.words.explain import Explanation, explain, json_lines
from ...debugger.words.source import source
from ...debugger.words.vocabulary.tensorrt import conditional_needs
from ...runtime.errors import UsageError
from ...runtime.graph import System
from ...runtime.model import Model
from ...runtime.text import did_you_mean
from . import terminal
from .loop_info import variable_line, variables
from .recorded import model_of


def run(options: argparse.Namespace) -> int:
    """Print what the options ask for; returns the exit status."""
    model = model_of(options)
    system = None if options.system is None else System(options.system)
    found = explain(model, system)
    if options.loop is not None:
        found = _chosen(found, options.loop, model)
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


def _text(model: Model, found: list[Explanation]) -> Iterator[str]:
    for one in variables(model.graph):
        yield f"Variable '{one['name']}', kept from run to run: {variable_line(one)}"
    if model.graph.variables:
        yield ""
    if not found:
        yield f"{model.name} has no loop; its main graph:"
        yield ""
        yield from (f"  {line}" for line in source(model.graph).text())
    for k, explained in enumerate(found):
        if k:
            yield ""
        yield from explained.lines()


def _chosen(found: list[Explanation], name: str, model: Model) -> list[Explanation]:
    """The loops of a name, or the one of a path.

    Raises:
        UsageError: there is none; the text says which there are.
    """
    chosen = [one for one in found if name in (one.name, one.path)]
    if not chosen:
        known = [one.name for one in found]
        listed = f"its loops are {', '.join(repr(one) for one in known)}" if known else "it has no loop at all"
        raise UsageError(f"{model.name} has no loop '{name}'{did_you_mean(name, known) or f'; {listed}'}")
    return chosen
