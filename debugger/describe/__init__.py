"""The one voice: names, lines and sentences about a loop, the same in all front ends."""
