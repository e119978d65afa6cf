"""The base class of subcommands and their argument parser."""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NoReturn

from ...runtime.errors import UsageError
from ...runtime.text import did_you_mean


class Command(ABC):
    """One subcommand: its options and its action."""

    #: The word on the command line; empty for ``loopdbg MODEL``.
    name: str
    #: One line, for the help.
    summary: str
    #: Text at the end of the help.
    examples: str = ""

    @abstractmethod
    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the options."""

    def import_implementation(self) -> None:  # noqa: B027  optional hook
        """Import the modules that :meth:`run` needs. Separate from the command's module, so that ``--help`` is fast and
        Ctrl-C works during the imports."""

    @abstractmethod
    def run(self, options: argparse.Namespace) -> int:
        """Run the command; returns the exit status. Errors are raised."""

    def parser(self) -> CommandParser:
        """The parser of this subcommand."""
        parser = CommandParser(
            prog=f"loopdbg {self.name}".strip(),
            description=self.summary,
            epilog=self.examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,  # an abbreviation that is unique today may not be tomorrow
            add_help=False,
        )
        self.configure(parser)
        parser.add_argument("-h", "--help", action="help", help="show this help and exit")
        return parser


class CommandParser(argparse.ArgumentParser):
    """Raises :class:`UsageError` where argparse would print its usage and exit, and for a repeated option that takes
    one value: argparse would silently use the last one."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name in (None, "store"):
            self.register("action", name, _StoreOnce)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} ({self.prog} --help tells more)")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse all arguments.

        Raises:
            UsageError: An argument is missing, unknown or invalid; the message suggests similar names.
        """
        options, unknown = self.parse_known_args(arguments)
        if unknown:
            argument = unknown[0]
            if not argument.startswith("-"):
                self.error(f"unexpected argument '{argument}'")
            known = [option for action in self._actions for option in action.option_strings]
            hint = did_you_mean(argument.split("=", 1)[0], known, "'{}'", 2)
            self.error(f"unknown option '{argument}'{hint}")
        return options


class _StoreOnce(argparse.Action):
    """Stores a value that may be given once."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        stored = vars(namespace).setdefault("given", set())
        if option is not None and self.dest in stored:
            parser.error(f"{option} is given twice")
        stored.add(self.dest)
        setattr(namespace, self.dest, values)


#: Largest iteration number (int64).
_ITERATIONS_MAX = 2**63 - 1


def int_at_least(minimum: int, maximum: int = _ITERATIONS_MAX) -> type[int]:
    """An argparse type: an integer within bounds."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = minimum - 1
        if number < minimum:
            raise argparse.ArgumentTypeError(f"'{text}' is no whole number from {minimum} on")
        if number > maximum:
            raise argparse.ArgumentTypeError(f"'{text}' is too large; {maximum} is the most")
        return number

    return read  # type: ignore[return-value]
