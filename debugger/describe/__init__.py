"""Descriptions of loops: names, pseudo-code and sentences, shared by all front ends."""
