"""Snapshots of sessions: the file, the values in it, and making a session from it again."""
