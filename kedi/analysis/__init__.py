"""Names, scopes, types, exports and reachability of programs, found without running them."""
