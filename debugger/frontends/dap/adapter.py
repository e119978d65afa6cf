"""Handlers of the protocol's requests.

``launch`` and ``attach`` open a model or trace; other requests act on its session. While a loop runs, requests that
need values are rejected, but breakpoints can be set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....runtime.api_boundary import convert_exception
from ....runtime.errors import LoopdbgError, UsageError
from ....runtime.text import escape_unprintable
from ...expression.expression import parse
from ...scope.frame_scope import FrameScope
from ...session.stop import Reason, Stop
from ..console.command_registry import QuitRequest, find_command, split_command
from ..sanitize import MultilineText
from .dap_breakpoints import EXCEPTION_FILTERS, watchpoint_id
from .editor_session import THREAD_ID, DapConnection, RequestRefusedError
from .stop_view import SOURCE_REFERENCE
from .variables import DapVariable

#: The response to ``initialize``.
CAPABILITIES: dict[str, Any] = {
    "supportsConfigurationDoneRequest": True,
    "supportsFunctionBreakpoints": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsLogPoints": True,
    "supportsDataBreakpoints": True,
    "supportsEvaluateForHovers": True,
    "supportsStepBack": True,
    "supportsSetVariable": True,
    "supportsSetExpression": True,
    "supportsRestartRequest": True,
    "supportsGotoTargetsRequest": True,
    "supportsCompletionsRequest": True,
    "supportsExceptionInfoRequest": True,
    "supportsExceptionFilterOptions": True,
    "supportsLoadedSourcesRequest": True,
    "supportsBreakpointLocationsRequest": True,
    "supportsCancelRequest": True,
    "supportsTerminateRequest": True,
    "supportsValueFormattingOptions": False,
    "supportsClipboardContext": True,
    "supportsDelayedStackTraceLoading": True,
    "supportTerminateDebuggee": True,
    "completionTriggerCharacters": [" ", "(", "@", "`"],
    "exceptionBreakpointFilters": [
        {"filter": name, "label": label, "description": text, "supportsCondition": True}
        for name, label, text in EXCEPTION_FILTERS
    ],
}


class DapAdapter(DapConnection):
    """Serves the requests of an editor."""

    def serve(self) -> None:
        """Serve requests until the editor disconnects.

        Raises:
            ProtocolError: the client violates the protocol.
        """
        try:
            for request in self.messages:
                self._handle_request(request)
                if self.closed:
                    return
        finally:
            if self.open_worker is not None:
                self.open_worker.interrupt_and_wait(10.0)

    def _handle_request(self, request: Mapping[str, Any]) -> None:
        command = request["command"]
        arguments = request.get("arguments")
        action = _REQUESTS.get(command)
        response: dict[str, Any] = {"type": "response", "request_seq": request["seq"], "command": command}
        follow_up: Callable[[], object] | None = None
        try:
            if not self.authenticated:
                self.authenticate(command, arguments)
            if action is None:
                raise RequestRefusedError(f"there is no request '{command}'")
            answer = action(self, arguments if isinstance(arguments, dict) else {})
            body, follow_up = answer if isinstance(answer, tuple) else (answer, None)
            response |= {"success": True, **({} if body is None else {"body": body})}
        except (RequestRefusedError, LoopdbgError) as error:
            response |= _failure_body(str(error))
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
            response |= _failure_body(f"'{command}' has arguments that make no sense: {type(error).__name__}: {error}")
        except Exception as error:  # an editor would wait forever for the response
            response |= _failure_body(str(convert_exception(error) or error))
        self.messages.send(response)
        if follow_up is not None:
            follow_up()

    # -- requests: the connection

    def initialize(self, arguments: Mapping[str, Any]) -> Any:
        self.client_capabilities = arguments
        return CAPABILITIES, lambda: None

    def launch(self, arguments: Mapping[str, Any]) -> Any:
        self.open(arguments)
        return None, lambda: self.messages.send_event("initialized")

    def configuration_done(self, arguments: Mapping[str, Any]) -> Any:
        stop = self.session.stop
        if self.launch_arguments.get("stopOnEntry", True):
            return None, lambda: self.send_stopped(stop)
        return None, self.deferred_move(self.session.continue_)

    def disconnect(self, arguments: Mapping[str, Any]) -> Any:
        self.closed = True
        if self.open_worker is not None:
            self.open_worker.interrupt_and_wait(10.0)
        return None

    def terminate(self, arguments: Mapping[str, Any]) -> Any:
        if self.open_worker is not None:
            self.open_worker.interrupt_and_wait(10.0)
        return None, self.send_terminated

    def cancel(self, arguments: Mapping[str, Any]) -> Any:
        if self.open_worker is not None:
            self.open_worker.session.interrupt()

    # -- requests: moving

    def continue_(self, arguments: Mapping[str, Any]) -> Any:
        if self.session.done and not self.worker.busy:
            return {"allThreadsContinued": True}, self.send_terminated
        return {"allThreadsContinued": True}, self.deferred_move(self.session.continue_)

    def next(self, arguments: Mapping[str, Any]) -> Any:
        session = self.session
        return None, self.deferred_move(session.next_node if session.controller.has_nodes else session.step)

    def step_in(self, arguments: Mapping[str, Any]) -> Any:
        session = self.session
        return None, self.deferred_move(session.into if session.controller.has_nodes else session.step)

    def step_out(self, arguments: Mapping[str, Any]) -> Any:
        return None, self.deferred_move(self.session.finish)

    def step_back(self, arguments: Mapping[str, Any]) -> Any:
        session = self.session
        return None, self.deferred_move(session.back_node if session.controller.has_nodes else session.back)

    def reverse_continue(self, arguments: Mapping[str, Any]) -> Any:
        return None, self.deferred_move(self.session.reverse_continue)

    def restart(self, arguments: Mapping[str, Any]) -> Any:
        return None, self.deferred_move(self.session.restart)

    def pause(self, arguments: Mapping[str, Any]) -> Any:
        self.session.interrupt()

    def goto_targets(self, arguments: Mapping[str, Any]) -> Any:
        frame = self.stop_view().frame(None)
        if frame is None or frame.loop is None:
            return {"targets": []}
        current = frame.iteration
        candidates = [0, current - 10, current - 1, current + 1, current + 10, current + 100]
        numbers = sorted({k for k in candidates if k >= 0} - {current})
        line = int(arguments["line"])
        return {"targets": [{"id": k, "label": f"before iteration {k}", "line": line} for k in numbers]}

    def goto(self, arguments: Mapping[str, Any]) -> Any:
        number = int(arguments["targetId"])
        return None, self.deferred_move(lambda: self.session.goto(number))

    def go_to_iteration(self, arguments: Mapping[str, Any]) -> Any:
        """Custom request: go to the boundary before an iteration."""
        number = int(arguments["iteration"])
        return None, self.deferred_move(lambda: self.session.goto(number))

    def timeline(self, arguments: Mapping[str, Any]) -> Any:
        """Custom request: the running loops, outermost first, and the branches of the timeline."""
        view = self.stop_view()
        loops = [
            {"name": entry.name, "iteration": entry.iteration, "tripCount": entry.trip_count}
            for entry in view.stop_state.frames
            if entry.loop is not None
        ]
        branches = [
            {"number": entry.number, "parent": entry.parent, "edits": list(entry.edits), "current": entry.current}
            for entry in view.stop_state.branches
        ]
        return {"loops": loops, "branches": branches, "stop": view.stop_state.stop.text}

    def inline_values(self, arguments: Mapping[str, Any]) -> Any:
        """Custom request: the values of each line in this iteration, for editors with inline values."""
        view = self.stop_view()
        frame = view.frame(arguments.get("frameId"))
        if frame is None:
            raise RequestRefusedError(f"there is no frame {arguments['frameId']}")
        return {"values": view.inline_values(frame)}

    # -- requests: inspection

    def threads(self, arguments: Mapping[str, Any]) -> Any:
        return {"threads": [{"id": THREAD_ID, "name": self.session.model.name}]}

    def stack_trace(self, arguments: Mapping[str, Any]) -> Any:
        view = self.stop_view()
        frames = view.stack_frames(int(arguments.get("startFrame") or 0), arguments.get("levels"))
        return {"stackFrames": frames, "totalFrames": len(view.frames)}

    def scopes(self, arguments: Mapping[str, Any]) -> Any:
        view = self.stop_view()
        frame = view.frame(arguments["frameId"])
        if frame is None:
            raise RequestRefusedError(f"there is no frame {arguments['frameId']}")
        return {"scopes": view.scopes(frame)}

    def variables(self, arguments: Mapping[str, Any]) -> Any:
        count = arguments.get("count")
        children = self.variable_references.children_of(
            int(arguments["variablesReference"]), int(arguments.get("start") or 0), int(count) if count else None
        )
        if children is None:
            # While a loop runs, there are no values.
            self.stop_view()
            raise RequestRefusedError("the session has moved since: this value is over")
        return {"variables": children}

    def source(self, arguments: Mapping[str, Any]) -> Any:
        source = arguments.get("source")
        number = source.get("sourceReference") if isinstance(source, dict) else None
        if (number or arguments.get("sourceReference")) != SOURCE_REFERENCE:
            raise RequestRefusedError("there is one text, that of the model")
        return {
            "content": MultilineText(self.session.controller.symbols.pseudo_code.text()),
            "mimeType": "text/x-python",
        }

    def loaded_sources(self, arguments: Mapping[str, Any]) -> Any:
        name = f"{self.session.model.name} (loops)"
        return {"sources": [{"name": name, "sourceReference": SOURCE_REFERENCE, "origin": "loopdbg"}]}

    def exception_info(self, arguments: Mapping[str, Any]) -> Any:
        stop = self.last_stop
        if stop is None or stop.reason not in (Reason.ERROR, Reason.BREAKPOINT):
            raise RequestRefusedError("nothing went wrong here")
        return {"exceptionId": stop.reason.value, "description": stop.text, "breakMode": "always"}

    # -- requests: breakpoints

    def set_breakpoints(self, arguments: Mapping[str, Any]) -> Any:
        requests = [r for r in arguments.get("breakpoints") or () if isinstance(r, dict)]
        return {"breakpoints": self.run_while_paused(lambda: self.breakpoints.set_line_breakpoints(requests))}

    def set_function_breakpoints(self, arguments: Mapping[str, Any]) -> Any:
        specs = [r for r in arguments.get("breakpoints") or () if isinstance(r, dict)]
        return {"breakpoints": self.run_while_paused(lambda: self.breakpoints.set_function_breakpoints(specs))}

    def set_data_breakpoints(self, arguments: Mapping[str, Any]) -> Any:
        specs = [r for r in arguments.get("breakpoints") or () if isinstance(r, dict)]
        return {"breakpoints": self.run_while_paused(lambda: self.breakpoints.set_data_breakpoints(specs))}

    def set_exception_breakpoints(self, arguments: Mapping[str, Any]) -> Any:
        specs = [{"filterId": name} for name in arguments.get("filters") or () if isinstance(name, str)]
        specs += [r for r in arguments.get("filterOptions") or () if isinstance(r, dict)]
        return {"breakpoints": self.run_while_paused(lambda: self.breakpoints.set_exception_breakpoints(specs))}

    def data_breakpoint_info(self, arguments: Mapping[str, Any]) -> Any:
        name, reference = str(arguments["name"]), arguments.get("variablesReference")
        frame = self.stop_view().frame(arguments.get("frameId"))
        item = None if not reference else self.variable_references.find_child(int(reference), name)
        if frame is None or frame.loop is None or (reference and item is None):
            return {"dataId": None, "description": f"'{name}' cannot be watched here"}
        changing = {edge.param for edge in frame.back_edges} | frame.computed_names
        # The editor has the sanitized names.
        full_name = next((n for n in changing if escape_unprintable(n) == name), None) if item is None else item.name
        if full_name not in changing:
            return {"dataId": None, "description": f"'{name}' does not change from iteration to iteration"}
        text = f"'{name}' of {frame.name} differs from that of the iteration before"
        return {"dataId": watchpoint_id(full_name, frame.name), "description": text, "accessTypes": ["write"]}

    def breakpoint_locations(self, arguments: Mapping[str, Any]) -> Any:
        first = int(arguments["line"])
        last = int(arguments.get("endLine") or first)
        symbols = self.session.controller.symbols
        lines = [
            line.number
            for line in symbols.pseudo_code.lines
            if line.node is not None and not symbols.unreachable_reason(line.node)
        ]
        return {"breakpoints": [{"line": number} for number in lines if first <= number <= last]}

    # -- requests: expressions

    def evaluate(self, arguments: Mapping[str, Any]) -> Any:
        text, context = str(arguments["expression"]).strip(), arguments.get("context")
        if context == "repl" and self._is_console_command(text):
            return self._run_console_command(text)
        view = self.stop_view()
        frame = view.frame(arguments.get("frameId"))
        if frame is None:
            raise RequestRefusedError(f"there is no frame {arguments['frameId']}")
        value = parse(text).evaluate(self._scope(frame.index))
        body = self.variable_references.describe(DapVariable(text, value))
        return {
            "result": body.pop("value"),
            "type": body.pop("type"),
            **_without_keys(body, "name", "presentationHint"),
        }

    def _scope(self, index: int) -> FrameScope:
        frame = next((f for f in self.session.frames if f.index == index), self.session.frame)
        return FrameScope(frame, frame.history)

    @staticmethod
    def _is_console_command(text: str) -> bool:
        if not text:
            return False
        word, rest = split_command(text)
        try:
            find_command(word)
        except UsageError:
            return False
        # A value's name may be a prefix of a command: a line that continues as an expression is one.
        return not rest or rest[0] not in "+-*/%@[.=<>!&|),"

    def _run_console_command(self, text: str) -> Any:
        """Run a console command; if it moves the session, it ends with a stop event."""
        if self.worker.busy:
            raise RequestRefusedError("a loop is running; pause it first")
        console = self.console
        old_epoch = self.session.controller.epoch
        branch_count = len(self.session.branches) if self.session.controller.has_branches else 0

        def run() -> Stop:
            try:
                console.execute(text)
            except QuitRequest:
                self.send_terminated()
            if self.session.controller.has_branches and len(self.session.branches) != branch_count:
                self._invalidate_client()
            return self.session.stop

        answer = {"result": "", "variablesReference": 0}
        if _moves_session(text):
            return answer, self.deferred_move(run)
        run()
        if self.session.controller.epoch != old_epoch:
            self._invalidate_client()
        return answer

    def _invalidate_client(self) -> None:
        self.invalidate_stop()
        if self.client_capabilities.get("supportsInvalidatedEvent"):
            self.messages.send_event("invalidated", {"areas": ["variables", "stacks"]})

    def set_variable(self, arguments: Mapping[str, Any]) -> Any:
        self.stop_view()
        item = self.variable_references.find_child(int(arguments["variablesReference"]), str(arguments["name"]))
        if item is None:
            raise RequestRefusedError("the session has moved since: this value is over")
        if not item.assignment_target:
            raise RequestRefusedError(f"'{item.name}' cannot be set: it is no value of the body")
        return self._assign(item.assignment_target, str(arguments["value"]))

    def set_expression(self, arguments: Mapping[str, Any]) -> Any:
        self.stop_view()
        return self._assign(str(arguments["expression"]), str(arguments["value"]))

    def _assign(self, target: str, value: str) -> Any:
        """Assign a value, which forks a branch of the timeline."""
        branch = self.session.assign(f"{target} = {value}")
        self.send_output(f"branch {branch.number}: {', '.join(branch.edits)}")
        self.invalidate_stop()
        value_ = parse(target).evaluate(self._scope(self.stop_view().frames[0].index))
        body = self.variable_references.describe(DapVariable(target, value_))
        if self.client_capabilities.get("supportsInvalidatedEvent"):
            self.messages.send_event("invalidated", {"areas": ["variables"]})
        return _without_keys(body, "name", "presentationHint")

    def completions(self, arguments: Mapping[str, Any]) -> Any:
        if self.worker.busy:
            return {"targets": []}
        text, column = str(arguments["text"]), int(arguments["column"]) - 1
        begin, words = self.console.completions(text, max(0, min(column, len(text))))
        length = max(0, column - begin)
        return {"targets": [{"label": word, "start": begin, "length": length} for word in words[:200]]}


def _moves_session(text: str) -> bool:
    """Whether a console command moves the session."""
    return find_command(split_command(text)[0]).name in _MOVING_COMMANDS


#: Commands that may move the session.
_MOVING_COMMANDS = frozenset(
    (
        *("step", "next", "into", "finish", "until", "continue", "restart", "back", "back-node"),
        *("reverse-continue", "goto", "switch", "undo", "source"),
    )
)


def _failure_body(text: str) -> dict[str, Any]:
    error = {"id": 1, "format": text, "showUser": True}
    return {"success": False, "message": text, "body": {"error": error}}


def _without_keys(body: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in names}


_REQUESTS: dict[str, Callable[[DapAdapter, Mapping[str, Any]], Any]] = {
    "initialize": DapAdapter.initialize,
    "launch": DapAdapter.launch,
    "attach": DapAdapter.launch,
    "configurationDone": DapAdapter.configuration_done,
    "disconnect": DapAdapter.disconnect,
    "terminate": DapAdapter.terminate,
    "cancel": DapAdapter.cancel,
    "continue": DapAdapter.continue_,
    "next": DapAdapter.next,
    "stepIn": DapAdapter.step_in,
    "stepOut": DapAdapter.step_out,
    "stepBack": DapAdapter.step_back,
    "reverseContinue": DapAdapter.reverse_continue,
    "restart": DapAdapter.restart,
    "pause": DapAdapter.pause,
    "gotoTargets": DapAdapter.goto_targets,
    "goto": DapAdapter.goto,
    "threads": DapAdapter.threads,
    "stackTrace": DapAdapter.stack_trace,
    "scopes": DapAdapter.scopes,
    "variables": DapAdapter.variables,
    "source": DapAdapter.source,
    "loadedSources": DapAdapter.loaded_sources,
    "exceptionInfo": DapAdapter.exception_info,
    "setBreakpoints": DapAdapter.set_breakpoints,
    "setFunctionBreakpoints": DapAdapter.set_function_breakpoints,
    "setDataBreakpoints": DapAdapter.set_data_breakpoints,
    "setExceptionBreakpoints": DapAdapter.set_exception_breakpoints,
    "dataBreakpointInfo": DapAdapter.data_breakpoint_info,
    "breakpointLocations": DapAdapter.breakpoint_locations,
    "evaluate": DapAdapter.evaluate,
    "setVariable": DapAdapter.set_variable,
    "setExpression": DapAdapter.set_expression,
    "completions": DapAdapter.completions,
    "loopdbg/goto": DapAdapter.go_to_iteration,
    "loopdbg/timeline": DapAdapter.timeline,
    "loopdbg/inline": DapAdapter.inline_values,
}
