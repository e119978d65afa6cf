"""Which loop of a model a loop of Python is that a program was unrolled from.

Nothing in the model tells: there may be none, or it may be a recurrent operator. Both carry values of the same shapes,
and the same numbers in some iterations if they run as often, else in most; or both have one loop alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....runtime.graph import Loop
from ...reference.program_track import ProgramTrack
from ...reference.reference import Key, Reference
from ..running.sides import ComparisonSide
from ..running.value_comparison import Tolerance
from .track_candidates import TrackCandidate
from .track_forms import track_depth
from .value_agreement import AgreementScore, TrackQuery, ValueAgreement
from .value_locations import LocationIndex, ValueLocation

#: Iterations of each loop that are looked at.
_SAMPLED_ITERATIONS = 8
#: One word for operators that models and PyTorch call otherwise.
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
#: The last operator of what a cell gives, by its results.
_CELL_LAST_OPERATORS = {"aten.lstm_cell.default": ("mul", "add"), "aten.gru_cell.default": ("add",)}


@dataclass(frozen=True, eq=False)
class _UnrolledLoopMatch:
    """A loop of the model that a loop of Python may be. ``carried``: which of its values each carried one is;
    ``tells``: their numbers say that it is; ``share``: in how many iterations any agree."""

    path: str
    carried: dict[int, ValueLocation]
    matched_by_value: bool
    agreeing_share: float


def pair_unrolled_loops(
    side: ComparisonSide,
    layout: LocationIndex,
    reference: Reference,
    tracks: Sequence[ProgramTrack],
    tolerance: Tolerance,
    taken: Collection[ValueLocation],
) -> list[TrackCandidate]:
    """Pair the values of loops of Python with those of the model's loops that nothing is paired with. The model is run
    for that. ``taken``: the values that are paired."""
    free = set(layout.loops) - {spot.path for spot in taken}
    depths = {layout.loop_depth(path) for path in free}
    looked = {k: track for k, track in enumerate(tracks) if track_depth(track) in depths}
    if not looked:
        return []
    search = ValueAgreement(
        side,
        layout,
        {k: TrackQuery(track, {track_depth(track): track}, None) for k, track in looked.items()},
        tolerance,
    )
    search.sample(_SAMPLED_ITERATIONS)
    folds: dict[str, dict[int, ProgramTrack]] = {}
    for k, track in looked.items():
        folds.setdefault(track.loop, {})[k] = track
    matched = _match_loops(search, layout, free, folds, reference)
    found: list[TrackCandidate] = []
    for name, match in matched.items():
        # What a loop in it has of its nodes is compared there.
        fold = {
            k: track for k, track in folds[name].items() if track.position is not None or track.inside not in matched
        }
        found += _carried_candidates(layout, match, fold, "value" if match.matched_by_value else "position")
        found += _result_candidates(search, match.path, fold, {one.location for one in found})
    return found


def _match_loops(
    search: ValueAgreement,
    layout: LocationIndex,
    free: set[str],
    folds: dict[str, dict[int, ProgramTrack]],
    reference: Reference,
) -> dict[str, _UnrolledLoopMatch]:
    """Loops of Python by name, each with its loop: those first that agree most. Loops in loops are in those that match
    the ones around."""
    alone, single = _depths_with_one_loop(layout, free, folds), len(free) == len(reference.folds) == 1
    every = [
        (match, name)
        for name, fold in folds.items()
        for match in _possible_matches(search, layout, free, fold, reference.folds.get(name, {}))
    ]
    found: dict[str, _UnrolledLoopMatch] = {}
    for match, name in sorted(
        every, key=lambda one: (not one[0].matched_by_value, layout.loop_depth(one[0].path), -one[0].agreeing_share)
    ):
        is_alone = layout.loop_depth(match.path) in alone and not reference.trips
        # What is no loop in a loop may have been taken for one.
        is_told = match.matched_by_value or (
            is_alone and (single or _same_trip_counts(search, reference, match.path, name, found))
        )
        others = {one.path: other for other, one in found.items()}
        if match.path not in others and name not in found and is_told and _same_nesting(match.path, name, others):
            found[name] = match
    return found


def _depths_with_one_loop(
    layout: LocationIndex, free: Collection[str], folds: Mapping[str, dict[int, ProgramTrack]]
) -> set[int]:
    """The depths in which both have one loop."""
    here = Counter(layout.loop_depth(path) for path in free)
    there = Counter(track_depth(next(iter(fold.values()))) for fold in folds.values())
    return {depth for depth, count in here.items() if count == there[depth] == 1}


def _same_trip_counts(
    search: ValueAgreement, reference: Reference, path: str, name: str, found: Mapping[str, _UnrolledLoopMatch]
) -> bool:
    """Whether a loop is entered as often as a loop of Python, of which those around are matched, and runs as often if
    others are in it."""
    here, there = search.trips.get(path, {}), reference.folds.get(name, {})
    around = [other for other in reference.folds if name.startswith(f"{other}/")]
    is_innermost = not any(other.startswith(f"{name}/") for other in reference.folds)
    return all(other in found for other in around) and (here.keys() == there.keys() if is_innermost else here == there)


def _same_nesting(path: str, name: str, others: Mapping[str, str]) -> bool:
    """Whether loops around and inside that are matched are so on both sides."""
    return all(
        path.startswith(f"{other_path} ") == name.startswith(f"{other}/")
        and other_path.startswith(f"{path} ") == other.startswith(f"{name}/")
        for other_path, other in others.items()
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
        spots = _match_carried(search, layout, path, {k: fold[k] for k in carried})
        if spots and all(k in spots or _is_counter(fold[k]) for k in carried):
            scores = [score for k, spot in spots.items() if (score := search.scores[k].get(spot)) is not None]
            often = search.trips.get(path) == trips or all(2 * one.agreed >= one.compared for one in scores)
            yield _UnrolledLoopMatch(
                path,
                spots,
                often and any(one.is_significant for one in scores),
                sum(one.agreeing_share for one in scores),
            )


def _is_counter(track: ProgramTrack) -> bool:
    """Whether a carried value is a number that grows by the same step, which a loop that has an iteration number need
    not carry."""
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
    """What each carried value is: the one that agrees most, of several what the same operator makes, in order."""
    loop = layout.loops[path]
    edges = [(at, edge) for at, edge in enumerate(loop.back_edges) if edge.param in layout.locations]
    choices = []
    for place, (k, track) in enumerate(tracks.items()):
        for at, edge in edges:
            spot = layout.locations[edge.param]
            if search.same_group(k, spot):
                score = search.scores[k].get(spot)
                share = 0.0 if score is None else score.agreeing_share
                choices.append((-share, _track_operator(track) != _edge_operator(loop, at), abs(place - at), k, spot))
    found: dict[int, ValueLocation] = {}
    for *_, k, spot in sorted(choices, key=lambda one: one[:4]):
        if k not in found and spot not in found.values():
            found[k] = spot
    return found


def _carried_candidates(
    layout: LocationIndex, match: _UnrolledLoopMatch, fold: dict[int, ProgramTrack], how: str
) -> Iterator[TrackCandidate]:
    """What each carried value is that an iteration receives, and the result that becomes it."""
    edges = {edge.param: edge for edge in layout.loops[match.path].back_edges}
    for k, spot in match.carried.items():
        yield TrackCandidate(fold[k], fold[k], spot, how)
        result = layout.locations.get(edges[spot.value].result)
        made = next((one for one in fold.values() if (one.role, one.position) == ("result", fold[k].position)), None)
        if made is not None and result is not None and not result.role:
            yield TrackCandidate(made, made, result, how)


def _track_operator(track: ProgramTrack) -> str:
    """The operator that makes a value there, of a cell the last one."""
    cell = _CELL_LAST_OPERATORS.get(track.maker)
    if cell is not None:
        return cell[(track.output or 0) % len(cell)]
    return _canonical_operator(track.maker.removeprefix("aten.").partition(".")[0])


def _edge_operator(loop: Loop, at: int) -> str:
    """The operator that makes what a back edge carries."""
    result = loop.back_edges[at].result
    return next((_canonical_operator(node.op_type) for node in loop.body.nodes if result in node.outputs), "")


def _canonical_operator(operator: str) -> str:
    name = operator.lower().rstrip("_")
    return _OPERATOR_SYNONYMS.get(name, name)


def _result_candidates(
    search: ValueAgreement, path: str, fold: dict[int, ProgramTrack], taken: set[ValueLocation]
) -> Iterator[TrackCandidate]:
    """What is computed on the way in all iterations: the values of the loop that have the same numbers."""
    most = max(len(track.values) for track in fold.values() if track.role == "result")
    tracks = [k for k, track in fold.items() if track.position is None and len(track.values) == most]
    likely = {k: _likely_scores(search, k, path) for k in tracks}
    several = {k: scores for k, scores in likely.items() if len(scores) > 1}
    if several:
        # What is the same in a few iterations need not be in all.
        search.compare_all_iterations(several)
    for k, scores in likely.items():
        left = [
            score for score in scores if score.agrees_everywhere and score.candidate.location not in taken
        ] or scores
        spots = [score.candidate.location for score in left if score.candidate.location not in taken]
        if spots:
            taken.add(spots[0])
            node = spots[0].node
            alike = node is not None and _canonical_operator(node.op_type) == _track_operator(fold[k])
            yield TrackCandidate(
                fold[k],
                fold[k],
                spots[0],
                "value",
                is_unambiguous=len(scores) == 1 and (scores[0].agrees_everywhere or alike),
            )


def _likely_scores(search: ValueAgreement, k: int, path: str) -> list[AgreementScore]:
    """The values of a loop that a track may be, in the order of execution: those that agree everywhere, or else the one
    that agrees most."""
    scores = [
        one for spot, one in search.scores[k].items() if spot.path == path and not spot.role and one.is_significant
    ]
    whole = sorted((one for one in scores if one.agrees_everywhere), key=lambda one: one.candidate.location.order)
    most = max((one.agreeing_share for one in scores), default=0.0)
    best = [one for one in scores if one.agreeing_share == most]
    return whole or (best if len(best) == 1 else [])
