"""The interpreter: programs compiled to closures over scopes that are Python globals."""
