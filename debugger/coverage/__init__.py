"""What runs of a loop covered: branches, terminations, clamps, indices, iterations, nodes."""
