"""The table of actions and what is derived from it: keys, footer, help, palette, config file and documentation page."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.keys import Keys, _character_to_key

from app_driver import open_app, open_recording
from error_fields import raises_error
from keys_page import render_page
from loopdbg.runtime.errors import UsageError
from loopdbg.tui import user_state
from loopdbg.tui.actions import (
    ACTIONS,
    PANE_KEYS,
    ScreenKind,
    actions_by_id,
    actions_of_screen,
    key_name,
    parse_key,
    remap_keys,
)
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.screens.breakpoint_editor import BreakpointScreen
from loopdbg.tui.screens.debugger.dialogs import Dialogs
from loopdbg.tui.screens.debugger.pane_control import PaneControl
from loopdbg.tui.screens.debugger.run_control import RunControl
from loopdbg.tui.screens.debugger.target_actions import TargetActions
from loopdbg.tui.screens.graph import GraphScreen
from loopdbg.tui.screens.help import HelpScreen
from loopdbg.tui.screens.input_editor import InputsScreen
from loopdbg.tui.screens.inspector import InspectorScreen
from loopdbg.tui.screens.model_chooser import ModelChooserScreen
from loopdbg.tui.screens.output_panel import PanelScreen, QuitConfirmScreen
from loopdbg.tui.screens.palette import PaletteScreen
from loopdbg.tui.widgets.tensor_grid import TensorGrid
from text_models import sample

ROOT = Path(__file__).parents[2]


def test_action_ids_are_unique_and_complete() -> None:
    assert len(actions_by_id()) == len(ACTIONS)
    for action in ACTIONS:
        target, _, name = action.textual_action.partition("(")[0].rpartition(".")
        for owner in (TARGETS[target],) if target else SCREENS.get(action.section.screen, ()):
            assert not name or hasattr(owner, f"action_{name}"), (action.id, owner)


#: What actions name before the dot.
TARGETS: dict[str, type] = {
    "app": LoopdbgApp,
    "run": RunControl,
    "panes": PaneControl,
    "cursor": TargetActions,
    "dialogs": Dialogs,
    "grid": TensorGrid,
}


#: Contexts that define keys of their own.
SCREENS: dict[ScreenKind, tuple[type, ...]] = {
    ScreenKind.INSPECTOR: (InspectorScreen,),
    ScreenKind.GRAPH: (GraphScreen,),
    ScreenKind.BREAKPOINT: (BreakpointScreen,),
    ScreenKind.INPUTS: (InputsScreen,),
    ScreenKind.CHOICE: (ModelChooserScreen, PaletteScreen),
    ScreenKind.TEXT: (HelpScreen, PanelScreen),
    ScreenKind.LEAVE: (QuitConfirmScreen,),
}


def test_keys_page_matches_the_action_table() -> None:
    assert (ROOT / "docs" / "keys.md").read_text(encoding="utf-8") == render_page()


def test_actions_share_a_key_only_in_disjoint_contexts() -> None:
    for action in ACTIONS:
        if not action.textual_action or action.releases_key:
            continue
        result = actions_of_screen(action.section.screen)
        others = [
            other for other in result if other.textual_action and not other.releases_key and other.id != action.id
        ]
        clash = [other.id for other in others if set(other.keys) & set(action.keys)]
        assert not clash, (action.id, clash)


def test_keys_can_be_remapped() -> None:
    table = actions_by_id(remap_keys({"step": ("f10",), "help": ("?", "f2")}))
    assert table["step"].keys == ("f10",)
    assert table["help"].keys == ("question_mark", "f2")
    assert table["node"].keys == ("n",)
    with raises_error(UsageError, name="stepp", expected="an action"):
        remap_keys({"stepp": ("x",)})
    with raises_error(UsageError, name="step", expected="a key of its own", got="n"):
        remap_keys({"step": ("n",)})
    # On another screen the key has another meaning.
    assert actions_by_id(remap_keys({"inspect-save": ("w",)}))["inspect-save"].keys == ("w",)
    with raises_error(UsageError, name="inspect-save", expected="a key of its own", got="y"):
        remap_keys({"inspect-save": ("y",)})
    # Two keys may be swapped.
    assert actions_by_id(remap_keys({"step": ("n",), "node": ("s", "right")}))["node"].keys == ("s", "right")


@pytest.mark.parametrize(
    ("written", "key", "read"),
    [
        ("?", "question_mark", "?"),
        ("question_mark", "question_mark", "?"),
        (",", "comma", ","),
        ("-", "minus", "-"),
        ("+", "plus", "+"),
        ("_", "underscore", "_"),
        ("/", "slash", "/"),
        ("ä", "ä", "ä"),
        ("G", "G", "G"),
        ("^p", "ctrl+p", "^p"),
        ("^", "circumflex_accent", "^"),
        ("ctrl+p", "ctrl+p", "^p"),
        ("shift+left", "shift+left", "shift ←"),
        ("ctrl++", "ctrl+plus", "^+"),
        ("esc", "escape", "esc"),
        ("f5", "f5", "f5"),
        ("pgup", "pageup", "pgup"),
    ],
)
def test_keys_are_displayed_as_symbols_or_names(written: str, key: str, read: str) -> None:
    assert parse_key(written) == key and key_name(key) == read
    assert parse_key(key) == key


def test_action_table_uses_textual_key_names() -> None:
    for action in ACTIONS:
        for key in action.keys:
            assert parse_key(key) == key
            last = key.rpartition("+")[2]
            assert (
                len(last) == 1
                or last in {key_value.value for key_value in Keys}
                or _character_to_key(key_name(last)) == last
            )


@pytest.mark.parametrize("written", ["foo", "ctrl+foo", "strg+c", "ctrl+", "F5 "])
def test_unknown_keys_are_rejected(written: str) -> None:
    with pytest.raises(UsageError, match="step: there is no key"):
        remap_keys({"step": (written,)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("keys = 3", "keys must be a table"),
        ("[keys]\nstep = 3", "step needs a key or a list of keys"),
        ("[keys]\nstep = []\n[other]", "there is no setting 'other'"),
        ("[keys", "is not TOML"),
        ("\xff", "is not TOML"),
    ],
)
def test_invalid_config_file_gives_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.setenv("LOOPDBG_CONFIG_DIR", str(tmp_path))
    (tmp_path / "config.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=message) as raised:
        user_state.keymap()
    assert str(tmp_path / "config.toml") in str(raised.value) and "\n" not in str(raised.value)


def test_state_file_remembers_choices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDBG_CONFIG_DIR", str(tmp_path / "new"))
    assert user_state.recent_models() == [] and user_state.selected_theme() is None
    models = [tmp_path / f"{k}.onnx" for k in range(25)]
    for model in models:
        model.write_bytes(b"")
        user_state.record_opened_model(model)
    user_state.record_opened_model(models[20])
    assert user_state.recent_models()[:3] == [models[20], models[24], models[23]]
    assert len(user_state.recent_models()) == 20
    models[24].unlink()
    assert models[24] not in user_state.recent_models()
    user_state.update_state(theme="loopdbg-light")
    assert user_state.selected_theme() == "loopdbg-light" and user_state.recent_models()[0] == models[20]
    (tmp_path / "new" / "state.json").write_text("[1", encoding="utf-8")
    assert user_state.recent_models() == [] and user_state.selected_theme() is None


@pytest.mark.skipif(os.name != "posix", reason="a file in the place of a folder")
def test_unwritable_state_file_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("LOOPDBG_CONFIG_DIR", str(tmp_path / "file" / "below"))
    user_state.update_state(theme="loopdbg")
    user_state.record_opened_model(tmp_path / "file")
    assert user_state.keymap() == {} and user_state.selected_theme() is None and user_state.recent_models() == []


async def test_footer_lists_only_keys_with_an_effect() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        assert screen.keys.startswith("s step  n node  c continue")
        # There is no stop before the first one.
        assert "back" not in screen.keys and "restart" not in screen.keys
        await screen.press("s")
        assert "← back" in screen.keys
        await screen.press("c")
        assert screen.session.done
        assert "s step" not in screen.keys and "n node" not in screen.keys and "r restart" in screen.keys
        await screen.press("colon")
        assert screen.keys.startswith("enter run  tab complete") and "esc close" in screen.keys
        assert screen.keys.endswith("^p all") and "q quit" not in screen.keys


async def test_recording_offers_no_unavailable_actions(tmp_path: Path) -> None:
    async with open_recording(tmp_path / "t.loopdb", "newton_sqrt.onnx") as screen:
        await screen.press("s")
        assert "s step" in screen.keys and "← back" in screen.keys
        for word in ("node", "into", "edit"):
            assert word not in screen.keys
        await screen.press("ctrl+p")
        offered = {action.id for action in screen.app.screen.visible_actions}  # type: ignore[attr-defined]
        assert "step" in offered and not offered & {"node", "into", "back-node", "edit"}
        await screen.press("escape")
        # The key itself is refused, before anything is typed.
        for key, what in (("e", "changing a value"), ("n", "stepping by nodes"), ("N", "stepping by nodes")):
            await screen.press(key)
            assert screen.message.startswith(f"error: {what} is not possible: this is a recording")
            assert not screen.console_pane.display
        await screen.press("1", "b")
        assert screen.console_pane.input_line.value.startswith("break if ")


async def test_recording_offers_step_into_only_at_inner_loops(tmp_path: Path) -> None:
    async with open_recording(tmp_path / "t.loopdb", "mandelbrot.onnx") as screen:
        assert "i into" in screen.keys
        await screen.press("i")
        assert "Loop 'escape'" in screen.header and "i into" not in screen.keys


async def test_palette_finds_and_runs_an_action() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press_and_wait("ctrl+p", lambda: isinstance(screen.app.screen, PaletteScreen))
        # Also before it was first drawn.
        await screen.press("pagedown", "pageup", "down", "up")
        palette = screen.app.screen
        assert isinstance(palette, PaletteScreen)
        await screen.press(*"iteration next")
        assert palette.visible_actions[0].id == "step"
        await screen.press("enter")
        assert not isinstance(screen.app.screen, PaletteScreen)
        assert screen.session.frame.iteration == 1
        await screen.press("ctrl+p", *"nothing is like this", "enter")
        assert not isinstance(screen.app.screen, PaletteScreen)
        assert screen.session.frame.iteration == 1
        await screen.press("ctrl+p", "escape", "ctrl+p", "ctrl+p")
        assert not isinstance(screen.app.screen, PaletteScreen)


def rows(palette: PaletteScreen) -> list[str]:
    """The palette's rows: group titles, each with the keys and labels of its actions."""
    return [str(option.prompt) for option in palette._list.options]


async def test_palette_groups_actions_by_pane() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("B")
        await screen.type("break iter 3")
        await screen.press("escape", "1", "ctrl+p")
        palette = screen.app.screen
        assert isinstance(palette, PaletteScreen)
        titles = [row for row in rows(palette) if not row.startswith(" ")]
        # Actions of the focused pane come first; unavailable ones are not listed.
        assert titles[:2] == ["In the pane Source", "In the pane Breakpoints"] and "Steps" in titles
        assert "In the pane Displays" not in titles
        own = rows(palette)[1 : rows(palette).index("In the pane Breakpoints")]
        assert [line.split()[:2] for line in own if "hide what" in line] == [["-", "hide"]]
        for action in palette.visible_actions:
            assert any(row.split() == f"{action.keys_text} {action.help}".split() for row in rows(palette)), action.id
        # Titles cannot be selected.
        for _ in range(len(rows(palette))):
            palette.action_choice("down")
            option = palette._list.highlighted_option
            assert option is not None and option.id is not None


async def test_palette_runs_an_action_in_its_own_pane() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("B")
        await screen.type("break iter 3")
        await screen.press("escape", "1", "ctrl+p", *"forget the breakpoint", "enter")
        assert len(screen.session.breakpoints) == 0 and screen.app.focused is screen.panes["breakpoints"]


async def test_help_begins_with_the_focused_pane() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("question_mark")
        result = screen.app.screen
        assert isinstance(result, HelpScreen)
        assert "one node of the body; an inner loop counts as one" in result.text
        assert result.text.startswith("In the pane Source")
        await screen.press("escape", "2", "f1")
        assert isinstance(screen.app.screen, HelpScreen)
        assert screen.app.screen.text.startswith("Steps")


async def test_unavailable_keys_give_their_reason() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        for key, message in (
            ("right_square_bracket", "no frame inside this one is running"),
            ("greater_than_sign", "all panes are in sight: smaller screens have tabs"),
        ):
            await screen.press(key)
            assert screen.message == message
        await screen.press("left_square_bracket", "left_square_bracket")
        assert screen.message == "no frame around this one is running"
        await screen.press("5", "d")
        assert screen.message == "nothing to delete: the cursor is on no breakpoint"
        await screen.press("enter")
        assert screen.message == "nothing to open on this line"
        await screen.press("y")
        assert screen.message == "nothing to copy on this line"


async def test_remaining_keys_work() -> None:
    actions = remap_keys({"step": ("f10",)})
    async with open_app(*sample("newton_sqrt.onnx"), actions=actions) as screen:
        assert screen.keys.startswith("f10 step")
        await screen.press("f10", "f10")
        assert screen.session.frame.iteration == 2
        await screen.press("s")
        assert screen.session.frame.iteration == 2


async def test_number_keys_select_panes_and_arrows_move_their_cursor() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        for name, key in PANE_KEYS.items():
            pane = screen.panes[name]
            await screen.press(key)
            if name in ("outputs", "displays"):
                assert screen.message == f"{name.capitalize()}: nothing to show here"
                continue
            assert screen.app.focused is pane
            assert pane.border_title is not None and pane.border_title.startswith(f"{key} ")
        await screen.press("1", "s", "home")
        body = screen.panes["body"]
        assert body.cursor == 0
        for key, line in (("j", 1), ("down", 2), ("k", 1), ("up", 0), ("up", 0), ("end", len(body.lines) - 1)):
            await screen.press(key)
            assert body.cursor == line
        await screen.press("pageup", "pagedown")
        assert body.cursor == len(body.lines) - 1


async def test_line_above_the_footer_describes_the_item_at_the_cursor() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "n", "up")
        assert screen.detail_line.text == "line 11   Mul 'Mul_0'   half   float32 []   of loop 'sqrt'   0.75"
        await screen.press("2", "home", "down")
        assert screen.detail_line.text.startswith("x   float32 []   carried, of loop 'sqrt'")


async def test_enter_opens_a_value_and_y_copies_it() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "2", "home", "down", "y")
        assert screen.app.clipboard == "1.5"
        await screen.press("enter")
        assert type(screen.app.screen).__name__ == "InspectorScreen"
        await screen.press("escape")
        assert len(screen.app.screen_stack) == 1


async def test_enter_on_a_frame_also_selects_it_for_the_console() -> None:
    async with open_app(*sample("mandelbrot.onnx")) as screen:
        await screen.press(*"nnnnnnnn", "i")
        await screen.press("4", "home", "down", "enter")
        assert "Loop 'pixels'" in screen.header and "Loop 'escape'" not in screen.header
        assert screen.session_worker.console.selected_index == 1
        await screen.press("colon")
        assert "iteration 0" in await screen.type("down")
        assert "Loop 'escape'" in screen.header
        await screen.type("up")
        assert "Loop 'escape'" not in screen.header
        # The next stop selects the innermost frame again.
        await screen.press("escape", "s")
        assert "Loop 'escape'" in screen.header and screen.session_worker.console.selected_index == 0


async def test_find_searches_the_pane() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        body = screen.panes["body"]
        await screen.press("slash", *"change", "enter")
        assert "change" in body.lines[body.cursor].text
        first = body.cursor
        await screen.press("n")
        assert body.cursor != first and "change" in body.lines[body.cursor].text
        assert screen.session.frame.iteration == 0 and screen.session.frame.at_boundary
        await screen.press("N")
        assert body.cursor == first
        # After the search, n steps by node again.
        await screen.press("escape", "n")
        assert not screen.session.frame.at_boundary
        await screen.press("slash", *"no such text", "enter")
        assert screen.message == "error: 'no such text' is not in this pane"


async def test_breakpoint_is_set_at_the_cursor_line() -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("slash", *"change =", "enter", "b")
        assert [breakpoint.text for breakpoint in screen.session.breakpoints] == [f"line {screen.target.number}"]  # type: ignore
        await screen.press("escape", "c")
        assert "change" in screen.marked_line
        await screen.press("b")
        assert not len(screen.session.breakpoints)
