"""The debugger's core: breakpoints, stepping and evaluation, without any wire protocol."""
