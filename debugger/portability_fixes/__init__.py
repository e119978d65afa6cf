"""Fixes of what ``check`` finds: rewrites that keep what a model computes, each verified before it is written."""
