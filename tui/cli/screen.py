"""Opens the screen: on a model, on a recording, on a lesson."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...debugger.console.file_access import EVERYWHERE, FileAccess
from ...runtime.errors import LoopdbgError
from ...runtime.model import Model
from .. import settings
from ..actions import PANES, chosen
from ..app import LoopdbgApp
from ..driver import Driver
from ..lessons import LessonApp, lesson_driver
from ..screen.layout import TABS, Arrangement
from .inputs import Inputs

if TYPE_CHECKING:
    from ...debugger.lessons.learner import Learner
    from ...debugger.recording.replay import Replay


def run_app(
    model: Model,
    inputs: Inputs,
    max_iterations: int | None,
    told: Callable[[LoopdbgError], str],
    files: FileAccess = EVERYWHERE,
) -> int:
    """Open the debugger on a model; returns the exit status once it is closed. ``told``: an error's text there;
    ``files``: those that may be named there.

    Raises:
        InputError: inputs that do not fit the signature.
        UnsupportedError: an operator that nothing can run.
        UsageError: the keys that a config file sets make no sense.
    """
    actions = chosen()
    driver = Driver(model, inputs.values, max_iterations, told=told)
    driver.console.files = files
    app = LoopdbgApp(driver, inputs.note, actions, inputs.seeds, _arrangement(model.path))
    return _run(app, model.path)


def replay_app(replay: Replay, told: Callable[[LoopdbgError], str], files: FileAccess = EVERYWHERE) -> int:
    """Open the debugger on a recording; returns the exit status once it is closed.

    Raises:
        UsageError: the keys that a config file sets make no sense.
    """
    actions = chosen()
    path = replay.trace.path
    driver = Driver(replay.model, {}, None, replay, told)
    driver.console.files = files
    return _run(LoopdbgApp(driver, f"from {path.name}", actions, arrangement=_arrangement(path)), path)


def learn_app(learner: Learner) -> int:
    """Open lessons in the screen; returns the exit status once it is closed.

    Raises:
        UsageError: the keys that a config file sets make no sense.
    """
    actions = chosen()
    return _run(LessonApp(lesson_driver(learner), learner, actions), None)


def _run(app: LoopdbgApp, path: Path | None) -> int:
    """Run the app; how its panes stood is kept for what lies at ``path``."""
    try:
        status = app.run() or 0
        if app.fault is not None:
            raise app.fault
        if path is not None:
            kept = app.arrangement
            settings.arranged(path, kept.tab, kept.full, kept.folded)
        return status
    finally:
        app.driver.close()


def _arrangement(path: Path | None) -> Arrangement:
    """How the panes stood the last time; which heads are folded is kept for each model."""
    tab, full, folded = settings.arrangement(path)
    return Arrangement(tab if tab in range(len(TABS)) else 0, full if full in PANES else "", folded)
