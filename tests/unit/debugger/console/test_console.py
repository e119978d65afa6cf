"""The console: each command, its short forms, and what it says to those who mistype."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from loopdbg.debugger.console.command import ALIASES, COMMANDS, find
from loopdbg.debugger.console.console import Quit
from loopdbg.debugger.words.vocabulary.field import FIELD
from models import BRANCHES, COUNT, NESTED, model, proto
from talk import Talk


def start(text: str, **inputs: Any) -> Talk:
    return Talk(loopdbg.debug(model(text), inputs))


def count(M: int = 20, bound: int = 99) -> Talk:
    return start(COUNT, M=M, cond=True, v0=5, bound=bound)


def newton(a: float = 2.0) -> Talk:
    return Talk(loopdbg.debug("sample_models/newton_sqrt.onnx", {"a": a, "tol": 1e-6}))


NO_LOOP = """
none (float x) => (float y) {
  two = Constant <value = float {2}> ()
  t = Mul (x, two)
  y = Add (t, two)
}
"""


# -- lines


def test_empty_lines_and_comments_do_nothing() -> None:
    talk = count()
    assert talk("", "   ", "# a comment", "\t# another") == []
    assert talk.session.frame.iteration == 0


@pytest.mark.parametrize(
    ("word", "name"),
    [*ALIASES.items(), ("cont", "continue"), ("wat", "watch"), ("undo", "undo"), ("until", "until"), ("ti", "")],
)
def test_short_forms(word: str, name: str) -> None:
    if name:
        assert find(word).name == name
    else:
        with pytest.raises(loopdbg.UsageError):
            find(word)


def test_words_that_are_no_command() -> None:
    talk = count()
    assert talk.one("stepp") == "error: there is no command 'stepp'; did you mean step?"
    assert talk.one("xyzzy") == "error: there is no command 'xyzzy'; help lists the commands"
    assert talk.one("co") == "error: 'co' may be continue, condition, commands, compare"
    assert talk.one("x = 3") == "error: there is no command 'x'; help lists the commands"


def test_arguments_may_follow_at_once() -> None:
    assert count()("print(v_in + 1)", "p\tv_in") == ["6", "5"]


def test_help() -> None:
    talk = count()
    lines = talk("help")
    assert len(lines) == len(COMMANDS)
    assert all(line.startswith(one.usage) for line, one in zip(lines, COMMANDS.values(), strict=True))
    assert talk("help c") == [f"continue [N]   {COMMANDS['continue'].summary}   (also: c)"]
    assert talk.one("help foo").startswith("error: there is no command 'foo'")


def test_help_explains_the_words_of_the_field() -> None:
    talk = newton()
    for word in FIELD:
        said = talk(f"help {word}")
        told = " ".join(line.strip() for line in said)
        assert f"{word}: {FIELD[word]}" in told
    listed = " ".join(talk("help words"))
    assert all(word in listed for word in FIELD)
    for asked, word in (("back edges", "back edge"), ("Trip-Count", "trip count"), ("cond", "execution condition")):
        assert talk(f"help {asked}")[0].startswith(f"{word}: ")
    # What is a command as well is told as both.
    frame = talk("help frame")
    assert frame[0].startswith("frame [N]") and frame[1].startswith("frame: ")
    assert talk.console.complete("help inv") == ["invariant input"]


def test_echo_and_quit() -> None:
    talk = count()
    assert talk("echo a  b", "echo") == ["a  b", ""]
    for line, status in (("quit", 0), ("q 3", 3), ("exit 255", 255)):
        with pytest.raises(Quit) as quit_:
            talk.console.execute(line)
        assert quit_.value.status == status
    assert talk.one("quit 256") == talk.one("quit -1") == "error: an exit status is 0 to 255"
    assert talk.one("quit x") == "error: an exit status is needed, not 'x'"


# -- moving


def test_steps() -> None:
    talk = count()
    assert talk("step", "s 3") == ["before iteration 1 of loop 'Loop_0'", "before iteration 4 of loop 'Loop_0'"]
    assert talk("next") == ["before Add 'Add_1' in iteration 4 of loop 'Loop_0'", "▶   6  v_out = v_in + 1"]
    assert talk.one("n 3") == "before iteration 5 of loop 'Loop_0'"
    assert talk.one("restart") == "before iteration 0 of loop 'Loop_0'"
    assert talk.one("until 7") == "before iteration 7 of loop 'Loop_0'"
    assert talk.one("finish") == "loop 'Loop_0' ends after 20 iterations: the trip count is reached"
    assert talk.one("continue") == "the model ran to its end"
    for line in ("step", "next", "into", "finish", "until 3", "continue"):
        assert talk.one(line) == "error: the model ran to its end; restart to run it again"


def test_nested_loops() -> None:
    talk = start(NESTED, M=3, K=4)
    said = talk("next", "into", "backtrace")
    assert said[-4:] == [
        "before iteration 0 of loop 'Loop_1'",
        "▸ #0 Loop 'Loop_1', iteration 0",
        "  #1 Loop 'Loop_1', iteration 0",
        "  #2 main",
    ]
    assert talk.one("finish 2") == "loop 'Loop_1' ends after 3 iterations: the trip count is reached"
    ended = "12 iterations in 3 entries, last stopped by the trip count"
    assert talk.one("info loops") == f"main ▸ Loop_1 ▸ Loop_1: {ended}"


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
        ("until", "an iteration is needed"),
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
        ("break iter 1,2,3", "no loop of the model stands inside 2 others"),
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
        ("log iter 3: {v_in", "this brace is not closed at column 1 of '{v_in'; {{ stands for a brace"),
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
def test_what_makes_no_sense_gets_one_line_and_changes_nothing(line: str, error: str) -> None:
    talk = count()
    before = talk.session.position
    (said,) = talk(line)
    assert said.startswith(f"error: {error}")
    assert talk.session.position == before
    assert len(talk.session.breakpoints) == 0 and len(talk.session.branches) == 1


# -- stopping


def test_a_break_says_where_it_is() -> None:
    talk = count()
    assert talk(
        "break v_out", "b op Add", "b 6", "b line 6", "tbreak iter 3", "b end", "b if v_in > 9 and v_in < 99"
    ) == [
        "breakpoint 1: v_out, line 6",
        "breakpoint 2: op Add, line 6",
        "breakpoint 3: 6",
        "breakpoint 4: line 6",
        "breakpoint 5: iter 3, once",
        "breakpoint 6: end",
        talk.said[-1],
    ]
    assert talk.said[-1].startswith("breakpoint 7: if v_in > 9 and v_in < 99")
    nested = start(NESTED, M=3, K=4)
    assert nested.one("break iter 1,2") == "breakpoint 1: iter 1,2, loop 'Loop_1'"
    assert nested.one("break zero").endswith("never: a session begins after it")


def test_break_here() -> None:
    talk = count()
    assert talk.one("next", "break") == "breakpoint 1: line 6"
    assert talk("continue")[0] == "breakpoint 1 (line 6): before Add 'Add_1' in iteration 1 of loop 'Loop_0'"
    assert talk.one("break if v_in > 3").startswith("breakpoint 2: if v_in > 3")


def test_a_carried_value_is_watched_not_broken_at() -> None:
    assert count().one("break v_in") == (
        "error: 'v_in' is what a back edge carries: watch v_in stops where it changes, "
        "break v_out before the node that computes the next one"
    )


def test_conditions_of_breakpoints_change() -> None:
    talk = count()
    assert talk.one("break v_out if v_in > 9") == "breakpoint 1: v_out if v_in > 9, line 6"
    assert talk.one("condition 1 v_in == 8") == "breakpoint 1: v_out if v_in == 8, line 6"
    assert talk("c")[0].startswith("breakpoint 1 (v_out if v_in == 8): before Add 'Add_1' in iteration 3")
    assert talk.one("condition 1") == "breakpoint 1: v_out, line 6, hit 1 time"
    assert talk("c")[0].startswith("breakpoint 1 (v_out): before Add 'Add_1' in iteration 4")


def test_passing_and_counting() -> None:
    talk = count()
    talk("break v_out")
    assert talk.one("ignore 1 3") == "breakpoint 1: v_out, line 6, passes 3 more"
    talk("c")
    assert talk.session.frame.iteration == 3
    talk("c 2")
    assert talk.session.frame.iteration == 5
    assert talk.one("info breakpoints") == "breakpoint 1: v_out, line 6, hit 6 times"
    assert talk.one("ignore 1 -1") == "error: a count is 0 or more"
    talk("disable 1")
    assert talk.one("info b") == "breakpoint 1: v_out, line 6, disabled, hit 6 times"
    assert talk.one("c") == "the model ran to its end"
    talk("restart", "enable", "break s_out", "delete 1, 2")
    assert talk.one("info breakpoints") == "no breakpoints"


def test_deleting_several_is_all_or_nothing() -> None:
    talk = count()
    talk("break v_out", "break s_out")
    assert talk.one("delete 1 2 3") == "error: there is no breakpoint 3; there are 1, 2"
    assert len(talk.session.breakpoints) == 2
    assert talk("delete 1 1") == []


def test_commands_of_a_breakpoint() -> None:
    talk = count()
    said = talk("break v_out if v_in > 20", "commands", "print v_in", "# nothing", "display iter", "end", "c")
    assert said[-2:] == ["21", "1: iter = 16"]
    assert talk("info breakpoints")[1:] == ["    print v_in", "    display iter"]


def test_commands_that_move_on_end_there_however_often() -> None:
    talk = count(M=5000, bound=9999)
    said = talk("break v_out", "commands 1", "continue", "echo never", "end", "c")
    assert said[-1] == "the model ran to its end" and "never" not in said
    assert sum(line.startswith("breakpoint 1 (v_out)") for line in said) == 5000


def test_commands_inside_commands() -> None:
    talk = count()
    talk("break iter 3", "break iter 5", "commands 1", "comm 2", "print v_in * 100", "end", "print v_in", "end")
    assert not talk.console.collecting
    assert talk("c") == ["breakpoint 1 (iter 3): before iteration 3 of loop 'Loop_0'", "8"]
    assert talk("c") == ["breakpoint 2 (iter 5): before iteration 5 of loop 'Loop_0'", "1000"]
    with pytest.raises(loopdbg.UsageError, match="'end' is missing"):
        talk.console.run(["commands 1", "print v_in"])
    assert not talk.console.collecting


def test_a_failing_command_of_a_breakpoint_ends_the_others() -> None:
    talk = count()
    said = talk("break iter 3", "commands", "print nothing", "print v_in", "end", "c")
    assert said[-1].startswith("error: unknown name 'nothing'")
    assert talk("print v_in") == ["8"]


def test_logpoints() -> None:
    talk = count(M=3)
    assert talk("log v_out if iter != 1: {iter}: {v_in}, {delta(v_in)}, {{}}", "c")[1:] == [
        "0: 5, <'v_in' has no previous value: no iteration came before>, {}",
        "2: 7, 1, {}",
        "the model ran to its end",
    ]


def test_watchpoints_that_look_further_back_than_there_is() -> None:
    talk = newton()
    talk("watch delta(x) sign")
    assert talk.one("c").startswith("watchpoint 1 (delta(x) sign); delta(x): -2.1457672e-06 → 0.0: ")


def test_going_back_tells_what_changed_there() -> None:
    talk = Talk(loopdbg.debug("sample_models/collatz.onnx", {"start": 7}))
    talk("watch n")
    ahead = [talk.one("c") for _ in range(6)]
    behind = [talk.one("rc") for _ in range(5)]
    assert behind == ahead[-2::-1]


@pytest.mark.parametrize(
    "place", ["break if v_in[5] > 1", "break v_out if v_in[5] > 1", "watch v_in[5]", "break if v_in"]
)
def test_a_condition_that_cannot_be_tested_stops_and_says_so(place: str) -> None:
    talk = count()
    talk(place)
    said = talk("c")
    assert said[0].startswith("error: breakpoint 1 cannot be tested: ") or said[0].startswith(
        "error: watchpoint 1 cannot be tested: "
    )
    assert "iteration" in said[0].rpartition(";")[2]
    stop = talk.session.stop
    assert (stop.reason, stop.breakpoints) == ("error", (1,))
    # It can be gone on from, and looked at.
    assert talk.one("print v_in") in ("5", "6")
    assert talk.one("delete", "c") == "the model ran to its end"


def test_nan_needs_a_loop() -> None:
    talk = start(NO_LOOP, x=1.0)
    for line in ("break nan", "break end", "break iter 3", "break if iter > 1"):
        assert talk.one(line) == "error: the model has no loop"
    assert talk.one("watch x").startswith("error: nothing changes from boundary to boundary in 'x'")


# -- looking


def test_a_model_without_a_loop() -> None:
    talk = start(NO_LOOP, x=1.0)
    assert talk("list")[1] == "▶   2  two = 2.0   │ ·"
    assert talk("frame", "backtrace", "info loops") == [
        "main: the graph around the loops",
        "▸ #0 main",
        "the model has no loop",
    ]
    assert talk.one("print y") == "error: 'y' is not computed yet at column 1 of 'y'"
    assert talk.one("print iter").startswith("error: 'iter' has no meaning in 'main'")
    assert talk.one("break y", "c") == "▶   4  y = t + 2.0"
    assert talk("c", "print y", "back-node") == [
        "the model ran to its end; it has no loop",
        "4.0",
        "before Add 'Add_2'; the model has no loop",
        "▶   4  y = t + 2.0",
    ]
    assert talk.one("set t = 5", "compare 1") == "branches 1 and 2 came to no boundary of a loop since they parted"


def test_a_loop_that_runs_no_iteration() -> None:
    talk = newton(a=1.0)
    assert talk("goto 0")[0] == "loop 'sqrt' runs no iteration: the condition is false before the first"
    assert talk.one("goto 1") == "error: loop 'sqrt' has no iteration 1: it ends after 0 iterations"
    assert talk("frame")[0].endswith("condition false, ended by the condition")
    assert talk.one("next") == "the model ran to its end"
    assert talk("print root") == ["1.0"]


def test_frames_of_nested_loops() -> None:
    talk = start(NESTED, M=9, K=9)
    talk("break iter 3,7", "c")
    said = talk("print iter", "up", "print iter")
    assert said[:2] == ["7", "main ▸ Loop_1, in iteration 3 (trip count 9)"] and said[-1] == "3"
    assert talk("frame 0", "frame 1", "print iter")[-1] == "3"
    assert any(line.startswith("▶") for line in talk("list"))
    assert talk("up", "up")[-1] == "error: this is the outermost frame"
    assert talk.one("print iter").startswith("error: 'iter' has no meaning in 'main'")
    assert talk("frame 0", "down")[-1] == "error: this is the innermost frame"
    # Whatever moves the session, errors on the way included, selects the innermost again.
    talk("frame 1", "goto 99")
    assert talk.one("print iter") == "9"
    assert talk("backtrace")[0].startswith("▸ #0")


def test_a_value_of_an_outer_frame_is_set_there() -> None:
    talk = start(NESTED, M=4, K=3)
    talk("break iter 1,2", "c", "up")
    said = talk("set t = 1000", "print t")
    assert said == ["branch 2: t = 1000", "1000"]
    assert talk.one("up", "print iter").startswith("error: 'iter' has no meaning in 'main'")


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
    talk = count()
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
    talk = count()
    assert talk("info locals") == ["M = 20", "bound = 99", "c = true", "`cond` = true", "i = 0", "v0 = 5", "v_in = 5"]
    assert talk.one("info h").endswith("of 512 MB, on 1 branch")
    assert talk.one("set history 2k").endswith("of 2 KB, on 1 branch")
    assert talk.session.timeline.limit == 2048
    assert talk("info f") == talk("frame")


def test_a_value_called_history_can_be_set() -> None:
    talk = start(COUNT.replace("v_in", "history"), M=3, cond=True, v0=5, bound=99)
    assert talk.one("set history = 7") == "branch 2: history = 7"


# -- back, what if


def test_back_stops_at_the_beginning() -> None:
    talk = count()
    talk("goto 3")
    assert talk.one("back 2") == "before iteration 1 of loop 'Loop_0'"
    assert talk.one("back 50") == "before iteration 0 of loop 'Loop_0'"
    talk("next 2")
    assert talk.one("back-node 50") == "before iteration 0 of loop 'Loop_0'"


def test_goto_past_the_end_says_where_it_came_to() -> None:
    talk = count(M=4)
    assert talk.one("goto 9") == (
        "error: loop 'Loop_0' has no iteration 9: it ends after 4 iterations, where the session stands now"
    )
    assert talk.one("goto 9") == "error: loop 'Loop_0' has no iteration 9: it ends after 4 iterations"
    assert talk("c", "goto 9") == [
        "the model ran to its end",
        "error: loop 'Loop_0' has no iteration 9: it ends after 4 iterations",
    ]
    assert talk.one("goto 2") == "before iteration 2 of loop 'Loop_0'"


def test_after_the_end_nothing_is_set() -> None:
    talk = count(M=4)
    talk("c")
    assert talk.one("set v_in = 3") == (
        "error: the model ran to its end, so nothing would use it; go back first: back, or goto N"
    )
    assert len(talk.session.branches) == 1


def test_branches() -> None:
    talk = count(M=4)
    talk("step", "set v_in = 50", "c")
    assert talk("branch", "compare", "print v") == [
        "  1 the run",
        "▸ 2 from 1 at iteration 1 of 'Loop_0': v_in = 50",
        "branches 1 and 2 first differ in iteration 1 of 'Loop_0':",
        "  v_in  1: 6   2: 50",
        "53",
    ]
    assert talk.one("undo", "c", "print v") == "9"
    assert talk.one("branch 2") == "the model ran to its end"
    assert talk.one("set trip_count = 2") == (
        "error: the model ran to its end, so nothing would use it; go back first: back, or goto N"
    )
    assert talk.one("restart", "set trip_count = 2", "c", "print v") == "7"


# -- files


def test_files_of_commands(tmp_path: Path) -> None:
    script = tmp_path / "a.txt"
    script.write_text("# begins\nbreak iter 3\ncommands\n  print v_in\nend\n\ncontinue\n")
    talk = count()
    assert talk.one(f"source {script}") == "8"
    script.write_text("step\nprint nothing\n")
    assert talk.one(f"source {script}").startswith(f"error: {script}, line 2: unknown name 'nothing'")
    script.write_text(f"source {script}\n")
    assert talk.one(f"source {script}") == f"error: {script}, line 1: {script} sources itself"
    script.write_text("break iter 9\ncommands\nprint v_in\n")
    assert talk.one(f"source {script}") == "error: commands: 'end' is missing"
    script.write_bytes(b"\xff\xfe\x00")
    assert talk.one(f"source {script}") == f"error: {script}: cannot be read: it is no text in UTF-8"
    assert talk.one(f"source {tmp_path}") == f"error: {tmp_path}: cannot be read: Is a directory"


# -- odd names


@pytest.fixture
def odd(tmp_path: Path) -> Talk:
    """A model whose names hold all that could be taken for words of the commands."""
    names = {"v_in": "/h:0", "v_out": "h new=3 if `a`", "v": "y: out"}
    made = proto(COUNT)

    def rename(graph: onnx.GraphProto) -> None:
        for node in graph.node:
            node.input[:] = [names.get(name, name) for name in node.input]
            node.output[:] = [names.get(name, name) for name in node.output]
            node.name = f"/a loop/{node.op_type} in it"
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    rename(attribute.g)
        for value in (*graph.input, *graph.output):
            value.name = names.get(value.name, value.name)

    rename(made.graph)
    onnx.save(made, tmp_path / "odd.onnx")
    inputs = {"M": np.int64(6), "cond": np.bool_(True), "v0": np.int64(5), "bound": np.int64(99)}
    return Talk(loopdbg.debug(tmp_path / "odd.onnx", inputs))


def test_odd_names_are_quoted_everywhere(odd: Talk) -> None:
    assert "    6      `h new=3 if ``a``` = `/h:0` + 1" in [line.split(" │ ")[0].rstrip() for line in odd("list")]
    assert odd.one("frame 0").startswith("  s:") and "  `/h:0`  5" in odd.said
    assert "`/h:0` = 5" in odd("info values")
    assert odd.one("break `h new=3 if ``a``` if `/h:0` > 6") == (
        "breakpoint 1: `h new=3 if ``a``` if `/h:0` > 6, line 6"
    )
    assert odd.one("log `h new=3 if ``a``` in `/a loop/Loop in it` if iter == 1: a: {`/h:0`}") == (
        "logpoint 2: `h new=3 if ``a``` in `/a loop/Loop in it` if iter == 1, line 6, prints 'a: {`/h:0`}'"
    )
    assert odd("c")[0] == "a: 6"
    assert odd.session.frame["`/h:0`"] == 7
    assert odd.one("break end in '/a loop/Loop in it'") == "breakpoint 3: end in '/a loop/Loop in it'"
    assert odd.one("break if `/h:0` > 8 in `/a loop/Loop in it`").startswith("breakpoint 4: if `/h:0` > 8 in")
    assert odd.one("watch `/h:0` crosses 9").startswith("watchpoint 5: `/h:0` crosses 9")
    assert "watch `/h:0` stops where it changes" in odd.one("break /h:0")
    odd("delete", "goto 1")
    assert odd.one("set `/h:0` = 50") == "branch 2: `/h:0` = 50"
    assert odd.one("compare") == "  `/h:0`  1: 6   2: 50"
    assert odd.one("display `/h:0` + 1") == "1: `/h:0` + 1 = 51"
    assert odd.one("c", "print `y: out`") == "55"


def test_odd_names_are_completed(odd: Talk) -> None:
    assert odd.console.completions("print `/h") == (6, ["`/h:0`"])
    assert odd.console.completions("print 1 + `h n") == (10, ["`h new=3 if ``a```"])
    assert odd.console.completions("break `h") == (6, ["`h new=3 if ``a```"])
    assert odd.console.completions("break end in ") == (13, ["`/a loop/Loop in it`"])


# -- completion


@pytest.mark.parametrize(
    ("line", "start", "found"),
    [
        ("st", 0, ["step"]),
        ("reverse", 0, ["reverse-continue", "reverse-next", "reverse-step"]),
        ("  und", 2, ["undisplay", "undo"]),
        ("print v_", 6, ["v_in", "v_out"]),
        ("print max(v_i", 10, ["v_in"]),
        ("print 'v_", 9, []),
        ("print v_in + v_o", 13, ["v_out"]),
        ("break v_", 6, ["v_out"]),
        ("break op A", 9, ["Add"]),
        ("break op a", 9, ["Add"]),
        ("break v_out if v_i", 15, ["v_in"]),
        ("break if v_i", 9, ["v_in"]),
        ("break nan v_i", 10, ["v_in"]),
        ("tbreak i", 7, ["iter", "if"]),
        ("break end in L", 13, ["Loop_0"]),
        ("watch v_i", 6, ["v_in"]),
        ("watch v_in c", 11, ["changes", "crosses"]),
        ("watch v_in + v_o", 13, ["v_out"]),
        ("log v_out: {v_i", 12, ["v_in"]),
        ("log v_o", 4, ["v_out"]),
        ("log v_out: v_i", 14, []),
        ("set v_in = v_o", 11, ["v_out"]),
        ("set hist", 4, ["history"]),
        ("condition ", 10, ["1", "2"]),
        ("condition 1 v_i", 12, ["v_in"]),
        ("delete 1 ", 9, ["1", "2"]),
        ("undisplay ", 10, ["1"]),
        ("branch ", 7, ["1"]),
        ("info b", 5, ["breakpoints", "branches"]),
        ("help und", 5, ["undisplay", "undo"]),
        ("goto ", 5, []),
        ("nothing v_", 10, []),
        ("co x", 4, []),
    ],
)
def test_completion(line: str, start: int, found: list[str]) -> None:
    talk = count()
    talk("break v_out", "break s_out", "display v_in")
    assert talk.console.completions(line) == (start, found)
    assert talk.console.complete(line) == found
    # What stands after the cursor does not matter.
    assert talk.console.completions(f"{line} + 3", len(line)) == (start, found)


def test_completion_of_nothing_offers_the_commands() -> None:
    assert count().console.complete("") == sorted(COMMANDS)


def test_what_completes_can_be_run() -> None:
    talk = count()
    for name, one in COMMANDS.items():
        assert one.usage.split()[0] == name and one.summary
        talk.console.complete(f"{name} ")
        talk.console.complete(f"{name} `")


# -- NaN in nested loops


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


def test_the_first_nan_of_nested_loops_is_told_once_a_loop() -> None:
    talk = start(NESTED_NAN, M=7, K=5)
    talk("break nan")
    ahead = []
    while (said := talk("c")[0]) != "the model ran to its end":
        ahead.append(said)
    assert ahead == [
        "breakpoint 1 (nan): Div 'Div_7' gave NaN or Inf in iteration 2 of loop 'Loop_1'",
        "breakpoint 1 (nan): Loop 'Loop_1' gave NaN or Inf in iteration 3 of loop 'Loop_1'",
    ]
    assert [talk("rc")[0] for _ in ahead] == ahead[::-1]
    said = talk("print s", "print iter", "up", "print iter")
    assert (said[0], said[1], said[-1]) == ("0.0", "2", "3")
    assert "no breakpoint would have stopped before" in talk.one("rc")


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
    assert talk.one("c", "print w[0]") == '"zz"'
    assert talk.one("compare") == '  w_in  1: ["a", "b"]   2: ["zz", "b"]'


def test_what_a_notebook_prints() -> None:
    session = count().session
    session.breakpoints.add("v_out if v_in > 9")
    session.watch("v_in crosses 8")
    session.continue_()
    session.breakpoints[0].enabled = False
    assert repr(session.breakpoints) == (
        "[<breakpoint 1: v_out if v_in > 9, disabled>, <watchpoint 2: v_in crosses 8, hit 1 time>]"
    )
    assert repr(session.set("v_in", 20)) == "<Branch 2 from 1: v_in = 20>"
    assert repr(session.branches[0]) == "<Branch 1>"
