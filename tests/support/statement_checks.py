"""Statements of the program about one random loop, each checked with NumPy; used by ``campaign.py statements``.

The loop is computed here from its description alone. Numbers are parsed from the displayed text, and compared with
exact ones: Python's integers and fractions, so that the check does not round as the program might.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import loopdbg
from dtype_loops import (
    MAX_ITERATIONS,
    MAX_KEPT_BOUNDARIES,
    SIGNS,
    DtypeLoop,
    LoopCourse,
    compute_course,
    draw_loop,
    draw_number,
    onnx_model,
)
from exact_arithmetic import (
    NUMBER_PATTERN,
    ExactStatistics,
    bits_equal,
    decimal_matches,
    exact_value,
    text_equals_number,
)
from loopdbg.debugger.statistics.histogram import Histogram
from loopdbg.debugger.statistics.tensor_statistics import as_tensor_ref
from loopdbg.debugger.termination.explanation import Why
from loopdbg.debugger.value_text import statistics_of, value_text
from loopdbg.runtime.text import count_text
from loopdbg.tui.cli import main
from loopdbg.tui.render.formatting import delta_text
from loopdbg.tui.render.history_plots import draw_history
from loopdbg.tui.render.inspector_text import statistics_lines
from loopdbg.tui.render.value_cells import short_value, short_value_with_norm
from strategies.draws import ChoiceSource, SeededChoices


@dataclass(frozen=True)
class CheckedStatement:
    """One statement. ``kind``: its subject; ``reported``: the text of the program."""

    kind: str
    true: bool
    text: str


# -- statements


def make_case(name: str) -> tuple[DtypeLoop, LoopCourse, ChoiceSource]:
    """The loop of a name, its course, and the source of further choices."""
    draw = SeededChoices(name)
    of = draw_loop(draw)
    true = compute_course(of)
    for _ in range(draw.integer(0, 8)):
        # Most loops should run for a while.
        if len(true.boundaries) > 4 and of.values["n"][1].op != "Identity":
            break
        of = draw_loop(draw)
        true = compute_course(of)
    return of, true, draw


def check_statements(name: str) -> Iterator[CheckedStatement]:
    """All statements about the loop of a name."""
    of, true, draw = make_case(name)
    proto = onnx_model(of)
    inputs = {f"{name}_0": value for name, (value, _) in of.values.items()}
    model = loopdbg.load(proto)
    last = len(true.boundaries) - 1
    places = sorted(
        {draw.integer(0, last), min(last, draw.integer(3, 8))} | ({last} if true.iteration_count == last else set())
    )
    session = loopdbg.debug(model, inputs)
    for place in places:
        if place > session.frame.iteration:
            session.step(place - session.frame.iteration)
        yield from _frame(session, of, true, place)
        yield from _why(session.why(), of, true, place)
        yield from _values(session, of, true, place)
    yield from _stops(model, inputs, of, true)
    yield from _run(model, inputs, true)
    if draw.chance(25):
        yield from _command_lines(proto, inputs, of, true, draw)


def _frame(session: Any, of: DtypeLoop, true: LoopCourse, place: int) -> Iterator[CheckedStatement]:
    frame = session.frame
    ended = true.ended_by if true.iteration_count == place else None
    message = f"iteration {frame.iteration}, {frame.stopped_by}, trip count {frame.trip_count}"
    came = frame.iteration == place and (frame.stopped_by.value if frame.stopped_by else None) == ended
    yield CheckedStatement(
        "frame", came and frame.trip_count == (None if of.trips is None else max(of.trips, 0)), message
    )


def _why(why: Why, of: DtypeLoop, true: LoopCourse, place: int) -> Iterator[CheckedStatement]:
    yield CheckedStatement("why: headline", _headline(why.headline, of, true, place), why.headline)
    more = None if true.condition_iteration_count is None else true.condition_iteration_count - place
    if why.left is not None:
        yield CheckedStatement("why: left", why.left == max(of.trips or 0, 0) - place, f"{why.left} left")
    if why.never:
        endless = true.condition_iteration_count is None and why.never.endswith("ends it") == (of.trips is not None)
        yield CheckedStatement("why: never", endless, why.never)
    if why.repeats is not None:
        seen = true.boundaries
        same = seen[place]["n"].tobytes() == seen[place - why.repeats]["n"].tobytes()
        yield CheckedStatement("why: repeats", same, f"repeats every {why.repeats}")
    for side in why.sides:
        estimate = side.estimate
        if estimate is not None:
            yield CheckedStatement("why: estimate", _estimate(estimate, of, true, place, more), estimate.text)
    for remark in why.remarks:
        if match := re.fullmatch(r"the trip count comes (?:first|before that): (\d+) left", remark):
            left = int(match[1])
            yield CheckedStatement(
                "why: note", left == (of.trips or 0) - place and (more is None or left < more), remark
            )


def _estimate(result: Any, of: DtypeLoop, true: LoopCourse, place: int, more: int | None) -> bool:
    whole = of.limit.dtype.kind in "iu"
    if result.iterations is not None:
        if more is None:
            return place + result.iterations >= MAX_ITERATIONS
        if result.at_most:
            return more <= result.iterations + (0 if whole else 1)
        return more == result.iterations if whole else abs(more - result.iterations) <= max(1, result.iterations // 20)
    if re.search("never ends|does not end it|steps over", result.text):
        return more is None
    if match := re.search(r"not moved in the last (\d+) iterations", result.text):
        name = 1 if of.compares_updated else 0
        first = place - int(match[1]) + name
        values = [boundary["n"].item() for boundary in true.boundaries[first : place + name]]
        return len(values) == int(match[1]) and len(set(values)) == 1
    if "is NaN" in result.text:
        return bool(np.isnan(true.boundaries[place if of.compares_updated else place - 1]["n"]) or np.isnan(of.limit))
    return True


def _headline(message: str, of: DtypeLoop, true: LoopCourse, place: int) -> bool:
    if true.iteration_count == place:
        done = f"ended after {count_text(place, 'iteration')}" if place else "runs no iteration"
    else:
        done = f"goes on to iteration {place}" if place else "begins"
    start = f"loop 'L' {done}: "
    return message.startswith(start) and _reason(message.removeprefix(start), of, true, place)


_TRIPS = r"the trip count is (-?\d+)(, and a negative one runs nothing)?(?:; (.*), so it would have gone on)?"


def _reason(message: str, of: DtypeLoop, true: LoopCourse, place: int) -> bool:
    """Why the loop ended, or continues."""
    ended = true.iteration_count == place
    if match := re.fullmatch(_TRIPS, message):
        rest = match[3] is None or _decided(match[3], of, true, place, True)
        right = ended and true.ended_by == "trip_count" and int(match[1]) == of.trips
        return right and bool(match[2]) == ((of.trips or 0) < 0) and rest
    if match := re.fullmatch(r"nothing but the count ends it, and the trip count is (\d+)", message):
        return not ended and of.initial is None and int(match[1]) == of.trips
    if message == "nothing in it can end it":
        return not ended and of.trips is None and of.initial is None
    if match := re.fullmatch(r"the initial condition is the constant (true|false)", message):
        return place == 0 and match[1] == str(of.initial).lower() and ended != of.initial
    message, both, _ = message.partition(", and the trip count is reached as well")
    if both and not (ended and true.ended_by == "condition" and place == of.trips):
        return False
    return (not ended or true.ended_by == "condition") and _decided(message, of, true, place, not ended)


def _decided(message: str, of: DtypeLoop, true: LoopCourse, place: int, truth: bool) -> bool:
    """Checks texts such as ``keep = n_next < 10 is true: 3 < 10``."""
    sign = re.escape(SIGNS[of.comparison])
    match = re.fullmatch(rf"keep = \S+ {sign} \S+ is (true|false)(?:: (\S+) {sign} (\S+))?", message)
    if match is None or (match[1] == "true") != truth:
        return False
    if match[2] is None:
        return True
    side = true.boundaries[place if of.compares_updated else place - 1]["n"]
    return text_equals_number(match[2], side) and text_equals_number(match[3], of.limit)


def _values(session: Any, of: DtypeLoop, true: LoopCourse, place: int) -> Iterator[CheckedStatement]:
    frame = session.frame
    now = true.boundaries[place]
    before = true.boundaries[place - 1] if place else None
    edges = {edge.param: edge for edge in frame.back_edges}
    for name, value in now.items():
        shown = np.asarray(edges[name].value if edges[name].value is not None else frame.carried[name])
        yield CheckedStatement("value", bits_equal(shown, value), f"{name} = {value_text(shown, 200)}")
        truth = ExactStatistics.from_tensor(value)
        yield from _statistics(name, shown, truth)
        yield from _texts(name, shown, truth)
        if before is not None:
            message = delta_text(before[name], value)
            yield CheckedStatement("delta", _delta(message, before[name], value), f"{name}: {message}")
        history = frame.evolution.get(name)
        if history is not None and history.bucket == 1:
            yield from _history(name, history, [boundary[name] for boundary in true.boundaries[: place + 1]])


def _statistics(name: str, value: Any, truth: ExactStatistics) -> Iterator[CheckedStatement]:
    result = statistics_of(value)
    message = f"{name}: min {result.min} max {result.max} mean {result.mean} std {result.std} norm {result.norm}"
    right = (result.nan, result.inf, result.zeros) == (truth.nan, truth.inf, truth.zeros)
    for number, wanted in ((result.mean, truth.mean), (result.std, truth.std), (result.norm, truth.norm)):
        right = right and (number is None) == (wanted is None)
        if number is not None and wanted is not None and right:
            # A mean of cancelling numbers is known to within their magnitude.
            size = max(abs(truth.low), abs(truth.high), truth.norm)
            overflow = not math.isfinite(number) and abs(wanted) > Fraction(np.finfo(np.float64).max)
            right = overflow or abs(Fraction(number) - wanted) <= size / 10**7 + Fraction(1, 10**322)
    for number, index, wanted in ((result.min, result.min_at, truth.low), (result.max, result.max_at, truth.high)):
        right = right and (number is None) == (wanted is None)
        if number is not None and right:
            right = exact_value(number) == wanted == exact_value(value.reshape(-1)[index])
    yield CheckedStatement("statistics", right, message)
    if value.dtype.kind != "b" and value.size:
        bars = Histogram(result, 8)
        bars.add(value.reshape(-1))
        yield CheckedStatement(
            "histogram", int(bars.counts.sum()) == value.size - truth.nan - truth.inf, str(bars.counts)
        )
    lines = statistics_lines(as_tensor_ref(value), result, None, None, 100)
    text = "   ".join("".join(part for part, _ in row.spans) for row in lines)
    yield CheckedStatement("inspector", _facts(text, value, truth), text)


def _facts(text: str, value: Any, truth: ExactStatistics) -> bool:
    if not value.size:
        return text == "no element"
    wanted: dict[str, Fraction | int | None] = {"NaN": truth.nan, "Inf": truth.inf, "zeros": truth.zeros}
    for word, number in (("mean", truth.mean), ("std", truth.std), ("norm", truth.norm)):
        match = re.search(rf"{word} ({NUMBER_PATTERN})", text)
        if (match is None) != (number is None):
            return False
        if match is not None and number is not None:
            size = max(abs(truth.low or 0), abs(truth.high or 0), truth.norm or 0)
            near = decimal_matches(match[1], number, 2) or abs(exact_value(float(match[1])) - number) <= size / 10**7
            if not near:
                return False
    for word, count in wanted.items():
        match = re.search(rf"{word} ([\d ,']+)", text)
        if match is None or int(re.sub(r"\D", "", match[1])) != count:
            return False
    for word, number in (("min", truth.low), ("max", truth.high)):
        match = re.search(rf"{word} ({NUMBER_PATTERN}) at \[([\d,]*)\]", text)
        if (match is None) != (number is None):
            return False
        if match is not None:
            index = tuple(int(k) for k in match[2].split(",") if k)
            digits = None if value.dtype.kind in "iub" else 2
            if exact_value(value[index]) != number or not decimal_matches(match[1], number, digits):
                return False
    return True


def _texts(name: str, value: Any, truth: ExactStatistics) -> Iterator[CheckedStatement]:
    """A value in a few cells: its range, its largest magnitude, its norm, or all of it."""
    for width in (14, 24, 40):
        for item in (short_value(value, width), short_value_with_norm(value, width), value_text(value, width)):
            yield CheckedStatement("value in a few cells", _cells(item, value, truth), f"{name}: {item}")


def _cells(message: str, value: Any, truth: ExactStatistics) -> bool:
    if match := re.fullmatch(r"(\d+) of (\d+) true", message):
        return (int(match[1]), int(match[2])) == (int(value.sum()), value.size)
    fully = (
        value.size <= 20 and message.count("[") == message.count("]") and ".." not in message and "norm" not in message
    )
    if fully and re.fullmatch(r"[\[\], \-+.\de]+|.*(nan|inf|true|false).*", message) and "min" not in message:
        words = re.findall(r"true|false|" + NUMBER_PATTERN, message)
        if len(words) == value.size and value.size and not re.search(r"\d (nan|inf)", message):
            flat = value.reshape(-1)
            if value.dtype.kind == "b":
                return [word == "true" for word in words] == flat.tolist()
            cut = "…" in message or "~" in message
            return cut or all(text_equals_number(word, item) for word, item in zip(words, flat, strict=True))
    for pattern, count in ((r"(\d+) nan", truth.nan), (r"(\d+) inf", truth.inf)):
        if (match := re.search(pattern, message)) and int(match[1]) != count:
            return False
    if match := re.search(rf"norm ({NUMBER_PATTERN})", message):
        wanted = math.inf if truth.inf else truth.norm
        if wanted is None or not decimal_matches(match[1], wanted, 1):
            return False
    if match := re.search(rf"min ({NUMBER_PATTERN}) max ({NUMBER_PATTERN}) mean ({NUMBER_PATTERN})", message):
        digits = None if value.dtype.kind in "iub" else 2
        if not (decimal_matches(match[1], truth.low, digits) and decimal_matches(match[2], truth.high, digits)):
            return False
    match = re.search(rf"(?:^|\s)({NUMBER_PATTERN}) ?\.\. ?({NUMBER_PATTERN})", message)
    if match and not (decimal_matches(match[1], truth.low, 1) and decimal_matches(match[2], truth.high, 1)):
        return False
    if match := re.match(rf"±({NUMBER_PATTERN})", message):
        return decimal_matches(match[1], max(abs(truth.low), abs(truth.high)), 1)
    return True


def _delta(message: str, before: Any, after: Any) -> bool:
    pairs = [
        (exact_value(x), exact_value(y)) for x, y in zip(np.reshape(before, -1), np.reshape(after, -1), strict=True)
    ]
    same = [x == y or (x != x and y != y) for x, y in pairs]
    if message == "=":
        return all(same)
    if all(same):
        return False
    if after.dtype.kind == "b":
        return message == ("changed" if len(pairs) == 1 else f"{same.count(False)} of {len(pairs)} changed")
    moved = [float("nan") if x != x or y != y else y - x for (x, y), item in zip(pairs, same, strict=True) if not item]
    lost = sum(isinstance(entry, float) and math.isnan(entry) for entry in moved)
    if lost:
        return message == ("nan" if len(pairs) == 1 else f"{lost} nan")
    if len(pairs) == 1:
        return decimal_matches(message, moved[0], None if after.dtype.kind in "iu" else 1) and (message[0] == "-") == (
            moved[0] < 0
        )
    return message[0] == "±" and decimal_matches(message[1:], max(abs(element) for element in moved), 1)


def _history(name: str, result: Any, values: list[Any]) -> Iterator[CheckedStatement]:
    truths = [ExactStatistics.from_tensor(value) for value in values]
    for k, (value, truth) in enumerate(zip(values, truths, strict=True)):
        if not value.size:
            continue
        if result.is_tensor:
            whole = math.nan if truth.nan else math.inf if truth.inf else truth.norm
        else:
            whole = exact_value(value.reshape(-1)[0])
        number = float(result.values[k])
        yield CheckedStatement("history", decimal_matches(repr(number), whole), f"{name}@{k}: {number}")
    message = draw_history(result, 30, str(values[0].dtype))
    if "flat" in message:
        flat = [element.tobytes() for element in values]
        rounding = 1e-2 if values[0].dtype == np.float16 else 1e-5
        if "norm" in message:
            norms = [truth_value.norm or Fraction(0) for truth_value in truths]
            still = max(norms) - min(norms) <= rounding * max(norms)
        elif values[0].dtype.kind == "f":
            numbers = [exact_value(item.reshape(-1)[0]) for item in values]
            still = max(numbers) - min(numbers) <= rounding * max(map(abs, numbers))
        else:
            still = len(set(flat)) == 1
        yield CheckedStatement("flat", bool(still), f"{name}: {message}")
    elif len(values) <= 30 and values[0].size:
        # The norm of finite numbers can be larger than any float64.
        largest = Fraction(np.finfo(np.float64).max) if result.is_tensor else math.inf
        odd = [bool(truth_entry.nan or truth_entry.inf or (truth_entry.norm or 0) > largest) for truth_entry in truths]
        yield CheckedStatement(
            "spark", [sign == "×" for sign in message] == odd or len(message) != len(odd), f"{name}: {message}"
        )


def _stops(model: Any, inputs: Mapping[str, Any], of: DtypeLoop, true: LoopCourse) -> Iterator[CheckedStatement]:
    """Where a breakpoint on NaN and a watchpoint stop."""
    floats = [[item for item in boundary.values() if item.dtype.kind == "f"] for boundary in true.boundaries]
    finite = [all(np.isfinite(entry).all() for entry in some) for some in floats]
    session = loopdbg.debug(model, inputs)
    session.breakpoints.add("nan")
    if not finite[0]:
        stop = session.controller.check_breakpoints()
        yield CheckedStatement("break nan", stop.breakpoints == (1,), stop.text)
    elif False in finite:
        stop = session.continue_()
        where = finite.index(False)
        # The node that makes it is in the iteration before that boundary.
        came = stop.breakpoints == (1,) and session.frame.iteration in (where, where - 1)
        yield CheckedStatement("break nan", came, stop.text)


def _run(model: Any, inputs: Mapping[str, Any], true: LoopCourse) -> Iterator[CheckedStatement]:
    if true.iteration_count is None:
        limit = min(len(true.boundaries) - 1, 20)
        run = model.execute(inputs, max_iterations=limit)
        message = run.message or "ended"
        if "no greater limit helps" in message:
            yield CheckedStatement("run: limit", true.condition_iteration_count is None, message)
        elif match := re.search(r"its trip count of (\d+) alone ends it", message):
            yield CheckedStatement(
                "run: limit", true.condition_iteration_count is None and int(match[1]) > limit, message
            )
        else:
            yield CheckedStatement("run: limit", run.loops[0].iterations == limit, message)
        return
    if true.iteration_count >= len(true.boundaries):
        return
    run = model.execute(inputs)
    (total,) = run.loops
    message = f"{total.iterations} iterations, {total.stopped_by}"
    yield CheckedStatement(
        "run", (total.iterations, total.stopped_by.value) == (true.iteration_count, true.ended_by), message
    )
    for name, value in true.boundaries[true.iteration_count].items():
        yield CheckedStatement("output", bits_equal(run.outputs[f"{name}_out"], value), f"{name}_out")


def _command_lines(
    proto: Any, inputs: Mapping[str, Any], of: DtypeLoop, true: LoopCourse, draw: ChoiceSource
) -> Iterator[CheckedStatement]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        onnx.save(proto, path)
        yield from _check_info_report(path, of)
        if true.iteration_count is not None and true.iteration_count <= MAX_KEPT_BOUNDARIES:
            yield from _sweep(path, inputs, of, draw)


def _capture_cli_output(*words: Any) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        main([str(word) for word in words])
    return out.getvalue()


def _check_info_report(path: Path, of: DtypeLoop) -> Iterator[CheckedStatement]:
    report = json.loads(_capture_cli_output("info", path, "--json"))
    (item,) = report["loops"]
    ports = {edge["name"]: (edge["dtype"], tuple(edge["shape"])) for edge in item["back_edges"]}
    wanted = {name: (str(value.dtype), value.shape) for name, (value, _) in of.values.items()}
    yield CheckedStatement("info: back edges", ports == wanted, str(ports))
    trips = None if item["trip_count"] is None else item["trip_count"]["value"]
    yield CheckedStatement("info: trip count", trips == of.trips, str(item["trip_count"]))
    yield CheckedStatement("info: ends", _ends(item["ends"], of), f"{of.trips} {of.initial}: {item['ends']}")
    for note in (*report["notes"], *item["notes"]):
        yield CheckedStatement("note", _note(note, of), note)


def _ends(message: str, of: DtypeLoop) -> bool:
    """How the loop ends: each sentence, and what is left out."""
    nothing = of.initial is False or (of.trips is not None and of.trips <= 0)
    still = of.values["n"][1].op == "Identity"
    claims = {
        "there is no trip count": of.trips is None,
        "the condition is absent": of.initial is None,
        f"after {of.trips} iteration": of.trips is not None,
        f"fter exactly {of.trips} iteration": of.trips is not None and of.initial is None,
        f"hen keep = {'n_next' if of.compares_updated else 'n'} {SIGNS[of.comparison]} ": of.initial is not None,
        "whichever comes first": of.initial is not None and of.trips is not None,
        "The first iteration always runs": of.initial is True and not nothing,
        "depends on nothing that changes": of.initial is not None and still,
        "Never": of.initial is None and of.trips is None,
    }
    wrong = [claim for claim, true in claims.items() if claim in message and not true]
    return not wrong and (not nothing or re.search("othing|never|No iteration|no iteration", message) is not None)


def _note(message: str, of: DtypeLoop) -> bool:
    if message.startswith("onnxruntime and OpenVINO would stop once the body's condition 'keep' is false"):
        return of.initial is None
    if match := re.match(r"OpenVINO's CPU plugin would .* the trip count (-\d+)(?: for no limit; .*)?\.$", message):
        return int(match[1]) == of.trips
    if message.startswith("OpenVINO would return initial values or uninitialised memory as scan outputs"):
        # A statement about the initial condition, which is a constant here.
        return message.endswith("since the loop's cond is always false.") and of.initial is False
    raise AssertionError(f"a note that nothing here checks: {message}")


def _sweep(path: Path, inputs: Mapping[str, Any], of: DtypeLoop, draw: ChoiceSource) -> Iterator[CheckedStatement]:
    """A sweep over several cases that differ in a compared input."""
    folder = path.parent / "cases"
    folder.mkdir()
    counts, ends = [], []
    for k in range(draw.integer(1, 9)):
        number = draw_number(draw, of.limit.dtype)
        true = compute_course(replace(of, values={**of.values, "n": (number, of.values["n"][1])}))
        if true.iteration_count is None or true.iteration_count > MAX_KEPT_BOUNDARIES:
            continue
        np.savez(folder / f"c{k}.npz", **{**inputs, "n_0": number})
        counts.append(true.iteration_count)
        ends.append(exact_value(true.boundaries[-1]["n"]))
    if not counts:
        return
    out = _capture_cli_output("sweep", path, "--inputs", folder, "--measure", "n_next", "-j", 1)
    bars = re.findall(r"^ +(\d+)(?: to (\d+))?  █* ?(\d+)$", out, re.M)
    seen = sum(int(count) for _, _, count in bars)
    right = seen == len(counts) and all(
        sum(int(low) <= count_value <= int(high or low) for count_value in counts) == int(count)
        for low, high, count in bars
    )
    yield CheckedStatement("sweep: iterations", right, " ".join("/".join(bar) for bar in bars))
    ran = [end for end, count in zip(ends, counts, strict=True) if count]
    numbers = sorted(item for item in ran if isinstance(item, Fraction))
    line = next((line for line in out.splitlines() if line.strip().startswith("n_next:")), None)
    if line is None:
        yield CheckedStatement("sweep: measure", not numbers, "no line")
        return
    number = f"({NUMBER_PATTERN})"
    match = re.search(f"{number} to {number}, half at most {number}, 90 % from {number} to {number}", line)
    lost = re.search(r"; (\d+) values? (?:is|are) no number", line)
    right = match is not None and int(lost[1] if lost else 0) == len(counts) - len(numbers) and bool(numbers)
    if right and match is not None:
        places = [0, -1, -(-len(numbers) // 2) - 1, -(-5 * len(numbers) // 100) - 1, -(-95 * len(numbers) // 100) - 1]
        right = all(
            decimal_matches(text, numbers[place], 2) for text, place in zip(match.groups(), places, strict=True)
        )
    yield CheckedStatement("sweep: measure", right, line.strip())


def check_case(name: str) -> list[CheckedStatement]:
    """All statements about a loop; an exception while they are made counts as a false one."""
    results: list[CheckedStatement] = []
    try:
        results += check_statements(name)
    except Exception as error:
        results.append(CheckedStatement("raised", False, f"{type(error).__name__}: {error}"))
    return results


def judge_case(name: str) -> str:
    """The number of true statements of each kind, or else the false ones."""
    result = check_case(name)
    if wrong := [f"{item.kind}: {item.text}" for item in result if not item.true]:
        return f"FALSE: {'; '.join(wrong)}"
    kinds = Counter(entry.kind for entry in result)
    return f"true: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}"


def case_names(numbers: Iterable[int]) -> list[str]:
    """The names of loops."""
    return [f"statements {number}" for number in numbers]


def describe_case(name: str) -> str:
    """A loop, and each statement about it."""
    rows = [f"{'true ' if item.true else 'FALSE'}  {item.kind}: {item.text}" for item in check_case(name)]
    return "\n".join([str(make_case(name)[0]), *rows])


def tally_outcomes(messages: Iterable[str]) -> str:
    """The number of true statements of each kind, over all loops reported by :func:`judge_case`."""
    kinds: Counter[str] = Counter()
    for item in messages:
        for count, kind in re.findall(
            r"(\d+) ([^,]+)", item.removeprefix("true: ") if item.startswith("true: ") else ""
        ):
            kinds[kind] += int(count)
    return "\n".join(f"{kind:24}{count:>8}" for kind, count in (*kinds.most_common(), ("all, true", kinds.total())))
