"""The notebook widget that steps a session (Jupyter, VS Code, marimo); its page is ``stepper.js``."""

from __future__ import annotations

from typing import Any

from ....runtime.api_boundary import public
from ....runtime.errors import UsageError
from ...session.session import Session


@public
def widget(session: Any) -> Any:
    """A widget that shows a stop and steps the session: the lines of the loop with the next one, the carried values,
    the condition, the scan outputs, and a timeline. Buttons and keys step forward and back; hovering over a line shows
    its values; a text field and ``do`` take console commands.

    ``refresh()`` shows moves by other cells. It works in the hosts of anywidget: Jupyter, VS Code and marimo.

    Args:
        session: a session or a replay.

    Raises:
        UsageError: the package ``anywidget`` is not installed, or ``session`` is no session, or is closed.

    >>> stepper = loopdbg.widget(session)
    >>> stepper.do("step")
    >>> stepper.view["stop"], session.frame.iteration
    ("before iteration 1 of loop 'sqrt'", 1)
    """
    if not isinstance(session, Session):
        raise UsageError(
            f"a {type(session).__name__} cannot be stepped; give loopdbg.debug(model, inputs)",
            expected="a session",
            got=type(session).__name__,
        )
    try:
        from .stepper_widget import Stepper
    except ImportError:
        raise UsageError(
            "widget needs the package anywidget, which is not installed: pip install 'loopdbg[notebook]'",
            name="anywidget",
        ) from None
    return Stepper(session)
