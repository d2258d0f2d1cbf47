"""Links to a study: signed, bound to one study, and expiring."""

from __future__ import annotations

import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab._internal import clock
from negolab.studies.links import OPEN, AccessDenied, link_url, make_token, read_token
from negolab.studies.texts import texts

SECRET = "a secret of the study"
DAY = 86400.0
ID = "00112233445566aa"


def refused(text: str) -> str:
    with pytest.raises(AccessDenied) as caught:
        read_token(SECRET, "prices", text, DAY)
    return str(caught.value)


def test_a_token_says_whose_it_is() -> None:
    assert read_token(SECRET, "prices", make_token(SECRET, "prices", ID), DAY) == ID
    assert read_token(SECRET, "prices", make_token(SECRET, "prices", OPEN), DAY) == OPEN


def test_the_same_link_comes_out_each_time_it_is_printed() -> None:
    created = time.time() - 100
    assert make_token(SECRET, "prices", ID, created=created) == make_token(SECRET, "prices", ID, created=created)


REAL = make_token(SECRET, "prices", ID)
OLD = make_token(SECRET, "prices", ID, created=time.time() - 2 * DAY)
WHO, AT, SIGNATURE = REAL.split(".")


@pytest.mark.parametrize(
    "forged",
    [
        f"ffffffffffffffff.{AT}.{SIGNATURE}",
        f"{OPEN}.{AT}.{SIGNATURE}",
        f"{WHO}.{AT[:-1]}{'A' if AT[-1] != 'A' else 'B'}.{SIGNATURE}",
        f"{WHO}.{AT}.{SIGNATURE[::-1]}",
        f"{WHO}.{AT}.",
        f"{WHO}.{AT}",
        f"{WHO}.{SIGNATURE}",
        f"{WHO}.{AT}.{OLD.split('.')[2]}",
        make_token("another secret", "prices", ID),
        make_token(SECRET, "prices2", ID),
        "." * 1_000_000,
    ],
    ids=[
        *("another participant", "the open link", "another time", "a signature backwards", "no signature", "two parts"),
        *("no time", "younger than it is", "of another database", "of another study", "very long"),
    ],
)
def test_a_token_that_the_study_did_not_sign_is_refused(forged: str) -> None:
    assert refused(forged) == texts.LINK_NOT_VALID


def test_an_expired_token_is_refused_and_says_so() -> None:
    assert refused(OLD) == texts.LINK_EXPIRED
    assert read_token(SECRET, "prices", OLD, 3 * DAY) == ID


def test_no_link_expires_because_the_clock_was_ahead_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_ahead", clock.not_before(0) - time.monotonic())
    token = make_token(SECRET, "prices", ID, created=time.time() - DAY / 2)
    assert clock.not_before(time.time() + 40 * DAY) > time.time() + 39 * DAY, "as the end of a database says"
    assert read_token(SECRET, "prices", token, DAY) == ID


@given(st.text(max_size=500) | st.text(alphabet=".-_abcABC012", max_size=80))
def test_any_text_is_refused_in_one_sentence(text: str) -> None:
    assert refused(text) == texts.LINK_NOT_VALID


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


def test_a_token_needs_no_escaping_in_an_address_and_holds_no_open_link() -> None:
    assert quote(REAL, safe="") == REAL and OPEN not in REAL
