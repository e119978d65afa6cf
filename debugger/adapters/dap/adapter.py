"""The requests of the protocol, carried out on a session.

``launch`` and ``attach`` open what the editor names; everything after that is a matter of the session. Requests that
need values are refused while a loop runs; breakpoints may be set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....runtime.boundary import converted
from ....runtime.errors import LoopdbgError, UsageError
from ....runtime.text import printable
from ...console.command import Quit, find, split
from ...expression.language import parse
from ...session.stop import Reason, Stop
from ...values.scope import FrameScope
from ..visible import Lines
from .connection import THREAD, Connection, RefusedError
from .stops import FILTERS, data_id
from .variables import Item
from .views import TEXT

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
        for name, label, told in FILTERS
    ],
}


class Adapter(Connection):
    """Answers the requests of an editor."""

    def serve(self) -> None:
        """Answer requests until the editor leaves.

        Raises:
            ProtocolError: the client does not speak the protocol.
        """
        try:
            for request in self.messages:
                self._answer(request)
                if self.over:
                    return
        finally:
            if self.opened is not None:
                self.opened.wait(10.0)

    def _answer(self, request: Mapping[str, Any]) -> None:
        command = request["command"]
        arguments = request.get("arguments")
        action = _REQUESTS.get(command)
        told: dict[str, Any] = {"type": "response", "request_seq": request["seq"], "command": command}
        after: Callable[[], object] | None = None
        try:
            self.admit(command, arguments)
            if action is None:
                raise RefusedError(f"there is no request '{command}'")
            answer = action(self, arguments if isinstance(arguments, dict) else {})
            body, after = answer if isinstance(answer, tuple) else (answer, None)
            told |= {"success": True, **({} if body is None else {"body": body})}
        except (RefusedError, LoopdbgError) as error:
            told |= _refused(str(error))
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
            told |= _refused(f"'{command}' has arguments that make no sense: {type(error).__name__}: {error}")
        except Exception as error:  # an editor that gets no answer waits for good
            told |= _refused(str(converted(error) or error))
        self.messages.send(told)
        if after is not None:
            after()

    # -- requests: the connection

    def initialize(self, arguments: Mapping[str, Any]) -> Any:
        self.client = arguments
        return CAPABILITIES, lambda: None

    def launch(self, arguments: Mapping[str, Any]) -> Any:
        self.open(arguments)
        return None, lambda: self.messages.event("initialized")

    def configured(self, arguments: Mapping[str, Any]) -> Any:
        stop = self.runner.session.stop
        if self.launched.get("stopOnEntry", True):
            return None, lambda: self.stopped(stop)
        return None, self.move(self.session.continue_)

    def disconnect(self, arguments: Mapping[str, Any]) -> Any:
        self.over = True
        if self.opened is not None:
            self.opened.wait(10.0)
        return None

    def terminate(self, arguments: Mapping[str, Any]) -> Any:
        if self.opened is not None:
            self.opened.wait(10.0)
        return None, self.end

    def cancel(self, arguments: Mapping[str, Any]) -> Any:
        if self.opened is not None:
            self.opened.session.interrupt()

    # -- requests: moving

    def continue_(self, arguments: Mapping[str, Any]) -> Any:
        if self.session.done and not self.runner.busy:
            return {"allThreadsContinued": True}, self.end
        return {"allThreadsContinued": True}, self.move(self.session.continue_)

    def next(self, arguments: Mapping[str, Any]) -> Any:
        session = self.session
        return None, self.move(session.next_node if session._inside.has_nodes else session.step)

    def step_in(self, arguments: Mapping[str, Any]) -> Any:
        session = self.session
        return None, self.move(session.into if session._inside.has_nodes else session.step)

    def step_out(self, arguments: Mapping[str, Any]) -> Any:
        return None, self.move(self.session.finish)

    def step_back(self, arguments: Mapping[str, Any]) -> Any:
        session = self.session
        return None, self.move(session.back_node if session._inside.has_nodes else session.back)

    def reverse(self, arguments: Mapping[str, Any]) -> Any:
        return None, self.move(self.session.reverse_continue)

    def restart(self, arguments: Mapping[str, Any]) -> Any:
        return None, self.move(self.session.restart)

    def pause(self, arguments: Mapping[str, Any]) -> Any:
        self.session.interrupt()

    def goto_targets(self, arguments: Mapping[str, Any]) -> Any:
        frame = self.views().frame(None)
        if frame is None or frame.loop is None:
            return {"targets": []}
        here = frame.iteration
        wanted = [0, here - 10, here - 1, here + 1, here + 10, here + 100]
        numbers = sorted({k for k in wanted if k >= 0} - {here})
        line = int(arguments["line"])
        return {"targets": [{"id": k, "label": f"before iteration {k}", "line": line} for k in numbers]}

    def goto(self, arguments: Mapping[str, Any]) -> Any:
        number = int(arguments["targetId"])
        return None, self.move(lambda: self.session.goto(number))

    def go_to_iteration(self, arguments: Mapping[str, Any]) -> Any:
        """Of our own: to the boundary before any iteration."""
        number = int(arguments["iteration"])
        return None, self.move(lambda: self.session.goto(number))

    def timeline(self, arguments: Mapping[str, Any]) -> Any:
        """Of our own: the loops that run, outermost first, and the branches of the timeline."""
        views = self.views()
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

    def inline(self, arguments: Mapping[str, Any]) -> Any:
        """Of our own: what this iteration has made of each line, for an editor that shows values beside the text."""
        views = self.views()
        frame = views.frame(arguments.get("frameId"))
        if frame is None:
            raise RefusedError(f"there is no frame {arguments['frameId']}")
        return {"values": views.inline(frame)}

    # -- requests: seeing

    def threads(self, arguments: Mapping[str, Any]) -> Any:
        return {"threads": [{"id": THREAD, "name": self.session.model.name}]}

    def stack(self, arguments: Mapping[str, Any]) -> Any:
        views = self.views()
        frames = views.stack(int(arguments.get("startFrame") or 0), arguments.get("levels"))
        return {"stackFrames": frames, "totalFrames": len(views.frames)}

    def scopes(self, arguments: Mapping[str, Any]) -> Any:
        views = self.views()
        frame = views.frame(arguments["frameId"])
        if frame is None:
            raise RefusedError(f"there is no frame {arguments['frameId']}")
        return {"scopes": views.scopes(frame)}

    def variables(self, arguments: Mapping[str, Any]) -> Any:
        self.views()
        count = arguments.get("count")
        found = self.values.of(
            int(arguments["variablesReference"]), int(arguments.get("start") or 0), int(count) if count else None
        )
        if found is None:
            raise RefusedError("the session has moved since: this value is over")
        return {"variables": found}

    def source(self, arguments: Mapping[str, Any]) -> Any:
        given = arguments.get("source")
        number = given.get("sourceReference") if isinstance(given, dict) else None
        if (number or arguments.get("sourceReference")) != TEXT:
            raise RefusedError("there is one text, that of the model")
        return {"content": Lines(self.session._inside.places.source.text()), "mimeType": "text/x-python"}

    def sources(self, arguments: Mapping[str, Any]) -> Any:
        name = f"{self.session.model.name} (loops)"
        return {"sources": [{"name": name, "sourceReference": TEXT, "origin": "loopdbg"}]}

    def exception(self, arguments: Mapping[str, Any]) -> Any:
        stop = self.stop
        if stop is None or stop.reason not in (Reason.ERROR, Reason.BREAKPOINT):
            raise RefusedError("nothing went wrong here")
        return {"exceptionId": stop.reason.value, "description": stop.text, "breakMode": "always"}

    # -- requests: breakpoints

    def set_lines(self, arguments: Mapping[str, Any]) -> Any:
        wanted = [one for one in arguments.get("breakpoints") or () if isinstance(one, dict)]
        return {"breakpoints": self.runner.change(lambda: self.stops.lines(wanted))}

    def set_functions(self, arguments: Mapping[str, Any]) -> Any:
        wanted = [one for one in arguments.get("breakpoints") or () if isinstance(one, dict)]
        return {"breakpoints": self.runner.change(lambda: self.stops.functions(wanted))}

    def set_data(self, arguments: Mapping[str, Any]) -> Any:
        wanted = [one for one in arguments.get("breakpoints") or () if isinstance(one, dict)]
        return {"breakpoints": self.runner.change(lambda: self.stops.data(wanted))}

    def set_exceptions(self, arguments: Mapping[str, Any]) -> Any:
        wanted = [{"filterId": name} for name in arguments.get("filters") or () if isinstance(name, str)]
        wanted += [one for one in arguments.get("filterOptions") or () if isinstance(one, dict)]
        return {"breakpoints": self.runner.change(lambda: self.stops.exceptions(wanted))}

    def data_info(self, arguments: Mapping[str, Any]) -> Any:
        name, reference = str(arguments["name"]), arguments.get("variablesReference")
        frame = self.views().frame(arguments.get("frameId"))
        item = None if not reference else self.values.item(int(reference), name)
        if frame is None or frame.loop is None or (reference and item is None):
            return {"dataId": None, "description": f"'{name}' cannot be watched here"}
        changing = {edge.param for edge in frame.back_edges} | {n for node in frame.nodes for n in node.outputs}
        # The editor has names as they were sent, without what cannot be printed.
        found = next((one for one in changing if printable(one) == name), None) if item is None else item.name
        if found not in changing:
            return {"dataId": None, "description": f"'{name}' does not change from iteration to iteration"}
        told = f"'{name}' of {frame.name} differs from that of the iteration before"
        return {"dataId": data_id(found, frame.name), "description": told, "accessTypes": ["write"]}

    def locations(self, arguments: Mapping[str, Any]) -> Any:
        first = int(arguments["line"])
        last = int(arguments.get("endLine") or first)
        places = self.session._inside.places
        lines = [one.number for one in places.source.lines if one.node is not None and not places.never_runs(one.node)]
        return {"breakpoints": [{"line": number} for number in lines if first <= number <= last]}

    # -- requests: expressions

    def evaluate(self, arguments: Mapping[str, Any]) -> Any:
        text, context = str(arguments["expression"]).strip(), arguments.get("context")
        if context == "repl" and self._is_command(text):
            return self._command(text)
        views = self.views()
        frame = views.frame(arguments.get("frameId"))
        if frame is None:
            raise RefusedError(f"there is no frame {arguments['frameId']}")
        value = parse(text).evaluate(self._scope(frame.index))
        told = self.values.told(Item(text, value))
        return {"result": told.pop("value"), "type": told.pop("type"), **_without(told, "name", "presentationHint")}

    def _scope(self, index: int) -> FrameScope:
        frame = next((one for one in self.session.frames if one.index == index), self.session.frame)
        return FrameScope(frame, frame.history)

    @staticmethod
    def _is_command(text: str) -> bool:
        if not text:
            return False
        word, rest = split(text)
        try:
            find(word)
        except UsageError:
            return False
        # A value may be called like the beginning of a command: what goes on as an expression is one.
        return not rest or rest[0] not in "+-*/%@[.=<>!&|),"

    def _command(self, text: str) -> Any:
        """A command of the console; one that moves the session ends in a stop, as a button would."""
        if self.runner.busy:
            raise RefusedError("a loop is running; pause it first")
        console = self.console
        before = self.session._inside.epoch
        branches = len(self.session.branches) if self.session._inside.has_branches else 0

        def carry_out() -> Stop:
            try:
                console.execute(text)
            except Quit:
                self.end()
            if self.session._inside.has_branches and len(self.session.branches) != branches:
                self._invalidated()
            return self.session.stop

        answer = {"result": "", "variablesReference": 0}
        if _moves(text):
            return answer, self.move(carry_out)
        carry_out()
        if self.session._inside.epoch != before:
            self._invalidated()
        return answer

    def _invalidated(self) -> None:
        self.forget()
        if self.client.get("supportsInvalidatedEvent"):
            self.messages.event("invalidated", {"areas": ["variables", "stacks"]})

    def set_variable(self, arguments: Mapping[str, Any]) -> Any:
        self.views()
        item = self.values.item(int(arguments["variablesReference"]), str(arguments["name"]))
        if item is None:
            raise RefusedError("the session has moved since: this value is over")
        if not item.assigns:
            raise RefusedError(f"'{item.name}' cannot be set: it is no value of the body")
        return self._assigned(item.assigns, str(arguments["value"]))

    def set_expression(self, arguments: Mapping[str, Any]) -> Any:
        self.views()
        return self._assigned(str(arguments["expression"]), str(arguments["value"]))

    def _assigned(self, target: str, value: str) -> Any:
        """A branch of the timeline begins."""
        branch = self.session.assign(f"{target} = {value}")
        self.say(f"branch {branch.number}: {', '.join(branch.edits)}")
        self.forget()
        found = parse(target).evaluate(self._scope(self.views().frames[0].index))
        told = self.values.told(Item(target, found))
        if self.client.get("supportsInvalidatedEvent"):
            self.messages.event("invalidated", {"areas": ["variables"]})
        return _without(told, "name", "presentationHint")

    def completions(self, arguments: Mapping[str, Any]) -> Any:
        if self.runner.busy:
            return {"targets": []}
        text, column = str(arguments["text"]), int(arguments["column"]) - 1
        begin, words = self.console.completions(text, max(0, min(column, len(text))))
        length = max(0, column - begin)
        return {"targets": [{"label": word, "start": begin, "length": length} for word in words[:200]]}


def _moves(text: str) -> bool:
    """Whether a command of the console moves the session."""
    return find(split(text)[0]).name in _MOVING


#: Commands after which the session may stand elsewhere.
_MOVING = frozenset(
    (
        *("step", "next", "into", "finish", "until", "continue", "restart", "back", "back-node"),
        *("reverse-continue", "goto", "switch", "undo", "source"),
    )
)


def _refused(text: str) -> dict[str, Any]:
    error = {"id": 1, "format": text, "showUser": True}
    return {"success": False, "message": text, "body": {"error": error}}


def _without(told: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in told.items() if key not in names}


_REQUESTS: dict[str, Callable[[Adapter, Mapping[str, Any]], Any]] = {
    "initialize": Adapter.initialize,
    "launch": Adapter.launch,
    "attach": Adapter.launch,
    "configurationDone": Adapter.configured,
    "disconnect": Adapter.disconnect,
    "terminate": Adapter.terminate,
    "cancel": Adapter.cancel,
    "continue": Adapter.continue_,
    "next": Adapter.next,
    "stepIn": Adapter.step_in,
    "stepOut": Adapter.step_out,
    "stepBack": Adapter.step_back,
    "reverseContinue": Adapter.reverse,
    "restart": Adapter.restart,
    "pause": Adapter.pause,
    "gotoTargets": Adapter.goto_targets,
    "goto": Adapter.goto,
    "threads": Adapter.threads,
    "stackTrace": Adapter.stack,
    "scopes": Adapter.scopes,
    "variables": Adapter.variables,
    "source": Adapter.source,
    "loadedSources": Adapter.sources,
    "exceptionInfo": Adapter.exception,
    "setBreakpoints": Adapter.set_lines,
    "setFunctionBreakpoints": Adapter.set_functions,
    "setDataBreakpoints": Adapter.set_data,
    "setExceptionBreakpoints": Adapter.set_exceptions,
    "dataBreakpointInfo": Adapter.data_info,
    "breakpointLocations": Adapter.locations,
    "evaluate": Adapter.evaluate,
    "setVariable": Adapter.set_variable,
    "setExpression": Adapter.set_expression,
    "completions": Adapter.completions,
    "loopdbg/goto": Adapter.go_to_iteration,
    "loopdbg/timeline": Adapter.timeline,
    "loopdbg/inline": Adapter.inline,
}
