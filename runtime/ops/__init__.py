"""What each operator means: one function an operator, one file a family, one table (see ``registry``)."""
