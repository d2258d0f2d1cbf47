"""Links: a token is signed with the study's own secret, bound to that study, and expires."""

from __future__ import annotations

import hashlib
import time
from urllib.parse import urlsplit

import itsdangerous
from typing_extensions import override

OPEN = "open"
"""Stands in the token of the link that anybody may use, where a participant's id stands in the others."""

HERE = "http://127.0.0.1:8866/"
"""Where a study is served, if nothing else is said."""

_LONGEST = 400
"""Characters of a token; what is longer is none of ours."""

NOT_VALID = "This link is not valid here: open it again exactly as you got it, or ask for a new one."
EXPIRED = "This link has expired: ask those who sent it for a new one."


class BadLink(ValueError):
    """A token that opens nothing; `why` is one sentence for the one who holds it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class _Signer(itsdangerous.TimestampSigner):
    """Signs as of a moment of ours, so that the same link comes out each time it is printed."""

    moment: float | None = None

    @override
    def get_timestamp(self) -> int:
        return int(time.time() if self.moment is None else self.moment)


def _signer(secret: str, study: str) -> _Signer:
    return _Signer(
        secret.encode(), salt=f"negolab.link/{study}".encode(), key_derivation="hmac", digest_method=hashlib.sha256
    )


def token(secret: str, study: str, participant: str, *, created: float | None = None) -> str:
    """The token of a participant, or of `OPEN`, as of `created` (seconds since 1970; None: now)."""
    signer = _signer(secret, study)
    signer.moment = created
    return signer.sign(participant).decode()


def read(secret: str, study: str, token: str, max_age: float | None) -> str:
    """The participant's id, or `OPEN`, of a token of this study that is at most `max_age` seconds old (None: of any
    age); `BadLink` says what is wrong with it."""
    if len(token) > _LONGEST or not token.isascii():
        raise BadLink(NOT_VALID)
    try:
        found = _signer(secret, study).unsign(token, max_age=None if max_age is None else int(max_age))
    except itsdangerous.SignatureExpired:
        raise BadLink(EXPIRED) from None
    except itsdangerous.BadData:
        raise BadLink(NOT_VALID) from None
    return found.decode()


def url(public: str, token: str) -> str:
    """The link itself, below the public address of the study; `ValueError` if that is no address."""
    parts = urlsplit(public)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ValueError(f"--url must be an address such as https://lab.example/study/, not {public!r}")
    return f"{public.rstrip('/')}/join/{token}"
