"""Values of a model are matched with those of a program by the metadata that its exporter wrote for each node."""

from __future__ import annotations

import pytest

from exporter_metadata import model_with_metadata, program_track
from loopdbg.debugger.reference.metadata_matching import match_by_metadata
from loopdbg.debugger.reference.program_track import ProgramTrack
from loopdbg.debugger.reference.reference import Reference
from loopdbg.debugger.reference.sequence_alignment import align_sequences, similarity_matrix


def paired(model, *tracks: ProgramTrack) -> dict[str, str]:
    return {item.track.name: item.value.name for item in match_by_metadata(model.graph, Reference("there", []), tracks)}


def test_numeric_suffixes_of_names_may_differ():
    model = model_with_metadata(
        "g (float[3] x) => (float[3] y) { a = Mul(x, x) b = Add(a, x) c = Mul(b, x) y = Tanh(c) }",
        ["mul_1", "add", "mul_2", "tanh"],
    )
    result = paired(
        model,
        program_track("mul", "%x"),
        program_track("add", "%mul"),
        program_track("mul_1", "%add"),
        program_track("tanh", "%mul_1"),
    )
    assert result == {"mul": "a", "add": "b", "mul_1": "c", "tanh": "y"}


def test_ambiguous_nodes_are_matched_by_their_operands():
    # The model lacks the second of three views, so its second one has the number of the third.
    model = model_with_metadata(
        "g (float[3] x) => (float[3] y) { a = Sin(x) b = Cos(x) c = Identity(a) d = Identity(b) y = Add(c, d) }",
        ["sin", "cos", "view_1", "view_2", "add"],
    )
    result = paired(
        model,
        program_track("sin", "%x"),
        program_track("sin_1", "%x"),
        program_track("cos", "%x"),
        program_track("view", "%sin"),
        program_track("view_1", "%sin_1"),
        program_track("view_2", "%cos"),
        program_track("add", "%view", "%view_2"),
    )
    assert (result["view"], result["view_2"]) == ("c", "d")
    assert "view_1" not in result


VIEWS = ["sin", "cos", "exp", "sin_1", "cos_1", "exp_1"]


def rows(*names: str) -> list[str]:
    """Six rows of a program, each computed and then viewed; the last two are joined."""
    return [*VIEWS, *names, "add"]


def program_of_views() -> list[ProgramTrack]:
    viewed = [program_track("view" if not k else f"view_{k}", f"%{name}") for k, name in enumerate(VIEWS)]
    computed = [program_track(name, "%x") for name in VIEWS]
    return [*computed, *viewed, program_track("add", *(f"%{item.name}" for item in viewed))]


def views(*reads: str) -> str:
    """The text of a model of five views, one of which is added to itself."""
    operators = zip("uvwpqr", ("Sin", "Cos", "Exp") * 2, strict=True)
    text = " ".join(f"{name} = {operator}(x)" for name, operator in operators)
    text += " ".join(["", *(f"{name} = Identity({read})" for name, read in zip("abcde", reads, strict=True))])
    return f"g (float[3] x) => (float[3] y) {{ {text} y = Sum(a, b, c, d, e) }}"


def test_impossible_suffix_excludes_a_match_with_the_same_operands():
    # The model lacks the view of sin_1, and the view of exp reads sin_1: its number identifies it as the view of exp.
    model = model_with_metadata(views("u", "v", "p", "q", "r"), rows("view_1", "view_2", "view_3", "view_5", "view_6"))
    result = paired(model, *program_of_views())
    assert result["view_2"] == "c"
    assert "view_3" not in result


def test_added_node_has_its_own_suffix():
    # The model lacks the view of exp, and the view of sin_1 reads exp. As view_4 was added, with another shape, view_3
    # could be the view of exp by its number, but then view_4 would be that of sin_1.
    names = rows("view", "view_1", "view_3", "view_5", "view_6")
    text = views("u", "v", "w", "q", "r").replace("d = ", "k = Concat <axis = 0> (u, u) d = ")
    model = model_with_metadata(text.replace(" {", " <float[6] k> {", 1), [*names[:9], "view_4", *names[9:]])
    result = paired(model, *program_of_views())
    assert result["view_3"] == "c"
    assert "view_2" not in result


def test_suffixes_in_another_order_exclude_nothing():
    model = model_with_metadata(views("u", "v", "p", "q", "r"), rows("view_6", "view_1", "view_3", "view_2", "view_5"))
    result = paired(model, *program_of_views())
    assert result["view_3"] == "c"
    assert "view_2" not in result


@pytest.mark.parametrize("read", ["b", "a"])
def test_result_of_a_decomposed_node_is_the_value_that_others_read(read: str):
    """This also holds if one reader wrongly reads another value."""
    text = f"g (float[3] x, float[3] w) => (float[3] y) {{ a = Mul(x, w) b = Add(a, w) y = Tanh({read}) }}"
    model = model_with_metadata(text, ["linear", "linear", "tanh"])
    result = paired(model, program_track("linear", "%x"), program_track("tanh", "%linear"))
    assert result == {"linear": "b", "tanh": "y"}


def test_multiple_results_are_matched_by_position():
    model = model_with_metadata(
        "g (float[6] x) => (float[3] y, float[3] z) { y, z = Split <num_outputs = 2> (x) }", ["split"]
    )
    tracks = [program_track(f"getitem_{k}", "%x", node="split", output=k) for k in (1, 0)]
    assert paired(model, *tracks) == {"getitem_0": "y", "getitem_1": "z"}


def test_declared_types_exclude_matches():
    model = model_with_metadata("g (float[3] x) => (float[3] y) { y = Mul(x, x) }", ["mul"])
    assert paired(model, program_track("mul", "%x", shape=4)) == {}


LOOP = """
g (float[3] x, int64 n) => (float[3] y) {
  y = Loop <body = b (int64 i, bool c, float[3] h) => (bool c, float[3] k) { m = Mul(h, h) k = Mul(m, h) }> (n, , x)
}
"""


def test_bodies_are_matched_separately_and_carried_values_by_position():
    model = model_with_metadata(LOOP, ["while_loop_3", "mul_4", "mul_5"])
    body = {"loop": "while_loop", "graph": ("while_loop", "body")}
    result = paired(
        model,
        program_track("mul", "%x"),
        program_track("arg", role="carried", position=0, **body),
        program_track("mul", "%arg", **body),
        program_track("mul_1", "%mul", "%arg", **body),
    )
    assert result == {"while_loop/body/arg": "h", "while_loop/body/mul": "m", "while_loop/body/mul_1": "k"}


BRANCHES = """
g (float[3] x, bool c) => (float[3] y) {
  y = If (c) <then_branch = t () => (float[3] %s) { %s = Mul(x, x) },
              else_branch = e () => (float[3] %s) { %s = Mul(x, x) }>
}
"""


def model_with_branches(then_result: str, else_result: str):
    text = BRANCHES % (then_result, then_result, else_result, else_result)
    return model_with_metadata(text, ["cond", "mul", "mul"])


@pytest.mark.parametrize(("label", "result"), [("true", "a"), ("false", "b")])
def test_branch_values_are_matched_with_those_of_the_branch_that_ran(label: str, result: str):
    model = model_with_branches("a", "b")
    track = program_track("mul", "%x", graph=("cond", label))
    assert paired(model, track) == {f"cond/{label}/mul": result}


@pytest.mark.parametrize("label", ["true", "false"])
def test_branch_values_in_swapped_branches_are_matched_by_the_names_of_their_results(label: str):
    model = model_with_branches("a_false_graph_0", "a_true_graph_0")
    track = program_track("mul", "%x", graph=("cond", label))
    assert paired(model, track) == {f"cond/{label}/mul": f"a_{label}_graph_0"}


def test_outputs_are_matched_by_position_without_metadata():
    model = model_with_metadata("g (float[3] x) => (float[3] y) { y = Mul(x, x) }", [""])
    assert paired(model, program_track("mul", "%x"), program_track("output 0", role="output", position=0)) == {
        "output 0": "y"
    }


def test_alignment_keeps_the_order_and_maximizes_similarity():
    alike = similarity_matrix("abcab", "bxab", lambda item, other: 2 if item == other == "b" else int(item == other))
    assert align_sequences(alike) == [(1, 0), (3, 2), (4, 3)]
    assert align_sequences(similarity_matrix("", "abc", lambda *_: 1)) == []
