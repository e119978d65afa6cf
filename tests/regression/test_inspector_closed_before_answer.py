"""What an inspector asked the session for came when it was closed: the session's thread ended, and no key did anything
any more."""

from __future__ import annotations

import threading
from typing import Any

from app_driver import open_app
from loopdbg.tui.screens.inspector import InspectorScreen
from text_models import sample


async def test_an_answer_that_comes_too_late_is_dropped() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "2", "home", "down", "enter")
        top = screen.app.screen
        assert isinstance(top, InspectorScreen)
        closed, came = threading.Event(), list[Any]()

        def find(session: Any) -> str:
            assert closed.wait(10)
            return "an answer"

        top.inspector_state._query_session(find, came.append)
        top.action_leave()
        await screen.pilot.pause()
        assert not top.is_attached
        closed.set()
        await screen.press("s")
        assert came == []
        assert screen.session.frame.iteration == 2


async def test_an_answer_that_comes_in_time_is_taken() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "2", "home", "down", "enter")
        top = screen.app.screen
        assert isinstance(top, InspectorScreen)
        came = list[Any]()
        top.inspector_state._query_session(lambda session: session.frame.iteration, came.append)
        for _ in range(100):
            await screen.pilot.pause()
            if came:
                break
        assert came == [1]
