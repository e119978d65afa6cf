"""The console: inspecting values and frames, going back, and edits."""

from __future__ import annotations

import numpy as np

import loopdbg
from error_fields import raises_error
from loopdbg.debugger.expression.errors import NoValueError
from text_models import BRANCHES, COUNT, NESTED

from .console_sessions import NO_LOOP, start, start_count, start_newton


def test_model_without_a_loop() -> None:
    talk = start(NO_LOOP, x=1.0)
    assert talk("list")[1] == "▶   2  two = 2.0   │ ·"
    assert talk("frame", "backtrace", "info loops") == [
        "main: the graph around the loops",
        "▸ #0 main",
        "the model has no loop",
    ]
    assert talk.last_line("print y") == "error: 'y' is not computed yet at column 1 of 'y'"
    assert talk.last_line("print iter").startswith("error: 'iter' has no meaning in 'main'")
    assert talk.last_line("break y", "c") == "▶   4  y = t + 2.0"
    assert talk("c", "print y", "back-node") == [
        "the model ran to its end; it has no loop",
        "4.0",
        "before Add 'Add_2'; the model has no loop",
        "▶   4  y = t + 2.0",
    ]
    assert (
        talk.last_line("set t = 5", "compare 1") == "branches 1 and 2 came to no boundary of a loop since they parted"
    )


def test_loop_without_iterations() -> None:
    talk = start_newton(a=1.0)
    assert talk("goto 0")[0] == "loop 'sqrt' runs no iteration: the condition is false before the first"
    assert talk.last_line("goto 1") == "error: loop 'sqrt' has no iteration 1: it ends after 0 iterations"
    assert talk("frame")[0].endswith("condition false, ended by the condition")
    assert talk.stop_after("next").reason is loopdbg.Reason.DONE
    assert talk("print root") == ["1.0"]


def test_frames_of_nested_loops() -> None:
    talk = start(NESTED, M=9, K=9)
    talk("break iter 3,7", "c")
    output = talk("print iter", "up", "print iter")
    assert output[:2] == ["7", "main ▸ Loop_1, in iteration 3 (trip count 9)"] and output[-1] == "3"
    assert talk("frame 0", "frame 1", "print iter")[-1] == "3"
    assert any(line.startswith("▶") for line in talk("list"))
    assert talk("up", "up")[-1] == "error: this is the outermost frame"
    with raises_error(NoValueError, text="iter", position=0):
        talk.console.execute("print iter")
    assert talk("frame 0", "down")[-1] == "error: this is the innermost frame"
    # Any command that moves the session, even if it fails on the way, selects the innermost frame again.
    talk("frame 1", "goto 99")
    assert talk.last_line("print iter") == "9"
    assert talk("backtrace")[0].startswith("▸ #0")


def test_value_of_an_outer_frame_is_set_there() -> None:
    talk = start(NESTED, M=4, K=3)
    talk("break iter 1,2", "c", "up")
    output = talk("set t = 1000", "print t")
    assert output == ["branch 2: t = 1000", "1000"]
    talk("up")
    with raises_error(NoValueError, text="iter", position=0):
        talk.console.execute("print iter")


def test_ifs_on_the_stack() -> None:
    talk = start(BRANCHES, M=4, v0=1.0)
    assert talk("break x2", "c", "bt")[1:] == [
        "breakpoint 1 (x2): before Mul 'Mul_0' in iteration 1 of loop 'Loop_0'",
        "▶  13  x2 = x * x",
        "     If 'If_4' (else)",
        "▸ #0 Loop 'Loop_0', iteration 1",
        "  #1 main",
    ]


def test_displays() -> None:
    talk = start_count()
    assert talk("display v_out", "display v_in * 2") == [
        "1: v_out = <'v_out' is not computed yet in iteration 0>",
        "2: v_in * 2 = 10",
    ]
    assert talk("step")[1:] == ["1: v_out = 6  # v_out of iteration 0", "2: v_in * 2 = 12"]
    assert talk("display") == ["1: v_out = 6  # v_out of iteration 0", "2: v_in * 2 = 12"]
    assert talk("info displays") == ["1: v_out", "2: v_in * 2"]
    assert talk("undisplay 1", "step")[1:] == ["2: v_in * 2 = 14"]
    assert talk("undisplay", "step") == ["before iteration 3 of loop 'Loop_0'"]
    assert talk("info displays") == ["no displays"]


def test_values_and_history() -> None:
    talk = start_count()
    assert talk("info locals") == ["M = 20", "bound = 99", "c = true", "`cond` = true", "i = 0", "v0 = 5", "v_in = 5"]
    assert talk.last_line("info h").endswith("of 512 MB, on 1 branch")
    assert talk.last_line("set history 2k").endswith("of 2 KB, on 1 branch")
    assert talk.session.controller.timeline.limit_bytes == 2048
    assert talk("info f") == talk("frame")


def test_value_named_history_can_be_set() -> None:
    talk = start(COUNT.replace("v_in", "history"), M=3, cond=True, v0=5, bound=99)
    assert talk.last_line("set history = 7") == "branch 2: history = 7"


def test_strings_are_set() -> None:
    talk = start(
        """
        words (int64 M, string[2] w0) => (string[2] w) {
          w = Loop <body = body (int64 i, bool c, string[2] w_in) => (bool c, string[2] w_out) {
            w_out = Identity (w_in)
          }> (M, , w0)
        }
        """,
        M=3,
        w0=np.array(["a", "b"], object),
    )
    assert talk("set w_in[0] = 'zz'", "info values")[-1] == 'w_in = ["zz", "b"]'
    assert talk.last_line("c", "print w[0]") == '"zz"'
    assert talk.last_line("compare") == '  w_in  1: ["a", "b"]   2: ["zz", "b"]'


def test_notebook_representation() -> None:
    session = start_count().session
    session.breakpoints.add("v_out if v_in > 9")
    session.watch("v_in crosses 8")
    session.continue_()
    session.breakpoints[0].enabled = False
    assert repr(session.breakpoints) == (
        "[<breakpoint 1: v_out if v_in > 9, disabled>, <watchpoint 2: v_in crosses 8, hit 1 time>]"
    )
    assert repr(session.set("v_in", 20)) == "<Branch 2 from 1: v_in = 20>"
    assert repr(session.branches[0]) == "<Branch 1>"


def test_back_stops_at_the_beginning() -> None:
    talk = start_count()
    talk("goto 3")
    assert talk.stop_after("back 2").iteration == 1
    assert talk.stop_after("back 50").iteration == 0
    talk("next 2")
    assert talk.stop_after("back-node 50").iteration == 0


def test_goto_past_the_end_reports_where_it_stopped() -> None:
    talk = start_count(M=4)
    assert talk.last_line("goto 9") == (
        "error: loop 'Loop_0' has no iteration 9: it ends after 4 iterations, where the session is now"
    )
    assert talk.last_line("goto 9") == "error: loop 'Loop_0' has no iteration 9: it ends after 4 iterations"
    assert talk("c", "goto 9") == [
        "the model ran to its end",
        "error: loop 'Loop_0' has no iteration 9: it ends after 4 iterations",
    ]
    assert talk.stop_after("goto 2").iteration == 2


def test_set_after_the_end_is_refused() -> None:
    talk = start_count(M=4)
    talk("c")
    assert talk.last_line("set v_in = 3") == (
        "error: the model ran to its end, so nothing would use it; go back first: back, or goto N"
    )
    assert len(talk.session.branches) == 1


def test_branches() -> None:
    talk = start_count(M=4)
    talk("step", "set v_in = 50", "c")
    assert talk("branch", "compare", "print v") == [
        "  1 the run",
        "▸ 2 from 1 at iteration 1 of 'Loop_0': v_in = 50",
        "branches 1 and 2 first differ in iteration 1 of 'Loop_0':",
        "  v_in  1: 6   2: 50",
        "53",
    ]
    assert talk.last_line("undo", "c", "print v") == "9"
    assert talk.stop_after("branch 2").reason is loopdbg.Reason.DONE
    assert talk.last_line("set trip_count = 2") == (
        "error: the model ran to its end, so nothing would use it; go back first: back, or goto N"
    )
    assert talk.last_line("restart", "set trip_count = 2", "c", "print v") == "7"
