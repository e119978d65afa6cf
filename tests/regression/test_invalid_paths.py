"""A path that a person typed or pasted, and that no system takes, is an error in one line wherever it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest

import loopdbg
from app_driver import open_app
from loopdbg.debugger.frontends.console.console import Console
from loopdbg.debugger.session.session import Session
from loopdbg.tui.app import LoopdbgApp
from loopdbg.tui.screens.inspector import InspectorScreen
from loopdbg.tui.screens.model_chooser import ModelChooserScreen
from text_models import sample

PATHS = ["x" * 5000 + ".npy", "~no-such-user/a.npy"]


@pytest.mark.parametrize("path", PATHS)
async def test_in_the_inspector(path: str) -> None:
    async with open_app(*sample("newton_sqrt.onnx")) as screen:
        await screen.press("s", "2", "down", "enter", "s")
        inspector = screen.app.screen
        assert isinstance(inspector, InspectorScreen)
        inspector.prompt.value = path
        await screen.press("enter")
        assert "cannot be the name of a file" in inspector.note and len(inspector.note) < 200


@pytest.mark.parametrize("path", PATHS)
async def test_in_the_list_of_models(path: str) -> None:
    chooser = ModelChooserScreen([])
    async with LoopdbgApp(chooser).run_test() as pilot:
        chooser.path_input.value = path
        await pilot.press("enter")
        assert "cannot be the name of a file" in str(chooser.message_label.content)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("command", ["plot x", "repro"])
def test_in_the_console(command: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Session(*sample("newton_sqrt.onnx")) as session:
        console = Console(session, lambda _: None)
        with pytest.raises(loopdbg.UsageError, match="cannot be the name of a file"):
            console.execute(f"{command} {path}")
