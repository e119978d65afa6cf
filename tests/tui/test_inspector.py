"""The inspector: every key and every kind of value, in the iteration of the stop and in others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from textual.geometry import Offset

from app_driver import AppDriver, open_app, open_recording
from loopdbg.debugger.frontends.console.file_access import folder_access
from loopdbg.debugger.statistics.tensor_statistics import TensorRef
from loopdbg.tui.actions import HelpSection, ScreenKind, actions_of_screen, remap_keys
from loopdbg.tui.render.targets import ValueKind, ValueTarget
from loopdbg.tui.screens.help import HelpScreen
from loopdbg.tui.screens.inspected_value import as_tensor
from loopdbg.tui.screens.inspector import InspectorScreen
from loopdbg.tui.screens.palette import PaletteScreen
from text_models import sample


class InspectorDriver:
    """Drives the inspector on the screen."""

    def __init__(self, screen: AppDriver, top: InspectorScreen) -> None:
        self.screen = screen
        self.top = top

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.screen.pilot.press(key)
            await self.settle()

    async def type(self, key: str, text: str) -> None:
        await self.press(key)
        self.top.prompt.value = text
        await self.press("enter")

    async def settle(self) -> None:
        await self.screen.pilot.pause()
        await self.screen.wait_until(
            lambda: not self.screen.session_worker.busy and not any(w.is_running for w in self.top.workers)
        )
        await self.screen.pilot.pause()

    @property
    def head(self) -> str:
        return str(self.top.title_label.content)

    def cells(self) -> list[list[str]]:
        return [line.text.replace("[", " ").replace("]", " ").split() for line in self.top.grid.lines]


@asynccontextmanager
async def inspector(
    name: str, target: ValueTarget, steps: int = 3, size: tuple[int, int] = (120, 36), plot: bool = False
) -> AsyncIterator[InspectorDriver]:
    async with open_app(*sample(name), size=size) as screen:
        await screen.press(*["s"] * steps)
        screen.debugger.dialogs.open_inspector(target, plot)
        await screen.pilot.pause()
        assert isinstance(screen.app.screen, InspectorScreen)
        result = InspectorDriver(screen, screen.app.screen)
        # It is drawn once its size is known.
        await screen.wait_until(lambda: result.top.grid.lines or not result.top.grid.display)
        await result.settle()
        yield result


C = ValueTarget("c", 1, ValueKind.CARRIED)


def carried(driver: InspectorDriver) -> Any:
    return driver.screen.session.frame.carried["c"]


async def test_enter_opens_a_value_with_its_statistics() -> None:
    async with open_app(*sample("lstm.xml")) as screen:
        await screen.press("s", "s", "s")
        screen.panes["back-edges"].focus()
        await screen.press("down", "enter")
        top = screen.app.screen
        assert isinstance(top, InspectorScreen)
        result = InspectorDriver(screen, top)
        await result.settle()
        name = top.target.name
        value = screen.session.frame.carried[name]
        assert f"{name}   float32 [1,256]   carried by 'rnn'   into iteration 3 of 25" in result.head
        assert f"min {value.min():.3g} at [0,{value.argmin()}]" in top.statistics_box.text
        assert f"norm {np.linalg.norm(value):.3g}" in top.statistics_box.text
        assert "NaN 0   Inf 0   zeros 0   same as before 0" in top.statistics_box.text
        assert "▲" in top.series_box.text and "norm" in top.series_box.text
        assert float(result.cells()[1][1]) == pytest.approx(value[0, 0], abs=1e-4)
        assert len(top.grid.lines) > 10, "256 elements in lines of ten"
        await result.press("escape")
        assert not isinstance(screen.app.screen, InspectorScreen)


async def test_arrows_show_other_iterations_without_moving_the_session() -> None:
    async with inspector("lstm.xml", C) as result:
        position = result.screen.session.controller.position
        await result.press("left")
        assert "into iteration 2 of 25   (the stop is at 3)" in result.head
        expected = result.screen.session.frame.history.value("c", 2)
        assert f"min {expected.min():.3g}" in result.top.statistics_box.text
        await result.press("left", "left", "left")
        assert "iteration 0" in result.head and result.top.note == "iteration 0 is the first"
        await result.press("right", "right", "right")
        assert "(the stop" not in result.head
        await result.press("right")
        assert "has not run yet" in result.top.note
        await result.type("g", "1")
        assert "iteration 1 " in result.head
        await result.type("g", "x")
        assert "no iteration" in result.top.note and result.top.prompt.display
        await result.press("escape")
        assert result.screen.session.controller.position == position


async def test_difference_to_another_iteration_is_shown() -> None:
    async with inspector("lstm.xml", C) as result:
        history = result.screen.session.frame.history
        now = carried(result)
        await result.press("t")
        assert "Δ to iteration 2" in result.top.grid.text
        assert float(result.cells()[1][1]) == pytest.approx(float((now - history.value("c", 2))[0, 0]), abs=1e-3)
        await result.press("x")
        place = int(np.abs(now - history.value("c", 2)).argmax())
        assert f"at [0,{place}]" in result.top.note and result.top.grid.cursor_index == (0, place)
        await result.type("d", "0")
        assert "Δ to iteration 0" in result.top.grid.text
        await result.press("home")
        assert float(result.cells()[1][1]) == pytest.approx(float((now - history.value("c", 0))[0, 0]), abs=1e-3)
        await result.type("d", "17")
        assert "has not run" in result.top.note
        await result.press("escape")
        await result.type("d", "")
        assert "Δ to" not in result.top.grid.text
        await result.press("t", "left")
        assert "Δ to iteration 1" in result.top.grid.text, "it goes along"


async def test_cursor_moves_and_cells_and_slices_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    async with inspector("lstm.xml", C) as result:
        copied: list[str] = []
        monkeypatch.setattr(result.screen.app, "copy_to_clipboard", copied.append)
        value = carried(result)
        per = result.top.grid.page.elements_per_line
        await result.press("l", "j", "y")
        assert result.top.grid.cursor_index == (0, per + 1)
        assert np.float32(copied[-1]) == value[0, per + 1]
        await result.press("h", "k", "shift+right", "down", "up", "shift+left")
        assert result.top.grid.cursor_index == (0, 0)
        await result.press("end")
        assert result.top.grid.cursor_index == (0, 255) and "256" in result.top.grid.text
        await result.press("home", "pagedown")
        assert result.top.grid.cursor_index[1] > per
        await result.press("pageup")
        assert result.top.grid.cursor_index == (0, 0)
        await result.type("left_square_bracket", "0, 3:9:2")
        assert "c[0, 3:9:2]" in result.top.grid.text
        await result.press("Y")
        assert np.array_equal(eval(copied[-1], {"np": np}), value[0, 3:9:2])
        await result.type("left_square_bracket", "7")
        assert "out of range" in result.top.note and result.top.prompt.display
        await result.press("escape")
        assert not result.top.prompt.display


async def test_number_formats_heat_map_and_plot() -> None:
    async with inspector("lstm.xml", C) as result:
        seen = []
        for _ in range(5):
            await result.press("f")
            seen.append(result.top.grid.text.splitlines()[0])
        assert [text.partition("   ")[2].split("  ")[0] for text in seen] == [
            "8 digits", "all digits", "exponents", "bits", "4 digits",
        ]  # fmt: skip
        await result.press("m")
        assert "heat map" in result.top.grid.text and "█" in result.top.grid.text
        await result.press("m", "p")
        assert result.top.has_class("-plot") and result.top.series_box.size.height > 20
        assert not result.top.grid.display or result.top.grid.size.height == 0
        await result.press("p")
        assert not result.top.has_class("-plot")


async def test_values_are_found_and_saved(tmp_path: Path) -> None:
    async with inspector("lstm.xml", C) as result:
        value = carried(result)
        text = f"{value[0, 77]:.6f}"
        await result.type("slash", text)
        assert result.top.grid.cursor_index == (0, 77) and "at [0,77]" in result.top.note
        await result.press("n")
        assert "no NaN" in result.top.note
        await result.type("slash", "word")
        assert "no number" in result.top.note and result.top.prompt.display
        await result.press("escape")
        path = tmp_path / "c.npy"
        await result.type("s", str(path))
        assert np.array_equal(np.load(path), value)
        await result.type("s", str(path))
        assert "there already" in result.top.note
        await result.press("escape")


async def test_page_saves_no_value_outside_the_server_folder(tmp_path: Path) -> None:
    async with inspector("newton_sqrt.onnx", ValueTarget("x", None)) as result:
        for folder, refusal in ((None, "this server may not"), (tmp_path / "folder", "is outside")):
            result.screen.session_worker.console.file_access = folder_access(folder)
            await result.type("s", str(tmp_path / "x.npy"))
            assert refusal in result.top.note
            await result.press("escape")
    assert not list(tmp_path.iterdir())


async def test_b_begins_an_element_breakpoint_in_the_console() -> None:
    async with inspector("lstm.xml", C) as result:
        await result.press("l", "b")
        assert result.screen.console_pane.input_line.value == "break if c[0, 1] "
        output = await result.screen.type("break if c[0, 1] > 0")
        assert "breakpoint 1" in output


async def test_next_nan_is_found() -> None:
    async with open_app(*sample("vanishing_scale.onnx")) as screen:
        await screen.press("c")
        frame = screen.screen_state.view.stop_state.frame  # type: ignore[union-attr]
        name = next(
            name
            for name, value in frame.values.items()
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all()
        )
        screen.debugger.dialogs.open_inspector(ValueTarget(name, None))
        await screen.pilot.pause()
        result = InspectorDriver(screen, screen.app.screen)  # type: ignore[arg-type]
        await result.settle()
        await result.press("n")
        assert "NaN or infinity at" in result.top.note
        assert not np.isfinite(frame.values[name][result.top.grid.cursor_index])


async def test_history_of_a_body_value_is_shown_on_request() -> None:
    async with inspector("newton_sqrt.onnx", ValueTarget("q", 1), plot=True) as result:
        session = result.screen.session
        name = result.top.target.name
        expected = [
            float(session.frame.history.value(name, k))
            for k in range(result.top.inspector_state.inspected.last_iteration + 1)
        ]
        assert result.top.inspector_state.series is not None
        assert result.top.inspector_state.series.band.low.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("nodes", [1, 2])
async def test_history_within_an_iteration(nodes: int) -> None:
    """Covers a value that is not computed yet, and one that the iteration has already computed."""
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "s", "s", *["n"] * nodes)
        screen.debugger.dialogs.open_inspector(ValueTarget("q", 1), True)
        await screen.pilot.pause()
        result = InspectorDriver(screen, screen.app.screen)  # type: ignore[arg-type]
        await result.settle()
        frame = screen.session.frame
        assert not frame.at_boundary and result.top.inspector_state.inspected.is_present == (nodes == 2)
        expected = [float(frame.history.value("q", k)) for k in range(3)]
        expected += [float(frame.values["q"])] if nodes == 2 else []
        course = result.top.inspector_state.series
        assert course is not None and result.top.note == ""
        assert course.iterations == tuple(range(len(expected)))
        assert course.band.low.tolist() == pytest.approx(expected)


async def test_recorded_values_can_be_inspected(tmp_path: Path) -> None:
    async with open_recording(tmp_path / "run.loopdb", "lstm.xml") as screen:
        await screen.press("s", "s")
        screen.debugger.dialogs.open_inspector(C)
        await screen.pilot.pause()
        result = InspectorDriver(screen, screen.app.screen)  # type: ignore[arg-type]
        await result.settle()
        await result.press("left")
        assert "iteration 1 of 25   (the stop is at 2)" in result.head
        await result.press("t")
        assert "Δ to iteration 0" in result.top.grid.text


async def test_scan_output_is_inspected_as_a_whole() -> None:
    async with open_app(*sample("lstm.xml")) as screen:
        await screen.press("s", "s", "s")
        name = screen.screen_state.view.stop_state.frame.scans[0].name  # type: ignore[union-attr]
        screen.debugger.dialogs.open_inspector(ValueTarget(name, 1, ValueKind.SCAN))
        await screen.pilot.pause()
        result = InspectorDriver(screen, screen.app.screen)  # type: ignore[arg-type]
        await result.settle()
        assert "[1,3,256]" in result.head and "scan output of 'rnn'" in result.head
        await result.press("left")
        assert "of no iteration" in result.top.note
        await result.press("b")
        assert "body" in result.top.note


VALUES: list[tuple[Any, str]] = [
    (np.array(["a", "bc"], object), '"bc"'),
    (np.array([True, False]), "true"),
    (np.array([1, -2], ml_dtypes.int4), "-2"),
    (np.array([1.5, -2], ml_dtypes.bfloat16), "1.5000"),
    (np.array([1.5, -2], ml_dtypes.float8_e4m3fn), "1.5000"),
    (np.array([1.5, -2], ml_dtypes.float8_e5m2), "1.5000"),
    (np.array([1 + 2j, 0], np.complex64), "1.0000+2.0000j"),
    (np.zeros((0, 3), np.float32), "no element"),
    (np.array(2.5, np.float32), "2.5000"),
    (np.arange(24, dtype=np.uint8).reshape(2, 3, 4), "1,2"),
    ("word", '"word"'),
    (None, "nothing"),
    ([np.zeros(3), np.ones(2)], "[1]  float64 [2]"),
    ([], "nothing"),
]

KEYS = actions_of_screen(ScreenKind.INSPECTOR)
#: For these values every key is pressed; for the others only the keys that read elements.
ALL_KEYS = ("1,2", "[1]  float64 [2]", "no element", '"bc"')


@pytest.mark.parametrize(("value", "shown"), VALUES, ids=lambda item: str(getattr(item, "dtype", ""))[:20] or "plain")
async def test_every_kind_of_value_opens_and_takes_every_key(value: Any, shown: str, tmp_path: Path) -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        top = InspectorScreen(screen.session_worker, ValueTarget("x", 1), screen.screen_state)  # type: ignore[arg-type]
        top.inspector_state.set_value(value, True)
        await screen.app.push_screen(top)
        result = InspectorDriver(screen, top)
        await result.settle()
        assert shown in top.text
        every = value is None or shown in ALL_KEYS
        for key in KEYS:
            if key.textual_action not in ("", "leave", "break_if") and (every or key.section is HelpSection.ELEMENTS):
                await screen.pilot.press(key.keys[0])
                if top.prompt.display or isinstance(screen.app.screen, HelpScreen):
                    await screen.pilot.press("escape")
        await result.press("p")
        if top.has_class("-plot") and top.inspector_state.item_index is None:
            await result.press("escape")
            assert not top.has_class("-plot"), "back to the value"
        if isinstance(value, list) and value:
            await result.press("escape")
            assert top.inspector_state.item_index is None, "back to the list"
            await result.press("home", "down", "enter")
            assert "x[1]" in result.head and "1.0" in top.grid.text
            await result.press("escape")
        await result.press("escape")
        assert screen.app.screen is not top


async def test_click_puts_the_cursor_on_a_cell() -> None:
    async with inspector("lstm.xml", C) as result:
        grid = result.top.grid
        row = grid.lines[2].text
        column = row.index(row.split()[3]) + 1
        await result.screen.pilot.click("#inspector-grid", offset=Offset(column + 1, 3))
        await result.settle()
        assert result.top.grid.cursor_index == (0, result.top.grid.page.elements_per_line + 2)


async def test_help_lists_every_key_and_fits_in_80_columns() -> None:
    async with inspector("lstm.xml", C, size=(80, 24)) as result:
        assert all(len(line) <= 80 for line in result.screen.visible_rows())
        assert "esc back" in result.screen.visible_rows()[-1]
        assert (
            result.screen.visible_rows()[0].strip() == "c   float32 [1,256]   carried by 'rnn'   into iteration 3 of 25"
        )
        facts = [row[1:31].strip() for row in result.screen.visible_rows()[2:8]]
        value = carried(result)
        assert facts[0].startswith("min ") and facts[1].startswith("max ") and "mean" in facts[2]
        assert f"norm {np.linalg.norm(value):.3g}" in facts[3] and facts[4] == "zeros 0   same as before 0"
        assert not any("…" in fact for fact in facts)
        await result.press("question_mark")
        assert isinstance(result.screen.app.screen, HelpScreen)
        assert "the value in the iteration before" in "\n".join(result.screen.visible_rows())
        await result.press(*"jjjjjjjj", "pagedown", "end")
        assert "copy what is in the slice as a NumPy expression" in "\n".join(result.screen.visible_rows())
        await result.press("home", "up", "question_mark")
        assert result.screen.app.screen is result.top
        assert "← iteration" in result.screen.visible_rows()[-1] and "NaN" in result.screen.visible_rows()[-1]
        await result.press("left_square_bracket")
        assert "enter take" in result.screen.visible_rows()[-1] and "digits" not in result.screen.visible_rows()[-1]
        await result.press("escape")
        assert "digits" in result.screen.visible_rows()[-1]


async def test_palette_offers_the_inspector_actions() -> None:
    async with inspector("lstm.xml", C) as result:
        await result.press("ctrl+p", *"heat")
        palette = result.screen.app.screen
        assert isinstance(palette, PaletteScreen) and [action.id for action in palette.visible_actions] == [
            "inspect-heat-map"
        ]
        await result.press("enter")
        assert result.screen.app.screen is result.top and result.top.grid.viewport.heat_map


async def test_remaining_inspector_keys_work() -> None:
    actions = remap_keys({"inspect-heat-map": ("f9",), "inspect-leave": ("f10",)})
    async with open_app(*sample("lstm.xml"), actions=actions) as screen:
        await screen.press("s", "s")
        screen.debugger.dialogs.open_inspector(C)
        await screen.pilot.pause()
        result = InspectorDriver(screen, screen.app.screen)  # type: ignore[arg-type]
        await result.settle()
        assert "f9 heat map" in screen.visible_rows()[-1] and "f10 back" in screen.visible_rows()[-1]
        await result.press("m", "escape")
        assert screen.app.screen is result.top and not result.top.grid.viewport.heat_map
        await result.press("f9")
        assert result.top.grid.viewport.heat_map
        await result.press("f10")
        assert screen.app.screen is not result.top


async def test_click_in_the_footer_runs_the_action() -> None:
    async with inspector("lstm.xml", C) as result:
        column = result.screen.visible_rows()[-1].index("heat map")
        await result.screen.pilot.click("#inspector-keys", offset=Offset(column, 0))
        await result.settle()
        assert result.top.grid.viewport.heat_map


async def test_uncomputed_value_is_labelled() -> None:
    async with inspector("newton_sqrt.onnx", ValueTarget("q", 1), steps=0) as result:
        assert "not computed yet" in result.top.text
        assert "no other iteration yet" in result.top.text and "large" not in result.top.text
        await result.press("t", "x", "n", "y", "Y", "slash", "f", "m", "j")
        assert "not computed yet" in result.top.text


async def test_only_the_visible_part_of_a_large_tensor_is_read() -> None:
    read = [0]
    array = np.zeros((300, 50000), np.float32)
    array[299, 49999] = np.nan

    def use(do: Callable[[Any], Any]) -> Any:
        outcome = do(array)
        copies = outcome if isinstance(outcome, list) else [outcome]
        read[0] = max(read[0], sum(copy.nbytes for copy in copies if copy is not None))
        return outcome

    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        top = InspectorScreen(screen.session_worker, ValueTarget("x", 1), screen.screen_state)  # type: ignore[arg-type]
        top.inspector_state.set_value(TensorRef(array.dtype, array.shape, use), True)
        await screen.app.push_screen(top)
        result = InspectorDriver(screen, top)
        await screen.pilot.pause()
        assert "0" in result.cells()[1], "before the statistics are there"
        await result.settle()
        await result.press("n")
        assert top.grid.cursor_index == (299, 49999)
        await result.press("m", "m", "home", "end")
        assert "NaN 1" in top.statistics_box.text
        assert read[0] <= 1 << 20


def test_inspector_refuses_non_tensors() -> None:
    assert as_tensor(None) is None and as_tensor([1]) is None
    assert as_tensor("a").dtype.kind == "O"  # type: ignore[union-attr]
