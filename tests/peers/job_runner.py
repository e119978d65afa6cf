"""Runs jobs one after the other in a process that any of them may crash: each result is written to a file at once."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def run_jobs(do: Callable[..., Any]) -> None:
    """``python SCRIPT JOBS FOLDER FIRST``: JOBS is a pickle with a list of jobs, run from FIRST on.

    ``do(stem, *job)`` may write files whose names begin with ``stem``; its result, or its error as text, is
    ``stem.pickle``.
    """
    jobs, folder, first = sys.argv[1:]
    for k, job in enumerate(pickle.loads(Path(jobs).read_bytes())):
        if k < int(first):
            continue
        stem = Path(folder) / str(k)
        try:
            answer = do(stem, *job)
        except Exception as error:
            answer = " ".join(str(error).split())[:400]
        stem.with_suffix(".part").write_bytes(pickle.dumps(answer))
        stem.with_suffix(".part").rename(stem.with_suffix(".pickle"))
