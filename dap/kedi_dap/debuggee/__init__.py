"""The process that runs the program: its start, its output and its connection."""
