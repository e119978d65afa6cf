"""What every app of ours is: its colours, and the keys of its place in the table of actions."""

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


#: Seconds that the screen may take to end after SIGTERM or SIGHUP.
_EXIT_TIMEOUT_SECONDS = 5.0


def _exit_immediately(number: int) -> None:
    from ...runtime.atomic_file import discard_unfinished

    discard_unfinished()
    os._exit(128 + number)


class BaseApp(App[Result]):
    """An app with the keys of ``place`` among ``actions``, and those at its foot, in ``keys``."""

    TITLE = "loopdbg"
    # Textual would look for a relative one beside the file of a class that derives from this.
    CSS_PATH = Path(__file__).parents[1] / "app.tcss"
    COMPONENT_CLASSES = ROLE_COMPONENT_CLASSES
    #: Textual's own; ours is another.
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, place: ScreenKind, actions: Sequence[Action]) -> None:
        super().__init__()
        self.actions = tuple(actions)
        self._terminated_by: int | None = None
        self._bindings = screen_bindings(place, self.actions)
        suspend = actions_by_id(self.actions)["suspend"]
        for key in suspend.keys:
            if key not in self._bindings.key_to_bindings:
                self._bindings.bind(key, suspend.textual_action, show=False, priority=True)
        #: Keys that went to a line that is typed into.
        self._input_line_keys: WeakSet[events.Key] = WeakSet()
        self.key_bar = KeyBar(actions_on(place, self.actions), self._run_clicked_action, id="keys")

    @property
    def _background_screens(self) -> list[Screen[Any]]:
        """See :class:`~textual.app.App`, which draws what is below a screen, and then that screen again, even where it
        lets nothing of it through."""
        return [] if self.screen.styles.background.a == 1 else super()._background_screens

    def _run_clicked_action(self, action: Action) -> None:
        """What was clicked at the foot."""
        if action.textual_action:
            self.call_later(self.run_action, action.textual_action)

    def on_key(self, event: events.Key) -> None:
        """A key that nobody took. One that was pasted or typed ahead went to whoever had the focus then: it is for the
        line that was opened meanwhile, and no action."""
        line = self.focused
        if isinstance(line, Input) and event not in self._input_line_keys:
            event.prevent_default()
            again = events.Key(event.key, event.character)
            again._set_forwarded()
            self._input_line_keys.add(again)
            line.post_message(again)

    async def on_event(self, event: events.Event) -> None:
        """See :class:`~textual.app.App`."""
        if isinstance(event, events.Key) and event.key == "ctrl+j" and not event.is_forwarded:
            # What enter is until the terminal is ours: it was typed ahead.
            event = events.Key("enter", "\r")
        if isinstance(event, events.Key) and not event.is_forwarded and isinstance(self.focused, Input):
            self._input_line_keys.add(event)
        await super().on_event(event)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own colours, for themes that do not name them."""
        return dict(DARK.variables)

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = LIGHT.name if user_state.selected_theme() == LIGHT.name else DARK.name
        self.app_resume_signal.subscribe(self, self._redraw_after_resume)
        # A signal may reach a thread other than the one that waits in the event loop. Python leaves its handlers to the
        # latter, which sleeps on unless asyncio is told to wake it up at signals, as it does from the first handler on
        # that it is given: else fg leads to a dead screen, once in a hundred times.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # Windows; not in the main thread
            for name in ("SIGTERM", "SIGHUP"):
                number = getattr(signal, name)
                if signal.getsignal(number) is not signal.SIG_IGN:
                    asyncio.get_running_loop().add_signal_handler(number, self._terminate, number)

    def _terminate(self, number: int) -> None:
        """The terminal is given back before the process ends."""
        self._terminated_by = number
        # Textual waits for ever for the thread that writes to a terminal that is closed.
        timer = threading.Timer(_EXIT_TIMEOUT_SECONDS, _exit_immediately, (number,))
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
        """Back from the shell, which wrote over all of it: what did not change meanwhile is drawn as well."""
        for screen in self.screen_stack:
            screen.refresh()
