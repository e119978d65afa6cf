"""``--operators FILE.py``: operators that the command line brings along."""

from __future__ import annotations

import argparse


def load_operators(options: argparse.Namespace) -> None:
    """Run the files that the options name.

    Raises:
        ModelError: one cannot be read, or fails.
        UsageError: one has no operator.
    """
    for path in getattr(options, "operators", ()):
        from ...runtime.ops import user_operator_files

        user_operator_files.load_operators(path)
