"""While a loop runs, the app responds, interrupts and quits; failures are reported and not fatal."""

from __future__ import annotations

import re

import numpy as np
import pytest
from textual import events
from textual.selection import SELECT_ALL

from app_driver import IDLE_TIMEOUT_SECONDS, AppDriver, open_app
from loopdbg.tui.render.formatting import value_text
from loopdbg.tui.screens.graph import GraphScreen
from loopdbg.tui.screens.help import HelpScreen
from text_models import model, sample

#: Its fifth iteration gathers out of the bounds of x.
FAILS = """
fails (float[4] x) => (float s, float[N] parts) {
  zero = Constant <value = float {0}> ()
  M = Constant <value = int64 {9}> ()
  [walk] s, parts = Loop <body = step (int64 i, bool c, float acc) => (bool keep, float acc_out, float part) {
    keep = Identity (c)
    part = Gather (x, i)
    acc_out = Add (acc, part)
  }> (M, , zero)
}
"""

FAILS_AT_ONCE = """
fails (float[4] x, int64 k) => (float s) {
  y = Gather (x, k)
  M = Constant <value = int64 {9}> ()
  [walk] s = Loop <body = step (int64 i, bool c, float acc) => (bool keep, float acc_out) {
    keep = Identity (c)
    acc_out = Add (acc, acc)
  }> (M, , y)
}
"""


def helps(screen: AppDriver) -> bool:
    """Whether the help is open."""
    return isinstance(screen.app.screen, HelpScreen)


async def until_running(screen: AppDriver) -> None:
    """Wait until the screen shows that a command runs."""
    await screen.wait_until(lambda: "▶ running" in screen.header)


async def test_endless_loop_is_shown_running_and_can_be_interrupted() -> None:
    async with open_app(*sample("loop_infinite.xml")) as screen:
        assert "none; ends never" in screen.text("condition")
        await screen.press("s", "s")
        await screen.pilot.press("c")
        await until_running(screen)
        assert "iterations of 'leibniz' · space interrupts" in screen.message
        # The panes keep the last stop.
        assert "values of iteration 1, at the last stop" in screen.text("body")
        await screen.wait_until(lambda: "iteration 1 → 2" not in screen.text("back-edges"))
        # Live histories keep everything as float64, but show values in their own type.
        assert re.search(r"estimate +f32 \[1\]", screen.text("back-edges")) and "f64" not in screen.text("back-edges")
        assert "none" not in screen.text("back-edges")
        await screen.pilot.press("escape")
        await screen.wait_until_idle()
        assert "at the last stop" not in screen.text("body")
        assert screen.session.stop.reason == "interrupt"
        iteration = screen.session.frame.iteration
        assert iteration > 2
        assert f"iteration {iteration} / no limit" in screen.header
        assert "paused: interrupt" in screen.header
        await screen.press("s")
        assert f"iteration {iteration + 1} / no limit" in screen.header


async def test_app_responds_while_a_loop_runs() -> None:
    async with open_app(*sample("loop_infinite.xml")) as screen:
        await screen.pilot.press("c")
        await until_running(screen)
        output = list[str]()
        say = screen.status_message.say
        screen.status_message.say = lambda text, error=False: (output.append(text), say(text, error))  # type: ignore
        # During a long command steps are refused with a message; help opens and closes. Keys are handled in order.
        screen.app.simulate_key("s")
        await screen.press_and_wait("question_mark", lambda: helps(screen))
        assert output == ["still running: space interrupts"]
        await screen.press_and_wait("escape", lambda: not helps(screen))
        # Nothing stopped in between: all of that happened during the run.
        assert screen.session_worker.busy and screen.session_worker.finished_count == 1
        # A stop that arrives while the help is open waits behind it.
        await screen.press_and_wait("question_mark", lambda: helps(screen))
        screen.session_worker.interrupt()
        await screen.wait_until_idle()
        assert "paused: interrupt" in screen.header and helps(screen)
        await screen.press_and_wait("q", lambda: not helps(screen))


async def test_end_is_shown_without_earlier_stop() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("c")
        assert screen.session.done
        assert "seen   T T T T T F" in screen.text("condition")
        frame = screen.session.frame
        assert f"→ {value_text(frame.carried['err'])} " in screen.lines("back-edges")[2]
        assert screen.value_next_to("err_new") == value_text(frame.carried["err"])


async def test_restart_interrupts_the_run() -> None:
    async with open_app(*sample("loop_infinite.xml")) as screen:
        await screen.pilot.press("c")
        await until_running(screen)
        await screen.press_and_wait("r", lambda: not screen.session_worker.busy)
        await screen.wait_until_idle()
        assert screen.session.stop.reason == "entry"
        assert "iteration 0 / no limit" in screen.header


async def test_quit_ends_an_endless_loop() -> None:
    async with open_app(*sample("loop_infinite.xml")) as screen:
        await screen.pilot.press("c")
        await until_running(screen)
        await screen.pilot.press("q")
    assert screen.app.return_value == 0
    screen.session_worker.close(IDLE_TIMEOUT_SECONDS)
    assert not screen.session_worker.busy


async def test_type_ahead_is_not_lost() -> None:
    async with open_app(*sample("counter.onnx")) as screen:
        await screen.pilot.press(*"sss")
        await screen.wait_until_idle()
        assert screen.session.frame.iteration == 3


async def test_failing_node_is_marked_and_values_stay_visible() -> None:
    async with open_app(model(FAILS), {"x": np.arange(4, dtype=np.float32)}) as screen:
        await screen.press(*"sssss")
        assert screen.session.stop.reason == "error"
        assert "✗ error" in screen.header
        assert screen.marked_line.startswith("✗ part = x[i]")
        assert screen.message.startswith("error: Gather 'Gather_1' (opset 21) in loop 'walk', iteration 4: ")
        assert "f32 [4]" in screen.text("scans")
        assert screen.value_next_to("keep") == "true"
        await screen.press("r", "s")
        assert "iteration 1 / 9" in screen.header
        assert screen.marked_line.startswith("▶")
        assert not screen.message.startswith("error")


async def test_node_fails_before_the_first_loop() -> None:
    async with open_app(model(FAILS_AT_ONCE), {"x": np.zeros(4, np.float32), "k": np.array(7)}) as screen:
        assert "✗ error" in screen.header
        assert screen.marked_line.startswith("✗ y = x[k]")
        assert "Gather 'Gather_0'" in screen.message
        await screen.press("r")
        assert "✗ error" in screen.header


async def test_iteration_limit_stops_and_can_be_passed() -> None:
    async with open_app(*sample("loop_infinite.xml"), max_iterations=100) as screen:
        await screen.press("c")
        assert "paused: limit" in screen.header
        assert "iteration 100 / no limit" in screen.header
        assert "reached the limit of 100 iterations" in screen.message
        await screen.press("s")
        assert "iteration 101 / no limit" in screen.header


async def test_zero_trip_loop_stops_at_its_entry_with_the_reason() -> None:
    async with open_app(*sample("newton_sqrt.onnx", a=1.0)) as screen:
        assert screen.message == "loop 'sqrt' runs no iteration: the condition is false before the first"
        assert "ended after 0 / no limit" in screen.header
        assert "ran no iteration: the condition is false before the first" in screen.text("condition")
        assert "f32 [0]" in screen.text("scans")
        await screen.press("s")
        assert screen.session.done


async def test_ctrl_c_interrupts_or_shows_how_to_quit() -> None:
    async with open_app(*sample("loop_infinite.xml")) as screen:
        await screen.pilot.press("ctrl+c")
        await screen.pilot.pause()
        assert screen.message == "nothing runs; q quits"
        await screen.pilot.press("c")
        await until_running(screen)
        await screen.pilot.press("ctrl+c")
        await screen.wait_until_idle()
        assert screen.session.stop.reason == "interrupt"


async def test_space_stops_and_the_header_shows_the_speed() -> None:
    async with open_app(*sample("loop_infinite.xml")) as screen:
        await screen.pilot.press("c")
        await until_running(screen)
        await screen.wait_until(lambda: re.search(r"running [\d.]+ s [\d.]+ [kMG]?/s", screen.header))
        assert screen.keys.startswith("space stop") and "s step" not in screen.keys
        await screen.pilot.press("space")
        await screen.wait_until_idle()
        assert screen.session.stop.reason == "interrupt"
        assert "s step" in screen.keys


async def test_console_answers_queries_while_a_loop_runs() -> None:
    async with open_app(*sample("loop_infinite.xml")) as screen:
        await screen.press("colon")
        await screen.type("break if 1 > 2")
        screen.console_pane.input_line.value = "continue"
        await screen.pilot.press("enter")
        await until_running(screen)
        prompt = screen.console_pane
        for line, message in (
            ("info breakpoints", "breakpoint 1: if 1 > 2"),
            ("info loops", "iterations so far"),
            ("help step", "run to the next boundary"),
            ("print acc", "error: still running: space interrupts"),
            ("nonsense", "error: there is no command 'nonsense'"),
        ):
            prompt.input_line.value = line
            await screen.press_and_wait(
                "enter", lambda line=line, text=message: text in prompt.text.rpartition(f"> {line}\n")[2]
            )
        assert screen.session_worker.busy
        # A space is part of the typed line; ctrl+c still stops the run.
        await screen.pilot.press("a", "space", "b")
        assert prompt.input_line.value == "a b" and screen.session_worker.busy
        await screen.pilot.press("ctrl+c")
        await screen.wait_until_idle()
        assert screen.session.stop.reason == "interrupt"


async def test_ctrl_c_stops_with_selected_text_and_below_the_help() -> None:
    async with open_app(*sample("loop_infinite.xml")) as screen:
        await screen.pilot.press("c")
        await until_running(screen)
        screen.app.screen.selections = {screen.status_message: SELECT_ALL}
        await screen.pilot.press("ctrl+c")
        await screen.wait_until_idle()
        assert screen.session.stop.reason == "interrupt"
        await screen.pilot.press("c")
        await until_running(screen)
        await screen.press_and_wait("question_mark", lambda: helps(screen))
        await screen.pilot.press("ctrl+c")
        await screen.wait_until_idle()
        assert screen.session.stop.reason == "interrupt" and helps(screen)


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        (["c"], "space"),
        (["colon", *"continue", "enter"], "space"),
        (["colon", *"continue", "enter", *"ab"], "^c"),
        (["c", "slash"], "^c"),
        (["c", "question_mark"], "space"),
        (["G", "c"], "space"),
    ],
)
async def test_documented_interrupt_key_works(keys: list[str], key: str) -> None:
    async with open_app(*sample("loop_infinite.xml")) as screen:
        for key_value in keys:
            screen.app.simulate_key(key_value)
        await screen.wait_until(lambda: f" · {key} interrupts" in screen.message)
        if isinstance(screen.app.screen, GraphScreen):
            assert f" · {key} interrupts" in "\n".join(screen.visible_rows())
        await screen.press_and_wait({"^c": "ctrl+c"}.get(key, key), lambda: not screen.session_worker.busy)
        await screen.wait_until_idle()
        assert screen.session.stop.reason == "interrupt"


async def test_space_is_typed_into_text_during_a_run() -> None:
    async with open_app(*sample("loop_infinite.xml")) as screen:
        for item in ["colon", *"continue", "enter", *"echo", "space", "a"]:
            screen.app.post_message(events.Key(item, " " if item == "space" else None))
        await screen.wait_until(lambda: screen.console_pane.input_line.value == "echo a")
        await until_running(screen)
        assert screen.console_pane.input_line.value == "echo a"
        screen.session_worker.interrupt()
        await screen.wait_until_idle()
