"""Trust in models that are programs: unattended, they run only with ``--trust-script``."""

from __future__ import annotations

import argparse
import os
import sys

from ...runtime.errors import UsageError
from .comparison.peer_spec import PeerSpec

#: Arguments that are models.
_MODEL_ARGUMENTS = ("model", "a", "b", "against")


def check_trust(options: argparse.Namespace, serving: bool, may_ask: bool = True) -> None:
    """Require consent before a script runs unattended: in CI, and for pages of a browser.

    ``may_ask``: False if a protocol client names the script, which is then refused without a prompt.

    Raises:
        UsageError: There is no consent.
    """
    if getattr(options, "trust_script", False) or not (serving or _is_in_ci()):
        return
    from ...runtime.frontends import is_sqlite_file, split_model_path

    for path in getattr(options, "operators", ()):
        _require_consent(f"{path} is a Python file", may_ask)
    models = [getattr(options, name, None) for name in _MODEL_ARGUMENTS]
    for path in (*models, *getattr(options, "models", ())):
        if isinstance(path, PeerSpec):
            subject = f"{path.argument} is a PyTorch program" if path.is_torch else ""
        else:
            is_script = path and split_model_path(path)[0].suffix.lower() == ".py" and not is_sqlite_file(path)
            subject = f"{path} is a Python script" if is_script else ""
        if subject:
            _require_consent(subject, may_ask)


def _require_consent(subject: str, may_ask: bool) -> None:
    if not (may_ask and _is_confirmed(subject)):
        raise UsageError(f"{subject}, which can do what you can: --trust-script lets it run")


def _is_in_ci() -> bool:
    """Whether this is a CI job: build servers set this variable."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def _is_confirmed(subject: str) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(f"{subject}, which can do what you can. Run it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
