"""Graph -> Plan: the order of the instructions, their slots, and how each operator becomes kernel calls."""
