"""The one voice: names, lines and sentences about a loop, the same wherever they are shown."""
