"""Links to a study: signed, bound to one study, and expiring."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab.studies import links
from negolab.studies.links import OPEN, InvalidLink, link_url, make_token, read_token
from negolab.studies.texts import texts

SECRET = "a secret of the study"
DAY = 86400.0
ID = "00112233445566aa"


def refused(text: str, *, secret: str = SECRET, study: str = "prices", age: float = DAY) -> str:
    with pytest.raises(InvalidLink) as caught:
        read_token(secret, study, text, age)
    return str(caught.value)


def test_a_token_says_whose_it_is() -> None:
    assert read_token(SECRET, "prices", make_token(SECRET, "prices", ID), DAY) == ID
    assert read_token(SECRET, "prices", make_token(SECRET, "prices", OPEN), DAY) == OPEN


def test_the_same_link_comes_out_each_time_it_is_printed() -> None:
    created = time.time() - 100
    assert make_token(SECRET, "prices", ID, created=created) == make_token(SECRET, "prices", ID, created=created)


def test_a_forged_token_is_refused() -> None:
    real = make_token(SECRET, "prices", ID)
    who, at, signature = real.split(".")
    for forged in (
        f"ffffffffffffffff.{at}.{signature}",
        f"{OPEN}.{at}.{signature}",
        f"{who}.{at[:-1]}{'A' if at[-1] != 'A' else 'B'}.{signature}",
        f"{who}.{at}.{signature[::-1]}",
        f"{who}.{at}.",
        f"{who}.{at}",
        f"{who}.{signature}",
    ):
        assert refused(forged) == texts.LINK_NOT_VALID


def test_a_token_of_another_study_or_another_database_is_refused() -> None:
    real = make_token(SECRET, "prices", ID)
    assert refused(real, study="prices2") == texts.LINK_NOT_VALID
    assert refused(real, secret="another secret") == texts.LINK_NOT_VALID


def test_an_expired_token_is_refused_and_says_so() -> None:
    old = make_token(SECRET, "prices", ID, created=time.time() - 2 * DAY)
    assert refused(old) == texts.LINK_EXPIRED
    assert read_token(SECRET, "prices", old, 3 * DAY) == ID


def test_a_token_cannot_make_itself_younger() -> None:
    old = make_token(SECRET, "prices", ID, created=time.time() - 2 * DAY)
    young = make_token(SECRET, "prices", OPEN)
    mixed = ".".join([old.split(".")[0], young.split(".")[1], old.split(".")[2]])
    assert refused(mixed) == texts.LINK_NOT_VALID


@given(st.text(max_size=500))
def test_any_text_is_refused_in_one_sentence(text: str) -> None:
    assert refused(text) == texts.LINK_NOT_VALID


@given(st.text(alphabet=".-_abcABC012", max_size=80))
def test_any_text_like_a_token_is_refused(text: str) -> None:
    assert refused(text) == texts.LINK_NOT_VALID


def test_a_very_long_text_is_refused_unread() -> None:
    assert refused("." * 1_000_000) == texts.LINK_NOT_VALID


def test_what_is_wrong_never_shows_the_token() -> None:
    for why in (texts.LINK_NOT_VALID, texts.LINK_EXPIRED):
        assert why.endswith(".") and "{" not in why


def test_a_link_stands_below_the_public_address() -> None:
    assert link_url("https://lab.example/study/", "t.o.k") == "https://lab.example/study/join/t.o.k"
    assert link_url("http://127.0.0.1:8866", "t") == "http://127.0.0.1:8866/join/t"
    for wrong in (
        "lab.example",
        "ftp://lab.example/",
        "https://",
        "https://lab.example/?a=1",
        "https://lab.example/#a",
    ):
        with pytest.raises(ValueError, match="must be an address"):
            link_url(wrong, "t")


def test_a_token_needs_no_escaping_in_an_address() -> None:
    from urllib.parse import quote

    for _ in range(50):
        text = make_token(SECRET, "prices", ID)
        assert quote(text, safe="") == text
    assert links.OPEN not in make_token(SECRET, "prices", ID)
