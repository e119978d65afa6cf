"""Opens the app on a model, a recording or a lesson."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...debugger.frontends.console.file_access import UNRESTRICTED_ACCESS, FileAccess
from ...runtime.errors import LoopdbgError
from ...runtime.model import Model
from .. import user_state
from ..actions import PANE_KEYS, configured_actions
from ..app import LoopdbgApp
from ..command_worker import CommandWorker
from ..render.pane_layout import TABS, PaneArrangement
from ..screens.debugger.screen import DebuggerScreen, make_lesson_screen
from .model_inputs.gather import RunInputs

if TYPE_CHECKING:
    from ...debugger.lessons.learner import Learner
    from ...debugger.trace.replay import Replay


def run_model_app(
    model: Model,
    inputs: RunInputs,
    max_iterations: int | None,
    to_text: Callable[[LoopdbgError], str],
    access: FileAccess = UNRESTRICTED_ACCESS,
) -> int:
    """Open the debugger on a model; returns the exit status once it is closed. ``to_text``: formats an error;
    ``access``: the files that commands may access.

    Raises:
        InputError: The inputs do not fit the signature.
        UnsupportedError: An operator is not supported.
        UsageError: The configured keys are invalid.
    """
    actions = configured_actions()
    worker = CommandWorker(model, inputs.values, max_iterations, error_text=to_text)
    worker.console.file_access = access
    screen = DebuggerScreen(worker, inputs.note, actions, inputs.seeds, _load_arrangement(model.path))
    return _run_and_save_arrangement(screen, model.path)


def run_replay_app(
    replay: Replay, to_text: Callable[[LoopdbgError], str], access: FileAccess = UNRESTRICTED_ACCESS
) -> int:
    """Open the debugger on a recording; returns the exit status once it is closed.

    Raises:
        UsageError: The configured keys are invalid.
    """
    actions = configured_actions()
    path = replay.trace.path
    worker = CommandWorker(replay.model, {}, None, replay, to_text)
    worker.console.file_access = access
    return _run_and_save_arrangement(
        DebuggerScreen(worker, f"from {path.name}", actions, arrangement=_load_arrangement(path)), path
    )


def run_lesson_app(learner: Learner) -> int:
    """Open lessons in the screen; returns the exit status once it is closed.

    Raises:
        UsageError: The configured keys are invalid.
    """
    actions = configured_actions()
    return _run_and_save_arrangement(make_lesson_screen(learner, actions), None)


def _run_and_save_arrangement(screen: DebuggerScreen, path: Path | None) -> int:
    """Run the app and save its pane arrangement for the file at ``path``."""
    run = screen.run_control
    try:
        status = LoopdbgApp[int](screen).run() or 0
        if run.internal_error is not None:
            raise run.internal_error
        if path is not None:
            arrangement = screen.pane_control.arrangement
            user_state.save_arrangement(path, arrangement.tab, arrangement.maximized_pane, arrangement.folded)
        return status
    finally:
        run.session_worker.close()


def _load_arrangement(path: Path | None) -> PaneArrangement:
    """The saved pane arrangement; folded heads are saved per model."""
    tab, maximized, folded = user_state.load_arrangement(path)
    return PaneArrangement(tab if tab in range(len(TABS)) else 0, maximized if maximized in PANE_KEYS else "", folded)
