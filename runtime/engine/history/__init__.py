"""Past and edited states of an execution: checkpoints, edits, predicates, histories."""
