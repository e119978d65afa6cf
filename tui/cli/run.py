"""``loopdbg run``: a model headless, at full speed."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from ...runtime.errors import ExecutionError, InterruptError, LimitError, TraceError, UsageError
from ...runtime.frontends import is_database, split
from ...runtime.graph import StoppedBy
from ...runtime.model import Model, OnIteration
from ...runtime.model import Run as Result
from . import report, scripted, terminal
from .command import Command
from .expected import compare_with, expected
from .inputs import Inputs, add_run_options, beside, gather, to_run
from .progress import Late, Progress
from .recorded import add_weights_option, opened
from .recording import Recording, Resumed, add_record_options, check_options
from .save import check_kind, check_target, save

_STATUS = {
    None: 0,
    StoppedBy.LIMIT: LimitError.exit_status,
    StoppedBy.INTERRUPT: InterruptError.exit_status,
}


class Run(Command):
    """Runs a model to its end and prints outputs, iterations and times."""

    name = "run"
    summary = """\
Run a model headless, at full speed; print its outputs, its iterations and
the time they took."""
    examples = """\
examples:
  loopdbg run lstm.xml --inputs x.npz --output y.npz
  loopdbg run newton_sqrt.onnx --input a=2 --input tol=1e-6 --json
  loopdbg run newton_sqrt.onnx --break 'err < 1e-3'
  loopdbg run newton_sqrt.onnx -ex 'break iter 3' -ex continue -ex 'print x' --batch
  loopdbg run newton_sqrt.onnx --record run.loopdb
  loopdbg run run.loopdb -ex 'watch x settles 1e-3' -ex continue --batch

--json: {"outputs": {NAME: {"shape", "dtype", "min", "max", "mean"}},
         "loops": [{"name", "path", "iterations", "stopped_by"}], "seconds", "notes"};
  a nested loop also has "entries" and "reasons"; --record adds
  "recorded": {"file", "boundaries", "bytes"}; null stands for what is not finite
  and for statistics of nothing, "nan" and "inf" then count such elements.

With --break, --assert, -x or -ex the model runs in a session, or a trace is
gone through in its place; 'help' is the command that lists the commands.
--json of a stop: {"stopped": {"reason", "text", "loop", "iteration",
"breakpoint", "carried": {NAME: value}}}, and "assertion" where one failed.

exit status: 0 done, 1 bad model or input, 2 wrong usage, 3 stopped by --break,
4 a limit hit, 5 outputs are not as expected, 7 --assert failed, 130 interrupted"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg run MODEL|TRACE [options]"
        parser.add_argument("model", metavar="MODEL", help="the model file: .onnx, .xml, ..., or a trace to ask")
        add_weights_option(parser)
        add_run_options(parser)
        add_record_options(parser)
        parser.add_argument("--output", type=Path, metavar="F.npz", help="save the outputs under their names")
        parser.add_argument(
            "--expect",
            type=Path,
            metavar="FILE|DIR",
            help="compare the outputs with those of an .npz file or of output_0.pb, ... in a folder; "
            "ONNX test data that gives the inputs is compared in any case",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
        scripted.add_options(parser)

    def run(self, options: argparse.Namespace) -> int:
        if options.output is not None:
            check_target(options.output, _read(options))
            check_kind(options.output)
        if is_database(options.model):
            return self._replay(options)
        check_options(options)
        model = to_run(options.model, options.weights, options)
        if options.resume is None:
            return self._run(model, None, options)
        with closing(Resumed(options.resume, model)) as resumed:
            return self._run(model, resumed, options)

    def _run(self, model: Model, resumed: Resumed | None, options: argparse.Namespace) -> int:
        inputs = gather(model, options) if resumed is None else Inputs(resumed.inputs, resumed.note, chosen_here=True)
        inputs = replace(inputs, expected=expected(model, inputs, options.expect))
        if scripted.wanted(options):
            return self._debug(model, inputs, options)
        with Recording(options, model, inputs.values, resumed) as recording:
            result, seconds = _execute(model, inputs, options.max_iterations, recording.hook, resumed)
            recording.finish(result)
        return self._tell(model, inputs, options, result, seconds, recording)

    def _debug(self, model: Model, inputs: Inputs, options: argparse.Namespace) -> int:
        """A session instead of a run; at its end the outputs are told as those of a run."""
        if options.record is not None or options.resume is not None:
            raise UsageError("--record and --resume are for runs without commands and breakpoints")
        if inputs.chosen_here:
            terminal.err(f"inputs: {inputs.note}")
        from ...debugger.session.session import Session

        attended = scripted.asks(options) and sys.stdin.isatty()
        session = Session(model, inputs.values, max_iterations=options.max_iterations, attended=attended)
        status, result, stopped, seconds = scripted.run(session, options)
        if result is not None:
            return status or self._tell(model, inputs, options, result, seconds, stepped=True)
        if options.json:
            terminal.out_json({"stopped": stopped})
        return status

    def _replay(self, options: argparse.Namespace) -> int:
        """A recording in place of a session; at its end the recorded outputs are told."""
        with opened(options) as replay:
            if not scripted.wanted(options):
                raise UsageError(
                    f"{options.model} is a recording, which cannot be run: -ex COMMAND, --break and --assert ask it, "
                    f"loopdbg {options.model} opens it, loopdbg export {options.model} OUT.csv writes it out"
                )
            status, result, stopped, _ = scripted.run(replay, options)
            if result is not None:
                # The time that the run took, not what reading it took.
                seconds = sum(loop.seconds for loop in result.loops)
                return status or self._tell(replay.model, Inputs(replay.inputs, ""), options, result, seconds)
            if options.json:
                terminal.out_json({"stopped": stopped})
            return status

    def _tell(
        self,
        model: Model,
        inputs: Inputs,
        options: argparse.Namespace,
        result: Result,
        seconds: float,
        recording: Recording | None = None,
        *,
        stepped: bool = False,
    ) -> int:
        """Print and save what a run gave; returns the exit status. ``stepped``: a session ran it, whose stops are in
        the seconds."""
        remarks = list(inputs.remarks)
        saved_as = ""
        if options.output is not None and result.stopped_by is None:
            remarks += save(options.output, result.outputs)
            saved_as = str(options.output)
        for remark in remarks:
            terminal.err(f"note: {remark}")
        if options.json:
            told = report.as_json(result, seconds)
            if recording is not None and recording.summary:
                told["recorded"] = recording.summary
            terminal.out_json(told)
        else:
            for note in report.notes(result):
                terminal.err(f"note: {note}")
            for line in report.loop_lines(model.name, result, None if stepped else seconds):
                terminal.out(line)
            for line in report.output_lines(result.outputs, saved_as):
                terminal.out(line)
            if recording is not None and recording.summary:
                terminal.out(recording.line)
        if result.stopped_by is not None:
            terminal.err(f"loopdbg: {result.message}")
        failed = recording is not None and recording.failed
        status = _STATUS[result.stopped_by] or (TraceError.exit_status if failed else 0)
        return status or (0 if result.stopped_by else compare_with(*inputs.expected, result.outputs))


def _read(options: argparse.Namespace) -> list[Path]:
    """Files that a run reads or records; a model's other files are none that outputs could replace."""
    model, _ = split(options.model)
    of_the_model = [model, model.with_suffix(".bin"), beside(model)] if model.name else []
    named = [options.weights, options.inputs, options.requests, options.expect, options.record, options.resume]
    return [*of_the_model, *(Path(path) for path in named if path is not None)]


def _execute(
    model: Model,
    inputs: Inputs,
    max_iterations: int | None,
    hook: OnIteration | None,
    resumed: Resumed | None,
) -> tuple[Result, float]:
    """Run it; seconds are those of the run alone, without reading and compiling."""
    watched = sys.stderr.isatty()
    said = f"inputs: {inputs.note}" if inputs.chosen_here else ""
    if said and watched:
        terminal.err(said)
    _ = model.plan  # compiles
    unasked = f"inputs: {inputs.note}" if inputs.unasked else ""
    progress = Progress(sys.stderr) if watched else Late(sys.stderr, unasked, lambda path: _bounds(model, path))
    start = time.perf_counter()
    try:
        with progress:
            result = model.execute(
                inputs.values,
                on_iteration=hook,
                max_iterations=max_iterations,
                on_tick=progress.tick,
                begin=resumed.begin if resumed else None,
            )
    except ExecutionError as error:
        # What was run is part of what went wrong, unless the user chose it.
        raise ExecutionError(f"{error} (inputs: {inputs.note})" if said and not watched else str(error)) from None
    seconds = time.perf_counter() - start
    if said and not watched:
        # Not before: an error is one line.
        terminal.err(said)
    return result, seconds


def _bounds(model: Model, path: str) -> str:
    """What can end a loop, in a sentence."""
    from ...debugger.words.ends import ends
    from ...debugger.words.node_text import Phrases
    from ...runtime.graph.origins import Origins

    loop = next(plan.loop for plan in model.plan.loops if plan.path == path)
    first = next(ends(loop, Phrases(Origins.of(model.graph))), "")
    return f"it ends {first[:1].lower()}{first[1:].rstrip('.')}" if first else ""
