"""Every action of the table, run by its key, with what is visible before and after; and every pane with its content.

An action or a pane without a row here fails a test.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pytest
from textual.pilot import Pilot

from app_driver import AppDriver, open_app, run_app
from lesson_driver import KEY_WORDING
from loopdbg.debugger.lessons.learner import Learner
from loopdbg.debugger.lessons.progress import LearnerProgress
from loopdbg.tui.actions import PANE_KEYS, ScreenKind, actions_by_id, actions_of_screen, enabled_actions
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.cli.model_inputs.editable_inputs import InputDraft
from loopdbg.tui.cli.model_inputs.gather import RunInputs
from loopdbg.tui.render.pane_layout import TABS
from loopdbg.tui.screens.debugger.screen import make_lesson_screen
from loopdbg.tui.screens.input_editor import InputsScreen
from loopdbg.tui.themes import DARK, LIGHT
from text_models import NESTED, ROWS, model, sample

NEWTON, ENDLESS, POWER = "newton_sqrt.onnx", "loop_infinite.xml", "power_iteration.onnx"
NEST, TABLE, LESSON, INPUTS = "nested", "a table", "a lesson", "inputs"


class StartApp:
    """A screen from before the debugger starts, driven by the same keys."""

    def __init__(self, inputs: InputsScreen, pilot: Pilot[Any]) -> None:
        self.app = pilot.app
        self.inputs = inputs
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause()

    tap = press


@asynccontextmanager
async def shown(name: str, size: tuple[int, int] = (120, 36)) -> AsyncIterator[Any]:
    """A model on the screen, a lesson, or the inputs screen of a model that came without inputs."""
    if name == INPUTS:
        result = model("of_two (float[N] x, int64 count) => (float[N] z) { z = Mul (x, x) }")
        inputs = {"x": np.full(1, 7, np.float32), "count": np.array(5)}
        inputs_screen = InputsScreen(InputDraft(result, RunInputs(inputs, "", True)), "model.onnx")
        async with LoopdbgApp[bool](inputs_screen).run_test(size=size) as pilot:
            await pilot.pause()
            yield StartApp(inputs_screen, pilot)
    elif name == LESSON:
        learner = Learner(LearnerProgress(None), KEY_WORDING, number=3, random=Random(0))
        async with run_app(make_lesson_screen(learner), size) as screen:
            yield screen
    else:
        results = {NEST: (NESTED, {"M": np.array(3), "K": np.array(2)}), TABLE: (ROWS, dict[str, Any]())}
        what = (model(results[name][0]), results[name][1]) if name in results else sample(name)
        async with open_app(*what, size=size) as screen:
            yield screen


async def press(screen: Any, keys: Sequence[str]) -> None:
    """Press keys; text that begins with a colon is typed into the console, which is then closed."""
    for key in keys:
        if key[:1] == ":":
            await screen.press("colon")
            await screen.type(key[1:])
            await screen.press("escape")
        else:
            await screen.press(key)


@dataclass(frozen=True)
class ActionCase:
    """Where an action has an effect: the keys before it, and something visible that it changes."""

    before: Sequence[str]
    sees: Callable[[AppDriver], Any]
    was: Any
    then: Any
    model: str = NEWTON
    size: tuple[int, int] = (120, 36)
    #: The footer and the palette offer it there.
    offered: bool = True


def iteration(screen: AppDriver) -> int:
    return screen.session.frame.iteration


def at_boundary(screen: AppDriver) -> bool:
    return screen.session.frame.at_boundary


def typed(screen: AppDriver) -> str | None:
    """The text of the console's input line, if the console is open."""
    return screen.console_pane.input_line.value if screen.console_pane.display else None


def screens_above(screen: AppDriver) -> str:
    """The modal screens above the panes."""
    return type(screen.app.screen).__name__


def cursor(screen: AppDriver) -> int:
    """The source line at the cursor."""
    return screen.panes["body"].cursor


def cursor_statement(screen: AppDriver) -> str:
    """The statement at the cursor."""
    return screen.lines("body")[cursor(screen)].split()[1]


def at_last(screen: AppDriver) -> bool:
    return cursor(screen) == len(screen.lines("body")) - 1


def focus(screen: AppDriver) -> str | None:
    return screen.app.focused.id if screen.app.focused is not None else None


def breakpoints(screen: AppDriver) -> list[str]:
    return [breakpoint.text for breakpoint in screen.session.breakpoints]


def breakpoint_title(screen: AppDriver) -> str:
    return screen.session.breakpoints[0].title


def frames(screen: AppDriver) -> int:
    assert screen.screen_state is not None
    return len(screen.screen_state.view.frames)


def depth(screen: AppDriver) -> int | None:
    """The depth of the focused frame."""
    assert screen.screen_state is not None
    return screen.screen_state.depth


def folded(screen: AppDriver) -> bool:
    return any("… " in line for line in screen.lines("body"))


def stopped(screen: AppDriver) -> str:
    """The state of a model that would otherwise run for ever."""
    return "runs" if screen.session_worker.busy else str(screen.session.stop.reason)


def card(screen: AppDriver) -> str:
    """The lesson and the index of its card."""
    return str(screen.lesson.pane.border_title).rpartition(" of ")[0][-6:]  # type: ignore[attr-defined]


ON_VALUE = ("s", "2", "home", "down")
ON_BREAKPOINT = (":break iter 3", "5", "home")
ON_DISPLAY = (":display x * 2", "0", "home")
IN_FIELDS = (*ON_BREAKPOINT, "e")
SEARCH = ("slash", *"change", "enter")
INSIDE = ("n", "i")
BEGUN = ("colon", *"pri")


def top(screen: AppDriver) -> Any:
    """The screen on top of the panes."""
    return screen.app.screen


def grid(screen: AppDriver) -> Any:
    return top(screen).grid.viewport


def note(screen: AppDriver) -> str:
    return str(top(screen).note)


def inspector_input(screen: AppDriver) -> str | None:
    """The text of the inspector's prompt."""
    return top(screen).prompt.placeholder if top(screen).prompt.display else None


def inspect(sees: Callable[[AppDriver], Any], was: Any, then: Any, *before: str) -> ActionCase:
    """Open the inspector on a carried value of six rows before iteration 3."""
    return ActionCase((*"sss", "2", "home", "down", "enter", *before), sees, was, then, TABLE)


def open_graph(sees: Callable[[AppDriver], Any], was: Any, then: Any, *before: str) -> ActionCase:
    """Open the graph before iteration 2, on a screen smaller than the graph."""
    return ActionCase((*"ssG", *before), sees, was, then, size=(80, 24))


def cursor_box(screen: AppDriver) -> str:
    """The graph's box at the cursor."""
    return str(top(screen).graph_state.cursor_box.name)


def at_right(screen: AppDriver) -> bool:
    """Whether the window is at the right end of the graph."""
    return bool(top(screen).graph_view.scroll_x == top(screen).graph_view.max_scroll_x > 0)


def line_of(k: int) -> Callable[[Any], str]:
    """The row of an input on the inputs screen."""
    return lambda screen: " ".join(screen.inputs.rows_box.lines[1 + k].text.split())


def inputs_without_values(sees: Callable[[Any], Any], was: Any, then: Any, *before: str) -> ActionCase:
    """Open the inputs screen of a model that came without inputs."""
    return ActionCase(before, sees, was, then, INPUTS)


def highlighted(screen: AppDriver) -> int:
    """The highlighted row of the palette."""
    return int(top(screen)._list.highlighted)


def scrolled(screen: AppDriver) -> bool:
    """Whether the help is scrolled down."""
    return any(widget.scroll_offset.y > 0 for widget in top(screen).query("*"))


def at_end(screen: AppDriver) -> bool:
    return any(widget.scroll_offset.y == widget.max_scroll_y > 0 for widget in top(screen).query("*"))


RANDOM_INPUT = "▌ x float32[N] [1] [7.0] random, seed 0"
HELP = ("question_mark",)
PALETTE = ("ctrl+p",)
LEAVING = ("s", ":set x = 3", "q")

ELSEWHERE = {
    "inspect-before": inspect(lambda s: top(s).inspector_state.iteration, 3, 2),
    "inspect-next": inspect(lambda s: top(s).inspector_state.iteration, 2, 3, "left"),
    "inspect-iteration": inspect(lambda s: top(s).prompt.display, False, True),
    "inspect-plot": inspect(lambda s: top(s).has_class("-plot"), False, True),
    "inspect-difference": inspect(lambda s: grid(s).baseline is not None, False, True),
    "inspect-difference-to": inspect(lambda s: top(s).prompt.display, False, True),
    "inspect-largest": inspect(lambda s: "changed most" in note(s), False, True),
    "inspect-break": inspect(screens_above, "InspectorScreen", "DebuggerScreen"),
    "inspect-help": inspect(screens_above, "InspectorScreen", "HelpScreen"),
    "inspect-leave": inspect(screens_above, "InspectorScreen", "DebuggerScreen"),
    "inspect-up": inspect(lambda s: grid(s).cursor, (1, 0), (0, 0), "down"),
    "inspect-down": inspect(lambda s: grid(s).cursor, (0, 0), (1, 0)),
    "inspect-left": inspect(lambda s: grid(s).cursor, (0, 1), (0, 0), "l"),
    "inspect-right": inspect(lambda s: grid(s).cursor, (0, 0), (0, 1)),
    "inspect-page-up": inspect(lambda s: grid(s).cursor[0] < 5, False, True, "end"),
    "inspect-page-down": inspect(lambda s: grid(s).cursor[0] > 0, False, True),
    "inspect-first": inspect(lambda s: grid(s).cursor, (5, 39), (0, 0), "end"),
    "inspect-last": inspect(lambda s: grid(s).cursor, (0, 0), (5, 39)),
    "inspect-slice": inspect(lambda s: top(s).prompt.display, False, True),
    # Offered only for sequences; for a tensor the key asks for a slice.
    "inspect-open": replace(inspect(lambda s: top(s).prompt.display, False, True), offered=False),
    "inspect-digits": inspect(lambda s: grid(s).number_format.value, "4 digits", "8 digits"),
    "inspect-heat-map": inspect(lambda s: grid(s).heat_map, False, True),
    "inspect-nan": inspect(lambda s: "NaN or infinity" in note(s), False, True),
    "inspect-find": inspect(lambda s: top(s).prompt.display, False, True),
    "inspect-save": inspect(lambda s: top(s).prompt.display, False, True),
    "inspect-copy": inspect(lambda s: s.app.clipboard, "", "0.125", "l"),
    "inspect-copy-numpy": inspect(lambda s: "np." in s.app.clipboard, False, True),
    "inspect-take": inspect(lambda s: grid(s).part.rows, 6, 1, "left_square_bracket", *"[0]"),
    "graph-step": open_graph(iteration, 2, 3),
    "graph-node": open_graph(at_boundary, True, False),
    "graph-into": open_graph(at_boundary, True, False),
    "graph-continue": open_graph(lambda s: s.session.done, False, True),
    "graph-back": open_graph(iteration, 2, 1),
    "graph-back-node": open_graph(at_boundary, False, True, "n"),
    "graph-restart": open_graph(iteration, 2, 0),
    "graph-up": open_graph(cursor_box, "half", "x"),
    "graph-down": open_graph(cursor_box, "half", "x_new"),
    "graph-left": open_graph(cursor_box, "q", "half", "right"),
    "graph-right": open_graph(cursor_box, "half", "q"),
    "graph-next": open_graph(cursor_box, "x", "half", "up"),
    "graph-open": open_graph(screens_above, "GraphScreen", "InspectorScreen"),
    "graph-more": open_graph(lambda s: top(s).graph_state.level.name, "NARROW", "VALUES", "minus"),
    "graph-less": open_graph(lambda s: top(s).graph_state.level.name, "VALUES", "NARROW"),
    "graph-pan-up": open_graph(lambda s: top(s).graph_view.scroll_y > 0, True, False, "pagedown"),
    "graph-pan-down": open_graph(lambda s: top(s).graph_view.scroll_y > 0, False, True, "pageup"),
    "graph-pan-left": open_graph(at_right, True, False, *["shift+right"] * 4),
    "graph-pan-right": open_graph(lambda s: top(s).graph_view.scroll_x > 0, False, True, *["shift+left"] * 4),
    "graph-help": open_graph(screens_above, "GraphScreen", "HelpScreen"),
    "graph-leave": open_graph(screens_above, "GraphScreen", "DebuggerScreen"),
    "fields-take": ActionCase((*IN_FIELDS, *"x > 1"), breakpoint_title, "iter 3", "iter 3 if x > 1"),
    "fields-next": ActionCase(IN_FIELDS, focus, "fields-condition", "fields-ignore"),
    "fields-previous": ActionCase((*IN_FIELDS, "tab"), focus, "fields-ignore", "fields-condition"),
    "fields-help": ActionCase(IN_FIELDS, screens_above, "BreakpointScreen", "HelpScreen"),
    "fields-leave": ActionCase((*IN_FIELDS, *"x > 1"), screens_above, "BreakpointScreen", "DebuggerScreen"),
    "inputs-start": inputs_without_values(lambda s: s.app.return_value, None, True),
    "inputs-edit": inputs_without_values(lambda s: s.inputs.prompt.display, False, True),
    "inputs-random": inputs_without_values(lambda s: "random, seed 1" in line_of(0)(s), False, True),
    "inputs-zeros": inputs_without_values(line_of(0), RANDOM_INPUT, "▌ x float32[N] [1] [0.0] zeros"),
    "inputs-ones": inputs_without_values(line_of(0), RANDOM_INPUT, "▌ x float32[N] [1] [1.0] ones"),
    "inputs-arange": inputs_without_values(line_of(0), RANDOM_INPUT, "▌ x float32[N] [1] [0.0] arange"),
    "inputs-load": inputs_without_values(lambda s: s.inputs.prompt.display, False, True),
    "inputs-dim": inputs_without_values(lambda s: s.inputs.prompt.display, False, True),
    "inputs-up": inputs_without_values(lambda s: s.inputs.selected_row, 1, 0, "down"),
    "inputs-down": inputs_without_values(lambda s: s.inputs.selected_row, 0, 1),
    "inputs-take": inputs_without_values(
        line_of(1), "▌ count int64[] 5 random, seed 0", "▌ count int64[] 3 3", "down", "enter", "3"
    ),
    "inputs-help": inputs_without_values(lambda s: type(s.app.screen).__name__ == "HelpScreen", False, True),
    "inputs-leave": inputs_without_values(lambda s: s.app.return_value, None, False),
    "inputs-quit": inputs_without_values(lambda s: s.app.return_value, None, False, "enter"),
    "choice-up": ActionCase((*PALETTE, "down"), highlighted, 2, 1),
    "choice-down": ActionCase(PALETTE, highlighted, 1, 2),
    "choice-page-up": ActionCase((*PALETTE, "pagedown"), lambda s: highlighted(s) > 3, True, False),
    "choice-page-down": ActionCase(PALETTE, lambda s: highlighted(s) > 3, False, True),
    "choice-open": ActionCase((*PALETTE, *"next boundary"), lambda s: len(s.app.screen_stack), 2, 1),
    "choice-leave": ActionCase(PALETTE, screens_above, "PaletteScreen", "DebuggerScreen"),
    "text-up": ActionCase((*HELP, "down"), scrolled, True, False),
    "text-down": ActionCase(HELP, scrolled, False, True),
    "text-page-up": ActionCase((*HELP, "pagedown"), scrolled, True, False),
    "text-page-down": ActionCase(HELP, scrolled, False, True),
    "text-first": ActionCase((*HELP, "end"), scrolled, True, False),
    "text-last": ActionCase(HELP, at_end, False, True),
    "text-close": ActionCase(HELP, screens_above, "HelpScreen", "DebuggerScreen"),
    "leave": ActionCase(LEAVING, lambda s: s.app._exit, False, True),
    "stay": ActionCase(LEAVING, screens_above, "QuitConfirmScreen", "DebuggerScreen"),
}

CASES = {
    "open": ActionCase(ON_VALUE, screens_above, "DebuggerScreen", "InspectorScreen"),
    "graph": ActionCase(("s",), screens_above, "DebuggerScreen", "GraphScreen"),
    "why": ActionCase(("s",), screens_above, "DebuggerScreen", "PanelScreen"),
    "find": ActionCase((), lambda s: s.console_pane.display and focus(s) == s.console_pane.input_line.id, False,
                       True),
    "find-next": ActionCase(SEARCH, cursor_statement, "change", "err_new"),
    "find-previous": ActionCase((*SEARCH, "n"), cursor_statement, "err_new", "change"),
    "go-to-line": ActionCase((), typed, None, "@"),
    "frame-out": ActionCase(INSIDE, depth, 2, 1, NEST),
    "frame-in": ActionCase((*INSIDE, "left_square_bracket"), depth, 1, 2, NEST),
    "list": ActionCase(("s",), lambda s: "x_new = half + half_q" in s.console_pane.text, False, True),
    "profile": ActionCase(("s",), lambda s: "loop main ▸ sqrt: 5 iterations" in s.console_pane.text, False, True),
    "copy": ActionCase(ON_VALUE, lambda s: s.app.clipboard, "", "1.5"),
    "fold": ActionCase(("slash", *"for j", "enter", "escape"), folded, False, True, NEST),
    "unfold": ActionCase(("slash", *"for j", "enter", "escape", "minus"), folded, True, False, NEST),
    "to-maker": ActionCase((*SEARCH, "escape"), cursor_statement, "change", "x_new"),
    "to-reader": ActionCase((*SEARCH, "escape"), cursor_statement, "change", "err_new"),
    "code": ActionCase((), lambda s: "power_iteration.py" in s.text("body"), True, False, POWER),
    "step": ActionCase((), iteration, 0, 1),
    "node": ActionCase((), at_boundary, True, False),
    "continue": ActionCase((), lambda s: s.session.done, False, True),
    "back": ActionCase(("s", "s"), iteration, 2, 1),
    "into": ActionCase(("n",), frames, 2, 3, NEST),
    "finish": ActionCase((), lambda s: "ended after 5" in s.header, False, True),
    "back-node": ActionCase(("s", "n"), at_boundary, False, True),
    "reverse-continue": ActionCase((":break iter 2", "c", "c"), lambda s: s.session.done or iteration(s), True, 2),
    "goto": ActionCase((), typed, None, "goto "),
    "run-here": ActionCase((*SEARCH, "escape"), lambda s: "▶ change" in s.marked_line, False, True),
    "restart": ActionCase(("s", "s"), iteration, 2, 0),
    "stop": ActionCase(("c",), stopped, "runs", "interrupt", ENDLESS),
    "stop-always": ActionCase(("c", "colon"), stopped, "runs", "interrupt", ENDLESS),
    "break-here": ActionCase((*SEARCH, "escape"), breakpoints, [], ["line 15"]),
    "break": ActionCase((), typed, None, "break "),
    "watch": ActionCase(ON_VALUE, typed, None, "watch x"),
    "edit-breakpoint": ActionCase(ON_BREAKPOINT, screens_above, "DebuggerScreen", "BreakpointScreen"),
    "delete": ActionCase(ON_BREAKPOINT, breakpoints, ["iter 3"], []),
    "display": ActionCase(ON_VALUE, typed, None, "display x"),
    "edit-display": ActionCase(ON_DISPLAY, typed, None, "display 1: x * 2"),
    "delete-display": ActionCase(ON_DISPLAY, lambda s: s.session_worker.console.displays.keys() == {1}, True,
                                 False),
    "edit": ActionCase(ON_VALUE, typed, None, "set x = "),
    "undo": ActionCase(("s", ":set x = 3", "s"), iteration, 2, 1),
    "plot": ActionCase(ON_VALUE, screens_above, "DebuggerScreen", "InspectorScreen"),
    "cursor-up": ActionCase(("home", "down", "down"), cursor, 2, 1),
    "cursor-down": ActionCase(("home",), cursor, 0, 1),
    "page-up": ActionCase(("end",), at_last, True, False),
    "page-down": ActionCase(("home",), lambda s: cursor(s) > 3, False, True),
    "first": ActionCase(("end",), lambda s: cursor(s) == 0, False, True),
    "last": ActionCase(("home",), at_last, False, True),
    "next-pane": ActionCase(("1",), focus, "body", "back-edges"),
    "previous-pane": ActionCase(("2",), focus, "back-edges", "body"),
    **{f"pane-{k}": ActionCase(("c", ":display x", "2" if k == 1 else "1"), focus, "back-edges" if k == 1 else "body",
                               name)
       for k, name in enumerate(PANE_KEYS, 1)},
    "zoom": ActionCase(("2",), lambda s: s.pane_grid.maximized_pane, "", "back-edges"),
    "tab-next": ActionCase((), lambda s: s.pane_grid.tab, 0, 1, size=(80, 24)),
    "tab-previous": ActionCase((), lambda s: s.pane_grid.tab, 0, len(TABS) - 1, size=(80, 24)),
    "mouse": ActionCase((), lambda s: s.app._mouse_enabled, True, False),
    "console": ActionCase((), typed, None, ""),
    "interrupt": ActionCase(("c",), stopped, "runs", "interrupt", ENDLESS),
    "close": ActionCase(("colon",), typed, "", None),
    "theme": ActionCase((), lambda s: s.app.theme, DARK.name, LIGHT.name),
    "palette": ActionCase((), screens_above, "DebuggerScreen", "PaletteScreen"),
    "help": ActionCase((), screens_above, "DebuggerScreen", "HelpScreen"),
    "suspend": ActionCase((), lambda s: s.app.suspended, [], [signal.SIGTSTP]),  # type: ignore[attr-defined]
    "quit": ActionCase((), lambda s: s.app._exit, False, True),
    "idle": ActionCase(("s",), lambda s: s.message, "before iteration 1 of loop 'sqrt'", "nothing runs; q quits"),
    "answer": ActionCase((), typed, None, "answer ", LESSON),
    "next-card": ActionCase((), card, "card 1", "card 2", LESSON),
    "hint": ActionCase((":card 4",), lambda s: "is 21 there before below is false?" in flat(s), False, True, LESSON),
    "again": ActionCase((":card 4",), lambda s: "start is 2" in flat(s), False, True, LESSON),
    "run-line": ActionCase(("colon", *"step"), iteration, 0, 1),
    "complete": ActionCase(BEGUN, typed, "pri", "print"),
    "earlier": ActionCase(("colon", *"step", "enter"), typed, "", "step"),
    **ELSEWHERE,
    "later": ActionCase(("colon", *"step", "enter", "up"), typed, "step", ""),
}  # fmt: skip


def flat(screen: AppDriver) -> str:
    """The text of a lesson's card on one line."""
    return " ".join(screen.lesson.pane.text.split())  # type: ignore[attr-defined]


def _has_iterated(screen: AppDriver) -> bool:
    progress = screen.session_worker.progress()
    return progress is not None and any(progress.iterations.values())


def test_every_action_has_a_row() -> None:
    assert CASES.keys() == actions_by_id().keys()


@pytest.mark.parametrize("name", CASES)
async def test_action_has_its_effect(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, action = CASES[name], actions_by_id()[name]
    async with shown(case.model, case.size) as screen:
        screen.app.suspended = []  # type: ignore[attr-defined]
        if name == "suspend":
            monkeypatch.setattr(type(screen.app._driver), "can_suspend", True)
            monkeypatch.setattr(os, "kill", lambda _, number: screen.app.suspended.append(number))  # type: ignore
        endless = case.model == ENDLESS
        if endless:
            for key in case.before:
                screen.app.simulate_key(key)
            typing = "colon" in case.before
            # A command that only waits would be cancelled, and the session would stay where it is.
            await screen.wait_until(lambda: _has_iterated(screen))
            await screen.wait_until(
                lambda: case.sees(screen) == case.was and screen.console_pane.input_line.has_focus == typing
            )
        else:
            await press(screen, case.before)
        assert case.sees(screen) == case.was
        if not case.offered:
            pass
        elif hasattr(screen.app.screen, "action_context") or action.section.screen is ScreenKind.PANES:
            now = (
                screen.debugger.action_context
                if action.section.screen is ScreenKind.PANES
                else screen.app.screen.action_context
            )
            assert enabled_actions([action], now), "the foot and the palette would not offer it"
        if name in ("quit", "leave"):
            await screen.press_and_wait(action.keys[0], lambda: case.sees(screen) == case.then)
        elif endless:
            screen.app.simulate_key(action.keys[0])
            await screen.wait_until_idle()
        else:
            await screen.press(action.keys[0])
        assert case.sees(screen) == case.then


async def test_each_key_is_bound_to_its_action() -> None:
    async with open_app(*sample(NEWTON)) as screen:
        bound = screen.app._bindings.key_to_bindings
        for item in actions_of_screen(ScreenKind.PANES):
            for key in item.keys if item.textual_action else ():
                assert item.textual_action in [binding.action for binding in bound[key]], (item.id, key)


#: For each pane, where it has content, and a piece of that content.
PANE_SHOWS: dict[str, tuple[Sequence[str], str]] = {
    "body": (("s", "n"), "half = x * 0.5"),
    "back-edges": (("s", "s"), "1.5"),
    "condition": (("s",), "err_new"),
    "stack": ((), "sqrt"),
    "breakpoints": ((":break iter 3",), "iter 3"),
    "scans": (("s", "s"), "2 so far"),
    "inputs": ((), "captured"),
    "timeline": (("s",), "▼"),
    "outputs": (("c",), "1.4142135"),
    "displays": ((":display x * 2",), "x * 2"),
}


def test_every_pane_has_a_row() -> None:
    assert set(PANE_SHOWS) == set(PANE_KEYS), "a row here, a key in tui/actions/pane_actions.py"


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
@pytest.mark.parametrize("name", PANE_KEYS)
async def test_pane_shows_its_content(name: str, size: tuple[int, int]) -> None:
    before, wanted = PANE_SHOWS[name]
    async with shown(NEWTON, size) as screen:
        assert set(screen.panes) == set(PANE_KEYS)
        pane = screen.panes[name]
        await press(screen, before)
        await press(screen, (PANE_KEYS[name], "z"))
        assert screen.pane_grid.maximized_pane == name and pane.has_focus
        # The content is drawn, not only computed.
        assert wanted in "\n".join(screen.visible_rows()), screen.visible_rows()
        # The cursor visits all of it and points at an item somewhere.
        targets = []
        await screen.press("home")
        for _ in range(len(pane.lines)):
            targets.append(pane.target)
            await screen.press("down")
        assert any(target is not None for target in targets)
        assert all(target_value.text(screen.screen_state) for target_value in targets if target_value is not None)
        await screen.press("escape")
        assert screen.pane_grid.maximized_pane == ""
