"""The notebook widget: its Python side, and its page in a real browser."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="anywidget is not installed")
pytest.importorskip("aiohttp", reason="aiohttp is not installed")
import loopdbg
from browser import BROWSER, open_page
from error_fields import raises_error
from notebook_widget_server import serve_notebook_widget
from text_models import SAMPLES

NEWTON = SAMPLES / "newton_sqrt.onnx"
MODEL_INPUTS = {"a": 2.0, "tol": 1e-6}
in_browser = pytest.mark.skipif(BROWSER is None, reason="no browser here")


def session() -> loopdbg.Session:
    return loopdbg.debug(NEWTON, MODEL_INPUTS)


def ask(widget: Any, **request: Any) -> None:
    """Send what a page sends."""
    widget.set_state({"request": request})


# ---------------------------------------------------------------- without a page


def test_page_state_is_serializable() -> None:
    nested = loopdbg.debug(SAMPLES / "loop_nested.xml", dict(np.load(SAMPLES / "loop_nested.inputs.npz")))
    nan = loopdbg.debug(SAMPLES / "vanishing_scale.onnx", dict(np.load(SAMPLES / "vanishing_scale.inputs.npz")))
    nan.goto(140)
    for stepped in (session(), nested, nan):
        widget = loopdbg.widget(stepped)
        for line in ("into", "step", "next", "finish", "continue"):
            text = json.dumps(widget.view, allow_nan=False)
            assert stepped.stop.text in json.loads(text)["stop"]
            widget.do(line)


def test_buttons_are_console_commands() -> None:
    stepped = session()
    widget = loopdbg.widget(stepped)
    for line in ("step", "step", "next", "back-node", "back", "goto 4", "break if err > 0.1", "reverse-continue"):
        ask(widget, line=line)
    assert widget.view["stop"] == stepped.stop.text == "breakpoint 1 (if err > 0.1): before iteration 1 of loop 'sqrt'"
    assert [item["title"] for item in widget.view["breakpoints"]] == ["if err > 0.1"]
    ask(widget, line="print x", typed=True)
    assert widget.state["output"] == ["breakpoint 1: if err > 0.1", "(loopdbg) print x", "1.5"]


def test_stop_state_is_shown() -> None:
    widget = loopdbg.widget(session())
    widget.do("step")
    widget.do("next")
    view = widget.view
    values = {line["text"]: line["value"] for line in view["lines"]}
    assert values["half = x * 0.5"] == "0.75" and values["q = a / x"] == "·"
    assert [line["text"] for line in view["lines"] if line["sign"] == "▶"] == ["q = a / x"]
    assert [edge["param"] for edge in view["carried"]] == ["x", "err"] and view["carried"][0]["previous"] == "1.5"
    assert view["condition"]["value"] is True and "err_new > tol" in view["condition"]["why"]
    assert view["scans"][0]["last"] == "1.5" and view["scans"][0]["count"] == 1
    assert view["timeline"]["now"] == 1 and view["timeline"]["last"] == 1
    widget.do("continue")
    assert widget.view["done"] and widget.view["outputs"][0]["value"] == "1.4142135"


def test_branches_are_on_the_timeline() -> None:
    widget = loopdbg.widget(session())
    for line in ("step 2", "set x = 3", "finish"):
        widget.do(line)
    last = widget.view["timeline"]["now"]
    widget.do("branch 1")
    branches = widget.view["timeline"]["branches"]
    assert [(branch["number"], branch["current"], branch["edits"], branch["last"]) for branch in branches] == [
        (1, True, [], 2),
        (2, False, ["x = 3"], last),
    ]


def test_values_are_sent_on_demand() -> None:
    widget = loopdbg.widget(session())
    widget.do("step")
    ask(widget, number=1, hover=11)
    assert widget.answer == {"number": 1, "line": 11, "text": "half: float32\n1.0"}
    for nowhere in (3, 99, -1, "x", None):
        ask(widget, number=2, hover=nowhere)
        assert widget.answer["text"] == ""


def test_long_bodies_and_large_tensors_are_sent_in_part() -> None:
    stepped = loopdbg.debug(SAMPLES / "lstm.xml", dict(np.load(SAMPLES / "lstm.inputs.npz")))
    widget = loopdbg.widget(stepped)
    widget.do("finish")
    assert len(json.dumps(widget.view)) < 60_000


@pytest.mark.parametrize(
    ("line", "message"),
    [("jump", "no command 'jump'"), ("print nothing", "unknown name"), ("quit", "session.close()"), ("goto x", "x")],
)
def test_errors_are_one_line(line: str, message: str) -> None:
    widget = loopdbg.widget(session())
    widget.do(line)
    assert message in widget.state["error"] and not widget.state["running"]
    widget.do("step")
    assert widget.state["error"] == "" and "iteration 1" in widget.view["stop"]


def test_changes_by_other_cells_are_shown_on_request() -> None:
    stepped = session()
    widget = loopdbg.widget(stepped)
    stepped.step(3)
    assert "iteration 0" in widget.view["stop"]
    widget.refresh()
    assert "iteration 3" in widget.view["stop"]
    stepped.close()
    widget.do("step")
    assert "closed" in widget.state["error"]


def test_recording_can_be_stepped(tmp_path: Path) -> None:
    session().record(tmp_path / "run.loopdb")
    with loopdbg.Trace.open(tmp_path / "run.loopdb") as trace:
        widget = loopdbg.widget(loopdbg.Replay(trace))
        widget.do("step 3")
        assert widget.view["carried"][0]["value"] == "1.4142157"
        widget.do("set x = 3")
        assert "not possible" in widget.state["error"]


def test_unsteppable_objects_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with raises_error(loopdbg.UsageError, expected="a session", got=type(NEWTON).__name__):
        loopdbg.widget(NEWTON)
    closed = session()
    closed.close()
    with raises_error(loopdbg.UsageError, expected="an open session"):
        loopdbg.widget(closed)
    for name in ("anywidget", "loopdbg.debugger.frontends.notebook.stepper_widget"):
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
    with raises_error(loopdbg.UsageError, name="anywidget"):
        loopdbg.widget(session())


def endless() -> loopdbg.Session:
    return loopdbg.debug(SAMPLES / "loop_infinite.xml", dict(np.load(SAMPLES / "loop_infinite.inputs.npz")))


async def test_running_loop_is_followed_and_stopped() -> None:
    widget = loopdbg.widget(endless())
    widget.do("continue")  # an event loop runs here, so this returns at once
    assert widget.state["running"]
    widget.do("step")
    assert widget.state["error"] == "a loop is running; stop it first"
    ask(widget, number=1, hover=1)
    assert widget.answer["text"] == ""
    async with asyncio.timeout(120):
        while "iteration" not in widget.state["progress"]:
            await asyncio.sleep(0.01)
        while widget.state["running"]:
            ask(widget, number=2, stop=True)
            await asyncio.sleep(0.01)
    assert widget.view["reason"] == "interrupt"


async def test_move_after_an_unseen_stop_is_followed() -> None:
    stepped = endless()
    widget = loopdbg.widget(stepped)
    widget.do("continue")
    first = asyncio.all_tasks() - {asyncio.current_task()}
    # The loop stops before the event loop notices.
    while not stepped.running:
        time.sleep(0.01)
    while stepped.running:
        stepped.interrupt()
        time.sleep(0.01)
    widget.do("continue")
    await asyncio.wait(first, timeout=0.3)
    assert widget.state["running"] and not widget.state["error"]
    async with asyncio.timeout(120):
        while widget.state["running"]:
            ask(widget, number=1, stop=True)
            await asyncio.sleep(0.01)
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0.01)
    assert widget.view["reason"] == "interrupt"


def test_without_an_event_loop_the_widget_waits_and_a_kernel_interrupt_stops_it() -> None:
    stepped = endless()
    widget = loopdbg.widget(stepped)

    def waits() -> bool:
        """The main thread waits for the move, for as long as it takes."""
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        while frame is not None and frame.f_code.co_name != "_run_next_callback":
            frame = frame.f_back
        return frame is not None and frame.f_locals["seconds"] is None

    def interrupt() -> None:
        while not (waits() and stepped.running):
            time.sleep(0.01)
        # A signal, as the kernel sends one: nothing else wakes a waiting thread.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    widget.do("continue")
    interrupter.join()
    assert widget.view["reason"] == "interrupt" and not widget.state["running"]


# ---------------------------------------------------------------- in a browser

STOP = "document.querySelector('.stop').textContent"


@in_browser
async def test_steps_on_a_page_move_the_session_and_update_the_page() -> None:
    stepped = session()
    async with serve_notebook_widget(loopdbg.widget(stepped)) as address, open_page() as shown:
        await shown.navigate(address)
        await shown.wait("!!document.querySelector('.loopdbg-stepper')")
        for k in (1, 2):
            await shown.click("[data-command=step]")
            await shown.wait(f"{STOP} === \"before iteration {k} of loop 'sqrt'\"")
            assert stepped.frame.iteration == k
        await shown.click("[data-command=back]")
        await shown.wait(f"{STOP}.includes('iteration 1')")
        assert stepped.frame.carried["x"] == np.float32(1.5)
        assert await shown.value("document.querySelector('.next .text').textContent") == "    half = x * 0.5"
        rows = await shown.value("[...document.querySelectorAll('.side tbody tr')].map((row) => row.innerText)")
        assert "x ← x_new\t2.0\t1.5" in rows[0] and "xs\tfloat32 [1]\t1.5" in rows[2]
        assert "err_new > tol" in await shown.value("document.querySelector('.cond.yes').textContent")
        assert await shown.value("document.querySelectorAll('.arc path').length") == 1
        assert shown.errors == []


@in_browser
async def test_keys_a_typed_line_and_the_timeline() -> None:
    stepped = session()
    async with serve_notebook_widget(loopdbg.widget(stepped)) as address, open_page() as shown:
        await shown.navigate(address)
        await shown.wait("!!document.querySelector('.loopdbg-stepper')")
        await shown.value("document.querySelector('.loopdbg-stepper').focus()")
        for key, message in (
            ("s", "before iteration 1"),
            ("n", "before Div"),
            ("N", "before iteration 1"),
            ("c", "to its end"),
        ):
            await shown.press(key, key)
            await shown.wait(f"{STOP}.includes('{message}')")
        assert stepped.done
        await shown.wait("document.querySelector('[data-command=step]').disabled")
        await shown.press("ArrowLeft")
        await shown.wait(f"{STOP}.includes('ends after 5')")
        await shown.value("(() => { const bar = document.querySelector('[type=range]'); bar.value = 3;"
                          " bar.dispatchEvent(new Event('change')); })()")  # fmt: skip
        await shown.wait(f"{STOP}.includes('iteration 3')")
        await shown.value("document.querySelector('.ask').focus()")
        await shown.ask("Input.insertText", text="set x = 3")
        await shown.press("Enter")
        await shown.wait("document.querySelectorAll('.branches button').length === 2")
        assert stepped.frame.carried["x"] == 3 and stepped.frame.iteration == 3
        await shown.press("s", "s")  # typed, not a step
        assert await shown.value("document.querySelector('.ask').value") == "s" and stepped.frame.iteration == 3


@in_browser
async def test_hovering_over_a_line_and_setting_a_breakpoint() -> None:
    stepped = session()
    async with serve_notebook_widget(loopdbg.widget(stepped)) as address, open_page() as shown:
        await shown.navigate(address)
        await shown.wait("!!document.querySelector('.loopdbg-stepper')")
        await shown.click("[data-command=next]")
        await shown.wait(f"{STOP}.includes('Div')")
        await shown.hover("[data-line='11'] .text")
        await shown.wait("!document.querySelector('.tip').hidden")
        assert await shown.value("document.querySelector('.tip').textContent") == "half: float32\n1.0"
        await shown.click("[data-line='16'] .number")
        await shown.wait("document.querySelector('[data-line=\"16\"] .sign').textContent === '●'")
        assert [breakpoint.title for breakpoint in stepped.breakpoints] == ["line 16"]
        await shown.click("[data-line='16'] .number")
        await shown.wait("document.querySelector('[data-line=\"16\"] .sign').textContent === ''")
        assert list(stepped.breakpoints) == []


@in_browser
async def test_running_loop_is_stopped_on_the_page() -> None:
    stepped = endless()
    async with serve_notebook_widget(loopdbg.widget(stepped)) as address, open_page() as shown:
        await shown.navigate(address)
        await shown.wait("!!document.querySelector('.loopdbg-stepper')")
        await shown.click("[data-command=continue]")
        await shown.wait("document.querySelector('.loopdbg-stepper').textContent.includes('running')")
        await shown.wait("!document.querySelector('[data-command=stop]').disabled")
        await shown.click("[data-command=stop]")
        await shown.wait(f"{STOP}.includes('interrupted')")
        await shown.value("window.leave()")  # a closed page leaves no listener behind
        stepped.step()
        assert shown.errors == []


@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_text_is_readable_on_light_and_dark_pages(scheme: str) -> None:
    """The contrast of each text with its background, after WCAG 2: 4.5 for text, 3 for dimmed text."""
    widget = loopdbg.widget(session())
    for line in ("step", "next", "break line 16", "jump"):
        widget.do(line)
    async with serve_notebook_widget(widget) as address, open_page() as shown:
        await shown.set_color_scheme(scheme)
        await shown.navigate(address)
        await shown.wait("!!document.querySelector('.error')")
        result = await shown.value(CONTRASTS)
        assert len(result) > 20 and [item for item in result if item[1] < 3] == []


CONTRASTS = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const page = getComputedStyle(document.documentElement).backgroundColor;
  const over = (colours) => {
    for (const [colour, alpha] of colours) {
      Object.assign(canvas, { globalAlpha: alpha, fillStyle: colour });
      canvas.fillRect(0, 0, 1, 1);
    }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const found = [];
  for (const one of document.querySelectorAll(".loopdbg-stepper :is(span, div, td, th, button:enabled)")) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !one.offsetParent) continue;
    const behind = [[page, 1]];
    let alpha = 1;
    const around = [];
    for (let node = one; node && node !== document.documentElement; node = node.parentElement) around.unshift(node);
    for (const node of around) {
      const style = getComputedStyle(node);
      behind.push([style.backgroundColor, 1]);
      alpha *= Number(style.opacity);
    }
    const back = over(behind), text = over([...behind, [getComputedStyle(one).color, alpha]]);
    const [high, low] = [light(text), light(back)].sort((a, b) => b - a);
    found.push([one.textContent.trim().slice(0, 30), (high + 0.05) / (low + 0.05)]);
  }
  return found;
})()"""
