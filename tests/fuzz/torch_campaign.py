"""Single changes in ONNX models of PyTorch modules, each of which the comparison with the module has to name.

``python tests/fuzz/torch_campaign.py 1000``: cases of all modules and kinds in turn; ``--modules nested,kalman``: only
of these; ``--only 'nested operator 17'`` runs one again and prints it. Modules are exported once, into ``build/torch``.
``--exports``: against TorchScript's export of the module instead.

``exact``: only the changed node is named; ``among``: it is one of those named (several nodes of the model were made for
one of the program); ``unseen``: the outputs show no change. Anything in capitals is wrong.
"""

from __future__ import annotations

import argparse
import collections
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from campaign import outcome_table

import torch_mutants

#: Seconds per case, and bytes for all: a changed size may be any number.
CASE_TIMEOUT_SECONDS, ADDRESS_SPACE_LIMIT_BYTES = 200, 6 << 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--modules", default="", help="only of these, such as nested,kalman")
    parser.add_argument("--exports", action="store_true", help="compare with TorchScript's export")
    parser.add_argument("--only", metavar="NAME", help="one case, printed")
    inputs = parser.parse_args()
    judge = torch_mutants.judge_export if inputs.exports else torch_mutants.judge_case
    if inputs.only is not None:
        print(torch_mutants.describe_case(inputs.only))
        print(judge(inputs.only))
        return 0
    modules = torch_mutants.TRACED_MODULES if inputs.exports else torch_mutants.module_cases()
    wanted = [name for name in inputs.modules.split(",") if name] or list(modules)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_LIMIT_BYTES, ADDRESS_SPACE_LIMIT_BYTES))
    signal.signal(signal.SIGALRM, _raise_timeout)
    start = time.monotonic()
    came: collections.Counter[str] = collections.Counter()
    of_module: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for name in case_names(wanted, range(inputs.first, inputs.first + inputs.count)):
        output = case_outcome(name, judge)
        kind = output.partition(":")[0]
        came[kind] += 1
        of_module[name.partition(" ")[0]][kind] += 1
        if kind.isupper():
            print(f"'{name}' {output}", flush=True)
    print(outcome_table(of_module))
    print(f"{inputs.count} cases in {time.monotonic() - start:.0f} s:", dict(came))
    return int(any(kind.isupper() for kind in came))


def case_names(modules: list[str], numbers: range) -> list[str]:
    """The names of the cases, grouped by module, so that PyTorch runs each module once."""
    every = [f"{module} {kind}" for module in modules for kind in torch_mutants.MUTATION_KINDS]
    return sorted((f"{every[k % len(every)]} {k // len(every)}" for k in numbers), key=lambda name: name.split()[0])


def case_outcome(name: str, judge: Callable[[str], str] = torch_mutants.judge_case) -> str:
    """The outcome of a case; an exception is an outcome as well, and so is a timeout."""
    signal.alarm(CASE_TIMEOUT_SECONDS)
    try:
        return judge(name)
    except Exception as error:
        return f"RAISED: {type(error).__name__}: {error}".replace("\n", " ")[:300]
    finally:
        signal.alarm(0)


def _raise_timeout(*_: object) -> None:
    raise TimeoutError(f"{CASE_TIMEOUT_SECONDS} seconds")


if __name__ == "__main__":
    sys.exit(main())
