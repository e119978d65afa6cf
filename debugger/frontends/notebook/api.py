"""The widget that steps a session in a notebook (Jupyter, VS Code, marimo); its page is ``stepper.js``."""

from __future__ import annotations

from typing import Any

from ....runtime.api_boundary import public
from ....runtime.errors import UsageError
from ...session.session_base import SessionBase


@public
def widget(session: Any) -> Any:
    """A widget that shows where a session stands and steps it: the lines of the loop with the one that runs next, what
    the back edges carry, the condition, the scan outputs, and time as a bar to travel on. Buttons and keys go on and
    back; the pointer on a line shows its values; a line of text takes commands of the console, and so does ``do``.

    ``session``: a session or a replay. What other cells do with the session is shown by ``refresh()``. Works where
    anywidget does: Jupyter, VS Code and marimo.

    Raises:
        UsageError: the package ``anywidget`` is not installed, or ``session`` is none, or is closed.

    >>> stepper = loopdbg.widget(session)
    >>> stepper.do("step")
    >>> stepper.view["stop"], session.frame.iteration
    ("before iteration 1 of loop 'sqrt'", 1)
    """
    if not isinstance(session, SessionBase):
        raise UsageError(f"a {type(session).__name__} cannot be stepped; give loopdbg.debug(model, inputs)")
    try:
        from .stepper_widget import Stepper
    except ImportError:
        raise UsageError(
            "widget needs the package anywidget, which is not installed: pip install 'loopdbg[notebook]'"
        ) from None
    return Stepper(session)
