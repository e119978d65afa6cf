"""Matches Python loops that were unrolled in a program to loops of a model.

The model has no metadata for it: it may have no such loop, or a recurrent operator. Criteria are carried values of
equal shapes with equal numbers in most iterations (in some, for equal trip counts), or the only loop on both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...reference.program_track import ProgramTrack
from ...reference.reference import Reference
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
    return _UnrolledLoops(search, layout, free_paths, queried, reference).pair()


@dataclass
class _UnrolledLoops:
    """The pairing of Python loops with loops of a model. ``_free``: the paths of unpaired loops."""

    _search: ValueAgreement
    _layout: LocationIndex
    _free: set[str]
    _tracks: Mapping[int, ProgramTrack]
    _reference: Reference

    def __post_init__(self) -> None:
        #: By Python loop its tracks.
        self._folds: dict[str, dict[int, ProgramTrack]] = {}
        for k, track in self._tracks.items():
            self._folds.setdefault(track.loop, {})[k] = track

    def pair(self) -> list[TrackCandidate]:
        matched = self._match_loops()
        candidates: list[TrackCandidate] = []
        for name, match in matched.items():
            # Nodes of a matched nested loop are compared there.
            tracks = self._folds[name].items()
            fold = {k: track for k, track in tracks if track.position is not None or track.inside not in matched}
            candidates += self._carried_candidates(match, fold)
            used = {candidate.location for candidate in candidates}
            candidates += self._result_candidates(match.path, fold, used)
        return candidates

    def _match_loops(self) -> dict[str, _UnrolledLoopMatch]:
        """Python loops by name with their loops, best agreement first. Nested loops must be nested in the matches of
        the outer loops."""
        layout, folds = self._layout, self._reference.folds
        # The depths at which both sides have exactly one loop.
        counts = Counter(layout.loop_depth(path) for path in self._free)
        program_counts = Counter(track_depth(next(iter(fold.values()))) for fold in self._folds.values())
        single_depths = {depth for depth, count in counts.items() if count == program_counts[depth] == 1}
        is_only = len(self._free) == len(folds) == 1
        pairs = [(match, name) for name in self._folds for match in self._possible_matches(name)]
        matched: dict[str, _UnrolledLoopMatch] = {}
        for match, name in sorted(
            pairs, key=lambda m: (not m[0].matched_by_value, layout.loop_depth(m[0].path), -m[0].agreeing_share)
        ):
            is_alone = layout.loop_depth(match.path) in single_depths and not self._reference.trips
            # A loop that is not nested may look like a nested one.
            certain = match.matched_by_value or (
                is_alone and (is_only or self._have_same_trip_counts(match.path, name, matched))
            )
            by_path = {m.path: other_name for other_name, m in matched.items()}
            if (
                match.path not in by_path
                and name not in matched
                and certain
                and _have_same_nesting(match.path, name, by_path)
            ):
                matched[name] = match
        return matched

    def _have_same_trip_counts(self, path: str, name: str, matched: Collection[str]) -> bool:
        """Whether a loop has the entries of a Python loop whose outer loops are matched, and for outer loops also the
        trip counts."""
        folds = self._reference.folds
        a, b = self._search.trips.get(path, {}), folds.get(name, {})
        is_innermost = not any(other.startswith(f"{name}/") for other in folds)
        outer_matched = all(other in matched for other in folds if name.startswith(f"{other}/"))
        return outer_matched and (a.keys() == b.keys() if is_innermost else a == b)

    def _possible_matches(self, name: str) -> Iterator[_UnrolledLoopMatch]:
        fold, trips, search = self._folds[name], self._reference.folds.get(name, {}), self._search
        carried = {k: track for k, track in fold.items() if track.role == "carried"}
        for path in self._free:
            if self._layout.loop_depth(path) != track_depth(next(iter(fold.values()))):
                continue
            locs = self._match_carried_values(path, carried)
            if locs and all(k in locs or _is_counter(track) for k, track in carried.items()):
                scores = [score for k, loc in locs.items() if (score := search.scores[k].get(loc)) is not None]
                frequent = search.trips.get(path) == trips or all(2 * s.agreed >= s.compared for s in scores)
                by_value = frequent and any(s.is_significant for s in scores)
                yield _UnrolledLoopMatch(path, locs, by_value, sum(s.agreeing_share for s in scores))

    def _match_carried_values(self, path: str, tracks: Mapping[int, ProgramTrack]) -> dict[int, ValueLocation]:
        """The location of each carried value: best agreement first, then equal operators, then order."""
        search, locations, loop = self._search, self._layout.locations, self._layout.loops[path]
        choices = []
        for j, (k, track) in enumerate(tracks.items()):
            for i, edge in enumerate(loop.back_edges):
                node = next((node for node in loop.body.nodes if edge.result in node.outputs), None)
                operator = "" if node is None else _canonical_operator(node.op_type)
                loc = locations.get(edge.param)
                if loc is not None and search.had_same_shape_and_kind(k, loc):
                    score = search.scores[k].get(loc)
                    share = 0.0 if score is None else score.agreeing_share
                    choices.append((-share, operator != _track_operator(track), abs(j - i), k, loc))
        matches: dict[int, ValueLocation] = {}
        for *_, k, loc in sorted(choices, key=lambda choice: choice[:4]):
            if k not in matches and loc not in matches.values():
                matches[k] = loc
        return matches

    def _carried_candidates(
        self, match: _UnrolledLoopMatch, fold: Mapping[int, ProgramTrack]
    ) -> Iterator[TrackCandidate]:
        """The location of each carried value that an iteration receives, and of the result that updates it."""
        method = "value" if match.matched_by_value else "position"
        edges = {edge.param: edge for edge in self._layout.loops[match.path].back_edges}
        for k, loc in match.carried.items():
            yield TrackCandidate(fold[k], fold[k], loc, method)
            result = self._layout.locations.get(edges[loc.value].result)
            source = next((t for t in fold.values() if (t.role, t.position) == ("result", fold[k].position)), None)
            if source is not None and result is not None and not result.role:
                yield TrackCandidate(source, source, result, method)

    def _result_candidates(
        self, path: str, fold: Mapping[int, ProgramTrack], used: set[ValueLocation]
    ) -> Iterator[TrackCandidate]:
        """Intermediate results in all iterations: the values of the loop with the same numbers."""
        length = max(len(track.values) for track in fold.values() if track.role == "result")
        tracks = [k for k, track in fold.items() if track.position is None and len(track.values) == length]
        likely = {k: self._likely_scores(k, path) for k in tracks}
        ambiguous = {k: scores for k, scores in likely.items() if len(scores) > 1}
        if ambiguous:
            # Values that are equal in a few iterations may differ later.
            self._search.compare_all_iterations(ambiguous)
        for k, scores in likely.items():
            free = [score for score in scores if score.candidate.location not in used]
            loc = next((s.candidate.location for s in (*(s for s in free if s.agrees_everywhere), *free)), None)
            if loc is None:
                continue
            used.add(loc)
            same_operator = loc.node is not None and _canonical_operator(loc.node.op_type) == _track_operator(fold[k])
            unambiguous = len(scores) == 1 and (scores[0].agrees_everywhere or same_operator)
            yield TrackCandidate(fold[k], fold[k], loc, "value", is_unambiguous=unambiguous)

    def _likely_scores(self, k: int, path: str) -> list[AgreementScore]:
        """The candidates of a track in a loop, in execution order: those that agree everywhere, or else the best
        one."""
        scores = [
            s for loc, s in self._search.scores[k].items() if loc.path == path and not loc.role and s.is_significant
        ]
        exact = sorted((s for s in scores if s.agrees_everywhere), key=lambda s: s.candidate.location.order)
        top = max((s.agreeing_share for s in scores), default=0.0)
        best = [s for s in scores if s.agreeing_share == top]
        return exact or (best if len(best) == 1 else [])


def _have_same_nesting(path: str, name: str, names_by_path: Mapping[str, str]) -> bool:
    """Whether matched outer and inner loops are nested alike on both sides."""
    return all(
        path.startswith(f"{other_path} ") == name.startswith(f"{other_name}/")
        and other_path.startswith(f"{path} ") == other_name.startswith(f"{name}/")
        for other_path, other_name in names_by_path.items()
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


def _track_operator(track: ProgramTrack) -> str:
    """The operator that computes a track, for a cell the last one."""
    cell = _CELL_LAST_OPERATORS.get(track.maker)
    if cell is not None:
        return cell[(track.output or 0) % len(cell)]
    return _canonical_operator(track.maker.removeprefix("aten.").partition(".")[0])


def _canonical_operator(operator: str) -> str:
    name = operator.lower().rstrip("_")
    return _OPERATOR_SYNONYMS.get(name, name)
