"""The tools of an agent: each is a method that returns a short text.

Most of them are console commands with the same output. A text of the agent is the argument of one command and is never
parsed as a command line, except for the tool ``command``. Files are written and sourced only in the folder that the
server's user allowed, and scripts are run only with the user's consent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from ....runtime.errors import UsageError
from ....runtime.text import count_text, escape_lines
from ...describe.explain import explain
from ...expression.expression import format_value, parse
from ...scope.frame_scope import FrameScope
from ...session.session import Session
from ..console.console import Console
from ..console.export_commands import extract_into
from ..console.file_access import folder_access

#: Maximum length of an answer, about a thousand tokens.
ANSWER_MAX_CHARS = 4000
#: Seconds after which a move is interrupted.
MOVE_TIMEOUT_SECONDS = 60.0
#: Number of iterations of a history in an answer.
_HISTORY_ITERATIONS = 50
Unit = Literal["iteration", "node", "into", "loop"]
#: Opens a model or a trace, from its path and options.
SessionOpener = Callable[[Mapping[str, Any]], Session]
#: Compares two paths, or one and a runtime's name, with inputs by name; returns the lines of the report.
ModelComparer = Callable[[str, str, str, Mapping[str, Any]], Iterable[str]]
#: Commands that agents may not use.
_EXCLUDED_COMMANDS = frozenset({"commands", "quit"})


class McpTools:
    """One session at a time. ``folder``: where the agent may write and source files; None: nowhere."""

    def __init__(self, open_session: SessionOpener, compare: ModelComparer, folder: str | Path | None = None) -> None:
        self._open_session, self._compare = open_session, compare
        self._file_access = folder_access(folder)
        self._session: Session | None = None
        self._console: Console | None = None
        self._output_lines: list[str] = []
        # A session runs one command at a time, but a client may send concurrent requests.
        self._lock = threading.Lock()

    # -- opening

    def open(
        self,
        path: str,
        inputs: dict[str, Any] | None = None,
        seed: int | None = None,
        max_iterations: int | None = None,
    ) -> str:
        """Open a model (.onnx, .xml, a TensorRT script) or a trace (.loopdb), stopped before iteration 0 of its first
        loop. inputs: name -> number, list or path of a .npy file; without them those next to the model, or random ones
        made from seed. Anything that was open is closed."""
        with self._lock:
            arguments = {"path": path, "inputs": inputs or {}, "seed": seed, "max_iterations": max_iterations}
            session = self._open_session(arguments)
            self._session, self._console = session, Console(session, self._output_lines.append)
            self._console.file_access = self._file_access
            model = session.model
            lines = [f"opened {model.name}: {session.stop.text}"]
            lines += [f"input {port.name}: {port.type}" for port in model.inputs]
            lines += [f"output {port.name}: {port.type}" for port in model.outputs]
            names = ", ".join(loop.name for loop in model.loops) or "none"
            lines.append(f"{count_text(len(model.loops), 'outermost loop')}: {names}")
            return _format_answer(lines, "next: explain, list_source, step, set_breakpoint, continue_run")

    def explain(self) -> str:
        """What the loops of the open model mean: trip count, condition, back edges, scan outputs, what ends them, where
        runtimes differ."""
        with self._lock:
            lines = [line for loop in explain(self._require_session().model, None) for line in (*loop.lines(), "")]
            return _format_answer(lines, "next: step, set_breakpoint")

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
        """Stop at a place: 'iter 40', 'line 7', a value or node, 'op MatMul', 'if max(abs(h)) > 1e3', 'end', 'nan',
        'overflow', 'beyond float16'.
        watch: where a value changes instead: 'h', 'err crosses 1e-3', 'x settles 1e-6'."""
        return self._run_command("watch" if watch else "break", place, "next: continue_run, reverse_continue")

    def clear_breakpoints(self) -> str:
        """Forget all breakpoints."""
        with self._lock:
            self._require_session().breakpoints.clear()
            return "no breakpoints"

    # -- inspection

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
            raise UsageError(f"{name} makes no sense here", name=name)
        return self._run_action(lambda console: console.execute(line), "")

    # -- comparison and extraction

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
            lines = list(self._compare(a, b, against, inputs or {}))
            return _format_answer(lines, "next: open one of them, go_to that iteration")

    def extract(self, folder: str, whole: bool = False) -> str:
        """Write the next iteration of the current loop, or the whole loop, as a model of its own with inputs and
        expected outputs."""
        return self._run_action(lambda console: extract_into(console, folder, whole=whole), "")

    # -- resources

    def source(self) -> str:
        """The pseudo-code of the whole model."""
        with self._lock:
            return escape_lines(self._require_session().controller.symbols.pseudo_code.text())

    def history(self, name: str) -> str:
        """What a value was in the newest iterations so far, a line each."""
        with self._lock:
            frame = self._require_session().frame
            scope = FrameScope(frame, frame.history)
            last = frame.iteration - (0 if frame.index >= 0 and not frame.at_boundary else 1)
            numbers = range(max(0, last - _HISTORY_ITERATIONS + 1), last + 1)
            return escape_lines(f"{k}: {format_value(parse(f'{name}@{k}').evaluate(scope), 100)}" for k in numbers)

    # -- helpers

    def _require_session(self) -> Session:
        if self._session is None:
            raise UsageError("nothing is open; open a model first")
        return self._session

    def _command_name(self, line: str) -> str:
        """The command name of a line; "" for an empty line and for the end of a block."""
        with self._lock:
            self._require_session()
            assert self._console is not None
            return "" if line in ("", "end") else self._console.parse_line(line)[0].name

    def _run_command(self, command: str, text: str, hint: str) -> str:
        """The output of a console command; ``text`` is its argument and is never parsed as a command."""
        return self._run_action(lambda console: console.run_command(command, text), hint)

    def _run_action(self, action: Callable[[Console], None], hint: str) -> str:
        """The console's output of an action, which is interrupted after :data:`MOVE_TIMEOUT_SECONDS` seconds."""
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
            return _format_answer(self._output_lines, hint)


def truncate_answer(text: str) -> str:
    """Truncate a text to :data:`ANSWER_MAX_CHARS` characters, with the number of missing ones."""
    if len(text) <= ANSWER_MAX_CHARS:
        return text
    return f"{text[:ANSWER_MAX_CHARS]}\n... {len(text) - ANSWER_MAX_CHARS} more characters; ask for a part of it"


def _format_answer(lines: Iterable[str], hint: str) -> str:
    """An escaped and truncated text, with a hint on the next tools."""
    text = truncate_answer(escape_lines(lines))
    return f"{text}\n({hint})" if hint else text
