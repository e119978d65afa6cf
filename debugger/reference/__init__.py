"""References for comparisons: files of values, and values recorded in the user's own code."""
