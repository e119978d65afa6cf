"""``loopdbg`` without arguments: a chooser of recent models and samples."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ... import user_state
from .. import terminal
from ..command import Command
from .open import Open

_MODEL_SUFFIXES = (".onnx", ".onnxtxt", ".xml")


class Start(Command):
    """Lets the user choose a model."""

    name = ""
    summary = "Choose a model."

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """No-op: this command has no arguments."""

    def run(self, options: argparse.Namespace) -> int:
        terminal.prepare_screen()
        from ...actions import configured_actions
        from ...screens.model_chooser import ModelChoice, ModelChooserApp

        choices = [ModelChoice(path, "Recent") for path in user_state.recent_models()]
        choices += [ModelChoice(path, group, "") for group, paths in sample_models().items() for path in paths]
        model = ModelChooserApp(choices, configured_actions()).run()
        if model is None:
            return 0
        open_command = Open()
        return open_command.run(open_command.parser().parse([str(model)]))


def sample_models() -> dict[str, list[Path]]:
    """The bundled models by group: those of the lessons, and in a checkout also the samples."""
    from ....debugger.lessons.scene import MODELS_FOLDER

    folder = MODELS_FOLDER.resolve()
    groups = {"Models of the lessons (loopdbg learn)": _models_in(folder)}
    if folder.parent.name == "sample_models":
        networks = _models_in(folder.parent / "trt", (".py",))
        groups = {"Samples": _models_in(folder.parent), "Samples: TensorRT networks": networks, **groups}
    return {group: paths for group, paths in groups.items() if paths}


def _models_in(folder: Path, suffixes: Sequence[str] = _MODEL_SUFFIXES) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.suffix in suffixes)
