"""What the processes of a fuzzing campaign are sent: the job, and before each round the inputs to start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...runtime.errors import UsageError
from ...runtime.input_validation import Data
from ...runtime.model import Model
from ..input_space.space import InputSpace
from ..sweep.cases import Case, CaseReader, CaseSet, fingerprint_of
from ..sweep.expression_loops import check_spec
from ..sweep.job import SweepJob, SweepSpec, model_hash

#: The limit of iterations at which a loop is examined: whether it ever ends.
DEFAULT_MAX_ITERATIONS = 2000
#: The limit of one run, in seconds; with a runtime, which is in a process of its own and compiles for new shapes.
DEFAULT_TIMEOUT_SECONDS, PEER_TIMEOUT_SECONDS = 10.0, 60.0
#: Rounds in a campaign without end.
MAX_ROUNDS = 1 << 40


@dataclass(frozen=True)
class Corpus(CaseSet):
    """Inputs to mutate, as a set of cases: case k is round k, which is ``seconds`` long.

    ``known``: the signatures of the findings so far, of which a round finds no second one. ``first``: the first round
    that runs on these; ``parts``: the number of rounds that share the edge cases, 0: they have been run.
    ``last_inputs``: for each round the file that has the inputs that it runs (last_inputs.py).
    """

    entries: Sequence[Mapping[str, Data]] = ()
    known: frozenset[tuple[str, str]] = frozenset()
    seed: int = 0
    seconds: float = 1.0
    first: int = 0
    parts: int = 0
    last_inputs: tuple[str, ...] = ()
    name: str = "fuzz"

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """The seed identifies the rounds."""
        return fingerprint_of((self.name, self.seed))

    def __len__(self) -> int:
        return MAX_ROUNDS

    def reader(self, model: Model) -> CaseReader:
        """Return a function that returns the entries."""
        return lambda number: Case(self.entries[number])


@dataclass(frozen=True)
class FuzzJob(SweepJob):
    """A model to fuzz. ``dims``, ``constraints``: of its inputs (input_space/)."""

    executor: ClassVar[str] = "fuzz_rounds"

    dims: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()

    def settings(self) -> dict[str, object]:
        """What a campaign depends on, for its folder."""
        return {
            "model": self.hash,
            "against": self.spec.against,
            "asserts": list(self.spec.asserts),
            "dims": list(self.dims),
            "constraints": list(self.constraints),
            "max_iterations": self.spec.max_iterations,
        }


def make_fuzz_job(
    model: Model,
    path: str,
    *,
    weights: str | None = None,
    against: str = "",
    asserts: Sequence[str] = (),
    dims: Sequence[str] = (),
    constraints: Sequence[str] = (),
    max_iterations: int | None = None,
    timeout: float | None = None,
    operators: Sequence[str] = (),
) -> FuzzJob:
    """Return the job for a model.

    Raises:
        UsageError: an expression, a size or a constraint is invalid, or there is no such peer or model.
    """
    if against:
        from ..sweep.oracles import check_oracle  # the peers, which not all campaigns need

        check_oracle(against)
        if Path(against).is_dir():
            raise UsageError(f"{against}: a folder has no outputs for inputs that are new; give a runtime or a model")
    spec = SweepSpec(
        tuple(asserts),
        max_iterations=max_iterations or DEFAULT_MAX_ITERATIONS,
        timeout=timeout or (PEER_TIMEOUT_SECONDS if against else DEFAULT_TIMEOUT_SECONDS),
        against=against,
        operators=tuple(map(str, operators)),
    )
    check_spec(model, spec)
    InputSpace(model, dims, constraints)  # raises for unknown names
    loops = tuple(plan.path for plan in model.plan.loops)
    settings = (model_hash(path, weights), Corpus(), spec, weights, loops)
    return FuzzJob(0, path, *settings, dims=tuple(dims), constraints=tuple(constraints))
