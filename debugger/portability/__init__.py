"""Whether another runtime loads a model and computes the same, by rules on its loop graph."""
