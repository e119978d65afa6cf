"""Operator implementations: one function per operator, one file per family, one table (see ``registry``)."""
