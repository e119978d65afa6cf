"""Matches Python loops that were unrolled in a program to loops of a model.

The model has no metadata for it: it may have no such loop, or a recurrent operator. Criteria are carried values of
equal shapes with equal numbers in most iterations (in some, for equal trip counts), or the only loop on both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....runtime.graph import Loop
from ...reference.program_track import ProgramTrack
from ...reference.reference import Key, Reference
from ..running.sides import ModelSide, TraceSide
from ..running.value_comparison import Tolerance
from .track_candidates import TrackCandidate
from .track_forms import track_depth
from .value_agreement import AgreementScore, ValueAgreement
from .value_locations import LocationIndex, ValueLocation

#: Common names for operators that models and PyTorch name differently.
_OPERATOR_SYNONYMS = {
    "multiply": "mul",
    "subtract": "sub",
    "divide": "div",
    "matmul": "linear",
    "gemm": "linear",
    "addmm": "linear",
    "concat": "cat",
    "split": "chunk",
    "variadicsplit": "chunk",
}
#: The last operators of a cell's results, in order.
_CELL_LAST_OPERATORS = {"aten.lstm_cell.default": ("mul", "add"), "aten.gru_cell.default": ("add",)}


@dataclass(frozen=True, eq=False)
class _UnrolledLoopMatch:
    """A candidate loop of the model for a Python loop. ``carried``: the location of each carried value;
    ``matched_by_value``: numbers prove the match; ``agreeing_share``: the fraction of agreeing iterations."""

    path: str
    carried: dict[int, ValueLocation]
    matched_by_value: bool
    agreeing_share: float


def pair_unrolled_loops(
    side: ModelSide | TraceSide,
    layout: LocationIndex,
    reference: Reference,
    tracks: Sequence[ProgramTrack],
    tolerance: Tolerance,
    used: Collection[ValueLocation],
) -> list[TrackCandidate]:
    """Pair the values of Python loops with those of unpaired loops of the model, which is run for that. ``used``:
    paired locations."""
    free_paths = set(layout.loops) - {loc.path for loc in used}
    depths = {layout.loop_depth(path) for path in free_paths}
    queried = {k: track for k, track in enumerate(tracks) if track_depth(track) in depths}
    if not queried:
        return []
    search = ValueAgreement(side, layout, {k: (track, None) for k, track in queried.items()}, tolerance)
    search.sample()
    folds: dict[str, dict[int, ProgramTrack]] = {}
    for k, track in queried.items():
        folds.setdefault(track.loop, {})[k] = track
    matched = _match_loops(search, layout, free_paths, folds, reference)
    candidates: list[TrackCandidate] = []
    for name, match in matched.items():
        # Nodes of a matched nested loop are compared there.
        fold = {
            k: track for k, track in folds[name].items() if track.position is not None or track.inside not in matched
        }
        candidates += _carried_candidates(layout, match, fold, "value" if match.matched_by_value else "position")
        candidates += _result_candidates(search, match.path, fold, {candidate.location for candidate in candidates})
    return candidates


def _match_loops(
    search: ValueAgreement,
    layout: LocationIndex,
    free: set[str],
    folds: dict[str, dict[int, ProgramTrack]],
    reference: Reference,
) -> dict[str, _UnrolledLoopMatch]:
    """Python loops by name with their loops, best agreement first. Nested loops must be nested in the matches of the
    outer loops."""
    single_depths, is_only = _depths_with_one_loop(layout, free, folds), len(free) == len(reference.folds) == 1
    pairs = [
        (match, name)
        for name, fold in folds.items()
        for match in _possible_matches(search, layout, free, fold, reference.folds.get(name, {}))
    ]
    matched: dict[str, _UnrolledLoopMatch] = {}
    for match, name in sorted(
        pairs, key=lambda m: (not m[0].matched_by_value, layout.loop_depth(m[0].path), -m[0].agreeing_share)
    ):
        is_alone = layout.loop_depth(match.path) in single_depths and not reference.trips
        # A loop that is not nested may look like a nested one.
        certain = match.matched_by_value or (
            is_alone and (is_only or _same_trip_counts(search, reference, match.path, name, matched))
        )
        by_path = {m.path: other_name for other_name, m in matched.items()}
        if match.path not in by_path and name not in matched and certain and _same_nesting(match.path, name, by_path):
            matched[name] = match
    return matched


def _depths_with_one_loop(
    layout: LocationIndex, free: Collection[str], folds: Mapping[str, dict[int, ProgramTrack]]
) -> set[int]:
    """The depths at which both sides have exactly one loop."""
    model_counts = Counter(layout.loop_depth(path) for path in free)
    program_counts = Counter(track_depth(next(iter(fold.values()))) for fold in folds.values())
    return {depth for depth, count in model_counts.items() if count == program_counts[depth] == 1}


def _same_trip_counts(
    search: ValueAgreement, reference: Reference, path: str, name: str, matched: Mapping[str, _UnrolledLoopMatch]
) -> bool:
    """Whether a loop has the entries of a Python loop whose outer loops are matched, and for outer loops also the trip
    counts."""
    a, b = search.trips.get(path, {}), reference.folds.get(name, {})
    outer = [other for other in reference.folds if name.startswith(f"{other}/")]
    is_innermost = not any(other.startswith(f"{name}/") for other in reference.folds)
    return all(other in matched for other in outer) and (a.keys() == b.keys() if is_innermost else a == b)


def _same_nesting(path: str, name: str, names_by_path: Mapping[str, str]) -> bool:
    """Whether matched outer and inner loops are nested alike on both sides."""
    return all(
        path.startswith(f"{other_path} ") == name.startswith(f"{other_name}/")
        and other_path.startswith(f"{path} ") == other_name.startswith(f"{name}/")
        for other_path, other_name in names_by_path.items()
    )


def _possible_matches(
    search: ValueAgreement,
    layout: LocationIndex,
    free: Collection[str],
    fold: dict[int, ProgramTrack],
    trips: Mapping[Key, int],
) -> Iterator[_UnrolledLoopMatch]:
    carried = [k for k, track in fold.items() if track.role == "carried"]
    for path in free:
        if layout.loop_depth(path) != track_depth(next(iter(fold.values()))):
            continue
        locs = _match_carried(search, layout, path, {k: fold[k] for k in carried})
        if locs and all(k in locs or _is_counter(fold[k]) for k in carried):
            scores = [score for k, loc in locs.items() if (score := search.scores[k].get(loc)) is not None]
            frequent = search.trips.get(path) == trips or all(2 * s.agreed >= s.compared for s in scores)
            yield _UnrolledLoopMatch(
                path,
                locs,
                frequent and any(s.is_significant for s in scores),
                sum(s.agreeing_share for s in scores),
            )


def _is_counter(track: ProgramTrack) -> bool:
    """Whether a carried value is an integer with a constant step; a loop with an iteration number need not carry
    it."""
    if any(np.ndim(value) or np.asarray(value).dtype.kind not in "iu" for value in track.values.values()):
        return False
    steps = {
        int(value) - int(track.values[(*key[:-1], key[-1] - 1)])
        for key, value in track.values.items()
        if (*key[:-1], key[-1] - 1) in track.values
    }
    return len(steps) == 1


def _match_carried(
    search: ValueAgreement, layout: LocationIndex, path: str, tracks: dict[int, ProgramTrack]
) -> dict[int, ValueLocation]:
    """The location of each carried value: best agreement first, then equal operators, then order."""
    loop = layout.loops[path]
    edges = [(i, edge) for i, edge in enumerate(loop.back_edges) if edge.param in layout.locations]
    choices = []
    for j, (k, track) in enumerate(tracks.items()):
        for i, edge in edges:
            loc = layout.locations[edge.param]
            if search.had_same_shape_and_kind(k, loc):
                score = search.scores[k].get(loc)
                share = 0.0 if score is None else score.agreeing_share
                choices.append((-share, _track_operator(track) != _edge_operator(loop, i), abs(j - i), k, loc))
    matches: dict[int, ValueLocation] = {}
    for *_, k, loc in sorted(choices, key=lambda choice: choice[:4]):
        if k not in matches and loc not in matches.values():
            matches[k] = loc
    return matches


def _carried_candidates(
    layout: LocationIndex, match: _UnrolledLoopMatch, fold: dict[int, ProgramTrack], method: str
) -> Iterator[TrackCandidate]:
    """The location of each carried value that an iteration receives, and of the result that updates it."""
    edges = {edge.param: edge for edge in layout.loops[match.path].back_edges}
    for k, loc in match.carried.items():
        yield TrackCandidate(fold[k], fold[k], loc, method)
        result = layout.locations.get(edges[loc.value].result)
        source = next((t for t in fold.values() if (t.role, t.position) == ("result", fold[k].position)), None)
        if source is not None and result is not None and not result.role:
            yield TrackCandidate(source, source, result, method)


def _track_operator(track: ProgramTrack) -> str:
    """The operator that computes a track, for a cell the last one."""
    cell = _CELL_LAST_OPERATORS.get(track.maker)
    if cell is not None:
        return cell[(track.output or 0) % len(cell)]
    return _canonical_operator(track.maker.removeprefix("aten.").partition(".")[0])


def _edge_operator(loop: Loop, index: int) -> str:
    """The operator that computes a carried value."""
    result = loop.back_edges[index].result
    return next((_canonical_operator(node.op_type) for node in loop.body.nodes if result in node.outputs), "")


def _canonical_operator(operator: str) -> str:
    name = operator.lower().rstrip("_")
    return _OPERATOR_SYNONYMS.get(name, name)


def _result_candidates(
    search: ValueAgreement, path: str, fold: dict[int, ProgramTrack], used: set[ValueLocation]
) -> Iterator[TrackCandidate]:
    """Intermediate results in all iterations: the values of the loop with the same numbers."""
    length = max(len(track.values) for track in fold.values() if track.role == "result")
    tracks = [k for k, track in fold.items() if track.position is None and len(track.values) == length]
    likely = {k: _likely_scores(search, k, path) for k in tracks}
    ambiguous = {k: scores for k, scores in likely.items() if len(scores) > 1}
    if ambiguous:
        # Values that are equal in a few iterations may differ later.
        search.compare_all_iterations(ambiguous)
    for k, scores in likely.items():
        remaining = [
            score for score in scores if score.agrees_everywhere and score.candidate.location not in used
        ] or scores
        locs = [score.candidate.location for score in remaining if score.candidate.location not in used]
        if locs:
            used.add(locs[0])
            node = locs[0].node
            same_operator = node is not None and _canonical_operator(node.op_type) == _track_operator(fold[k])
            yield TrackCandidate(
                fold[k],
                fold[k],
                locs[0],
                "value",
                is_unambiguous=len(scores) == 1 and (scores[0].agrees_everywhere or same_operator),
            )


def _likely_scores(search: ValueAgreement, k: int, path: str) -> list[AgreementScore]:
    """The candidates of a track in a loop, in execution order: those that agree everywhere, or else the best
    one."""
    scores = [s for loc, s in search.scores[k].items() if loc.path == path and not loc.role and s.is_significant]
    exact = sorted((s for s in scores if s.agrees_everywhere), key=lambda s: s.candidate.location.order)
    top = max((s.agreeing_share for s in scores), default=0.0)
    best = [s for s in scores if s.agreeing_share == top]
    return exact or (best if len(best) == 1 else [])
