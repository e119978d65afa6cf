"""Models that are programs: where no person is asked, they run only if the command line says so."""

from __future__ import annotations

import argparse
import os
import sys

from ...runtime.errors import UsageError
from .comparison.peer_spec import PeerSpec

#: Arguments that are models.
_MODEL_ARGUMENTS = ("model", "a", "b", "against")


def check_trust(options: argparse.Namespace, serving: bool, asking: bool = True) -> None:
    """Ask before a script runs where what runs it is no person at a terminal: in CI, and for pages of a browser.

    ``asking``: False where the client of a protocol names the script: it is refused, whoever is at the terminal.

    Raises:
        UsageError: nobody answers, or the answer is no.
    """
    if getattr(options, "trust_script", False) or not (serving or _in_ci()):
        return
    from ...runtime.frontends import is_sqlite_file, split_model_path

    for path in getattr(options, "operators", ()):
        _require_consent(f"{path} is a Python file", asking)
    named = [getattr(options, name, None) for name in _MODEL_ARGUMENTS]
    for path in (*named, *getattr(options, "models", ())):
        if isinstance(path, PeerSpec):
            what = f"{path.argument} is a PyTorch program" if path.is_torch else ""
        else:
            is_script = path and split_model_path(path)[0].suffix.lower() == ".py" and not is_sqlite_file(path)
            what = f"{path} is a Python script" if is_script else ""
        if what:
            _require_consent(what, asking)


def _require_consent(what: str, asking: bool) -> None:
    if not (asking and _is_confirmed(what)):
        raise UsageError(f"{what}, which can do what you can: --trust-script lets it run")


def _in_ci() -> bool:
    """Whether this is a job of a build server: all that are in use set this variable."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def _is_confirmed(what: str) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(f"{what}, which can do what you can. Run it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
