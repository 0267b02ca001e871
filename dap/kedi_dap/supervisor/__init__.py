"""The process that a client talks to: it starts, watches and ends the program's process."""
