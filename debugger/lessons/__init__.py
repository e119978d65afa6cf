"""Lessons: an interactive course on loops in model files, with graded questions."""
