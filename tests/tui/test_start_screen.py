"""The screens before the debugger: choosing a model, and entering the inputs of a model that came without any."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

from app_driver import run_app
from error_fields import raises_error
from loopdbg import InputError
from loopdbg.runtime.model import Model
from loopdbg.tui.actions import remap_keys
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.cli.commands.start import sample_models
from loopdbg.tui.cli.model_inputs.editable_inputs import InputDraft
from loopdbg.tui.cli.model_inputs.gather import gather_inputs
from loopdbg.tui.cli.options import add_run_options
from loopdbg.tui.command_worker import CommandWorker
from loopdbg.tui.screens.debugger.screen import DebuggerScreen
from loopdbg.tui.screens.help import HelpScreen
from loopdbg.tui.screens.input_editor import InputsScreen
from loopdbg.tui.screens.model_chooser import ModelChoice, ModelChooserScreen
from text_models import SAMPLES, model, sample

TEXT = """
agraph (float[N] x, float[N, 2] y, int64 count, string[2] words) => (float[N] z) {
  two = Constant <value_float: float = 2.0> ()
  z = Mul (x, two)
}
"""


def draft() -> InputDraft:
    result = model(TEXT)
    return InputDraft(result, draft_for(result))


def draft_for(model_value: Model):  # type: ignore[no-untyped-def]
    parser = argparse.ArgumentParser()
    add_run_options(parser)
    inputs = gather_inputs(model_value, parser.parse_args([]))
    assert inputs.generated_by_default
    assert not gather_inputs(model_value, parser.parse_args(["--seed", "1"])).generated_by_default
    return inputs


def row(of: InputDraft, name: str) -> tuple[str, str, str, str]:
    return next(row_value for row_value in of.rows() if row_value[0] == name)


def test_input_values_are_generated_typed_and_computed() -> None:
    first_value = draft()
    assert row(first_value, "x")[3] == "random, seed 0"
    before = row(first_value, "x")[2]
    first_value.fill_with_kind(0, "random")
    assert row(first_value, "x")[2] != before and row(first_value, "x")[3] == "random, seed 1"
    for kind, first in (("zeros", 0), ("ones", 1), ("arange", 0)):
        first_value.fill_with_kind(1, kind)
        assert np.asarray(first_value.build_inputs().values["y"]).reshape(-1)[0] == first
    first_value.set_dim("N=3")
    assert np.array_equal(
        np.asarray(first_value.build_inputs().values["y"]), np.arange(6, dtype=np.float32).reshape(3, 2)
    )
    first_value.edit(0, "[1, 2, 3]")
    first_value.edit(1, "zeros_like(y) + 0.5")
    first_value.edit(2, "7")
    first_value.edit(3, '["a", "b"]')
    done = first_value.build_inputs()
    assert np.asarray(done.values["y"]).dtype == np.float32 and np.asarray(done.values["y"])[0, 0] == 0.5
    assert done.values["count"] == 7 and "x [1, 2, 3]" in done.note


@pytest.mark.parametrize(
    ("k", "text", "message"),
    [
        (0, "[[1]]", "'x'"),
        (0, "nonsense", "unknown name"),
        (0, "x +", "'x'"),
        (0, "", "needs a value"),
        (2, "1.5", "count"),
        (0, "nowhere.npy", "no such file"),
    ],
)
def test_unsuitable_values_are_refused(k: int, text: str, message: str) -> None:
    first = draft()
    before = first.rows()
    with pytest.raises(InputError, match=message):
        first.edit(k, text)
    assert first.rows() == before


def test_shared_dimensions_must_agree() -> None:
    first = draft()
    first.edit(0, "[1, 2, 3]")
    with raises_error(InputError, name="y", expected="N=3", got="N=1"):
        first.build_inputs()
    first.fill_with_kind(1, "zeros")
    assert np.asarray(first.build_inputs().values["y"]).shape == (3, 2), "made to fit"
    with raises_error(InputError, name="K"):
        first.set_dim("K=2")
    with raises_error(InputError, name="words", expected="string[2]"):
        first.fill_with_kind(3, "zeros")


def test_input_files_are_loaded(tmp_path: Path) -> None:
    first = draft()
    np.save(tmp_path / "x.npy", np.ones(4, np.float32))
    np.savez(tmp_path / "all.npz", x=np.zeros(2, np.float32), y=np.zeros((2, 2), np.float32))
    np.savez(tmp_path / "other.npz", q=np.zeros(2))
    assert first.load(0, tmp_path / "x.npy") == "x from x.npy"
    assert first.load(0, tmp_path / "all.npz") == "x, y from all.npz"
    assert first.build_inputs().values["x"].shape == (2,)  # type: ignore[union-attr]
    with raises_error(InputError, name="x", got="'q'"):
        first.load(0, tmp_path / "other.npz")


async def test_inputs_screen_takes_every_key(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(1, np.float32))
    screen = InputsScreen(draft(), "m.onnx")
    app = LoopdbgApp[bool](screen)
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.pause()
        assert "float32 [N]" in screen.rows_box.text or "float32[N]" in screen.rows_box.text
        assert screen.rows_box.lines[1].text.startswith("▌")
        await pilot.press("z")
        assert "zeros" in screen.rows_box.lines[1].text
        await pilot.press("o", "a", "r", "j", "k", "down", "down", "enter")
        screen.prompt.value = "7"
        await pilot.press("enter")
        assert screen.rows_box.lines[3].text.split()[3] == "7"
        await pilot.press("enter")
        screen.prompt.value = "word"
        await pilot.press("enter")
        assert "unknown name" in screen.note and screen.prompt.display
        await pilot.press("escape", "up", "up", "l")
        screen.prompt.value = str(tmp_path / "x.npy")
        await pilot.press("enter")
        assert "x.npy" in screen.rows_box.lines[1].text
        await pilot.press("d")
        screen.prompt.value = "y:0=1"
        await pilot.press("enter")
        await pilot.press("s")
    assert app.return_value is True
    assert screen.draft.build_inputs().values["count"] == 7  # type: ignore[attr-defined]


async def test_inputs_screen_can_be_left() -> None:
    app = LoopdbgApp[bool](InputsScreen(draft(), "m.onnx"))
    async with app.run_test() as pilot:
        await pilot.press("enter", "escape", "escape")
    assert app.return_value is False


async def test_start_screen_filters_and_opens(tmp_path: Path) -> None:
    typed = tmp_path / "mine.onnx"
    typed.write_bytes(b"")
    choices = [ModelChoice(tmp_path / "gone.onnx", "Recent")]
    choices += [ModelChoice(path, group) for group, paths in sample_models().items() for path in paths]
    assert SAMPLES.resolve() / "newton_sqrt.onnx" in [choice.path for choice in choices]
    for keys, text, expected in (
        (("enter",), "newton", "newton_sqrt.onnx"),
        (("down", "pagedown", "pageup", "up", "enter"), "", "gone.onnx"),
        (("enter",), str(typed), "mine.onnx"),
        (("enter", "escape"), "no such thing at all", None),
    ):
        chooser = ModelChooserScreen(choices)
        app = LoopdbgApp[Path](chooser)
        async with app.run_test(size=(90, 30)) as pilot:
            await pilot.pause()
            chooser.path_input.value = text
            await pilot.pause()
            await pilot.press(*keys)
            await pilot.pause()
        assert (app.return_value and app.return_value.name) == expected


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (120, 36)])
async def test_recent_models_come_first_and_nothing_is_truncated(size: tuple[int, int], tmp_path: Path) -> None:
    far = tmp_path / ("folder" * 20) / "far.onnx"
    choices = [ModelChoice(SAMPLES / "lstm.xml", "Recent"), ModelChoice(far, "Recent")]
    choices += [ModelChoice(path, group, "") for group, paths in sample_models().items() for path in paths]
    chooser = ModelChooserScreen(choices)
    app = LoopdbgApp[Path](chooser)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        rows = ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]
        assert rows[2].strip() == "Recent" and rows[3].split()[0] == "lstm.xml" and rows[5].strip() == "Samples"
        assert rows[4].split()[0] == "far.onnx" and rows[4].rstrip().endswith("folder" if size[0] > 40 else ".onnx")
        assert len(rows) == size[1]
        assert rows[-1].strip().startswith("↓ next  enter open") and rows[-1].strip().endswith("esc leave")
        groups = list(dict.fromkeys(choice.group for choice in chooser.visible_choices))
        assert groups[:2] == ["Recent", "Samples"] and "lessons" in groups[-1]
        # A recent model may also be a sample.
        chooser.path_input.value = "lstm.xml"
        await pilot.pause()
        assert [choice_value.path.name for choice_value in chooser.visible_choices] == ["lstm.xml", "lstm.xml"]
        await pilot.press("down", "enter")
    assert app.return_value is not None and app.return_value.name == "lstm.xml"


async def test_remaining_start_screen_keys_work() -> None:
    actions = remap_keys(
        {"choice-down": ("f5",), "choice-open": ("f6",), "inputs-start": ("f7",), "inputs-zeros": ("0",)}
    )
    chooser = ModelChooserScreen(
        [ModelChoice(Path("a.onnx"), "Recent"), ModelChoice(Path("b.onnx"), "Recent")], actions
    )
    app = LoopdbgApp[Path](chooser)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert "f6 open" in chooser.key_bar.text
        await pilot.press("f5", "f6")
    assert app.return_value == Path("b.onnx")
    screen = InputsScreen(draft(), "m.onnx", actions=actions)
    before = LoopdbgApp[bool](screen)
    async with before.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert screen.key_bar.text.startswith("f7 start") and screen.key_bar.text.endswith("? help  esc quit")
        await pilot.press("0", "question_mark")
        assert isinstance(before.screen, HelpScreen) and "open the model with these inputs" in before.screen.text
        await pilot.press("escape", "enter")
        assert screen.key_bar.text.startswith("enter take")
        await pilot.press("escape", "z", "s")
        assert "zeros" in screen.rows_box.lines[1].text
        await pilot.press("f7")
    assert before.return_value is True


@pytest.mark.parametrize(("width", "message"), [(120, "RANDOM inputs, seeds 0, 3"), (80, "RANDOM   ")])
async def test_header_shows_that_inputs_are_random(width: int, message: str) -> None:
    debugger = DebuggerScreen(CommandWorker(*sample("lstm.xml"), None), seeds={"X": 3, "H0": 0})
    async with run_app(debugger, (width, 24)) as screen:
        assert (
            message in screen.header and "iteration 0 / 25" in screen.header and "TensorIterator 'rnn'" in screen.header
        )
    async with run_app(
        DebuggerScreen(CommandWorker(*sample("lstm.xml"), None), "made with --seed 3"), (width, 24)
    ) as screen:
        assert "RANDOM" not in screen.header, "what a note says is for people"


async def test_restart_replaces_random_inputs() -> None:
    worker = CommandWorker(*sample("lstm.xml"), None)
    debugger = DebuggerScreen(worker, "made with --seed 3", seeds={"X": 3, "H0": 3, "C0": 4})
    async with run_app(debugger) as screen:
        notes = []
        await screen.press("colon")
        for text in ("X=X*2", "C0=C0*2", "H0=H0*2"):
            await screen.type(f"restart {text}")
            assert debugger.screen_state is not None
            notes.append((debugger.screen_state.inputs_note, debugger.screen_state.seeds, "RANDOM" in screen.header))
    assert notes == [
        ("X by restart; made with --seed 3", (3, 4), True),
        ("X, C0 by restart; made with --seed 3", (3,), True),
        ("X, H0, C0 by restart", (), False),
    ]


def test_random_inputs_show_their_seeds() -> None:
    first = draft()
    assert first.build_inputs().seeds == {"x": 0, "y": 0, "count": 0, "words": 0}
    first.fill_with_kind(0, "random")
    assert first.build_inputs().seeds == {"x": 1, "y": 0, "count": 0, "words": 0}
    for k, text in enumerate(("[1]", "[[1, 2]]", "7", '["a", "b"]')):
        first.edit(k, text)
    assert first.build_inputs().seeds == {}
    assert set(draft_for(first.model).seeds.values()) == {0}
