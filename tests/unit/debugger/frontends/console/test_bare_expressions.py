"""A line that is not a command is an expression, whose value is printed."""

from __future__ import annotations

import pytest

import loopdbg

from .console_sessions import start, start_count, start_newton

#: A loop whose values are named like commands, and like prefixes of commands.
NAMED = """
of_names (int64 M, bool go, float[2] h0, float cont0) => (float[2] h_end, float cont_end) {
    h_end, cont_end = Loop (M, go, h0, cont0) <body = body (int64 i, bool on, float[2] h, float cont)
        => (bool on_out, float[2] h_out, float cont_out) {
        on_out = Identity (on)
        h_out = Add (h, h)
        cont_out = Add (cont, cont)
    }>
}
"""


def named() -> object:
    return start(NAMED, M=3, go=True, h0=[1.0, 2.0], cont0=4.0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("v_in", "5"),
        ("v_in + 1", "6"),
        ("v_in*2", "10"),
        ("-v_in", "-5"),
        ("(v_in)", "5"),
        ("abs(-v_in)", "5"),
        ("`v_in`", "5"),
        ("v_in > 3", "true"),
        ("3 + 4", "7"),
        # A prefix of condition as well.
        ("cond", "true"),
        ("iter", "0"),
    ],
)
def test_expression_is_printed(line: str, message: str) -> None:
    talk = start_count()
    assert talk(line) == talk(f"print {line}") == [message]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("v_in +", "it ends where a value should come at column 7 of 'v_in +'"),
        ("max(v_in", "'(' is not closed at column 4 of 'max(v_in'"),
        ("foo(3)", "no function 'foo' at column 1 of 'foo(3)'"),
        ("nix + 1", "unknown name 'nix' at column 1 of 'nix + 1'"),
        ("v_inn", "there is no command and no value 'v_inn'; did you mean 'v_in'?"),
        ("v_in = 3", "'v_in = 3' is no command; set v_in = 3 changes a value, == compares"),
        ("reverse-contineu", "there is no command 'reverse-contineu'; did you mean reverse-continue"),
        ("stepp -3", "unknown name 'stepp'"),
        ("co", "'co' may be continue, condition, commands, compare"),
        ("stepp 3", "there is no command 'stepp'; did you mean step?"),
    ],
)
def test_unknown_line_gives_a_reason(line: str, error: str) -> None:
    talk = start_count()
    assert talk.last_line(line).startswith(f"error: {error}")
    assert talk.session.frame.iteration == 0


def test_command_precedes_value_and_value_precedes_command_prefix() -> None:
    talk = named()
    assert talk("h")[0].startswith("step [N]")
    assert talk("print h") == ["float32 [2]", "[1. 2.]"]
    assert talk("h[1]") == ["2.0"]
    assert talk("cont") == ["4.0"]
    assert talk.session.frame.iteration == 0
    # Without a value of that name it is short for continue.
    assert start_newton().stop_after("cont").reason is loopdbg.Reason.DONE


def test_expressions_in_breakpoint_commands() -> None:
    talk = start_count()
    assert talk("break iter 3", "commands", "v_in + 0", "end", "c")[-1] == "8"


def test_completion_offers_values_after_the_commands() -> None:
    talk = start_count()
    assert talk.console.completions("v_i") == (0, ["v_in"])
    assert talk.console.completions("max(v_i") == (4, ["v_in"])
    result = talk.console.complete("s")
    assert result[:2] == ["save", "set"] and result.index("step") < result.index("s_out")
