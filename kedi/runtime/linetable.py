"""Changing the location tables of code objects."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=2048)
def without_first_line(table: bytes) -> bytes:
    """The location table of code whose first line is only a wrapper, to begin with the second.

    What stood on the first line (entering and leaving the function) then stands there too.
    The format is that of CPython's ``Objects/locations.md``: only an entry's first byte has
    its high bit set, and entries give their line relative to the one before.
    """
    result = bytearray()
    line = moved = at = 0
    size = len(table)
    while at < size:
        head, start = table[at], at + 1
        form = head >> 3 & 15
        rest, delta = start, 0
        if form in (13, 14):
            value = shift = 0
            while True:
                value |= (table[rest] & 63) << shift
                shift += 6
                rest += 1
                if not table[rest - 1] & 64:
                    break
            delta = -(value >> 1) if value & 1 else value >> 1
        elif 10 <= form < 13:
            delta = form - 10
        at = rest
        while at < size and table[at] < 128:
            at += 1
        line += delta
        step = max(line - 1, 0) - moved
        moved += step
        if step == delta:
            result += table[start - 1 : at]
        elif form < 13:
            result.append(head - 8)
            result += table[start:at]
        else:
            result.append(head)
            value = (-step << 1 | 1) if step < 0 else step << 1
            while value > 63:
                result.append(value & 63 | 64)
                value >>= 6
            result.append(value)
            result += table[rest:at]
    return bytes(result)
