"""Base class of the Textual apps: themes, key bindings from the action table, signal handling."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from textual import events
from textual.app import App
from textual.screen import Screen
from textual.widgets import Input

from ...runtime.errors import TerminationExit
from .. import user_state
from ..actions import Action, ScreenKind, actions_by_id, actions_on, screen_bindings
from ..themes import DARK, LIGHT, THEMES
from ..widgets.key_bar import KeyBar
from ..widgets.strips import ROLE_COMPONENT_CLASSES

Result = TypeVar("Result")


#: The seconds that shutdown may take after SIGTERM or SIGHUP.
_EXIT_TIMEOUT_SECONDS = 5.0


def _exit_immediately(signal_number: int) -> None:
    from ...runtime.atomic_file import discard_unfinished

    discard_unfinished()
    os._exit(128 + signal_number)


class BaseApp(App[Result]):
    """An app with the key bindings of screen ``kind`` from ``actions``, and a key bar."""

    TITLE = "loopdbg"
    # Absolute: Textual resolves a relative path against the file of the subclass.
    CSS_PATH = Path(__file__).parents[1] / "app.tcss"
    COMPONENT_CLASSES = ROLE_COMPONENT_CLASSES
    #: Textual's palette is replaced by our own.
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, kind: ScreenKind, actions: Sequence[Action]) -> None:
        super().__init__()
        self.actions = tuple(actions)
        self._terminated_by: int | None = None
        self._bindings = screen_bindings(kind, self.actions)
        suspend = actions_by_id(self.actions)["suspend"]
        for key in suspend.keys:
            if key not in self._bindings.key_to_bindings:
                self._bindings.bind(key, suspend.textual_action, show=False, priority=True)
        #: Key events already sent to a focused input line.
        self._input_line_keys: WeakSet[events.Key] = WeakSet()
        self.key_bar = KeyBar(actions_on(kind, self.actions), self._run_clicked_action, id="keys")

    @property
    def _background_screens(self) -> list[Screen[Any]]:
        """See :class:`~textual.app.App`, which draws the screens below even if the top screen is opaque."""
        return [] if self.screen.styles.background.a == 1 else super()._background_screens

    def _run_clicked_action(self, action: Action) -> None:
        """Run an action clicked in the key bar."""
        if action.textual_action:
            self.call_later(self.run_action, action.textual_action)

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

    async def on_event(self, event: events.Event) -> None:
        """See :class:`~textual.app.App`."""
        if isinstance(event, events.Key) and event.key == "ctrl+j" and not event.is_forwarded:
            # Before the terminal is in raw mode, a typed-ahead enter arrives as ctrl+j.
            event = events.Key("enter", "\r")
        if isinstance(event, events.Key) and not event.is_forwarded and isinstance(self.focused, Input):
            self._input_line_keys.add(event)
        await super().on_event(event)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Default colours for themes that do not define them."""
        return dict(DARK.variables)

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
