"""The console: abbreviations, help, stepping, and the messages for mistyped commands."""

from __future__ import annotations

from pathlib import Path

import pytest

import loopdbg
from loopdbg.debugger.describe.vocabulary.glossary import glossary
from loopdbg.debugger.frontends.console.command_registry import ALIASES, COMMANDS, find_command
from loopdbg.debugger.frontends.console.console import QuitRequest
from text_models import NESTED

from .console_sessions import start, start_count, start_newton


def test_empty_lines_and_comments_do_nothing() -> None:
    talk = start_count()
    assert talk("", "   ", "# a comment", "\t# another") == []
    assert talk.session.frame.iteration == 0


@pytest.mark.parametrize(
    ("word", "name"),
    [*ALIASES.items(), ("cont", "continue"), ("wat", "watch"), ("undo", "undo"), ("until", "until"), ("ti", "")],
)
def test_abbreviations(word: str, name: str) -> None:
    if name:
        assert find_command(word).name == name
    else:
        with pytest.raises(loopdbg.UsageError):
            find_command(word)


def test_unknown_commands_suggest_alternatives() -> None:
    talk = start_count()
    assert talk.last_line("stepp") == "error: there is no command 'stepp'; did you mean step?"
    assert talk.last_line("xyzzy") == "error: there is no command 'xyzzy'; help lists the commands"
    assert talk.last_line("co") == "error: 'co' may be continue, condition, commands, compare, coverage"
    assert talk.last_line("x = 3") == "error: there is no command 'x'; help lists the commands"


def test_arguments_may_follow_without_a_space() -> None:
    assert start_count()("print(v_in + 1)", "p\tv_in") == ["6", "5"]


def test_help_lists_commands() -> None:
    talk = start_count()
    lines = talk("help")
    assert len(lines) == len(COMMANDS) + 1
    assert all(line.startswith(command.usage) for line, command in zip(lines, COMMANDS.values(), strict=False))
    assert lines[-1].startswith("any other line is an expression")
    assert talk("help c") == [f"continue [N]   {COMMANDS['continue'].summary}   (also: c)"]
    assert talk.last_line("help foo").startswith("error: there is no command 'foo'")


def test_help_explains_terms() -> None:
    talk = start_newton()
    for word in glossary():
        output = talk(f"help {word}")
        message = " ".join(line.strip() for line in output)
        assert f"{word}: {glossary()[word]}" in message
    listed = " ".join(talk("help words"))
    assert all(word in listed for word in glossary())
    for asked, word in (("back edges", "back edge"), ("Trip-Count", "trip count"), ("cond", "execution condition")):
        assert talk(f"help {asked}")[0].startswith(f"{word}: ")
    # A word that is also a command is explained as both.
    frame = talk("help frame")
    assert frame[0].startswith("frame [N]") and frame[1].startswith("frame: ")
    assert talk.console.complete("help inv") == ["invariant input"]


def test_echo_and_quit() -> None:
    talk = start_count()
    assert talk("echo a  b", "echo") == ["a  b", ""]
    for line, status in (("quit", 0), ("q 3", 3), ("exit 255", 255)):
        with pytest.raises(QuitRequest) as quit_:
            talk.console.execute(line)
        assert quit_.value.status == status
    assert talk.last_line("quit 256") == talk.last_line("quit -1") == "error: an exit status is 0 to 255"
    assert talk.last_line("quit x") == "error: an exit status is needed, not 'x'"


def test_command_files(tmp_path: Path) -> None:
    script = tmp_path / "a.txt"
    script.write_text("# begins\nbreak iter 3\ncommands\n  print v_in\nend\n\ncontinue\n")
    talk = start_count()
    assert talk.last_line(f"source {script}") == "8"
    script.write_text("step\nprint nothing\n")
    assert talk.last_line(f"source {script}").startswith(f"error: {script}, line 2: unknown name 'nothing'")
    script.write_text(f"source {script}\n")
    assert talk.last_line(f"source {script}") == f"error: {script}, line 1: {script} sources itself"
    script.write_text("break iter 9\ncommands\nprint v_in\n")
    assert talk.last_line(f"source {script}") == "error: commands: 'end' is missing"
    script.write_bytes(b"\xff\xfe\x00")
    assert talk.last_line(f"source {script}") == f"error: {script}: cannot be read: it is no text in UTF-8"
    assert talk.last_line(f"source {tmp_path}") == f"error: {tmp_path}: cannot be read: Is a directory"


def test_step_commands() -> None:
    talk = start_count()
    assert talk("step", "s 3") == ["before iteration 1 of loop 'Loop_0'", "before iteration 4 of loop 'Loop_0'"]
    assert talk("next") == ["before Add 'Add_1' in iteration 4 of loop 'Loop_0'", "▶   6  v_out = v_in + 1"]
    assert talk.last_line("n 3") == "before iteration 5 of loop 'Loop_0'"
    assert talk.last_line("restart") == "before iteration 0 of loop 'Loop_0'"
    assert talk.last_line("until 7") == "before iteration 7 of loop 'Loop_0'"
    assert talk.last_line("finish") == "loop 'Loop_0' ends after 20 iterations: the trip count is reached"
    assert talk.last_line("continue") == "the model ran to its end"
    for line in ("step", "next", "into", "finish", "until 3", "continue"):
        assert talk.last_line(line) == "error: the model ran to its end; restart to run it again"


def test_nested_loops() -> None:
    talk = start(NESTED, M=3, K=4)
    output = talk("next", "into", "backtrace")
    assert output[-4:] == [
        "before iteration 0 of loop 'Loop_1'",
        "▸ #0 Loop 'Loop_1', iteration 0",
        "  #1 Loop 'Loop_1', iteration 0",
        "  #2 main",
    ]
    assert talk.last_line("finish 2") == "loop 'Loop_1' ends after 3 iterations: the trip count is reached"
    ended = "12 iterations in 3 entries, last stopped by the trip count"
    assert talk.last_line("info loops") == f"main ▸ Loop_1 ▸ Loop_1: {ended}"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("step x", "a number is needed, not 'x'"),
        ("step 1 2", "a number is needed, not '1 2'"),
        ("step 0", "0 times makes no sense; give 1 or more"),
        ("next -3", "-3 times makes no sense; give 1 or more"),
        ("finish 1.5", "a number is needed, not '1.5'"),
        ("continue 0", "0 times makes no sense; give 1 or more"),
        ("continue 3", "no breakpoint stopped here that continue 3 could pass"),
        ("until", "an iteration or a place is needed: help break lists the places"),
        ("advance", "a place is needed: help break lists the places"),
        ("advance nix", "nothing to break at is called 'nix'"),
        ("until 0", "iteration 0 is not ahead of 0; goto 0 goes back"),
        ("goto", "an iteration is needed"),
        ("goto x", "an iteration is needed, not 'x'"),
        ("goto -1", "there is no iteration -1"),
        ("goto 99999999999999999999", "99999999999999999999 is too large; 999999999999999999 is the most"),
        ("back", "this is where the session began; there is nothing before"),
        ("back-node", "this is where the session began; there is nothing before"),
        ("back 0", "0 times makes no sense; give 1 or more"),
        ("into it", "into takes nothing after it, not 'it'"),
        ("restart now", "restart takes inputs as NAME=VALUE, as in restart x0=5, not 'now'"),
        ("reverse-continue 2", "reverse-continue takes nothing after it, not '2'"),
        ("list 99", "list takes a line from 2 to 11, or all, not '99'"),
        ("undo", "nothing was set on this branch"),
        ("undo 2", "undo takes nothing after it, not '2'"),
        ("branch 7", "there is no branch 7; there are 1"),
        ("branch x", "a branch's number is needed, not 'x'"),
        ("compare", "compare needs another branch; branch lists them"),
        ("compare 7", "there is no branch 7; there are 1"),
        ("frame 4", "there is no frame 4; the stack has 0 to 1"),
        ("frame x", "a number is needed, not 'x'"),
        ("down", "this is the innermost frame"),
        ("break iter", "break iter needs iteration numbers: break iter 40, or break iter 3,7 for a nested loop"),
        ("break iter 9223372036854775808", "9223372036854775808 is too large; no iteration comes after 92233"),
        ("break iter 1,2,3", "no loop of the model is inside 2 others"),
        ("break line", "break line needs the number of a line; list shows them"),
        ("break line x", "break line needs the number of a line; list shows them"),
        (f"break line {'9' * 5000}", "break line needs the number of a line; list shows them"),
        ("break op", "break op needs a type of nodes; there are Add, Constant, Identity, Less, Loop"),
        ("break if", "an empty expression"),
        ("break if v_in >", "it ends where a value should come at column 7 of 'v_in >'"),
        ("break M", "no node computes 'M', so none can be stopped at; watch stops where a value changes"),
        ("watch", "watch needs a value: watch h, watch err crosses 1e-3, watch x settles 1e-6"),
        ("watch v_in crosses", "'crosses' needs a number: watch v_in crosses 0.5"),
        ("watch v_in crosses zero", "'crosses' needs a number, not 'zero'"),
        ("watch v_in crosses nan", "'crosses' needs a number, not 'nan'"),
        ("watch v_in settles 0", "'settles' needs a number above 0, not '0'"),
        ("watch w", "loop 'Loop_0' has no value 'w' (in 'w')"),
        ("log", "log needs a place and a text: log x_new: x = {x}"),
        ("log iter 3", "log needs a place and a text: log x_new: x = {x}"),
        ("log iter 3:", "log needs a place and a text: log x_new: x = {x}"),
        ("log iter 3: {v_in", "this brace is not closed at column 1 of '{v_in'; {{ is a literal brace"),
        ("log iter 3: {w}", "loop 'Loop_0' has no value 'w' (in 'w')"),
        ("ignore", "a breakpoint's number is needed"),
        ("ignore 1 2", "there is no breakpoint 1; there are none"),
        ("condition", "a breakpoint's number is needed"),
        ("condition 1 v_in > 3", "there is no breakpoint 1; there are none"),
        ("commands", "there is no breakpoint yet"),
        ("commands x", "a breakpoint's number is needed, not 'x'"),
        ("enable 1", "there is no breakpoint 1; there are none"),
        ("disable x", "a breakpoint's number is needed, not 'x'"),
        ("delete 1", "there is no breakpoint 1; there are none"),
        ("print", "print needs an expression; info values lists the names"),
        ("print w", "unknown name 'w' at column 1 of 'w'"),
        ("display", "nothing is displayed yet; display needs an expression"),
        ("display v_in +", "it ends where a value should come at column 7 of 'v_in +'"),
        ("undisplay 1", "there is no display 1; there are none"),
        ("undisplay x", "a display's number is needed, not 'x'"),
        ("info", "info takes one of breakpoints, frame, values, names, loops, branches, displays, history"),
        ("info moon", "info takes one of breakpoints, frame, values, names, loops, branches, displays, history, not"),
        ("set", "'' sets nothing; write NAME = EXPRESSION, as in h[0, 3] = 1.5"),
        ("set v_in", "'v_in' sets nothing; write NAME = EXPRESSION, as in h[0, 3] = 1.5"),
        ("set v_in =", "an empty expression"),
        ("set cond = 3", "cond is true or false, not 3"),
        ("set history", "set history needs a size, as in set history 512M"),
        ("set history lots", "set history needs a size, as in set history 512M"),
        ("source", "source needs a file"),
        ("source nowhere.txt", "nowhere.txt: cannot be read: No such file or directory"),
        ("end", "there is no command 'end'"),
    ],
)
def test_invalid_line_gives_one_message_and_changes_nothing(line: str, error: str) -> None:
    talk = start_count()
    before = talk.session.controller.position
    (message,) = talk(line)
    assert message.startswith(f"error: {error}")
    assert talk.session.controller.position == before
    assert len(talk.session.breakpoints) == 0 and len(talk.session.branches) == 1
