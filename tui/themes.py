"""The two themes; every text colour has a contrast of at least 4.5:1 to its background."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="loopdbg",
    primary="#7d9fc4",
    secondary="#8a93a0",
    accent="#d8b26a",
    warning="#d8b26a",
    error="#e07a72",
    success="#92b885",
    foreground="#ccd1d9",
    background="#14171b",
    surface="#14171b",
    panel="#1f242a",
    dark=True,
    variables={
        "muted": "#8b94a0",
        "arc": "#b69ae0",
        "operator": "#6fb8c0",
        "attribute": "#b3a678",
        "below": "#6ea8e8",
        "above": "#e3985c",
    },
)
LIGHT = Theme(
    name="loopdbg-light",
    primary="#2f5d8c",
    secondary="#5a6370",
    accent="#80570a",
    warning="#80570a",
    error="#a8322a",
    success="#35682a",
    foreground="#23272e",
    background="#fbfaf7",
    surface="#fbfaf7",
    panel="#ebe8e1",
    dark=False,
    variables={
        "muted": "#545b66",
        "arc": "#6b3fa0",
        "operator": "#0b5f6b",
        "attribute": "#695a12",
        "below": "#1c5aa6",
        "above": "#96450c",
    },
)
THEMES = (DARK, LIGHT)
