"""``loopdbg completion``: what makes a shell complete commands, options, and files by their suffix."""

from __future__ import annotations

import argparse
from typing import Any

from ....runtime.errors import UsageError
from .. import terminal
from ..command import Command, CommandParser

#: Traces, which open as models do.
_TRACE_PATTERN = "*.loopdb"
#: In the place of a model, by what the help calls it.
_MODEL_METAVARS = ("MODEL", "A", "B")


class Completion(Command):
    """Prints a script that the shell reads."""

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
            raise UsageError("completion needs the package shtab: pip install 'loopdbg[completion]'") from None
        models = shtab.glob(*_model_patterns())
        within, after = _first_word_scripts(models, options.shell)
        script = shtab.complete(_combined_parser(models), options.shell, preamble={options.shell: within})
        for line in f"{script}\n{after}".splitlines():
            terminal.out(line)
        return 0


def _model_patterns() -> list[str]:
    from ....runtime.frontends import MODEL_SUFFIXES

    return [*(f"*{suffix}" for suffix in MODEL_SUFFIXES), _TRACE_PATTERN]


def _combined_parser(models: Any) -> CommandParser:
    """One parser of all commands; each has its own otherwise, so that a start imports one."""
    from .. import COMMANDS
    from .open import Open

    whole = CommandParser(prog="loopdbg", add_help=False)
    commands = whole.add_subparsers(dest="command", parser_class=CommandParser)
    Open().configure(whole)
    for name, command in COMMANDS.items():
        one = commands.add_parser(
            name, help=_first_sentence(command.summary), description=_first_sentence(command.summary)
        )
        command.configure(one)
        _set_completions(one, models)
    _set_completions(whole, models)
    # The first word is a command or a model, which is said below.
    (model,) = [action for action in whole._actions if action.dest == "model"]
    model.help = argparse.SUPPRESS
    return whole


def _first_sentence(summary: str) -> str:
    return " ".join(summary.split()).partition(". ")[0].rstrip(".")


def _set_completions(parser: argparse.ArgumentParser, models: Any) -> None:
    """Say of each argument which files it takes, by what the help calls it."""
    import shtab

    for action in parser._actions:
        word = action.metavar if isinstance(action.metavar, str) else ""
        _, dot, suffix = word.rpartition(".")
        found: Any = None
        if word in _MODEL_METAVARS:
            found = models
        elif word == "TRACE":
            found = shtab.glob(_TRACE_PATTERN)
        elif dot:
            found = shtab.glob(f"*.{suffix}")
        elif word == "DIR":
            found = shtab.DIRECTORY
        elif set(word.split("|")) & {"FILE", "DIR", "OUT"}:
            found = shtab.FILE
        if found is not None:
            action.complete = found  # type: ignore[attr-defined]


def _first_word_scripts(models: dict[str, Any], shell: str) -> tuple[str, str]:
    """What makes the first word a model, beside the commands: within the script, and after it. The names are those
    that shtab gives."""
    if shell == "bash":
        return "", f"_shtab_loopdbg_pos_0_COMPGEN={models['bash']}"
    if shell == "fish":
        condition = "_shtab_loopdbg_using; and test $_shtab_loopdbg_npos -eq 0"
        return "", f"complete -c loopdbg -n '{condition}' -ka \"{models['fish']}\""
    words = "functions[_loopdbg_words]=$functions[_shtab_loopdbg_commands]"
    return f"{words}\n_shtab_loopdbg_commands() {{ _loopdbg_words; {models['zsh']} }}", ""
