"""Debug adapter protocol server of Kedi: a client of ``kedi.session``."""
