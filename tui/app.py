"""The app: themes, signals, and the keys of the screen that it opens with. The screen does everything else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from textual import events
from textual.actions import ActionParseResult
from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Input

from ..runtime.errors import TerminationExit
from . import user_state
from .actions import actions_by_id, actions_of_screen, screen_bindings
from .screens.help import HelpScreen
from .screens.main_screen_base import MainScreen
from .screens.modal_base import ModalBase
from .themes import DARK, LIGHT, THEMES
from .widgets.line_input import LineInput, pasted_lines
from .widgets.strips import ROLE_COMPONENT_CLASSES

Result = TypeVar("Result")
#: The seconds that shutdown may take after SIGTERM or SIGHUP.
_EXIT_TIMEOUT_SECONDS = 5.0


def _exit_immediately(signal_number: int) -> None:
    from ..runtime.atomic_file import discard_unfinished

    discard_unfinished()
    os._exit(128 + signal_number)


class LoopdbgApp(App[Result]):
    """Runs a main screen. Its keys are bound here: those with priority also act while another screen is above it."""

    TITLE = "loopdbg"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    COMPONENT_CLASSES = ROLE_COMPONENT_CLASSES
    #: Screens that focus a widget name it.
    AUTO_FOCUS = ""
    ESCAPE_TO_MINIMIZE = False
    #: Textual's palette is replaced by our own.
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, main_screen: MainScreen) -> None:
        super().__init__()
        # Stored, because a query searches the top screen only, which may be the help.
        self.main_screen = main_screen
        self._terminated_by: int | None = None
        self._bindings = screen_bindings(main_screen.kind, main_screen.actions)
        suspend = actions_by_id(main_screen.actions)["suspend"]
        for key in suspend.keys:
            if key not in self._bindings.key_to_bindings:
                self._bindings.bind(key, suspend.textual_action, show=False, priority=True)
        #: Key events already sent to a focused input line.
        self._input_line_keys: WeakSet[events.Key] = WeakSet()
        self._mouse_enabled = True

    def get_default_screen(self) -> Screen[Any]:
        """See :class:`~textual.app.App`."""
        return self.main_screen

    @property
    def _background_screens(self) -> list[Screen[Any]]:
        """See :class:`~textual.app.App`, which draws the screens below even if the top screen is opaque."""
        return [] if self.screen.styles.background.a == 1 else super()._background_screens

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """See :class:`~textual.app.App`. Actions of keys bound here run on the main screen. On each screen, they run on
        the part that they name."""
        main = self.main_screen
        if isinstance(action, str) and not main.is_bound(action):
            return False
        namespace = main if default_namespace is self or default_namespace is None else default_namespace
        return await super().run_action(action, namespace, getattr(namespace, "action_targets", None))

    # -- keys typed ahead, and pastes

    def on_key(self, event: events.Key) -> None:
        """Handle an unhandled key. A key typed ahead before an input line opened went to the old focus: forward it to
        the line instead of running an action."""
        line = self.focused
        if isinstance(line, Input) and event not in self._input_line_keys:
            event.prevent_default()
            forwarded = events.Key(event.key, event.character)
            forwarded._set_forwarded()
            self._input_line_keys.add(forwarded)
            line.post_message(forwarded)

    def on_paste(self, event: events.Paste) -> None:
        """Forward a paste outside of any input to the line opened meanwhile, if any."""
        line = self.focused
        if isinstance(line, LineInput):
            line.post_message(events.Paste(event.text))
        elif pasted_lines(event.text):
            self.main_screen.say(self.main_screen.PASTE_HINT)

    async def on_event(self, event: events.Event) -> None:
        """See :class:`~textual.app.App`."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            if event.key == "ctrl+j":
                # Before the terminal is in raw mode, a typed-ahead enter arrives as ctrl+j.
                event = events.Key("enter", "\r")
            if isinstance(self.focused, Input):
                self._input_line_keys.add(event)
        await super().on_event(event)

    # -- actions on every screen

    def action_help(self) -> None:
        """Show the keys of the screen at the top."""
        screen = self.screen
        assert isinstance(screen, MainScreen | ModalBase)
        own = actions_of_screen(screen.kind, screen.actions)
        opened_by = next(action.id for action in own if action.textual_action == "app.help")
        self.push_screen(HelpScreen(screen.actions, screen.kind, opened_by=opened_by))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Default colours for themes that do not define them."""
        return dict(DARK.variables)

    def action_theme(self) -> None:
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name
        user_state.update_state(theme=self.theme)

    def action_mouse(self) -> None:
        """Release the mouse to the terminal, to select text, or capture it again."""
        self._mouse_enabled = not self._mouse_enabled
        driver = self._driver
        # Textual's driver checks its own flag before it switches, and again when the process resumes.
        if driver is not None:
            driver._mouse = True
            switch = getattr(driver, "_enable_mouse_support" if self._mouse_enabled else "_disable_mouse_support", None)
            if switch is not None:
                switch()
            driver._mouse = self._mouse_enabled
        self.main_screen.say(
            "the mouse is loopdbg's" if self._mouse_enabled else "the mouse is the terminal's; m takes it back"
        )

    # -- the process

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = LIGHT.name if user_state.selected_theme() == LIGHT.name else DARK.name
        self.app_resume_signal.subscribe(self, self._redraw_after_resume)
        # A signal may arrive in another thread, while Python handlers run in the main thread, which sleeps in the event
        # loop. asyncio wakes it at signals once a handler was added: without one, fg sometimes leaves a dead screen.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # Windows; not in the main thread
            for name in ("SIGTERM", "SIGHUP"):
                number = getattr(signal, name)
                if signal.getsignal(number) is not signal.SIG_IGN:
                    asyncio.get_running_loop().add_signal_handler(number, self._terminate, number)

    def _terminate(self, signal_number: int) -> None:
        """Restore the terminal before the process ends."""
        self._terminated_by = signal_number
        # Textual would wait forever for the thread that writes to a closed terminal.
        timer = threading.Timer(_EXIT_TIMEOUT_SECONDS, _exit_immediately, (signal_number,))
        timer.daemon = True
        timer.start()
        self.exit()

    def run(self, *args: Any, **kwargs: Any) -> Result | None:
        """See :class:`~textual.app.App`.

        Raises:
            TerminationExit: SIGTERM or SIGHUP ended it.
        """
        result = super().run(*args, **kwargs)
        if self._terminated_by is not None:
            raise TerminationExit(self._terminated_by)
        return result

    def _redraw_after_resume(self, app: App[object]) -> None:
        """Redraw everything after the shell wrote over the screen."""
        for screen in self.screen_stack:
            screen.refresh()
