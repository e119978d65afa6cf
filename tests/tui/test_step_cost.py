"""The cost of one key press: everything is computed once, and the UI thread never accesses the engine."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
from textual._compositor import Compositor
from textual._styles_cache import StylesCache
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from app_driver import AppDriver, open_app, sample
from loopdbg import load
from loopdbg.debugger.statistics import tensor_statistics
from loopdbg.debugger.statistics.tensor_statistics import REFERENCE_MIN_BYTES

ROOT = Path(__file__).parents[2]
#: The modules of a live run.
ENGINE = ("runtime/frame.py", "runtime/engine/", "debugger/session/session_frames.py", "debugger/scope/")
#: The modules that draw and word the screen, which run after the widgets are updated.
WORDS = ("debugger/describe/", "debugger/value_text.py", "runtime/text.py", "debugger/expression/tokens.py")
DRAWS = ("tui/widgets/", "tui/render/", *WORDS)
#: Results that depend on the graph alone.
SETTLED = (
    ("condition_analysis.py", "condition_slice"),
    ("termination_text.py", "termination_sentences"),
    ("termination.py", "termination_rule"),
    ("pseudo_code.py", "PseudoCode._extract_loop"),
)


class CallCounter:
    """Counts the calls of this program's functions in the thread in which it is enabled."""

    def __init__(self) -> None:
        self._calls: Counter[CodeType] = Counter()

    def __enter__(self) -> CallCounter:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._calls[frame.f_code] += 1

    @cached_property
    def seen(self) -> Counter[tuple[str, str]]:
        """How often each function of the program was called, by file and name."""
        counter: Counter[tuple[str, str]] = Counter()
        for code, count in self._calls.items():
            path = Path(code.co_filename).resolve()
            if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in ("debugger", "runtime", "tui"):
                counter[path.relative_to(ROOT).as_posix(), code.co_qualname] += count
        return counter

    @property
    def files(self) -> set[str]:
        """The files of the program in which a function was called."""
        return {path for path, _ in self.seen}


async def one_step(screen: AppDriver, key: str = "s") -> tuple[CallCounter, CallCounter]:
    """The calls made for a key in the UI thread and in the engine thread."""
    driver = screen.session_worker
    work, shown = CallCounter(), CallCounter()
    do = driver._run_command

    def watched(command: Any) -> Any:
        with work:
            return do(command)

    driver._run_command = watched  # type: ignore[method-assign]
    try:
        with shown:
            await screen.press(key)
    finally:
        driver._run_command = do  # type: ignore[method-assign]
    return shown, work


@pytest.mark.parametrize("name", ["newton_sqrt.onnx", "mandelbrot.onnx"])
async def test_ui_thread_does_not_access_the_engine(name: str) -> None:
    async with open_app(*sample(name)) as screen:
        for key in ("s", "n", "backspace", "s"):
            shown, _ = await one_step(screen, key)
            assert not [path for path in shown.files if path.startswith(ENGINE)]


async def test_frame_is_read_once() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        for key in ("s", "n", "s", "s"):
            _, work = await one_step(screen, key)
            frames = len(screen.screen_state.view.frames)  # type: ignore[union-attr]
            assert work.seen["debugger/session/stop_state.py", "read_stop"] == 1
            assert work.seen["runtime/frame_internals.py", "FrameInternals._find_nodes"] <= frames
            assert work.seen["runtime/frame_internals.py", "FrameInternals.available"] <= 5 * frames


async def test_step_runs_code_of_few_files() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s")
        shown, work = await one_step(screen)
        results = {path for path in shown.files | work.files if not path.startswith(DRAWS)}
        assert len(results) <= 38, sorted(results)
        called = shown.seen + work.seen
        assert not [what for what in SETTLED if called[f"debugger/describe/{what[0]}", what[1]]]


@pytest.mark.parametrize(("name", "most"), [("greedy_decoder.onnx", 6000), ("lstm.xml", 4200)])
async def test_step_makes_few_calls(name: str, most: int) -> None:
    """The limit is generous: exceeding it means that something unchanged is recomputed."""
    async with open_app(*sample(name)) as screen:
        for _ in range(2):
            await screen.press("s")
        shown, work = await one_step(screen)
        assert shown.seen.total() + work.seen.total() < most, (shown.seen + work.seen).most_common(20)


async def test_unchanged_parts_are_not_recomputed() -> None:
    async with open_app(*sample("greedy_decoder.onnx")) as screen:
        await screen.press("s", "s")
        assert "constant" in screen.text("inputs")
        shown, _ = await one_step(screen)
        for path, function in (
            ("tui/render/source_listing.py", "_ListingLayout.__init__"),
            ("tui/actions/table.py", "actions_of_screen"),
            ("tui/actions/key_names.py", "key_name"),
            ("runtime/graph/producers.py", "ProducerMap.__init__"),
            ("tui/widgets/inputs.py", "_input_row"),
        ):
            assert not shown.seen[path, function], function
        assert shown.seen["tui/widgets/key_bar.py", "KeyBar._select_labels"] <= 2
        assert shown.seen["tui/screens/debugger/screen.py", "DebuggerScreen.is_bound"]
        # Unchanged lines are not highlighted again.
        lines = sum(len(pane.lines) for pane in screen.panes.values() if pane.display)
        assert shown.seen["tui/widgets/strips.py", "StyleResolver.to_strip"] < lines


@pytest.mark.parametrize("before", [(), ("G",)], ids=["panes", "graph"])
async def test_step_triggers_no_layout_and_draws_only_changes(
    before: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: list[str] = []
    for name in ("reflow", "render_full_update"):
        monkeypatch.setattr(Compositor, name, _noted(getattr(Compositor, name), name, whole))
    async with open_app(*sample("lstm.xml")) as screen:
        await screen.press(*before, *"snsn")
        assert whole
        whole.clear()
        await screen.press(*"snnsn")
        assert not whole


async def test_unchanged_widgets_keep_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str | None] = []
    render = StylesCache.render_widget

    def noted(cache: StylesCache, widget: Widget, crop: Region) -> list[Strip]:
        drawn.append(widget.id)
        return render(cache, widget, crop)

    async with open_app(*sample("lstm.xml")) as screen:
        await screen.press(*"sn", "down")
        rows = screen.visible_rows()
        monkeypatch.setattr(StylesCache, "render_widget", noted)
        await screen.press("down")
        assert "detail" in drawn and not {"main", "inputs", "scans", "timeline", "header"}.intersection(drawn)
        assert screen.visible_rows()[:1] == rows[:1] and screen.visible_rows() != rows


def _noted(do: Callable[..., Any], name: str, called: list[str]) -> Callable[..., Any]:
    """Record the calls by name."""

    def noted(*args: Any, **options: Any) -> Any:
        called.append(name)
        return do(*args, **options)

    return noted


HALVES = """
<ir_version: 10, opset_import: ["" : 21]>
main (int64 m, float[N] x0, float[N] w) => (float[N] x_last) {
  x_last = Loop <body = body (int64 i, bool c, float[N] x) => (bool go, float[N] y) {
    go = Identity (c)
    half = Constant <value_float: float = 0.5> ()
    small = Mul (x, half)
    y = Add (small, w)
  }> (m, , x0)
}
"""


async def test_step_reads_each_new_tensor_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for its value, its change and its previous value in all panes together, key by key."""
    size = REFERENCE_MIN_BYTES
    path = tmp_path / "halves.onnxtxt"
    path.write_text(HALVES)
    inputs = {"m": 9, "x0": np.arange(size, dtype=np.float32), "w": np.ones(size, np.float32)}
    looked: list[int] = []
    look = tensor_statistics.accumulate_pass

    def counted(part: Any, *others: Any) -> bool:
        looked.append(part.size)
        return look(part, *others)

    monkeypatch.setattr(tensor_statistics, "accumulate_pass", counted)
    async with open_app(load(path), inputs, size=(200, 60)) as screen:
        assert sum(looked) == 2 * size, "x0 and w"
        # Both are unchanged, and the first two nodes compute nothing large.
        for key, new in (
            ("s", 2),
            ("s", 2),
            ("n", 0),
            ("n", 0),
            ("n", 1),
            ("n", 1),
            ("left", 0),
            ("left", 0),
            ("s", 0),
        ):
            looked.clear()
            await screen.press(key)
            assert sum(looked) == new * size, key
        assert "norm" in screen.text("back-edges") and "±" in screen.text("back-edges")
