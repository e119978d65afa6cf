"""Opens the screen: on a model, on a recording, on a lesson."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...debugger.frontends.console.file_access import UNRESTRICTED_ACCESS, FileAccess
from ...runtime.errors import LoopdbgError
from ...runtime.model import Model
from .. import user_state
from ..actions import PANES, configured_actions
from ..app import LoopdbgApp
from ..lesson_app import LessonApp, lesson_worker
from ..render.pane_layout import TABS, PaneArrangement
from ..session_worker import SessionWorker
from .model_inputs.gather import RunInputs

if TYPE_CHECKING:
    from ...debugger.lessons.learner import Learner
    from ...debugger.trace.replay import Replay


def run_model_app(
    model: Model,
    inputs: RunInputs,
    max_iterations: int | None,
    told: Callable[[LoopdbgError], str],
    files: FileAccess = UNRESTRICTED_ACCESS,
) -> int:
    """Open the debugger on a model; returns the exit status once it is closed. ``told``: an error's text there;
    ``files``: those that may be named there.

    Raises:
        InputError: inputs that do not fit the signature.
        UnsupportedError: an operator that nothing can run.
        UsageError: the keys that a config file sets make no sense.
    """
    actions = configured_actions()
    driver = SessionWorker(model, inputs.values, max_iterations, error_text=told)
    driver.console.file_access = files
    app = LoopdbgApp(driver, inputs.note, actions, inputs.seeds, _load_arrangement(model.path))
    return _run_and_save_arrangement(app, model.path)


def run_replay_app(replay: Replay, told: Callable[[LoopdbgError], str], files: FileAccess = UNRESTRICTED_ACCESS) -> int:
    """Open the debugger on a recording; returns the exit status once it is closed.

    Raises:
        UsageError: the keys that a config file sets make no sense.
    """
    actions = configured_actions()
    path = replay.trace.path
    driver = SessionWorker(replay.model, {}, None, replay, told)
    driver.console.file_access = files
    return _run_and_save_arrangement(
        LoopdbgApp(driver, f"from {path.name}", actions, arrangement=_load_arrangement(path)), path
    )


def run_lesson_app(learner: Learner) -> int:
    """Open lessons in the screen; returns the exit status once it is closed.

    Raises:
        UsageError: the keys that a config file sets make no sense.
    """
    actions = configured_actions()
    return _run_and_save_arrangement(LessonApp(lesson_worker(learner), learner, actions), None)


def _run_and_save_arrangement(app: LoopdbgApp, path: Path | None) -> int:
    """Run the app; how its panes stood is kept for what lies at ``path``."""
    try:
        status = app.run() or 0
        if app.internal_error is not None:
            raise app.internal_error
        if path is not None:
            kept = app.arrangement
            user_state.save_arrangement(path, kept.tab, kept.maximized_pane, kept.folded)
        return status
    finally:
        app.session_worker.close()


def _load_arrangement(path: Path | None) -> PaneArrangement:
    """How the panes stood the last time; which heads are folded is kept for each model."""
    tab, full, folded = user_state.load_arrangement(path)
    return PaneArrangement(tab if tab in range(len(TABS)) else 0, full if full in PANES else "", folded)
