"""``loopdbg extract``: a loop, or one iteration of its body, as a model of its own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ....runtime.errors import UsageError
from .. import terminal
from ..command import Command
from ..comparison.peer_spec import parse_runtime
from ..options import add_json_option, add_run_options, add_weights_option

if TYPE_CHECKING:
    from ....debugger.extract.capture_runs import CaptureRuns, LoopEntryRef
    from ....debugger.extract.extract_loop import ExtractionResult
    from ....runtime.plan.plan import LoopPlan


class ExtractCommand(Command):
    """Writes a part of a model with its inputs and expected outputs."""

    name = "extract"
    summary = """\
Write a loop, or one iteration of its body, as a model of its own, with its
inputs and expected outputs: an ONNX test folder, of an IR .xml, .bin and .npz."""
    examples = """\
examples:
  loopdbg extract decoder.onnx --loop decode -o part
  loopdbg extract decoder.onnx --loop decode --iteration 12 -o part
  loopdbg extract decoder.onnx --iteration diff --against onnxruntime -o part
  loopdbg run part/model.onnx

The run's inputs are given as for 'run'. What is written gives the same bits by
itself, or it is not written.

exit status: 0 done, 1 bad model or input, or no part of its own, 2 wrong usage,
4 a limit hit, 130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg extract MODEL -o DIR [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file: .onnx, .xml, ...")
        add_weights_option(parser)
        part = parser.add_argument_group("part")
        part.add_argument("--loop", metavar="NAME", help="this loop, by name or path; needed where there are several")
        part.add_argument(
            "--iteration",
            metavar="K",
            help="one iteration of its body: a number, N/K with the iterations of the loops around it, last, or diff: "
            "where --against differs first; without it all iterations of an entry",
        )
        part.add_argument(
            "--entry", metavar="N", help="of this entry of a nested loop: the iterations of the loops around it, N/M"
        )
        part.add_argument("--against", type=parse_runtime, metavar="PEER", help="the runtime that diff compares with")
        part.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="the folder to write")
        part.add_argument("--force", action="store_true", help="write into a folder that has something in it")
        add_json_option(parser)
        add_run_options(parser)

    def import_implementation(self) -> None:
        from ....debugger.extract import extract_loop  # noqa: F401
        from ..model_inputs import gather  # noqa: F401

    def run(self, options: argparse.Namespace) -> int:
        # Imported lazily: --help needs none of it.
        from ....debugger.extract.capture_runs import CaptureRuns
        from ....debugger.extract.extract_loop import extract, find_loop
        from ....debugger.extract.output_folder import check_writable_folder
        from ..model_inputs.gather import gather_inputs, load_runnable_model

        check_writable_folder(options.output, options.force)
        if (options.iteration == "diff") != (options.against is not None):
            raise UsageError("--iteration diff and --against PEER go together: the iteration where they differ first")
        model = load_runnable_model(options.model, options.weights, options)
        plan = find_loop(model, options.loop)
        inputs = gather_inputs(model, options)
        inputs.print_notes()
        runs = CaptureRuns(model, inputs.values, options.max_iterations)
        entry, iteration = _resolve_target(runs, plan, options)
        result = extract(runs, entry, iteration, options.output, force=options.force)
        _print_result(result, options)
        return 0


def _resolve_target(runs: CaptureRuns, plan: LoopPlan, options: argparse.Namespace) -> tuple[LoopEntryRef, int | None]:
    """The selected entry, and the iteration, None for all."""
    from ....debugger.extract.capture_runs import LoopEntryRef
    from ....debugger.extract.resolve_target import check_entry_indices, find_first_peer_difference, parse_numbers

    if options.iteration == "diff":
        return find_first_peer_difference(runs, plan, options.against)
    outer = None if options.entry is None else parse_numbers(options.entry, "--entry")
    iteration = None
    if options.iteration not in (None, "last"):
        *outer_numbers, iteration = parse_numbers(options.iteration, "--iteration")
        if outer_numbers and outer is not None:
            raise UsageError(f"--iteration {options.iteration} names an entry, and --entry another: leave one out")
        outer = tuple(outer_numbers) if outer_numbers else outer
    entry = runs.first_entry(plan) if outer is None else LoopEntryRef(plan, check_entry_indices(plan, outer))
    if options.iteration == "last":
        iteration = runs.last_iteration(entry)
    return entry, iteration


def _print_result(result: ExtractionResult, options: argparse.Namespace) -> None:
    if options.json:
        terminal.out_json(
            {
                "model": str(result.model),
                "loop": result.loop,
                "entry": list(result.entry),
                "iteration": result.iteration,
                "inputs": list(result.inputs),
                "outputs": list(result.outputs),
                "expected": list(result.expected),
                "failure": result.failure or None,
                "expected_by": "loopdbg",
            }
        )
        return
    terminal.out(f"wrote {result.what} as {result.model}: {result.proof}")
