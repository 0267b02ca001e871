"""Values without parts: how a snapshot writes them, and how it reads them back.

A tagged value is a JSON array whose first item is a tag. What JSON says exactly
(``None``, booleans, 64-bit integers, finite floats, text without lone surrogates)
is never tagged.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
import sys
import warnings
from array import array
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any, cast
from uuid import UUID, SafeUUID
from zoneinfo import ZoneInfo

JSON_MIN = -(2**63)
JSON_MAX = 2**64 - 1
_FLAGS = int(
    re.ASCII | re.IGNORECASE | re.LOCALE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.UNICODE
)


class Refused(Exception):
    """A value that a snapshot cannot hold; the text is the reason."""


class Malformed(Exception):
    """Something in a document that no snapshot writer writes; the text says what."""


# ── writing ───────────────────────────────────────────────────────────────────


def encode_int(value: int) -> Any:
    """Integers beyond 64 bits are written in base 16, which Python converts in linear time."""
    return value if JSON_MIN <= value <= JSON_MAX else [":int", f"{value:x}"]


def encode_float(value: float) -> Any:
    """NaN keeps its sign and payload."""
    if math.isfinite(value):
        return value
    if value != value:
        return [":float", struct.pack(">d", value).hex()]
    return [":float", "inf" if value > 0 else "-inf"]


def pack_floats(values: Iterable[float]) -> str:
    """Any floats as base 64 of their little-endian bytes, eight each."""
    packed = array("d", values)
    if sys.byteorder != "little":
        packed.byteswap()
    return _base64(packed.tobytes())


def encode_str(value: str) -> Any:
    """Text with lone surrogates is not Unicode text: its code points are kept as bytes."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return [":str", _base64(value.encode("utf-8", "surrogatepass"))]
    return value


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _bytes(value: bytes) -> Any:
    return [":bytes", _base64(value)]


def encode_bytearray(value: bytearray) -> Any:
    """The bytes of a mutable byte string."""
    return [":bytearray", _base64(bytes(value))]


def _complex(value: complex) -> Any:
    return [":complex", encode_float(value.real), encode_float(value.imag)]


def _decimal(value: Decimal) -> Any:
    return [":decimal", str(value)]


def _fraction(value: Fraction) -> Any:
    return [":fraction", encode_int(value.numerator), encode_int(value.denominator)]


def _uuid(value: UUID) -> Any:
    safe = value.is_safe
    return [":uuid", value.hex] if safe is SafeUUID.unknown else [":uuid", value.hex, safe.name]


def _date(value: date) -> Any:
    return [":date", value.isoformat()]


def _datetime(value: datetime) -> Any:
    text = value.replace(tzinfo=None, fold=0).isoformat()
    return [":datetime", text, *_zone(value.tzinfo, value.fold)]


def _time(value: time) -> Any:
    text = value.replace(tzinfo=None, fold=0).isoformat()
    return [":time", text, *_zone(value.tzinfo, value.fold)]


def _zone(zone: tzinfo | None, fold: int) -> list[Any]:
    """``[]``, ``[zone]`` or ``[zone, fold]``."""
    if zone is None:
        return [None, fold] if fold else []
    return [encode_zone(zone), fold] if fold else [encode_zone(zone)]


def encode_zone(zone: tzinfo) -> Any:
    """A fixed offset as ``[days, seconds, microseconds]`` and name, other zones by their key."""
    if type(zone) is timezone:
        arguments = cast("Any", zone).__getinitargs__()
        offset = cast("timedelta", arguments[0])
        name = [encode_str(arguments[1])] if len(arguments) > 1 else []
        return [offset.days, offset.seconds, offset.microseconds, *name]
    if type(zone) is ZoneInfo and isinstance(cast("Any", zone).key, str):
        return encode_str(zone.key)
    what = type(zone).__name__
    raise Refused(
        f"its time zone is a `{what}`, and only fixed offsets and zones of the time zone "
        "database are kept: convert it with `.astimezone(…)`"
    )


def _timedelta(value: timedelta) -> Any:
    return [":timedelta", value.days, value.seconds, value.microseconds]


def _path(value: Any) -> Any:
    return [":path", type(value).__name__, encode_str(str(value))]


def _pattern(value: re.Pattern[Any]) -> Any:
    if value.flags & ~_FLAGS:
        raise Refused("it is a pattern compiled with a debugging flag of `re`: compile it without")
    text = value.pattern
    if type(text) not in (str, bytes):
        raise Refused(f"its pattern is a `{type(text).__name__}`, not plain text or bytes")
    return [":pattern", encode_str(text) if isinstance(text, str) else _bytes(text), value.flags]


def _range(value: range) -> Any:
    return [":range", encode_int(value.start), encode_int(value.stop), encode_int(value.step)]


#: Writers of immutable values by exact class.
WRITERS: dict[type, Callable[[Any], Any]] = {
    bytes: _bytes,
    complex: _complex,
    Decimal: _decimal,
    Fraction: _fraction,
    UUID: _uuid,
    date: _date,
    datetime: _datetime,
    time: _time,
    timedelta: _timedelta,
    PurePosixPath: _path,
    PureWindowsPath: _path,
    PosixPath: _path,
    WindowsPath: _path,
    re.Pattern: _pattern,
    range: _range,
}


# ── reading ───────────────────────────────────────────────────────────────────


def need(condition: bool, what: str) -> None:
    """Raise :class:`Malformed` unless the condition holds."""
    if not condition:
        raise Malformed(what)


def as_text(value: Any, what: str) -> str:
    """Text, or :class:`Malformed`."""
    if type(value) is not str:
        raise Malformed(f"{what} is not text")
    return value


def as_list(value: Any, what: str) -> list[Any]:
    """A JSON array, or :class:`Malformed`."""
    if type(value) is not list:
        raise Malformed(f"{what} is not a list")
    return cast("list[Any]", value)


def as_object(value: Any, what: str) -> dict[str, Any]:
    """A JSON object, or :class:`Malformed`."""
    if type(value) is not dict:
        raise Malformed(f"{what} is not an object")
    return cast("dict[str, Any]", value)


def as_count(value: Any, what: str, below: int = 2**63) -> int:
    """A whole number from 0 up, smaller than ``below``, or :class:`Malformed`."""
    if type(value) is not int or not 0 <= value < below:
        raise Malformed(f"{what} is not a number that can be")
    return value


def read_int(item: Any) -> int:
    """An integer, tagged or not."""
    if type(item) is int:
        return item
    need(type(item) is list and len(item) == 2 and item[0] == ":int", "an integer is expected")
    text = as_text(item[1], "an integer")
    need(_HEX.fullmatch(text) is not None, "an integer is not in base 16")
    value = int(text, 16)
    need(not JSON_MIN <= value <= JSON_MAX, "a small integer is written as a large one")
    return value


_HEX = re.compile(r"-?[1-9a-f][0-9a-f]*")


def read_float(item: Any) -> float:
    """A float, tagged or not."""
    if type(item) is float:
        return item
    need(type(item) is list and len(item) == 2 and item[0] == ":float", "a float is expected")
    text = as_text(item[1], "a float")
    if text in ("inf", "-inf"):
        return float(text)
    need(len(text) == 16, "a float is neither infinite nor 16 digits")
    value = struct.unpack(">d", _unhex(text))[0]
    need(value != value, "a finite float is written as a special one")
    return value


def read_str(item: Any) -> str:
    """Text, tagged or not."""
    if type(item) is str:
        return item
    need(type(item) is list and len(item) == 2 and item[0] == ":str", "text is expected")
    try:
        return _unbase64(item[1]).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise Malformed("text is not UTF-8 with surrogates") from None


def _unhex(text: str) -> bytes:
    try:
        return binascii.unhexlify(text)
    except ValueError:
        raise Malformed("digits are not in base 16") from None


def _unbase64(item: Any) -> bytes:
    need(type(item) is str, "bytes are not in base 64")
    try:
        return base64.b64decode(item, validate=True)
    except ValueError:
        raise Malformed("bytes are not in base 64") from None


def _read_floats(item: list[Any]) -> list[float]:
    _size(item, 1)
    data = _unbase64(item[1])
    need(len(data) % 8 == 0, "packed floats end in the middle of one")
    packed = array("d")
    packed.frombytes(data)
    if sys.byteorder != "little":
        packed.byteswap()
    return packed.tolist()


def _size(item: list[Any], *sizes: int) -> None:
    need(len(item) - 1 in sizes, f"`{item[0]}` has {len(item) - 1} parts")


def _small(item: Any) -> int:
    need(type(item) is int, "a number is expected")
    return item


def _read_bytes(item: list[Any]) -> bytes:
    _size(item, 1)
    return _unbase64(item[1])


def _read_bytearray(item: list[Any]) -> bytearray:
    return bytearray(_read_bytes(item))


def _read_complex(item: list[Any]) -> complex:
    _size(item, 2)
    return complex(read_float(item[1]), read_float(item[2]))


def _read_decimal(item: list[Any]) -> Decimal:
    _size(item, 1)
    need(type(item[1]) is str, "a decimal is not text")
    try:
        return Decimal(item[1])
    except ArithmeticError:
        raise Malformed("a decimal cannot be read") from None


_REDUCED_BITS = 1 << 20


def _read_fraction(item: list[Any]) -> Fraction:
    _size(item, 2)
    top, bottom = read_int(item[1]), read_int(item[2])
    need(bottom > 0, "a fraction has no positive denominator")
    bits = top.bit_length() + bottom.bit_length()
    # The check is quadratic; beyond this size it would take minutes, and what it would
    # find is a value that is merely not in its lowest terms.
    need(bits > _REDUCED_BITS or math.gcd(top, bottom) == 1, "a fraction is not reduced")
    value: Any = object.__new__(Fraction)
    value._numerator, value._denominator = top, bottom
    return value


def _read_uuid(item: list[Any]) -> UUID:
    _size(item, 1, 2)
    text = item[1]
    need(type(text) is str and re.fullmatch("[0-9a-f]{32}", text) is not None, "not a UUID")
    safe = "unknown" if len(item) == 2 else item[2]
    need(safe in ("safe", "unsafe", "unknown"), "the safety of a UUID is not known")
    return UUID(hex=text, is_safe=SafeUUID[safe])


def _read_date(item: list[Any]) -> date:
    _size(item, 1)
    need(type(item[1]) is str, "a date is not text")
    return date.fromisoformat(item[1])


def _read_datetime(item: list[Any]) -> datetime:
    _size(item, 1, 2, 3)
    need(type(item[1]) is str, "a date is not text")
    value = datetime.fromisoformat(item[1])
    need(value.tzinfo is None, "a date has two time zones")
    return value.replace(tzinfo=_read_zone(item), fold=_read_fold(item))


def _read_time(item: list[Any]) -> time:
    _size(item, 1, 2, 3)
    need(type(item[1]) is str, "a time is not text")
    value = time.fromisoformat(item[1])
    need(value.tzinfo is None, "a time has two time zones")
    return value.replace(tzinfo=_read_zone(item), fold=_read_fold(item))


def _read_fold(item: list[Any]) -> int:
    fold = item[3] if len(item) > 3 else 0
    need(type(fold) is int and fold in (0, 1), "a fold is neither 0 nor 1")
    return fold


def _read_zone(item: list[Any]) -> tzinfo | None:
    zone: Any = item[2] if len(item) > 2 else None
    if zone is None:
        return None
    if type(zone) is str:
        try:
            return ZoneInfo(zone)
        except (ValueError, OSError, KeyError):
            raise Malformed(f"there is no time zone {zone[:80]!r} on this machine") from None
    need(type(zone) is list and len(zone) in (3, 4), "a time zone cannot be read")
    offset = timedelta(*[_small(part) for part in zone[:3]])
    if len(zone) == 3:
        return UTC if not offset else timezone(offset)
    return timezone(offset, read_str(zone[3]))


def _read_timedelta(item: list[Any]) -> timedelta:
    _size(item, 3)
    return timedelta(*[_small(part) for part in item[1:]])


_PATHS: dict[str, type[Any]] = {
    "PurePosixPath": PurePosixPath,
    "PureWindowsPath": PureWindowsPath,
    "PosixPath": PosixPath,
    "WindowsPath": WindowsPath,
}


def _read_path(item: list[Any]) -> Any:
    _size(item, 2)
    need(type(item[1]) is str and item[1] in _PATHS, "a path is of no known kind")
    foreign = "WindowsPath" if sys.platform != "win32" else "PosixPath"
    need(item[1] != foreign, f"a {item[1]} cannot be made on this system")
    return _PATHS[item[1]](read_str(item[2]))


def _read_pattern(item: list[Any]) -> re.Pattern[Any]:
    _size(item, 2)
    source, flags = item[1], _small(item[2])
    need(not flags & ~_FLAGS, "a pattern has unknown flags")
    text = _read_bytes(source) if _is_bytes(source) else read_str(source)
    try:
        with warnings.catch_warnings():
            # What the program was told when it compiled the pattern.
            warnings.simplefilter("ignore")
            return re.compile(text, flags)
    except (re.error, ValueError, OverflowError, RecursionError):
        raise Malformed("a pattern cannot be compiled") from None


def _is_bytes(item: Any) -> bool:
    return type(item) is list and cast("list[Any]", item)[:1] == [":bytes"]


def _read_range(item: list[Any]) -> range:
    _size(item, 3)
    return range(*[read_int(part) for part in item[1:]])


#: Readers by tag. They get the whole array and may raise ``ValueError`` and
#: ``OverflowError`` besides :class:`Malformed`.
READERS: dict[str, Callable[[list[Any]], Any]] = {
    ":int": read_int,
    ":float": read_float,
    ":str": read_str,
    ":bytes": _read_bytes,
    ":bytearray": _read_bytearray,
    ":complex": _read_complex,
    ":decimal": _read_decimal,
    ":fraction": _read_fraction,
    ":uuid": _read_uuid,
    ":date": _read_date,
    ":datetime": _read_datetime,
    ":time": _read_time,
    ":timedelta": _read_timedelta,
    ":path": _read_path,
    ":pattern": _read_pattern,
    ":range": _read_range,
    ":floats": _read_floats,
}
