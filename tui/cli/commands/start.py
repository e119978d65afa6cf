"""``loopdbg`` without arguments: a chooser of recent models and samples."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ... import user_state
from .. import terminal
from ..command import Command
from .open import OpenCommand

_MODEL_SUFFIXES = (".onnx", ".onnxtxt", ".xml")


class StartCommand(Command):
    """Lets the user choose a model."""

    name = ""
    summary = "Choose a model."

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """No-op: this command has no arguments."""

    def run(self, options: argparse.Namespace) -> int:
        terminal.prepare_screen()
        from ...actions import configured_actions
        from ...app import LoopdbgApp
        from ...screens.model_chooser import ModelChoice, ModelChooserScreen

        choices = [ModelChoice(path, "Recent") for path in user_state.recent_models()]
        choices += [ModelChoice(path, group, "") for group, paths in sample_models().items() for path in paths]
        model = LoopdbgApp[Path](ModelChooserScreen(choices, configured_actions())).run()
        if model is None:
            return 0
        open_command = OpenCommand()
        return open_command.run(open_command.parser().parse([str(model)]))


def sample_models() -> dict[str, list[Path]]:
    """The bundled models by group: the samples, and those of the lessons."""
    from .samples import SAMPLES_FOLDER

    folder = SAMPLES_FOLDER.resolve()
    return {
        "Samples": _models_in_folder(folder),
        "Samples: TensorRT networks": _models_in_folder(folder / "trt", (".py",)),
        "Models of the lessons (loopdbg learn)": _models_in_folder(folder / "lessons"),
    }


def _models_in_folder(folder: Path, suffixes: Sequence[str] = _MODEL_SUFFIXES) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.suffix in suffixes)
