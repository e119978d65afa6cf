"""The console: break, watch and log, and the messages where a run stops."""

from __future__ import annotations

import pytest

import loopdbg
from console_recorder import ConsoleRecorder
from text_models import NESTED

from .console_sessions import NO_LOOP, start, start_count, start_newton


def test_break_reports_its_location() -> None:
    talk = start_count()
    assert talk(
        "break v_out", "b op Add", "b 6", "b line 6", "tbreak iter 3", "b end", "b if v_in > 9 and v_in < 99"
    ) == [
        "breakpoint 1: v_out, line 6",
        "breakpoint 2: op Add, line 6",
        "breakpoint 3: 6",
        "breakpoint 4: line 6",
        "breakpoint 5: iter 3, once",
        "breakpoint 6: end",
        talk.output_lines[-1],
    ]
    assert talk.output_lines[-1].startswith("breakpoint 7: if v_in > 9 and v_in < 99")
    nested = start(NESTED, M=3, K=4)
    assert nested.last_line("break iter 1,2") == "breakpoint 1: iter 1,2, loop 'Loop_1'"
    assert nested.last_line("break zero").endswith(
        "never: it runs before the first loop, and a session begins after it"
    )


def test_break_at_the_current_position() -> None:
    talk = start_count()
    assert talk.last_line("next", "break") == "breakpoint 1: line 6"
    assert talk("continue")[0] == "breakpoint 1 (line 6): before Add 'Add_1' in iteration 1 of loop 'Loop_0'"
    assert talk.last_line("break if v_in > 3").startswith("breakpoint 2: if v_in > 3")


def test_break_on_a_carried_value_suggests_watch() -> None:
    assert start_count().last_line("break v_in") == (
        "error: 'v_in' is what a back edge carries: watch v_in stops where it changes, "
        "break v_out before the node that computes the next one"
    )


def test_conditions_of_breakpoints_change() -> None:
    talk = start_count()
    assert talk.last_line("break v_out if v_in > 9") == "breakpoint 1: v_out if v_in > 9, line 6"
    assert talk.last_line("condition 1 v_in == 8") == "breakpoint 1: v_out if v_in == 8, line 6"
    assert talk("c")[0].startswith("breakpoint 1 (v_out if v_in == 8): before Add 'Add_1' in iteration 3")
    assert talk.last_line("condition 1") == "breakpoint 1: v_out, line 6, hit 1 time"
    assert talk("c")[0].startswith("breakpoint 1 (v_out): before Add 'Add_1' in iteration 4")


def test_ignore_counts_and_hit_counts() -> None:
    talk = start_count()
    talk("break v_out")
    assert talk.last_line("ignore 1 3") == "breakpoint 1: v_out, line 6, passes 3 more"
    talk("c")
    assert talk.session.frame.iteration == 3
    talk("c 2")
    assert talk.session.frame.iteration == 5
    assert talk.last_line("info breakpoints") == "breakpoint 1: v_out, line 6, hit 6 times"
    assert talk.last_line("ignore 1 -1") == "error: a count is 0 or more"
    talk("disable 1")
    assert talk.last_line("info b") == "breakpoint 1: v_out, line 6, disabled, hit 6 times"
    assert talk.stop_after("c").reason is loopdbg.Reason.DONE
    talk("restart", "enable", "break s_out", "delete 1, 2")
    assert talk.last_line("info breakpoints") == "no breakpoints"


def test_deleting_several_is_all_or_nothing() -> None:
    talk = start_count()
    talk("break v_out", "break s_out")
    assert talk.last_line("delete 1 2 3") == "error: there is no breakpoint 3; there are 1, 2"
    assert len(talk.session.breakpoints) == 2
    assert talk("delete 1 1") == []


def test_commands_of_a_breakpoint() -> None:
    talk = start_count()
    output = talk("break v_out if v_in > 20", "commands", "print v_in", "# nothing", "display iter", "end", "c")
    assert output[-2:] == ["21", "1: iter = 16"]
    assert talk("info breakpoints")[1:] == ["    print v_in", "    display iter"]


def test_breakpoint_commands_end_after_a_move() -> None:
    talk = start_count(M=5000, bound=9999)
    output = talk("break v_out", "commands 1", "continue", "echo never", "end", "c")
    assert output[-1] == "the model ran to its end" and "never" not in output
    assert sum(line.startswith("breakpoint 1 (v_out)") for line in output) == 5000


def test_commands_inside_commands() -> None:
    talk = start_count()
    talk("break iter 3", "break iter 5", "commands 1", "comm 2", "print v_in * 100", "end", "print v_in", "end")
    assert not talk.console.in_commands_block
    assert talk("c") == ["breakpoint 1 (iter 3): before iteration 3 of loop 'Loop_0'", "8"]
    assert talk("c") == ["breakpoint 2 (iter 5): before iteration 5 of loop 'Loop_0'", "1000"]
    with pytest.raises(loopdbg.UsageError, match="'end' is missing"):
        talk.console.run_lines(["commands 1", "print v_in"])
    assert not talk.console.in_commands_block


def test_failing_breakpoint_command_ends_the_rest() -> None:
    talk = start_count()
    output = talk("break iter 3", "commands", "print nothing", "print v_in", "end", "c")
    assert output[-1].startswith("error: unknown name 'nothing'")
    assert talk("print v_in") == ["8"]


def test_logpoints() -> None:
    talk = start_count(M=3)
    assert talk("log v_out if iter != 1: {iter}: {v_in}, {delta(v_in)}, {{}}", "c")[1:] == [
        "0: 5, <'v_in' has no previous value: no iteration came before>, {}",
        "2: 7, 1, {}",
        "the model ran to its end",
    ]


def test_watchpoint_that_looks_back_beyond_the_history() -> None:
    talk = start_newton()
    talk("watch delta(x) sign")
    assert talk.last_line("c").startswith("watchpoint 1 (delta(x) sign); delta(x): -2.1457672e-06 → 0.0: ")


def test_going_back_reports_the_change_there() -> None:
    talk = ConsoleRecorder(loopdbg.debug("sample_models/collatz.onnx", {"start": 7}))
    talk("watch n")
    ahead = [talk.last_line("c") for _ in range(6)]
    behind = [talk.last_line("rc") for _ in range(5)]
    assert behind == ahead[-2::-1]


@pytest.mark.parametrize(
    "line",
    [
        *("break if v_in", "tbreak if v_in", "break v_out if v_in", "break iter 3 if v_in", "break end if v_in"),
        *("watch v_in if v_in", "log v_out if v_in: {v_in}", "condition 1 v_in", "condition 2 v_in", "break if v"),
    ],
)
def test_non_boolean_condition_is_refused_when_set(line: str) -> None:
    talk = start_count()
    talk("break v_out if v_in == 9", "break if v_in == 9")
    before = talk("info breakpoints")
    assert "int64 [] where true or false is needed at column 1 of 'v" in talk.last_line(line)
    assert talk("info breakpoints") == before


def test_condition_on_an_undeclared_type_is_refused_once_it_has_a_value() -> None:
    talk = start_newton()
    assert talk.last_line("break if half") == "breakpoint 1: if half"
    talk("delete", "step")
    assert talk.last_line("break if half").startswith(
        "error: float32 where true or false is needed at column 1 of 'half'"
    )
    assert talk.last_line("break if half > 2") == "breakpoint 2: if half > 2"


def test_same_name_in_two_branches_has_no_single_type() -> None:
    talk = start(BRANCHES, x=1.0)
    assert talk.last_line("break if made").startswith("breakpoint 1: if made")
    assert talk("continue")[0].startswith("breakpoint 1 (if made): before iteration 1")


BRANCHES = """
branches (float x) => (float y) {
  five = Constant <value = int64 {5}> ()
  y = Loop <body = body (int64 i, bool c, float t) => (bool c2, float t_out) {
    c2 = Identity (c)
    zero = Constant <value = int64 {0}> ()
    first = Equal (i, zero)
    t_out = If (first) <
      then_branch = a () => (float r) { made = Identity (first)
        r = Cast <to = 1> (made) },
      else_branch = b () => (float r) { made = Neg (t)
        r = Neg (made) }
    >
  }> (five, , x)
}
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("break if(v_in > 3)", "breakpoint 1: if(v_in > 3)"),
        ("break v_out if(v_in > 3)", "breakpoint 1: v_out if (v_in > 3), line 6"),
        ("break  iter\t3", "breakpoint 1: iter\t3"),
        ("break v_out if", "error: an empty expression"),
        ("break if", "error: an empty expression"),
        ("watch v_in if", "error: an empty expression"),
        ("watch nan", "error: nothing changes in 'nan', which reads no value of the model"),
        ("watch 3 crosses 2", "error: nothing changes in '3', which reads no value of the model"),
    ],
)
def test_keywords_of_break_and_watch(line: str, message: str) -> None:
    assert start_count().last_line(line) == message


def test_condition_accepts_a_leading_if() -> None:
    talk = start_count()
    assert talk.last_line("break if v_in > 3", "condition 1 if v_in > 9") == "breakpoint 1: if v_in > 9"
    assert talk.last_line("break v_out", "condition 2 if v_in > 8") == "breakpoint 2: v_out if v_in > 8, line 6"
    # Alone it is not a condition, and removes none.
    assert talk("condition 2 if", "info breakpoints")[::2] == ["error: an empty expression", talk.output_lines[-1]]
    assert talk.output_lines[-1].startswith("breakpoint 2: v_out if v_in > 8")


def test_truth_values_and_lists_are_watched() -> None:
    talk = start_newton()
    assert talk.last_line("watch keep sign").startswith("watchpoint 1: keep sign")
    assert talk("c")[0].startswith("watchpoint 1 (keep sign); keep: true → false: loop 'sqrt' ends after 5")
    talk = start_newton()
    talk("step", "watch keep settles 0.5", "delete")
    talk("watch [[x], [x, err]]")
    assert talk("c")[0].startswith("watchpoint 2 ([[x], [x, err]]); [[x], [x, err]]: [[1.5], [1.5, 0.5]] → [[1.41")
    assert talk.stop_after("delete", "watch [[x], [x, err]] nan", "c").reason is loopdbg.Reason.DONE


def test_unsupported_watch_mode_stops_with_a_message() -> None:
    talk = start_newton()
    assert talk.last_line("step 2", "watch dtype(x) settles 1") == "watchpoint 1: dtype(x) settles 1"
    assert talk("c")[0].startswith(
        "error: watchpoint 1 cannot be tested: 'settles' is not defined on a string at column 1"
    )


@pytest.mark.parametrize("place", ["break if v_in[5] > 1", "break v_out if v_in[5] > 1", "watch v_in[5]"])
def test_untestable_condition_stops_with_a_message(place: str) -> None:
    talk = start_count()
    talk(place)
    output = talk("c")
    assert output[0].startswith("error: breakpoint 1 cannot be tested: ") or output[0].startswith(
        "error: watchpoint 1 cannot be tested: "
    )
    assert "iteration" in output[0].rpartition(";")[2]
    stop = talk.session.stop
    assert (stop.reason, stop.breakpoints) == ("error", (1,))
    # The session can continue from there, and be inspected.
    assert talk.last_line("print v_in") in ("5", "6")
    assert talk.stop_after("delete", "c").reason is loopdbg.Reason.DONE


NESTED_NAN = """
nested (int64 M, int64 K) => (float total) {
  zero = Constant <value = float {0}> ()
  total = Loop <body = outer (int64 i, bool c, float t) => (bool c, float t_out) {
    three = Constant <value = int64 {3}> ()
    it = Loop <body = inner (int64 j, bool d, float u) => (bool d, float u_out) {
      two = Constant <value = int64 {2}> ()
      from_two = Sub (j, two)
      from_three = Sub (i, three)
      apart = Abs (from_two)
      outer_apart = Abs (from_three)
      sum = Add (apart, outer_apart)
      s = Cast <to = 1> (sum)
      q = Div (u, s)
      one = Constant <value = float {1}> ()
      u_out = Add (q, one)
    }> (K, , t)
    t_out = Identity (it)
  }> (M, , zero)
}
"""


def test_first_nan_of_nested_loops_is_reported_once_per_loop() -> None:
    talk = start(NESTED_NAN, M=7, K=5)
    talk("break nan")
    ahead = []
    while (output := talk("c")[0]) != "the model ran to its end":
        ahead.append(output)
    assert ahead == [
        "breakpoint 1 (nan): Div 'Div_7' gave NaN or Inf in iteration 2 of loop 'Loop_1'",
        "breakpoint 1 (nan): Loop 'Loop_1' gave NaN or Inf in iteration 3 of loop 'Loop_1'",
    ]
    assert [talk("rc")[0] for _ in ahead] == ahead[::-1]
    output = talk("print s", "print iter", "up", "print iter")
    assert (output[0], output[1], output[-1]) == ("0.0", "2", "3")
    assert "no breakpoint would have stopped before" in talk.last_line("rc")


def test_nan_breakpoint_needs_a_loop() -> None:
    talk = start(NO_LOOP, x=1.0)
    assert talk.last_line("break nan").startswith("error: the model has no loop, at whose boundaries nan looks")
    for line in ("break end", "break iter 3", "break if iter > 1"):
        assert talk.last_line(line) == "error: the model has no loop"
    assert talk.last_line("watch x").startswith("error: nothing changes from boundary to boundary in 'x'")
