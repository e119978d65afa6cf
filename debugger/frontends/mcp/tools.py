"""What an agent can do with a session: each tool is a method, its answer a text that is short.

Most of them are commands of the console, so that an agent reads what a person reads there. A text of the agent is the
argument of one command, never a line with a command of its own, but for the tool ``command``. No file is written or
sourced but in the folder that whoever started the server allowed, and no script is run but with its consent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from ....runtime.errors import UsageError
from ....runtime.text import count_text, escape_lines
from ...describe.explain import explain
from ...expression.language import format_value, parse
from ...scope.frame_scope import FrameScope
from ...session.session_base import SessionBase
from ..console.console import Console
from ..console.export_commands import extract_into
from ..console.file_access import folder_access

#: An answer has no more characters: about a thousand tokens.
ANSWER_MAX_CHARS = 4000
#: Seconds after which a move is interrupted.
MOVE_TIMEOUT_SECONDS = 60.0
#: Of a history so many iterations are told.
_HISTORY_ITERATIONS = 50
Unit = Literal["iteration", "node", "into", "loop"]
#: Opens a model or a trace, from its path and what else is said of it.
SessionOpener = Callable[[Mapping[str, Any]], SessionBase]
#: Compares: the paths of two, or of one and the name of a runtime, with inputs by name; gives the lines of the report.
ModelComparer = Callable[[str, str, str, Mapping[str, Any]], Iterable[str]]
#: Commands that a conversation has no use for.
_EXCLUDED_COMMANDS = frozenset({"commands", "quit"})


class McpTools:
    """One session at a time. ``folder``: where the agent may write and source files; without one, nowhere."""

    def __init__(self, opens: SessionOpener, compares: ModelComparer, folder: str | Path | None = None) -> None:
        self._open_session, self._compare = opens, compares
        self._file_access = folder_access(folder)
        self._session: SessionBase | None = None
        self._console: Console | None = None
        self._output_lines: list[str] = []
        # A session may be driven by one at a time, and a client may ask for several things at once.
        self._lock = threading.Lock()

    # -- what is open

    def open(
        self,
        path: str,
        inputs: dict[str, Any] | None = None,
        seed: int | None = None,
        max_iterations: int | None = None,
    ) -> str:
        """Open a model (.onnx, .xml, a TensorRT script) or a trace (.loopdb), stopped before iteration 0 of its first
        loop. inputs: name -> number, list or path of a .npy file; without them those beside the model, or random ones
        made from seed. Anything that was open is closed."""
        with self._lock:
            given = {"path": path, "inputs": inputs or {}, "seed": seed, "max_iterations": max_iterations}
            session = self._open_session(given)
            self._session, self._console = session, Console(session, self._output_lines.append)
            self._console.file_access = self._file_access
            model = session.model
            told = [f"opened {model.name}: {session.stop.text}"]
            told += [f"input {port.name}: {port.type}" for port in model.inputs]
            told += [f"output {port.name}: {port.type}" for port in model.outputs]
            names = ", ".join(loop.name for loop in model.loops) or "none"
            told.append(f"{count_text(len(model.loops), 'outermost loop')}: {names}")
            return _format_answer(told, "next: explain, list_source, step, set_breakpoint, continue_run")

    def explain(self) -> str:
        """What the loops of the open model mean: trip count, condition, back edges, scan outputs, what ends them, where
        runtimes differ."""
        with self._lock:
            told = [line for one in explain(self._require_session().model, None) for line in (*one.lines(), "")]
            return _format_answer(told, "next: step, set_breakpoint")

    def list_source(self, which: str = "") -> str:
        """The pseudo-code of the loop with the values of this iteration. which: empty for the lines around the next
        one, a line number, or 'all'."""
        return self._run_command("list", which, "next: print_value, step")

    # -- moving

    def step(self, count: int = 1, unit: Unit = "iteration") -> str:
        """Go on: count iterations (to the boundary), nodes of the body, into an inner loop, or to the end of the
        loop."""
        word = {"iteration": "step", "node": "next", "into": "into", "loop": "finish"}[unit]
        return self._run_command(word, "" if unit == "into" else str(count), "next: print_value, why")

    def continue_run(self) -> str:
        """Run to the next breakpoint, or to the end of the model."""
        return self._run_command("continue", "", "next: why, print_value, back")

    def back(self, count: int = 1, unit: Literal["iteration", "node"] = "iteration") -> str:
        """Go back in time, bit for bit."""
        return self._run_command("back" if unit == "iteration" else "back-node", str(count), "next: print_value")

    def reverse_continue(self) -> str:
        """Go back to the last stop that a breakpoint would have made: with a breakpoint 'nan', to where NaN first
        arose."""
        return self._run_command("reverse-continue", "", "next: list_source, why")

    def go_to(self, iteration: int) -> str:
        """To the boundary before an iteration of this loop, back or ahead."""
        return self._run_command("goto", str(iteration), "next: print_value")

    # -- stopping

    def set_breakpoint(self, place: str, watch: bool = False) -> str:
        """Stop at a place: 'iter 40', 'line 7', a value or node, 'op MatMul', 'if max(abs(h)) > 1e3', 'end', 'nan'.
        watch: where a value changes instead: 'h', 'err crosses 1e-3', 'x settles 1e-6'."""
        return self._run_command("watch" if watch else "break", place, "next: continue_run, reverse_continue")

    def clear_breakpoints(self) -> str:
        """Forget all breakpoints."""
        with self._lock:
            self._require_session().breakpoints.clear()
            return "no breakpoints"

    # -- seeing

    def print_value(self, expression: str) -> str:
        """The value of an expression of this frame: 'h', 'max(abs(h))', 'x@3' (x in iteration 3), 'h[0, :5]'."""
        return self._run_command("print", expression, "")

    def why(self) -> str:
        """Why the loop goes on, or why it ended: the comparison, its numbers, an estimate."""
        return self._run_command("why", "", "next: go_to, set_breakpoint")

    def set_value(self, target: str, value: str) -> str:
        """Change a value and go on from there: a branch of the timeline begins, the file stays as it is."""
        return self._run_command("set", f"{target} = {value}", "next: step, continue_run")

    def command(self, line: str) -> str:
        """Any command of loopdbg's console; 'help' lists them. None that writes or reads files."""
        name = self._command_name(line.strip())
        if name in _EXCLUDED_COMMANDS:
            raise UsageError(f"{name} makes no sense here")
        return self._run_action(lambda console: console.execute(line), "")

    # -- comparing and cutting

    def diff(
        self,
        a: str,
        b: str = "",
        against: Literal["", "onnxruntime", "openvino"] = "",
        inputs: dict[str, Any] | None = None,
    ) -> str:
        """Compare two models, a model and a reference (.npz) or a trace, or a model with another runtime: the first
        iteration and node that differ, and what is written otherwise."""
        if bool(b) == bool(against):
            raise UsageError("diff compares a with b, or with a runtime: give one of b and against")
        with self._lock:
            told = list(self._compare(a, b, against, inputs or {}))
            return _format_answer(told, "next: open one of them, go_to that iteration")

    def extract(self, folder: str, whole: bool = False) -> str:
        """Write the iteration that comes next of the loop that it stands in, or the whole loop, as a model of its own
        with inputs and expected outputs."""
        return self._run_action(lambda console: extract_into(console, folder, whole=whole), "")

    # -- resources

    def source(self) -> str:
        """The pseudo-code of the whole model."""
        with self._lock:
            return escape_lines(self._require_session()._internals.symbols.pseudo_code.text())

    def history(self, name: str) -> str:
        """What a value was in the newest iterations so far, a line each."""
        with self._lock:
            frame = self._require_session().frame
            scope = FrameScope(frame, frame.history)
            last = frame.iteration - (0 if frame.index >= 0 and not frame.at_boundary else 1)
            numbers = range(max(0, last - _HISTORY_ITERATIONS + 1), last + 1)
            return escape_lines(f"{k}: {format_value(parse(f'{name}@{k}').evaluate(scope), 100)}" for k in numbers)

    # -- how

    def _require_session(self) -> SessionBase:
        if self._session is None:
            raise UsageError("nothing is open; open a model first")
        return self._session

    def _command_name(self, line: str) -> str:
        """The name of the command that a line means, "" for what ends a block of them and for nothing."""
        with self._lock:
            self._require_session()
            assert self._console is not None
            return "" if line in ("", "end") else self._console.parse_line(line)[0].name

    def _run_command(self, command: str, text: str, more: str) -> str:
        """What a command of the console says; ``text`` is its argument, and never a command itself."""
        return self._run_action(lambda console: console.run_command(command, text), more)

    def _run_action(self, action: Callable[[Console], None], more: str) -> str:
        """What the console says to an action that may take :data:`MOVE_TIMEOUT_SECONDS` seconds."""
        with self._lock:
            session, console = self._require_session(), self._console
            assert console is not None
            self._output_lines.clear()
            alarm = threading.Timer(MOVE_TIMEOUT_SECONDS, session.interrupt)
            alarm.daemon = True
            alarm.start()
            try:
                action(console)
            finally:
                alarm.cancel()
            return _format_answer(self._output_lines, more)


def truncate_answer(text: str) -> str:
    """A text of at most :data:`ANSWER_MAX_CHARS` characters, and how many are missing."""
    if len(text) <= ANSWER_MAX_CHARS:
        return text
    return f"{text[:ANSWER_MAX_CHARS]}\n... {len(text) - ANSWER_MAX_CHARS} more characters; ask for a part of it"


def _format_answer(lines: Iterable[str], more: str) -> str:
    """A text that is not too long, with what to ask next; names out of files add no lines to it."""
    text = truncate_answer(escape_lines(lines))
    return f"{text}\n({more})" if more else text
