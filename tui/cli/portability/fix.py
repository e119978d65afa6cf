"""Implements ``loopdbg check --fix``: writes a model with the fixes that keep its results, and reports them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ....debugger.portability_fixes.fix_model import FixResult, fix_model
from ....debugger.rewriting.editable_model import open_editable
from ....debugger.rewriting.random_cases import random_inputs
from ....runtime.errors import InterruptError, UsageError
from ....runtime.model import Data, Model
from ....runtime.text import escape_unprintable
from .. import terminal
from ..output_files import is_same_file

#: Defaults: the number of random inputs, and the time for the runs that verify one fix.
DEFAULT_FIX_INPUTS, DEFAULT_FIX_SECONDS = 100, 10.0


@dataclass(frozen=True)
class WrittenFixes:
    """The result of fixing a model. ``path``: the model with the fixes, None where nothing was changed."""

    result: FixResult
    path: Path | None


def check_fix_options(options: argparse.Namespace) -> None:
    """Reject options that do not fit together before anything is run.

    Raises:
        UsageError: there is no single model, no file to write, or it is the model itself.
    """
    if not options.fix:
        if options.output is not None:
            raise UsageError("-o is the file that --fix writes; add --fix")
        return
    if options.output is None:
        raise UsageError("--fix writes a file; give it as -o OUT", expected="-o OUT")
    if len(options.models) != 1:
        raise UsageError("--fix takes one model; run it for each", got=f"{len(options.models)} models")
    source, target = Path(options.models[0]), options.output
    if is_same_file(source, target):
        raise UsageError(f"-o {target}: is the model itself; give another name", name=str(target))
    if source.suffix == ".xml" and target.suffix != ".xml":
        raise UsageError(
            f"-o {target}: the result is an OpenVINO IR, too; give an .xml", name=str(target), expected=".xml"
        )
    if source.suffix != ".xml" and target.suffix != ".onnx":
        raise UsageError(f"-o {target}: the result is an ONNX model; give an .onnx", name=str(target), expected=".onnx")


def fix_and_write(model: Model, first_inputs: Mapping[str, Data] | None, options: argparse.Namespace) -> WrittenFixes:
    """Fix what the rules find in a model, and write the result.

    Args:
        model: the model.
        first_inputs: the inputs of the first run of each verification; None: random ones alone.
        options: of the command.

    Raises:
        ModelError: the result cannot be written.
        InterruptError: Ctrl-C; what was done until then is printed, and nothing is written.
    """
    assert model.path is not None
    count = options.fix_inputs or DEFAULT_FIX_INPUTS
    inputs = [*([] if first_inputs is None else [first_inputs]), *random_inputs(model, count, options.seed or 0)]
    seconds = options.fix_seconds or DEFAULT_FIX_SECONDS
    result = fix_model(open_editable(model.path, model.graph.weights), model, options.targets, inputs, seconds)
    if result.interrupted:
        for line in fix_lines(WrittenFixes(result, None)):
            terminal.out(line)
        raise InterruptError("interrupted; the model with these fixes is not written")
    if result.model is None:
        return WrittenFixes(result, None)
    return WrittenFixes(result, result.model.write(options.output)[0])


def fix_lines(written: WrittenFixes) -> Iterator[str]:
    """The report as text: a line for each fix, and one for each finding that is left."""
    for fix in written.result.fixes:
        word = "fixed" if fix.applied else "not fixed"
        place = fix.path if not fix.node or fix.path.endswith(f" {fix.node}") else f"{fix.path}, node '{fix.node}'"
        yield escape_unprintable(f"  {word}: {place}: {fix.kind}: {fix.reason}: {fix.text}")
    targets: dict[tuple[str, str], dict[str, None]] = {}
    for left in written.result.unfixed:
        targets.setdefault((left.finding.rule, left.text), {})[left.finding.target] = None
    for (rule, text), names in targets.items():
        yield escape_unprintable(f"  left: {', '.join(names)}: rule {rule}: {text}")
    yield escape_unprintable(f"  written: {written.path}" if written.path else "  nothing is written: there is no fix")


def fix_json(written: WrittenFixes) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "output": None if written.path is None else str(written.path),
        "fixes": [asdict(fix) for fix in written.result.fixes],
        "left": [
            {
                "target": left.finding.target,
                "rule": left.finding.rule,
                "path": left.finding.path,
                "node": left.finding.node,
                "text": left.text,
            }
            for left in written.result.unfixed
        ],
    }
