"""Options shared by commands. Imports no engine, so that ``--help`` is fast."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import Any, NoReturn

from ...runtime.errors import UsageError
from .command import int_at_least


class _PrintSchema(argparse.Action):
    """Prints the JSON Schema of a command's ``--json`` and exits."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        import json
        from importlib import resources

        from . import terminal

        command = parser.prog.rpartition(" ")[2]
        text = resources.files(__package__).joinpath("schemas", f"{command}.json").read_text("utf-8")
        terminal.out_json(json.loads(text))
        parser.exit()


def add_json_option(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add ``--json``, and the option that prints its schema."""
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--json-schema", action=_PrintSchema, nargs=0, help="print the JSON Schema of --json and exit")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that run a model: inputs and limits."""
    add_input_options(parser).add_argument(
        "--requests",
        metavar="FILE.npz",
        help="inputs of several requests, on an axis of their own in front: a loop that carries the variables",
    )
    parser.add_argument(
        "--max-iterations",
        type=int_at_least(1),
        metavar="N",
        help="stop any loop after N iterations; needed where nothing can end a loop",
    )


def add_input_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the input options; returns their group."""
    inputs = parser.add_argument_group(
        "inputs",
        "With none given: MODEL.inputs.npz or test_data_set_0/ next to the model,\n"
        "else random ones that fit its signature.",
    )
    inputs.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="one input: a number, a JSON list, true, false, text, or a path to a .npy file; repeatable",
    )
    inputs.add_argument(
        "--inputs", metavar="FILE|DIR", help="an .npz file, or a folder with input_0.pb, ... (ONNX test data)"
    )
    inputs.add_argument(
        "--case", metavar="ID", help="this one of a set of cases that --inputs names, as sweep takes it"
    )
    inputs.add_argument("--batched", action="store_true", help="--inputs is one .npz with cases on the first axis")
    inputs.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable of an OpenVINO model before the run; repeatable",
    )
    inputs.add_argument(
        "--seed", type=int_at_least(0), metavar="N", help="make random inputs, from this seed (0 where not given)"
    )
    inputs.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="size of an unknown dimension of random inputs, by its name or as "
        "INPUT:AXIS=N (1 where not given); repeatable",
    )
    return inputs


def add_case_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a set of cases."""
    group = parser.add_argument_group(
        "cases", "With none given: test_data_set_*, or MODEL.inputs.npz, next to each model."
    )
    group.add_argument(
        "--inputs",
        metavar="SET",
        help="a folder or a pattern of .npz files, of test_data_set_* (whose outputs are compared), or of tables "
        "(.parquet, .arrow: a case a row); or one such file",
    )
    group.add_argument("--batched", action="store_true", help="--inputs is one .npz, with the cases on the first axis")
    group.add_argument("--random", type=int_at_least(1), metavar="N", help="N random cases")
    group.add_argument("--seed", type=int_at_least(0), metavar="S", help="the seed of the first random case (0)")
    group.add_argument(
        "--dim", action="append", default=[], metavar="NAME=N", help="size of an unknown dimension; repeatable"
    )


_WEIGHTS_HELP = "OpenVINO IR: the file with its constants, if not MODEL.bin next to MODEL.xml"


def add_weights_option(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that open a model file."""
    parser.add_argument("--weights", metavar="FILE", help=_WEIGHTS_HELP)
    add_trust_option(parser)


def add_two_weights_option(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that open two models; :func:`pair_weights` assigns the weights."""
    help = f"{_WEIGHTS_HELP}; of two IRs give the first one's, then the other's"
    parser.add_argument("--weights", action="append", default=[], metavar="FILE", help=help)
    add_trust_option(parser)


def add_trust_option(parser: argparse.ArgumentParser) -> None:
    """Add the options about programs that belong to a model."""
    parser.add_argument(
        "--operators",
        action="append",
        default=[],
        metavar="FILE.py",
        help="Python functions for operators that loopdbg does not have; repeatable",
    )
    parser.add_argument(
        "--trust-script",
        action="store_true",
        help="run a model that is a script, and --operators, in CI and serve too",
    )


def add_write_option(parser: argparse.ArgumentParser | argparse._ArgumentGroup, client: str) -> None:
    """Add the option of servers whose clients may write files."""
    parser.add_argument(
        "--allow-write",
        type=_parse_existing_folder,
        metavar="DIR",
        help=f"let {client} write files in DIR (save, extract, plot, repro) and run command files in it (source); "
        "without it, in no place",
    )


def _parse_existing_folder(text: str) -> str:
    """An argparse type: an existing folder, as an absolute path."""
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"'{text}' is no folder; give one that is there already")
    return os.path.abspath(text)


def add_record_options(parser: argparse.ArgumentParser) -> None:
    """Add the recording options."""
    group = parser.add_argument_group(
        "recording", "A trace is an SQLite file: 'loopdbg FILE' opens it without the model, docs/traces.md tells more."
    )
    group.add_argument("--record", type=Path, metavar="FILE", help="write every boundary to FILE (run.loopdb)")
    group.add_argument("--record-nodes", action="store_true", help="write the values of all body nodes as well")
    group.add_argument(
        "--every",
        type=int_at_least(1),
        metavar="K",
        help="write only every K-th boundary, and the first and the last of each entry of a loop",
    )
    group.add_argument(
        "--only", metavar="NAMES", help="write only these values, separated by commas: carried, scan, body values"
    )
    group.add_argument("--force", action="store_true", help="overwrite a trace that is there already")
    group.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help="go on where the recorded run was cut off, with its inputs; with --record FILE it is recorded on",
    )


def parse_condition(text: str) -> str:
    """An argparse type: a condition, with or without the leading ``if`` of ``break``."""
    from ...debugger.breakpoints.location_parser import strip_if

    return strip_if(text.strip())


class _AppendCommand(argparse.Action):
    """Collects -x and -ex in command-line order."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        line = f"source {values}" if self.dest == "script" else values
        namespace.commands = [*namespace.commands, line]


def add_assert_option(parser: argparse._ArgumentGroup, text: str) -> None:
    """Add the option of conditions that must hold at every boundary; ``text``: its help."""
    parser.add_argument(
        "--assert", dest="asserts", type=parse_condition, action="append", default=[], metavar="EXPR|@FILE", help=text
    )


def add_session_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of scripted sessions."""
    group = parser.add_argument_group("debugging")
    group.add_argument(
        "--break",
        dest="breaks",
        type=parse_condition,
        action="append",
        metavar="EXPR",
        help="stop where EXPR is true: exit status 3",
    )
    add_assert_option(
        group, "EXPR must hold at every boundary, or status 7; @FILE: each line of a file (loopdbg invariants)"
    )
    group.add_argument("-x", dest="script", action=_AppendCommand, metavar="FILE", help="run the commands in FILE")
    group.add_argument(
        "-ex", dest="command", action=_AppendCommand, metavar="COMMAND", help="run one command; repeatable"
    )
    parser.set_defaults(commands=[])
    group.add_argument(
        "--at",
        type=parse_start_position,
        metavar="first|[LOOP:]N",
        help="begin where --assert or --break is met first, without them where a NaN comes up; or before iteration N",
    )
    group.add_argument("-i", dest="asking", action="store_true", help="ask for commands, after those given")
    group.add_argument("--batch", action="store_true", help="never ask: leave after the commands")


def add_diagnose_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for diagnoses."""
    group = parser.add_argument_group("diagnosis", "docs/diagnostics.md tells more.")
    group.add_argument(
        "--diagnose",
        action="store_true",
        help="run once more, slower, and report what is suspicious: overflow, NaN that decides, ...: exit status 10",
    )
    group.add_argument(
        "--diagnose-for", choices=("float16",), help="as --diagnose, and report what this type could not hold"
    )


def add_coverage_option(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add the option that measures what runs cover."""
    parser.add_argument(
        "--coverage",
        type=Path,
        nargs="?",
        const=Path(),
        metavar="FILE",
        help="what of the loops is covered, as a table or written into FILE (.html, .json); docs/coverage.md",
    )


def add_ci_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for unattended runs."""
    group = parser.add_argument_group("in CI", "docs/ci.md tells more.")
    group.add_argument("--junit", type=Path, metavar="FILE", help="write what was checked as JUnit XML")
    group.add_argument(
        "--github", action="store_true", help="annotate problems on GitHub, at the line of code that a node is from"
    )
    group.add_argument(
        "--timeout", type=parse_seconds, metavar="SECONDS", help="end a run that is not over in time: exit status 124"
    )


def parse_start_position(text: str) -> tuple[str, int | None]:
    """An argparse type: a start position as loop (may be empty) and iteration; None: the first bad one."""
    if text == "first":
        return "", None
    loop, _, iteration = text.rpartition(":")
    if not iteration.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is neither 'first' nor an iteration, such as 5 or LOOP:5")
    return loop, int(iteration)


def parse_tolerance(text: str) -> float:
    """An argparse type: a tolerance."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (math.isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 0 on")
    return number


def effective_tolerances(options: argparse.Namespace) -> tuple[float | None, float | None]:
    """``--rtol`` and ``--atol``, else the configured ones; None: by dtype.

    Raises:
        UsageError: The config file is invalid.
    """
    from ..config import setting_value

    pair = options.rtol, options.atol
    rtol, atol = (
        setting_value(name) if value is None else value for name, value in zip(("rtol", "atol"), pair, strict=True)
    )
    return rtol, atol


def parse_seconds(text: str) -> float:
    """An argparse type: a time limit."""
    number = parse_tolerance(text)
    if number == 0:
        raise argparse.ArgumentTypeError("it takes more than 0 seconds")
    return number


def parse_gigabytes(text: str) -> float:
    """An argparse type: an amount of memory."""
    number = parse_tolerance(text)
    if number == 0:
        raise argparse.ArgumentTypeError("it takes more than 0 gigabytes")
    return number


def parse_pairs(words: list[str], option: str, form: str) -> dict[str, str]:
    """Parse the ``NAME=VALUE`` words of an option."""
    names = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not (name and separator and value):
            raise UsageError(f"{option} {word}: expected {form}")
        names[name] = value
    return names
