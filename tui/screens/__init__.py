"""Screens besides the main one."""
