"""Prompts in the console line, and the screens above the panes: help, palette, graph, inspector, confirmation."""

from __future__ import annotations

from ...actions import Action, ActionTarget
from ...render.targets import ValueTarget
from ...widgets.console import FIND_SIGN, GO_TO_SIGN
from ..graph import GraphScreen
from ..help import HelpScreen
from ..inspector import InspectorScreen
from ..output_panel import QuitConfirmScreen
from ..palette import PaletteScreen, pane_action_groups, screen_action_groups
from .run_control import RunControl
from .screen_base import DebuggerScreenBase


class Dialogs(ActionTarget):
    """Opens prompts and screens above the panes of a debugger screen."""

    def __init__(self, screen: DebuggerScreenBase, run: RunControl) -> None:
        self._screen, self._run = screen, run

    # -- prompts

    def _open_console(self, text: str, one_shot: bool) -> None:
        self._screen.console_pane.open(text, one_shot)
        self._screen.refresh_context()

    def action_console(self, text: str) -> None:
        """Open the console; with prefilled text for one line only."""
        lesson = self._screen.lesson
        if text == "answer " and lesson is not None and not lesson.card.takes_answer:
            self._screen.say("this card asks nothing; L goes on")
        else:
            self._open_console(text, one_shot=bool(text))

    def action_find(self) -> None:
        """Open the search prompt."""
        self._open_console(FIND_SIGN, one_shot=True)

    def action_go_to_line(self) -> None:
        """Open the prompt for a line number, or the name of a value or node."""
        self._open_console(GO_TO_SIGN, one_shot=True)

    def action_close(self) -> None:
        """Hide the console, or end the search, or restore all panes."""
        screen, pane, grid = self._screen, self._screen.pane_control.focused_pane, self._screen.pane_control.pane_grid
        if screen.console_pane.display:
            screen.console_pane.close()
            pane.focus()
            screen.refresh_context()
        elif pane.search_text:
            pane.search_text = ""
            screen.refresh_context()
        elif grid.maximized_pane:
            grid.toggle_maximized("")

    # -- screens

    def action_help(self) -> None:
        screen = self._screen
        pane, lesson = screen.pane_control.focused_pane, screen.lesson is not None
        screen.app.push_screen(HelpScreen(screen.actions, pane=pane.id or "", name=pane.pane_title, lesson=lesson))

    def action_palette(self) -> None:
        """Open the palette, or close it if open."""
        screen, top = self._screen, self._screen.app.screen
        if isinstance(top, PaletteScreen):
            top.action_leave()
        elif isinstance(top, InspectorScreen | GraphScreen):
            groups = screen_action_groups(top.kind, screen.actions, top.action_context)
            screen.app.push_screen(PaletteScreen(screen.actions, groups), top.run_chosen_action)
        elif screen.is_current:
            context = screen.action_context
            groups = pane_action_groups(screen.actions, context, screen.pane_control.contexts_by_pane(context))
            screen.app.push_screen(PaletteScreen(screen.actions, groups), self._run_palette_action)

    def _run_palette_action(self, action: Action | None) -> None:
        if action is None:
            return
        panes = self._screen.pane_control
        if action.panes and panes.focused_pane.id not in action.panes:
            panes.action_pane(action.panes[0])
        self._screen.run_chosen_action(action)

    def action_graph(self) -> None:
        """Open the graph, unless it would give away the answer of a lesson."""
        screen = self._screen
        if screen.lesson_refusal_text:
            screen.say(screen.lesson_refusal_text)
        elif screen.screen_state is not None:
            screen.app.push_screen(
                GraphScreen(screen.actions, screen.screen_state, self._run.submit, self.open_inspector),
                lambda _: screen.show_panes(),
            )

    def open_inspector(self, target: ValueTarget, plot: bool = False) -> None:
        """Open the inspector of a value."""
        screen = self._screen
        if screen.screen_state is not None:
            worker = self._run.session_worker
            screen.app.push_screen(
                InspectorScreen(worker, target, screen.screen_state, plot, screen.actions), self._continue_console_line
            )

    def _continue_console_line(self, line: str | None) -> None:
        """Continue a console line begun in the inspector."""
        if line:
            self.action_console(line)

    def action_quit(self) -> None:
        state = self._screen.screen_state
        branches = state.view.stop_state.branches if state is not None else ()
        edits = [f"branch {branch.number}: {'; '.join(branch.edits)}" for branch in branches if branch.edits]
        if edits:
            self._screen.app.push_screen(QuitConfirmScreen(self._screen.actions, edits), self._quit_if_confirmed)
        else:
            self._quit_if_confirmed(True)

    def _quit_if_confirmed(self, confirmed: bool | None) -> None:
        if confirmed:
            self._run.session_worker.close()
            self._screen.app.exit(0)
