"""Secrets in messages, previews and streams."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedi_dap.masking import MASK, BadPattern, Masker, StreamMasker, compile_patterns, secrets_in

SECRET = "sk-proj-Zq81mZ0a77Lw"  # no real key


@pytest.mark.parametrize(
    "name",
    [
        *(
            "OPENAI_API_KEY",
            "APIKEY",
            "GITHUB_TOKEN",
            "DB_PASSWORD",
            "client_secret",
            "AWS_CREDENTIALS",
        ),
        *("SECRET_KEY_BASE", "STRIPE_KEY", "MY_PASSWD", "KEYS", "AUTH_TOKEN", "pgpassword"),
    ],
)
def test_names_of_credentials(name: str) -> None:
    assert secrets_in({name: SECRET}) == [SECRET]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_TOKENS", "100000000"),
        ("TOKEN_COUNT", "123456789"),
        ("KEYBOARD_LAYOUT", "de-nodeadkeys"),
        ("MONKEY", "chimpanzee"),
        ("TOKENIZERS_PARALLELISM", "false-positive"),
        ("PWD", "/some/where/else"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/hosts"),
        ("API_KEY", "short"),
        ("API_KEY", "   "),
        ("HOME", "/home/somebody"),
    ],
)
def test_what_is_no_credential(name: str, value: str) -> None:
    assert secrets_in({name: value}) == []


def test_passwords_in_addresses() -> None:
    found = secrets_in({"DATABASE_URL": "postgres://me:hunter2hunter2@db/x", "URL": "http://a/b"})
    assert found == ["hunter2hunter2"]


def _body(masker: Masker, text: str) -> str:
    return json.loads(masker.encode({"type": "event", "body": {"output": text}}))["body"]["output"]


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        (SECRET, f"<{SECRET}>"),
        (SECRET, SECRET * 3),
        ('with "quotes" and \\', 'x with "quotes" and \\ y'),
        ('with "quotes" and \\', "repr " + repr('with "quotes" and \\')),
        ("zwei\nZeilen mit Text", "zwei\nZeilen mit Text"),
        ("zwei\nZeilen mit Text", repr("zwei\nZeilen mit Text")),
        ("Grüße-an-Łódź", "-> Grüße-an-Łódź"),
        ("Grüße-an-Łódź", ascii("Grüße-an-Łódź")),
        (SECRET, f"'{SECRET[:12]}…"),
        (SECRET, f"'…{SECRET[-9:]}'"),
        (SECRET, SECRET[:11]),
    ],
)
def test_secrets_are_masked_in_every_form(secret: str, text: str) -> None:
    shown = _body(Masker([secret]), text)
    assert MASK in shown
    for part in (secret[:8], secret[-8:]):
        assert part not in shown
        assert repr(part)[1:-1] not in shown


def test_a_masked_message_stays_one() -> None:
    masker = Masker(["breakpoint", "variables"])
    message = {
        "type": "response",
        "request_seq": 3,
        "success": True,
        "command": "variables",
        "body": {"reason": "breakpoint", "value": "a breakpoint", "kind": "variables"},
    }
    assert json.loads(masker.encode(message)) == {
        **message,
        "body": {"reason": "breakpoint", "value": f"a {MASK}", "kind": "variables"},
    }


def test_counts_stay() -> None:
    masker = Masker(secrets_in({"API_TOKEN": "1234567890", "X_KEY": "1234567890abc"}))
    message = {"type": "event", "body": {"tokens": 1234567890, "text": "1234567890 tokens"}}
    assert json.loads(masker.encode(message)) == message


def test_patterns() -> None:
    masker = Masker((), compile_patterns([r"\b\d{4}-\d{4}\b", "^secret.*$"]))
    assert _body(masker, "card 1234-5678, not 12-34") == f"card {MASK}, not 12-34"
    assert _body(masker, "secret\nmore") == "secret\nmore"
    assert _body(masker, "secret stuff") == MASK
    assert json.loads(masker.encode({"type": "event", "event": "1234-5678"})) == {
        "type": "event",
        "event": "1234-5678",
    }


@pytest.mark.parametrize("text", ["(", "a*", ""])
def test_patterns_that_cannot_be_used(text: str) -> None:
    with pytest.raises(BadPattern, match="redact"):
        compile_patterns([text])


@given(
    st.text("abcxyz-sk", min_size=8, max_size=14),
    st.text("abcxyz-sk\n", max_size=30),
    st.text("abcxyz-sk\n", max_size=30),
    st.lists(st.integers(0, 80), max_size=6),
)
def test_streams_are_masked_however_they_are_cut(
    secret: str, before: str, after: str, cuts: list[int]
) -> None:
    text = f"{before}{secret}{after}"
    places = sorted({min(cut, len(text)) for cut in cuts})
    stream = StreamMasker(Masker([secret]))
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    shown = "".join(stream.feed(piece) for piece in pieces) + stream.flush()
    assert secret not in shown
    assert len(shown) <= len(text) + len(MASK) * 8


@given(st.text(max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_streams_without_secrets_lose_nothing(text: str, cuts: list[int]) -> None:
    stream = StreamMasker(Masker([SECRET], compile_patterns(["card-[0-9]{4}"])))
    places = sorted({min(cut, len(text)) for cut in cuts})
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    assert "".join(stream.feed(piece) for piece in pieces) + stream.flush() == text


@pytest.mark.parametrize("cut", range(1, len(SECRET)))
def test_a_flush_within_a_secret_does_not_show_its_rest(cut: int) -> None:
    stream = StreamMasker(Masker([SECRET]))
    shown = stream.feed(f"key: {SECRET[:cut]}") + stream.flush()
    shown += stream.feed(f"{SECRET[cut:]} end") + stream.flush()
    assert SECRET[cut:] not in shown.removesuffix(" end") or len(SECRET) - cut < 3
    assert shown.endswith(f"{MASK} end")


def test_patterns_are_matched_across_pieces_of_a_line() -> None:
    stream = StreamMasker(Masker((), compile_patterns([r"card-\d+"])))
    shown = stream.feed("a card-12") + stream.feed("34 b\nnext") + stream.flush()
    assert shown == f"a {MASK} b\nnext"
