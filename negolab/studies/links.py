"""Links to a study: expiring tokens, signed with the study's own secret and bound to that study."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import itsdangerous
from typing_extensions import override

from negolab.studies import clock
from negolab.studies.texts import texts

if TYPE_CHECKING:
    from negolab.studies.database import Participant, StoredStudy

OPEN = "open"
"""Subject of the open link's token, which anybody may use; other tokens hold a participant's id."""

LOCAL_URL = "http://127.0.0.1:8866/"
"""Default address of a study's pages."""

PROXY_CHECK = "proxy-check"
"""Path below a study's address at which its server says how a request reached it."""

_LONGEST = 400
"""Largest number of characters of a token."""


class AccessDenied(Exception):
    """An invalid or expired link, or an invalid request; the text is shown to the person."""


class _Signer(itsdangerous.TimestampSigner):
    """Timestamp signer with a settable time, so that a participant's link is the same each time it is printed."""

    moment: float | None = None

    @override
    def get_timestamp(self) -> int:
        return int(clock.time() if self.moment is None else self.moment)


def _signer(secret: str, study: str) -> _Signer:
    return _Signer(
        secret.encode(), salt=f"negolab.link/{study}".encode(), key_derivation="hmac", digest_method=hashlib.sha256
    )


def make_token(secret: str, study: str, participant: str, *, created: float | None = None) -> str:
    """Sign a token.

    Args:
        secret: Secret of the study.
        study: Name of the study.
        participant: Id of the participant, or `OPEN`.
        created: Time from which its age counts, in seconds since 1970; None: now.
    """
    signer = _signer(secret, study)
    signer.moment = created
    return signer.sign(participant).decode()


def personal_token(study: StoredStudy, participant: Participant) -> str:
    """Sign the token of a participant's own link."""
    return make_token(study.secret, study.id, participant.id, created=participant.created)


def read_token(secret: str, study: str, token: str, max_age: float | None) -> str:
    """Verify a token and return the participant's id, or `OPEN`.

    Args:
        secret: Secret of the study.
        study: Name of the study.
        token: The token.
        max_age: Largest age in seconds; None: any.

    Raises:
        AccessDenied: The token is not of this study, was changed, or is too old.
    """
    if len(token) > _LONGEST or not token.isascii():
        raise AccessDenied(texts.LINK_NOT_VALID)
    try:
        subject, signed = _signer(secret, study).unsign(token, return_timestamp=True)
    except itsdangerous.BadData:
        raise AccessDenied(texts.LINK_NOT_VALID) from None
    # No link expires because the clock was ahead once, or is set back.
    now = min(clock.time(), clock.wall_time())
    if max_age is not None and now - signed.timestamp() > max_age:
        raise AccessDenied(texts.LINK_EXPIRED)
    return subject.decode()


def link_url(public: str, token: str) -> str:
    """Build the link from the study's public address and a token; `ValueError` if the address is invalid."""
    parts = urlsplit(public)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ValueError(f"--url must be an address such as https://lab.example/study/, not {public!r}")
    return f"{public.rstrip('/')}/join/{token}"
