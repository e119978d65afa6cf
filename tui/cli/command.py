"""What a subcommand is, and the parser that all of them share."""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NoReturn

from ...runtime.errors import UsageError
from ...runtime.text import did_you_mean


class Command(ABC):
    """One subcommand: its options, and what it does with them."""

    #: The word on the command line; empty for what ``loopdbg MODEL`` does.
    name: str
    #: One line, for the help.
    summary: str
    #: What stands at the end of its help.
    examples: str = ""

    @abstractmethod
    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the options."""

    def load(self) -> None:  # noqa: B027  most need nothing more
        """Import what :meth:`run` needs, where the module of the command itself does not: nothing waits for it that
        only asks for help, and ctrl-c leaves at once meanwhile."""

    @abstractmethod
    def run(self, options: argparse.Namespace) -> int:
        """Do it; returns the exit status. Errors are raised."""

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
    """Raises :class:`UsageError` where argparse would print its usage and exit, and where an option that takes one
    value stands there twice: argparse would take the last one without a word."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name in (None, "store"):
            self.register("action", name, _StoreOnce)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} ({self.prog} --help tells more)")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse all arguments.

        Raises:
            UsageError: something is missing, unknown or cannot be read; the text names what is near.
        """
        options, unknown = self.parse_known_args(arguments)
        if unknown:
            word = unknown[0]
            if not word.startswith("-"):
                self.error(f"unexpected argument '{word}'")
            known = [option for action in self._actions for option in action.option_strings]
            hint = did_you_mean(word.split("=", 1)[0], known, "'{}'", 2)
            self.error(f"unknown option '{word}'{hint}")
        return options


class _StoreOnce(argparse.Action):
    """Stores a value that may be given once."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        given = vars(namespace).setdefault("given", set())
        if option is not None and self.dest in given:
            parser.error(f"{option} stands there twice")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


#: Iterations are counted in so many bits.
_ITERATIONS_MAX = 2**63 - 1


def int_at_least(least: int, most: int = _ITERATIONS_MAX) -> type[int]:
    """An argparse type: a whole number that is neither too small nor too large, by default for what can be counted."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"'{text}' is no whole number from {least} on")
        if number > most:
            raise argparse.ArgumentTypeError(f"'{text}' is too large; {most} is the most")
        return number

    return read  # type: ignore[return-value]
