"""Language server of Kedi: a client of ``kedi.analysis`` and ``kedi.syntax``."""
