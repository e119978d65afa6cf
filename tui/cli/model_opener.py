"""Implements ``loopdbg MODEL``: loads the model, gathers its inputs and opens the app."""

from __future__ import annotations

import argparse

from ...debugger.frontends.console.file_access import UNRESTRICTED_ACCESS, FileAccess, folder_access
from ...runtime.errors import ModelError, UsageError
from ...runtime.frontends import is_sqlite_file, split_model_path
from ...runtime.model import Model
from .. import user_state
from . import terminal
from .model_inputs.gather import RunInputs, gather_inputs, load_runnable_model
from .model_or_trace import open_recording
from .remedies import error_text


def open_debugger(options: argparse.Namespace) -> int:
    """Open a model or a recording; returns the exit status."""
    file, _ = split_model_path(options.model)
    if not file.exists():
        raise ModelError(f"{file}: no such file; give the path of a model file")
    if options.allow_write is not None and not terminal.is_served_in_browser():
        raise UsageError("--allow-write is an option of serve and mcp; at a terminal any file may be written")
    if not terminal.has_terminal():
        raise UsageError(f"the debugger needs a terminal; without one use: {_headless_command(options.model)}")
    terminal.prepare_screen()
    files = UNRESTRICTED_ACCESS
    if terminal.is_served_in_browser():
        files = folder_access(options.allow_write)
        user_state.disable_writes()
    if is_sqlite_file(options.model):
        return _open_recording(options, files)
    model = load_runnable_model(options.model, options.weights, options)
    inputs: RunInputs | None = gather_inputs(model, options)
    user_state.record_opened_model(options.model)
    # Imported lazily: errors are reported without this delay.
    from .app_launcher import run_model_app

    if inputs is not None and inputs.generated_by_default and not terminal.is_served_in_browser():
        inputs = _edit_inputs(model, inputs)
    if inputs is None:
        return 0
    return run_model_app(model, inputs, options.max_iterations, error_text, files)


def _edit_inputs(model: Model, random: RunInputs) -> RunInputs | None:
    """Let the user edit the inputs; None if cancelled."""
    from ..actions import configured_actions
    from ..app import LoopdbgApp
    from ..screens.input_editor import InputsScreen
    from .model_inputs.editable_inputs import InputDraft

    draft = InputDraft(model, random)
    app = LoopdbgApp[bool](InputsScreen(draft, model.name, actions=configured_actions()))
    return draft.build_inputs() if app.run() else None


def _headless_command(path: str) -> str:
    return f"loopdbg run {path} -ex COMMAND" if is_sqlite_file(path) else f"loopdbg run {path}"


def _open_recording(options: argparse.Namespace, files: FileAccess) -> int:
    """Open a recording, which has its own inputs."""
    with open_recording(options) as replay:
        from .app_launcher import run_replay_app

        return run_replay_app(replay, error_text, files)
