"""The server inside the debugged process: requests, handlers and events."""
