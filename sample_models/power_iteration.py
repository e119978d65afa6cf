"""The source of power_iteration.onnx, whose nodes refer to its lines as in exports of torch.onnx."""

from __future__ import annotations

import numpy as np


def step(matrix, v, estimate):
    product = matrix @ v
    longer = product / np.linalg.norm(product)
    new_estimate = v @ product
    change = abs(new_estimate - estimate)
    return longer, new_estimate, change


def power_iteration(matrix, v, tol, max_iterations):
    estimate, estimates = np.float32(0), []
    for _ in range(max_iterations):
        v, estimate, change = step(matrix, v, estimate)
        estimates.append(estimate)
        if not change > tol:
            break
    return estimate, v, np.array(estimates)
