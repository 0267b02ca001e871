"""Models: the adapter contract, model calls, adapters, selection and configuration."""
