"""Campaigns of many random programs, of which the tests try few: ``python tests/fuzz/campaign.py sequences 20000``.

``models``: each program in every way of running, against the oracle and a real runtime. ``sequences``: many runs on one
Model, each against a process that ran nothing before. ``mutants``: one change in each model, of each kind in turn
(``--features 'onnx edge'``: of this one), which ``diff`` has to name as the cause; what it claims about causes is
checked by applying it (CLAIM: a claim does not hold; MISSES: one of two changes is not listed). ``converted``: each
mutant after another tool wrote it, or after its opset was raised. ``equals``: each model next to what another tool made
of it, of which ``diff`` has to list nothing. ``repro``: what ``repro A B`` makes of each mutant. A table says of each
kind how often that came out right.
``bounds``: bounds of the trip counts of random loops, stated before a run, against the run (FALSE: one does not hold).
``coverage``: the coverage of a run against the same run, stepped node by node.
``statements``: all that the program says of a random loop, each sentence and number against NumPy; a table counts them.
``diagnostics``: what ``diagnose`` says of random programs, against exact arithmetic (FALSE: it is not so; MISSES: not
reported).
``portability``: what ``check`` predicts by rules about onnxruntime and OpenVINO, against the runtimes themselves.
``edge``: loops with a fault that only an edge case exposes, which ``fuzz`` has to find within a minute on two cores.

A case depends only on its number and its features, so that ``--only 'growing+nested 4711'`` runs one again, and prints
it.

Blocks of cases run in separate processes: a crash or a hang is a finding like any other.
"""

from __future__ import annotations

import argparse
import collections
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import bound_checks
import converted_mutants
import coverage_oracle
import diagnostic_checks
import edge_campaign
import equivalent_models
import fork_server
import portability_scores
import program_mutants
import random_program_checks
import repro_mutants
import run_sequences
import statement_checks
from differential_testing import DisagreementError
from loopdbg.debugger.peers.cpu_usage import cpu_usage
from strategies import program_generator
from strategies.draws import ChoiceSource, SeededChoices
from strategies.program_text import program_text

#: Cases per process, and seconds without output, of which a process has computed none or as many, after which it hangs.
CASES_PER_PROCESS, SILENCE_TIMEOUT_SECONDS = 40, 90
#: Kinds that are judged by what ``diff`` reports about two models, or by everything reported about one.
CASE_MODULES: Mapping[str, Any] = {
    "mutants": program_mutants,
    "converted": converted_mutants,
    "equals": equivalent_models,
    "repro": repro_mutants,
    "statements": statement_checks,
    "bounds": bound_checks,
    "coverage": coverage_oracle,
    "portability": portability_scores,
    "diagnostics": diagnostic_checks,
    "edge": edge_campaign,
}
#: Features that may be combined; a scalar loop of hundreds of iterations leaves no time for tensors.
_FEATURES_WITH_HOT = ("direct", "condition", "products", "branches", "nested", "openvino", "smooth")


def draw_features(draw: ChoiceSource, without: frozenset[str]) -> str:
    """The features of a case."""
    if draw.chance(15) and "hot" not in without:
        chosen = {"hot"} | {name for name in _FEATURES_WITH_HOT if draw.chance(35)}
    else:
        rest = [name for name in program_generator.FEATURES if name != "hot"]
        chosen = {draw.pick(rest) for _ in range(draw.integer(1, 4))}
    return "+".join(name for name in program_generator.FEATURES if name in chosen - without)


def case_name(number: int, wanted: str | None, without: frozenset[str]) -> str:
    """A case's name, made of its features and its number, which determine it."""
    chosen = draw_features(SeededChoices(f"features {number}"), without) if wanted is None else wanted
    return f"{chosen} {number}"


def run_case(what: str, name: str, answers: fork_server.ForkServer | None) -> str:
    """Run one case; returns its outcome."""
    if what in CASE_MODULES:
        return CASE_MODULES[what].judge_case(name)
    chosen = frozenset(name.rpartition(" ")[0].split("+")) - {""}
    draw = SeededChoices(name)
    if what == "models":
        program = program_generator.draw_program(draw, chosen)
        return random_program_checks.check_agreement(
            program, program_generator.draw_feeds(program, draw), program_generator.draw_feeds(program, draw), draw
        )
    result = run_sequences.draw_case(draw, chosen, name)
    if answers is None:
        run_sequences.check_sequence(result.program, result.sequence)
    else:
        run_sequences.check_sequence(
            result.program, result.sequence, lambda *call: answers.call(run_sequences.run_on_new_model, *call)
        )
    return f"{len(result.sequence)} runs"


def run_cases_in_child(what: str, names: list[str], processes: bool) -> Iterator[tuple[str, str]]:
    """Run cases in a child process; returns pairs (name, outcome)."""
    left = list(names)
    while left:
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reads)
            _child(what, left, writes, processes)
        os.close(writes)
        with os.fdopen(reads, "rb", buffering=0) as stream:
            text, spoke_at = b"", 0.0
            while True:
                asked_at = cpu_usage(child).seconds
                if not select.select([stream], [], [], SILENCE_TIMEOUT_SECONDS)[0]:
                    computed = cpu_usage(child).seconds
                    if asked_at < computed < spoke_at + SILENCE_TIMEOUT_SECONDS:
                        continue  # other processes have the processor
                    os.kill(child, signal.SIGKILL)
                    break
                spoke_at = asked_at
                piece = stream.read(1 << 16)
                if not piece:
                    break
                text += piece
                *lines, text = text.split(b"\n")
                for line in lines:
                    yield left.pop(0), line.decode()
        _, status = os.waitpid(child, 0)
        if left and status:
            ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else status
            yield left.pop(0), "HANG" if ended == signal.SIGKILL else f"CRASH: signal {ended}"


def _child(what: str, names: list[str], writes: int, processes: bool) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    answers = fork_server.ForkServer(*run_sequences.PRELOADED_MODULES) if processes else None
    for name in names:
        try:
            output = run_case(what, name, answers)
        except DisagreementError as error:
            output = f"DIFFERS: {error}"
        except BaseException as error:
            output = f"RAISED: {type(error).__name__}: {error}"
        os.write(writes, output.replace("\n", " ")[:1000].encode() + b"\n")
    os._exit(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("models", "sequences", *CASE_MODULES))
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--features", help="of all cases, such as growing+nested; otherwise each has its own")
    parser.add_argument("--without", default="", help="features that no case has, such as strings+openvino")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--same-process", action="store_true", help="answers from fresh Models, not fresh processes")
    parser.add_argument("--only", metavar="NAME", help="one case, printed before it runs")
    inputs = parser.parse_args()
    if inputs.only is not None:
        print_case(inputs.what, inputs.only)
        print(run_case(inputs.what, inputs.only, None))
        return 0
    names = case_names(inputs.what, range(inputs.first, inputs.first + inputs.count), inputs.features, inputs.without)
    blocks = [names[k : k + CASES_PER_PROCESS] for k in range(0, len(names), CASES_PER_PROCESS)]
    came: collections.Counter[str] = collections.Counter()
    of_kind: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    messages: list[str] = []
    start = time.monotonic()

    def work(names: list[str]) -> list[tuple[str, str]]:
        return list(run_cases_in_child(inputs.what, names, not inputs.same_process))

    with ThreadPoolExecutor(inputs.processes) as pool:
        for item in pool.map(work, blocks):
            for name, message in item:
                kind = message.partition(":")[0]
                came[kind] += 1
                messages.append(message)
                of_kind[name.rpartition(" ")[0]][kind] += 1
                if kind.isupper() or kind.endswith("wrong"):
                    print(f"'{name}' {message}", flush=True)
    if inputs.what == "statements":
        print(statement_checks.tally_outcomes(messages))
    elif inputs.what == "portability":
        print(portability_scores.tally(of_kind))
    elif inputs.what in CASE_MODULES:
        print(outcome_table(of_kind))
    print(f"{inputs.count} cases in {time.monotonic() - start:.0f} s:", dict(came))
    return int(any(kind.isupper() for kind in came))


def case_names(what: str, numbers: range, features: str | None, without: str) -> list[str]:
    """The names of the cases with these numbers."""
    if what in CASE_MODULES:
        return (
            CASE_MODULES[what].case_names(numbers)
            if features is None
            else [f"{features} {number}" for number in numbers]
        )
    return [case_name(number, features, frozenset(without.split("+"))) for number in numbers]


def outcome_table(of_kind: Mapping[str, Mapping[str, int]]) -> str:
    """How often each kind of case had which outcome, and how many of the visible changes were reported exactly."""
    ends = sorted({end for came in of_kind.values() for end in came}, key=lambda end: (end.isupper(), end))
    lines = ["".join(f"{word:>12}" for word in ("", *ends)).replace(" " * 12, " " * 24, 1)]
    for kind, came in sorted(of_kind.items()):
        lines.append(f"{kind:24}" + "".join(f"{came.get(end, 0) or '-':>12}" for end in ends))
    return "\n".join(lines)


def print_case(what: str, name: str) -> None:
    """Print a case."""
    if what in CASE_MODULES:
        print(CASE_MODULES[what].describe_case(name))
        return
    chosen = frozenset(name.rpartition(" ")[0].split("+")) - {""}
    draw = SeededChoices(name)
    if what == "models":
        program = program_generator.draw_program(draw, chosen)
        runs = [
            run_sequences.SequenceRun("feeds", program_generator.draw_feeds(program, draw), ""),
            run_sequences.SequenceRun("other", program_generator.draw_feeds(program, draw), ""),
        ]
    else:
        result = run_sequences.draw_case(draw, chosen, name)
        program, runs = result.program, result.sequence
    print(program_text(program))
    for run in runs:
        print(
            run.kind, {key: value.tolist() if hasattr(value, "tolist") else value for key, value in run.feeds.items()}
        )


if __name__ == "__main__":
    sys.exit(main())
