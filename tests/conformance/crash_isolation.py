"""Jobs for scripts of tests/peers, in processes that any job may crash."""

from __future__ import annotations

import atexit
import pickle
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

PEERS = Path(__file__).parent.parent / "peers"


def run_jobs(script: str, jobs: Sequence[Any]) -> Path:
    """A folder with what a script makes of jobs, ``K.pickle`` each; after a crash it goes on with the next one."""
    place = Path(mkdtemp(prefix=f"{Path(script).stem}_"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    (place / "jobs").write_bytes(pickle.dumps(jobs))
    first = 0
    while first < len(jobs):
        command = [sys.executable, PEERS / script, place / "jobs", place, str(first)]
        subprocess.run(command, timeout=500, check=False, capture_output=True)
        last = max((k for k in range(len(jobs)) if (place / f"{k}.pickle").exists()), default=first - 1)
        if last + 1 < len(jobs):
            (place / f"{last + 1}.pickle").write_bytes(pickle.dumps("the process crashed"))
        first = last + 2
    return place
