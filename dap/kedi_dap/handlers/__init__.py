"""Handlers of requests, a file for each group; see :mod:`kedi_dap.server.dispatch`."""
