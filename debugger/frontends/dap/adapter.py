"""The requests of the protocol, carried out on a session.

``launch`` and ``attach`` open what the editor names; everything after that is a matter of the session. Requests that
need values are refused while a loop runs; breakpoints may be set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....runtime.api_boundary import convert_exception
from ....runtime.errors import LoopdbgError, UsageError
from ....runtime.text import escape_unprintable
from ...expression.language import parse
from ...scope.frame_scope import FrameScope
from ...session.stop import Reason, Stop
from ..console.command_registry import QuitRequest, find_command, split_command
from ..sanitize import MultilineText
from .connection import THREAD_ID, DapConnection, RequestRefusedError
from .dap_breakpoints import EXCEPTION_FILTERS, watchpoint_id
from .stop_view import SOURCE_REFERENCE
from .variables import DapVariable

#: What ``initialize`` answers.
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
        {"filter": name, "label": label, "description": told, "supportsCondition": True}
        for name, label, told in EXCEPTION_FILTERS
    ],
}


class DapAdapter(DapConnection):
    """Answers the requests of an editor."""

    def serve(self) -> None:
        """Answer requests until the editor leaves.

        Raises:
            ProtocolError: the client does not speak the protocol.
        """
        try:
            for request in self.messages:
                self._handle_request(request)
                if self.closed:
                    return
        finally:
            if self.open_runner is not None:
                self.open_runner.interrupt_and_wait(10.0)

    def _handle_request(self, request: Mapping[str, Any]) -> None:
        command = request["command"]
        arguments = request.get("arguments")
        action = _REQUESTS.get(command)
        told: dict[str, Any] = {"type": "response", "request_seq": request["seq"], "command": command}
        after: Callable[[], object] | None = None
        try:
            self.authenticate(command, arguments)
            if action is None:
                raise RequestRefusedError(f"there is no request '{command}'")
            answer = action(self, arguments if isinstance(arguments, dict) else {})
            body, after = answer if isinstance(answer, tuple) else (answer, None)
            told |= {"success": True, **({} if body is None else {"body": body})}
        except (RequestRefusedError, LoopdbgError) as error:
            told |= _failure_body(str(error))
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
            told |= _failure_body(f"'{command}' has arguments that make no sense: {type(error).__name__}: {error}")
        except Exception as error:  # an editor that gets no answer waits for good
            told |= _failure_body(str(convert_exception(error) or error))
        self.messages.send(told)
        if after is not None:
            after()

    # -- requests: the connection

    def initialize(self, arguments: Mapping[str, Any]) -> Any:
        self.client_capabilities = arguments
        return CAPABILITIES, lambda: None

    def launch(self, arguments: Mapping[str, Any]) -> Any:
        self.open(arguments)
        return None, lambda: self.messages.send_event("initialized")

    def configuration_done(self, arguments: Mapping[str, Any]) -> Any:
        stop = self.runner.session.stop
        if self.launch_arguments.get("stopOnEntry", True):
            return None, lambda: self.send_stopped(stop)
        return None, self.deferred_move(self.session.continue_)

    def disconnect(self, arguments: Mapping[str, Any]) -> Any:
        self.closed = True
        if self.open_runner is not None:
            self.open_runner.interrupt_and_wait(10.0)
        return None

    def terminate(self, arguments: Mapping[str, Any]) -> Any:
        if self.open_runner is not None:
            self.open_runner.interrupt_and_wait(10.0)
        return None, self.send_terminated

    def cancel(self, arguments: Mapping[str, Any]) -> Any:
        if self.open_runner is not None:
            self.open_runner.session.interrupt()

    # -- requests: moving

    def continue_(self, arguments: Mapping[str, Any]) -> Any:
        if self.session.done and not self.runner.busy:
            return {"allThreadsContinued": True}, self.send_terminated
        return {"allThreadsContinued": True}, self.deferred_move(self.session.continue_)

    def next(self, arguments: Mapping[str, Any]) -> Any:
        session = self.session
        return None, self.deferred_move(session.next_node if session._internals.has_nodes else session.step)

    def step_in(self, arguments: Mapping[str, Any]) -> Any:
        session = self.session
        return None, self.deferred_move(session.into if session._internals.has_nodes else session.step)

    def step_out(self, arguments: Mapping[str, Any]) -> Any:
        return None, self.deferred_move(self.session.finish)

    def step_back(self, arguments: Mapping[str, Any]) -> Any:
        session = self.session
        return None, self.deferred_move(session.back_node if session._internals.has_nodes else session.back)

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
        here = frame.iteration
        wanted = [0, here - 10, here - 1, here + 1, here + 10, here + 100]
        numbers = sorted({k for k in wanted if k >= 0} - {here})
        line = int(arguments["line"])
        return {"targets": [{"id": k, "label": f"before iteration {k}", "line": line} for k in numbers]}

    def goto(self, arguments: Mapping[str, Any]) -> Any:
        number = int(arguments["targetId"])
        return None, self.deferred_move(lambda: self.session.goto(number))

    def go_to_iteration(self, arguments: Mapping[str, Any]) -> Any:
        """Of our own: to the boundary before any iteration."""
        number = int(arguments["iteration"])
        return None, self.deferred_move(lambda: self.session.goto(number))

    def timeline(self, arguments: Mapping[str, Any]) -> Any:
        """Of our own: the loops that run, outermost first, and the branches of the timeline."""
        views = self.stop_view()
        loops = [
            {"name": one.name, "iteration": one.iteration, "tripCount": one.trip_count}
            for one in views.snapshot.frames
            if one.loop is not None
        ]
        branches = [
            {"number": one.number, "parent": one.parent, "edits": list(one.edits), "current": one.current}
            for one in views.snapshot.branches
        ]
        return {"loops": loops, "branches": branches, "stop": views.snapshot.stop.text}

    def inline_values(self, arguments: Mapping[str, Any]) -> Any:
        """Of our own: what this iteration has made of each line, for an editor that shows values beside the text."""
        views = self.stop_view()
        frame = views.frame(arguments.get("frameId"))
        if frame is None:
            raise RequestRefusedError(f"there is no frame {arguments['frameId']}")
        return {"values": views.inline_values(frame)}

    # -- requests: seeing

    def threads(self, arguments: Mapping[str, Any]) -> Any:
        return {"threads": [{"id": THREAD_ID, "name": self.session.model.name}]}

    def stack_trace(self, arguments: Mapping[str, Any]) -> Any:
        views = self.stop_view()
        frames = views.stack_frames(int(arguments.get("startFrame") or 0), arguments.get("levels"))
        return {"stackFrames": frames, "totalFrames": len(views.frames)}

    def scopes(self, arguments: Mapping[str, Any]) -> Any:
        views = self.stop_view()
        frame = views.frame(arguments["frameId"])
        if frame is None:
            raise RequestRefusedError(f"there is no frame {arguments['frameId']}")
        return {"scopes": views.scopes(frame)}

    def variables(self, arguments: Mapping[str, Any]) -> Any:
        self.stop_view()
        count = arguments.get("count")
        found = self.variable_references.children_of(
            int(arguments["variablesReference"]), int(arguments.get("start") or 0), int(count) if count else None
        )
        if found is None:
            raise RequestRefusedError("the session has moved since: this value is over")
        return {"variables": found}

    def source(self, arguments: Mapping[str, Any]) -> Any:
        given = arguments.get("source")
        number = given.get("sourceReference") if isinstance(given, dict) else None
        if (number or arguments.get("sourceReference")) != SOURCE_REFERENCE:
            raise RequestRefusedError("there is one text, that of the model")
        return {
            "content": MultilineText(self.session._internals.symbols.pseudo_code.text()),
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
        wanted = [one for one in arguments.get("breakpoints") or () if isinstance(one, dict)]
        return {"breakpoints": self.runner.run_while_paused(lambda: self.breakpoints.set_line_breakpoints(wanted))}

    def set_function_breakpoints(self, arguments: Mapping[str, Any]) -> Any:
        wanted = [one for one in arguments.get("breakpoints") or () if isinstance(one, dict)]
        return {"breakpoints": self.runner.run_while_paused(lambda: self.breakpoints.set_function_breakpoints(wanted))}

    def set_data_breakpoints(self, arguments: Mapping[str, Any]) -> Any:
        wanted = [one for one in arguments.get("breakpoints") or () if isinstance(one, dict)]
        return {"breakpoints": self.runner.run_while_paused(lambda: self.breakpoints.set_data_breakpoints(wanted))}

    def set_exception_breakpoints(self, arguments: Mapping[str, Any]) -> Any:
        wanted = [{"filterId": name} for name in arguments.get("filters") or () if isinstance(name, str)]
        wanted += [one for one in arguments.get("filterOptions") or () if isinstance(one, dict)]
        return {"breakpoints": self.runner.run_while_paused(lambda: self.breakpoints.set_exception_breakpoints(wanted))}

    def data_breakpoint_info(self, arguments: Mapping[str, Any]) -> Any:
        name, reference = str(arguments["name"]), arguments.get("variablesReference")
        frame = self.stop_view().frame(arguments.get("frameId"))
        item = None if not reference else self.variable_references.find_child(int(reference), name)
        if frame is None or frame.loop is None or (reference and item is None):
            return {"dataId": None, "description": f"'{name}' cannot be watched here"}
        changing = {edge.param for edge in frame.back_edges} | {n for node in frame.nodes for n in node.outputs}
        # The editor has names as they were sent, without what cannot be printed.
        found = next((one for one in changing if escape_unprintable(one) == name), None) if item is None else item.name
        if found not in changing:
            return {"dataId": None, "description": f"'{name}' does not change from iteration to iteration"}
        told = f"'{name}' of {frame.name} differs from that of the iteration before"
        return {"dataId": watchpoint_id(found, frame.name), "description": told, "accessTypes": ["write"]}

    def breakpoint_locations(self, arguments: Mapping[str, Any]) -> Any:
        first = int(arguments["line"])
        last = int(arguments.get("endLine") or first)
        places = self.session._internals.symbols
        lines = [
            one.number
            for one in places.pseudo_code.lines
            if one.node is not None and not places.unreachable_reason(one.node)
        ]
        return {"breakpoints": [{"line": number} for number in lines if first <= number <= last]}

    # -- requests: expressions

    def evaluate(self, arguments: Mapping[str, Any]) -> Any:
        text, context = str(arguments["expression"]).strip(), arguments.get("context")
        if context == "repl" and self._is_console_command(text):
            return self._run_console_command(text)
        views = self.stop_view()
        frame = views.frame(arguments.get("frameId"))
        if frame is None:
            raise RequestRefusedError(f"there is no frame {arguments['frameId']}")
        value = parse(text).evaluate(self._scope(frame.index))
        told = self.variable_references.describe(DapVariable(text, value))
        return {
            "result": told.pop("value"),
            "type": told.pop("type"),
            **_without_keys(told, "name", "presentationHint"),
        }

    def _scope(self, index: int) -> FrameScope:
        frame = next((one for one in self.session.frames if one.index == index), self.session.frame)
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
        # A value may be called like the beginning of a command: what goes on as an expression is one.
        return not rest or rest[0] not in "+-*/%@[.=<>!&|),"

    def _run_console_command(self, text: str) -> Any:
        """A command of the console; one that moves the session ends in a stop, as a button would."""
        if self.runner.busy:
            raise RequestRefusedError("a loop is running; pause it first")
        console = self.console
        before = self.session._internals.epoch
        branches = len(self.session.branches) if self.session._internals.has_branches else 0

        def carry_out() -> Stop:
            try:
                console.execute(text)
            except QuitRequest:
                self.send_terminated()
            if self.session._internals.has_branches and len(self.session.branches) != branches:
                self._invalidate_client()
            return self.session.stop

        answer = {"result": "", "variablesReference": 0}
        if _moves_session(text):
            return answer, self.deferred_move(carry_out)
        carry_out()
        if self.session._internals.epoch != before:
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
        """A branch of the timeline begins."""
        branch = self.session.assign(f"{target} = {value}")
        self.send_output(f"branch {branch.number}: {', '.join(branch.edits)}")
        self.invalidate_stop()
        found = parse(target).evaluate(self._scope(self.stop_view().frames[0].index))
        told = self.variable_references.describe(DapVariable(target, found))
        if self.client_capabilities.get("supportsInvalidatedEvent"):
            self.messages.send_event("invalidated", {"areas": ["variables"]})
        return _without_keys(told, "name", "presentationHint")

    def completions(self, arguments: Mapping[str, Any]) -> Any:
        if self.runner.busy:
            return {"targets": []}
        text, column = str(arguments["text"]), int(arguments["column"]) - 1
        begin, words = self.console.completions(text, max(0, min(column, len(text))))
        length = max(0, column - begin)
        return {"targets": [{"label": word, "start": begin, "length": length} for word in words[:200]]}


def _moves_session(text: str) -> bool:
    """Whether a command of the console moves the session."""
    return find_command(split_command(text)[0]).name in _MOVING_COMMANDS


#: Commands after which the session may stand elsewhere.
_MOVING_COMMANDS = frozenset(
    (
        *("step", "next", "into", "finish", "until", "continue", "restart", "back", "back-node"),
        *("reverse-continue", "goto", "switch", "undo", "source"),
    )
)


def _failure_body(text: str) -> dict[str, Any]:
    error = {"id": 1, "format": text, "showUser": True}
    return {"success": False, "message": text, "body": {"error": error}}


def _without_keys(told: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in told.items() if key not in names}


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
