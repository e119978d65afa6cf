"""What an execution was, and what it could be: checkpoints, changes by hand, predicates, histories."""
