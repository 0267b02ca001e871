"""The bundled adapters. Each is imported only when it is chosen."""
