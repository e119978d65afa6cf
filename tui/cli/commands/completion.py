"""``loopdbg completion``: prints shell completion scripts for commands, options and files."""

from __future__ import annotations

import argparse
from typing import Any

from ....runtime.errors import UsageError
from .. import terminal
from ..command import Command, CommandParser

#: Traces, which open as models do.
_TRACE_PATTERN = "*.loopdb"
#: Metavars of model arguments.
_MODEL_METAVARS = ("MODEL", "A", "B")


class CompletionCommand(Command):
    """Prints a completion script."""

    name = "completion"
    summary = """\
Print a script that makes a shell complete commands, options, choices and the
files that they take."""
    examples = """\
bash:  source <(loopdbg completion bash)               in ~/.bashrc
zsh:   eval "$(loopdbg completion zsh)"                in ~/.zshrc, after compinit
fish:  loopdbg completion fish | source                in ~/.config/fish/config.fish

needs the package shtab: pip install 'loopdbg[completion]'"""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "loopdbg completion bash|zsh|fish"
        parser.add_argument("shell", choices=["bash", "zsh", "fish"], metavar="SHELL", help="bash, zsh or fish")

    def run(self, options: argparse.Namespace) -> int:
        try:
            import shtab
        except ImportError:
            raise UsageError(
                "completion needs the package shtab: pip install 'loopdbg[completion]'", name="shtab"
            ) from None
        models = shtab.glob(*_model_patterns())
        preamble, postamble = _first_word_scripts(models, options.shell)
        script = shtab.complete(_combined_parser(models), options.shell, preamble={options.shell: preamble})
        for line in f"{script}\n{postamble}".splitlines():
            terminal.out(line)
        return 0


def _model_patterns() -> list[str]:
    from ....runtime.frontends import MODEL_SUFFIXES

    return [*(f"*{suffix}" for suffix in MODEL_SUFFIXES), _TRACE_PATTERN]


def _combined_parser(models: Any) -> CommandParser:
    """A combined parser of all commands; normally each has its own, so that only one is imported."""
    from .. import COMMANDS
    from .open import OpenCommand

    parser = CommandParser(prog="loopdbg", add_help=False)
    commands = parser.add_subparsers(dest="command", parser_class=CommandParser)
    OpenCommand().configure(parser)
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(
            name, help=_first_sentence(command.summary), description=_first_sentence(command.summary)
        )
        command.configure(subparser)
        _set_completions(subparser, models)
    _set_completions(parser, models)
    # The first word is a command or a model; the shell script completes both.
    (model,) = [action for action in parser._actions if action.dest == "model"]
    model.help = argparse.SUPPRESS
    return parser


def _first_sentence(summary: str) -> str:
    return " ".join(summary.split()).partition(". ")[0].rstrip(".")


def _set_completions(parser: argparse.ArgumentParser, models: Any) -> None:
    """Set the file completion of each argument by its metavar."""
    import shtab

    for action in parser._actions:
        word = action.metavar if isinstance(action.metavar, str) else ""
        _, dot, suffix = word.rpartition(".")
        files: Any = None
        if word in _MODEL_METAVARS:
            files = models
        elif word == "TRACE":
            files = shtab.glob(_TRACE_PATTERN)
        elif dot:
            files = shtab.glob(f"*.{suffix}")
        elif word == "DIR":
            files = shtab.DIRECTORY
        elif set(word.split("|")) & {"FILE", "DIR", "OUT"}:
            files = shtab.FILE
        if files is not None:
            action.complete = files  # type: ignore[attr-defined]


def _first_word_scripts(models: dict[str, Any], shell: str) -> tuple[str, str]:
    """Shell code before and after the script that completes models, as well as commands, as the first word. The names
    are shtab's."""
    if shell == "bash":
        return "", f"_shtab_loopdbg_pos_0_COMPGEN={models['bash']}"
    if shell == "fish":
        condition = "_shtab_loopdbg_using; and test $_shtab_loopdbg_npos -eq 0"
        return "", f"complete -c loopdbg -n '{condition}' -ka \"{models['fish']}\""
    words = "functions[_loopdbg_words]=$functions[_shtab_loopdbg_commands]"
    return f"{words}\n_shtab_loopdbg_commands() {{ _loopdbg_words; {models['zsh']} }}", ""
