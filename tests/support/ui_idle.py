"""Detects that the screen is idle, sooner than Textual does."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from textual._context import active_app
from textual.app import ScreenError
from textual.message_pump import MessagePump
from textual.pilot import Pilot, WaitForScreenTimeout

#: Seconds between checks; the screen is drawn more often than that.
POLL_SECONDS = 0.005
#: An event that takes this many seconds is assumed never to happen.
IDLE_TIMEOUT_SECONDS = 120


def draw_pending() -> bool:
    """Draw pending changes now instead of at the next frame (60 Hz); False: there are none."""
    app = active_app.get(None)
    if app is None or not app.screen_stack or not app.screen._update_timer._active.is_set():
        return False
    try:
        app.screen._on_timer_update()
    except Exception as error:
        app._handle_exception(error)
    return True


async def wait_until_idle(min_sleep: float = 0, max_sleep: float = 1) -> None:
    """Wait until an app is idle: its event loop is empty, no thread works, and everything is drawn.

    Textual's own function polls fifty times a second, three times per key. ``max_sleep`` is CPU time of this process,
    of which a busy machine may grant none for a while. A model that keeps running uses all of it.
    """
    loop = asyncio.get_running_loop()
    began, spent = loop.time(), time.process_time()
    while time.process_time() < spent + max_sleep and loop.time() < began + IDLE_TIMEOUT_SECONDS:
        worked = time.process_time()
        await asyncio.sleep(POLL_SECONDS)
        waits = loop._ready  # type: ignore[attr-defined]
        rests = not waits and time.process_time() - worked < POLL_SECONDS / 5 and loop.time() >= began + min_sleep
        if rests and not draw_pending():
            return


def _is_waiting(pump: MessagePump) -> bool:
    """Whether a widget has handled all messages, and waits for the next one."""
    ready: Any = getattr(pump._message_queue, "ready_event", None)  # another version of Textual may have another queue
    return ready is not None and not ready.is_set() and bool(ready._waiters)


async def wait_for_messages(pilot: Pilot[object], timeout: float = IDLE_TIMEOUT_SECONDS) -> bool:
    """Wait until the widgets have handled all messages sent so far; False: the app has failed.

    Textual's own function sends a message to each widget, twice per key; a widget that waits for one has handled all.
    """
    try:
        pumps = [pilot.app, *pilot.app.screen.walk_children(with_self=True)]
    except ScreenError:
        return False
    done = [event for pump in pumps if not _is_waiting(pump) and pump.call_later((event := asyncio.Event()).set)]
    if not done:
        return True
    rest = asyncio.gather(*(event.wait() for event in done))
    failed = asyncio.ensure_future(pilot.app._exception_event.wait())
    ended, left = await asyncio.wait((rest, failed), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    for future in left:
        future.cancel()
    if not ended:
        raise WaitForScreenTimeout
    return rest in ended
