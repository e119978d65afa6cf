"""Lessons: what one who never saw a loop inside a model file learns in an hour, with questions that are checked."""
