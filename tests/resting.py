"""When a screen is at rest, found sooner than Textual finds it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from textual._context import active_app
from textual.app import ScreenError
from textual.message_pump import MessagePump
from textual.pilot import Pilot, WaitForScreenTimeout

#: Seconds of a look at whether a screen rests; it is drawn more often than that.
LOOK = 0.005
#: What takes so many seconds does not happen at all.
NEVER = 120


def draws() -> bool:
    """Let the screen draw now what it would draw at its next turn, sixty times a second; False: there is nothing."""
    app = active_app.get(None)
    if app is None or not app.screen_stack or not app.screen._update_timer._active.is_set():
        return False
    try:
        app.screen._on_timer_update()
    except Exception as error:
        app._handle_exception(error)
    return True


async def rested(min_sleep: float = 0, max_sleep: float = 1) -> None:
    """Wait until an app has done what there is to do: nothing waits in its event loop, no thread works, all is drawn.

    Textual's own looks fifty times a second, three times for a key. ``max_sleep`` is of the time that this process
    gets: a busy machine may give it none for as long. A model that runs on takes all of it.
    """
    loop = asyncio.get_running_loop()
    began, spent = loop.time(), time.process_time()
    while time.process_time() < spent + max_sleep and loop.time() < began + NEVER:
        worked = time.process_time()
        await asyncio.sleep(LOOK)
        waits = loop._ready  # type: ignore[attr-defined]
        rests = not waits and time.process_time() - worked < LOOK / 5 and loop.time() >= began + min_sleep
        if rests and not draws():
            return


def _waits(pump: MessagePump) -> bool:
    """Whether it has done all, and waits for the next message."""
    ready: Any = getattr(pump._message_queue, "ready_event", None)  # another Textual may have another queue
    return ready is not None and not ready.is_set() and bool(ready._waiters)


async def taken(pilot: Pilot[object], timeout: float = NEVER) -> bool:
    """Wait until what the widgets have been sent so far is done; False: the app has failed.

    Textual's own sends a message to each of them, twice for a key; those that wait for one have done what there was.
    """
    try:
        pumps = [pilot.app, *pilot.app.screen.walk_children(with_self=True)]
    except ScreenError:
        return False
    done = [event for pump in pumps if not _waits(pump) and pump.call_later((event := asyncio.Event()).set)]
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
