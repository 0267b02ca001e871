"""Measurements against peers. Nothing here runs in the test suite."""
