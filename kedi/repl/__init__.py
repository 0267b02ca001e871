"""The terminal REPL: a client of the session core, with no parser or evaluator of its own."""
