"""What ``loopdbg MODEL`` does: the model, its inputs, and then the screen."""

from __future__ import annotations

import argparse

from ...debugger.console.file_access import EVERYWHERE, FileAccess, access_to
from ...runtime.errors import ModelError, UsageError
from ...runtime.frontends import is_database, split
from ...runtime.model import Model
from .. import settings
from . import terminal
from .inputs import Inputs, gather, to_run
from .recorded import opened
from .remedies import told


def run(options: argparse.Namespace) -> int:
    """Open what the options name; returns the exit status."""
    file, _ = split(options.model)
    if not file.exists():
        raise ModelError(f"{file}: no such file; give the path of a model file")
    if options.allow_write is not None and not terminal.is_served():
        raise UsageError("--allow-write is an option of serve and mcp; at a terminal any file may be written")
    if not terminal.has_terminal():
        raise UsageError(f"the debugger needs a terminal; without one use: {_headless(options.model)}")
    terminal.prepare_screen()
    files = EVERYWHERE
    if terminal.is_served():
        files = access_to(options.allow_write)
        settings.read_only()
    if is_database(options.model):
        return _replay(options, files)
    model = to_run(options.model, options.weights, options)
    inputs: Inputs | None = gather(model, options)
    settings.opened(options.model)
    # Here, since neither --help nor a mistake should wait for it.
    from .screen import run_app

    if inputs is not None and inputs.unasked and not terminal.is_served():
        inputs = _asked(model, inputs)
    if inputs is None:
        return 0
    return run_app(model, inputs, options.max_iterations, told, files)


def _asked(model: Model, random: Inputs) -> Inputs | None:
    """The inputs as a person wants them; None where the model is not to be opened."""
    from ..actions import chosen
    from ..screens.inputs import InputsApp
    from .draft import Draft

    draft = Draft(model, random)
    return draft.finished() if InputsApp(draft, model.name, actions=chosen()).run() else None


def _headless(path: str) -> str:
    return f"loopdbg run {path} -ex COMMAND" if is_database(path) else f"loopdbg run {path}"


def _replay(options: argparse.Namespace, files: FileAccess) -> int:
    """Open a recording. It has its inputs, and nothing runs."""
    with opened(options) as replay:
        from .screen import replay_app

        return replay_app(replay, told, files)
