"""``--operators FILE.py``: user-defined operators."""

from __future__ import annotations

import argparse


def load_operators(options: argparse.Namespace) -> None:
    """Load the operator files that the options name.

    Raises:
        ModelError: A file cannot be read, or fails.
        UsageError: A file defines no operator.
    """
    for path in getattr(options, "operators", ()):
        from ...runtime.ops import user_operator_files

        user_operator_files.load_operators(path)
