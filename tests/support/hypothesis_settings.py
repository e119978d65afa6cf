"""The number of examples of property tests."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

ALL_EXAMPLES = "LOOPDBG_ALL_EXAMPLES" in os.environ
#: The minimum that covers each kind.
MIN_EXAMPLES = 25


def example_settings(times: int, **more: Any) -> settings:
    """That many examples with LOOPDBG_ALL_EXAMPLES, and a third of them without; ``more`` as for ``settings``."""
    if not ALL_EXAMPLES:
        times = min(times, max(MIN_EXAMPLES, times // 3))
    return settings(max_examples=times, **more)
