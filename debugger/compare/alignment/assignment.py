"""The linear assignment problem: the pairs of the highest total score, by the Hungarian algorithm."""

from __future__ import annotations

import numpy as np

from ....runtime.graph import Array

#: The score of leaving a row and a column unpaired, less than that of any pair that may be formed.
_UNPAIRED_SCORE = -3.0
#: What decides between assignments of the same total: that items keep their positions.
_POSITION_WEIGHT = 1e-6


def best_assignment(scores: Array) -> list[tuple[int, int]]:
    """The pairs of rows and columns with the highest sum of scores.

    Args:
        scores: of each row with each column, above -3; NaN where the two cannot be paired.
    """
    height, width = scores.shape
    distance = np.abs(np.subtract.outer(np.arange(height), np.arange(width)))
    costs = np.full((max(height, width),) * 2, -_UNPAIRED_SCORE)
    costs[:height, :width] = np.nan_to_num(-scores - _POSITION_WEIGHT / (1 + distance), nan=-_UNPAIRED_SCORE)
    pairs = sorted((int(row), column) for column, row in enumerate(_assign_columns(costs)))
    return [(k, j) for k, j in pairs if k < height and j < width and not np.isnan(scores[k, j])]


def _assign_columns(costs: Array) -> Array:
    """The row of each column at minimum cost: rows are added one at a time, along a shortest augmenting path."""
    count = len(costs)
    row_potential, column_potential = np.zeros(count), np.zeros(count)
    rows = np.full(count, -1)
    for row in range(count):
        distance, previous = np.full(count, np.inf), np.full(count, -1)
        visited = np.zeros(count, dtype=bool)
        current, column, length = row, -1, 0.0
        while True:
            reduced = length + costs[current] - row_potential[current] - column_potential
            is_shorter = ~visited & (reduced < distance)
            distance[is_shorter], previous[is_shorter] = reduced[is_shorter], column
            column = int(np.where(visited, np.inf, distance).argmin())
            length = distance[column]
            visited[column] = True
            if rows[column] < 0:
                break
            current = rows[column]
        row_potential[row] += length
        inner = visited & (rows >= 0)
        row_potential[rows[inner]] += length - distance[inner]
        column_potential[visited] -= length - distance[visited]
        while column >= 0:
            source = previous[column]
            rows[column] = row if source < 0 else rows[source]
            column = source
    return rows
