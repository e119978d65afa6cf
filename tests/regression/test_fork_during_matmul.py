"""OpenBLAS ends its threads when the process forks: a product that another thread had begun never ended."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

#: Products of two matrices that are computed, so that BLAS does them, until another thread has forked often enough.
PROGRAM = """
import os, threading, warnings
import numpy as np
from loopdbg.runtime.ops.eager import EagerPrimitives

warnings.simplefilter("ignore")  # of forks in threaded programs

def fork():
    for _ in range(30):
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)

matrix = np.full((1024, 1024), 2.0 ** -10, np.dtype("{dtype}"))
rows = matrix[:96]
forks = threading.Thread(target=fork)
forks.start()
while forks.is_alive():
    assert (EagerPrimitives().matmul(rows, matrix) == 2.0 ** -10).all()
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_end_while_another_thread_forks(dtype: str) -> None:
    completed = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(dtype=dtype)],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (completed.stdout, completed.stderr) == ("done\n", "")
