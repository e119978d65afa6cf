"""``python -m loopdbg``: the command line."""

import sys

from .tui.cli import main

sys.exit(main())
