"""``loopdbg explain``: each loop of a model as pseudo-code, its ports, and how it ends, without running it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...runtime.errors import UsageError
from ...runtime.graph import System
from ...runtime.model import Model
from ...runtime.text import did_you_mean
from . import terminal
from .command import Command
from .loop_info import variable_line, variables
from .options import add_weights_option
from .recorded import model_of

if TYPE_CHECKING:
    from ...debugger.words.explain import Explanation


class Explain(Command):
    """Prints what a loop means, in the words of its own system or of another."""

    name = "explain"
    summary = """\
Show each loop of a model as pseudo-code, with its inputs, carried values and
outputs, and say what ends it. Nothing is run."""
    examples = """\
examples:
  loopdbg explain newton_sqrt.onnx
  loopdbg explain lstm.xml --as onnx
  loopdbg explain nested.onnx --loop inner --as tensorrt

--as reads the loop in another system's words: what would have to be added
stands under 'needs', what that system cannot say under 'cannot'.

exit status: 0 done, 1 bad model, 2 wrong usage"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg explain MODEL|TRACE [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file: .onnx, .xml, ..., or a trace")
        add_weights_option(parser)
        parser.add_argument(
            "--as",
            dest="system",
            choices=[system.value for system in System],
            help="the system whose words to use; the model's own by default",
        )
        parser.add_argument("--loop", metavar="NAME", help="only the loop of this name or path")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, options: argparse.Namespace) -> int:
        from ...debugger.words.explain import explain, json_lines
        from ...debugger.words.source import source
        from ...debugger.words.vocabulary.tensorrt import conditional_needs

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
    from ...debugger.words.source import source

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
