"""Keys of endpoints: read from the environment by name, sent to their endpoint, and shown to nobody."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from typing_extensions import override

DEFAULT_KEY = "OPENAI_API_KEY"
NO_KEY = "none"
"""What is sent where no key is set: servers on one's own machine want something."""
DEFAULT_URL = "https://api.openai.com/v1"
URL_NAMES = ("NEGOLAB_BASE_URL", "OPENAI_BASE_URL")
BROKER = "/negolab/v1"
"""How the address of a sweep's broker ends."""
HIDDEN = "[key]"
ESCAPED = '/"\\'
"""Characters that JSON may write after a backslash."""
SHORTEST = 6
"""Characters of a key that is hidden where it comes back."""
_LOOKS_LIKE_ONE = re.compile(r"\b(?:sk|pk|rk)-[\w*.-]{4,}|\bbearer\s+[^\s\"']+", re.IGNORECASE)


class Key:
    """A key that does not show itself."""

    __slots__ = ("_escaped", "_escapes", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        self._escapes = [rb"\u00", *(b"\\" + char.encode() for char in ESCAPED if char in value)]
        self._escaped = re.compile("".join(map(_in_json, value)).encode())

    @override
    def __repr__(self) -> str:
        return HIDDEN

    @override
    def __reduce__(self) -> str:
        raise TypeError("a key is not kept anywhere")

    def header(self) -> str:
        """The value of the header `Authorization`."""
        return f"Bearer {self._value}"

    @property
    def _short(self) -> bool:
        """Whether it is no secret but a word that answers may well hold."""
        return len(self._value) < SHORTEST

    def hidden_in_bytes(self, body: bytes) -> bytes:
        """A body in UTF-8 without this key, as it is and as JSON may write it."""
        if self._short:
            return body
        if any(escape in body for escape in self._escapes):
            body = self._escaped.sub(HIDDEN.encode(), body)
        return body.replace(self._value.encode(), HIDDEN.encode())

    def hidden_exactly(self, text: str) -> str:
        """The text without this key; what else looks like one is left, as it may be a model's own words."""
        return text if self._short else text.replace(self._value, HIDDEN)

    def hidden_in(self, text: str) -> str:
        """The text without this key and without anything else that looks like one."""
        return _LOOKS_LIKE_ONE.sub(HIDDEN, self.hidden_exactly(text))


def _in_json(char: str) -> str:
    """The ways in which JSON, and JSON inside of JSON, may write a character."""
    escaped = "".join(f"[{digit}{digit.upper()}]" for digit in f"{ord(char):04x}")
    plain = rf"\\{{0,4}}{re.escape(char)}" if char in ESCAPED else re.escape(char)
    return rf"(?:\\{{1,4}}u{escaped}|{plain})"


def key(name: str | None, environment: Mapping[str, str]) -> Key:
    """The key in the environment variable `name`. `ValueError` if a variable that was asked for is not set."""
    if name is not None and not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ValueError(f"give the name of an environment variable that holds the key, such as {DEFAULT_KEY}")
    value = environment.get(name or DEFAULT_KEY, "").strip()
    if not value and name not in (None, DEFAULT_KEY):
        raise ValueError(f"the environment variable {name} is not set: it should hold the endpoint's key")
    if not (value.isascii() and value.isprintable()):
        raise ValueError(f"the key in {name or DEFAULT_KEY} holds characters that cannot be sent: copy it again")
    return Key(value or NO_KEY)


def base_url(given: str | None, environment: Mapping[str, str]) -> str:
    """The endpoint's address without a slash at its end. `ValueError` for one that is none or that holds a secret."""
    usual = next(filter(None, map(environment.get, URL_NAMES)), DEFAULT_URL)
    url = usual if given is None else _given(given)
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.username or parts.password or "@" in parts.netloc:
        raise ValueError("a base URL must not hold a name or a password: put the key into an environment variable")
    if parts.query or parts.fragment:
        raise ValueError(
            "a base URL must end with its path: put a key into an environment variable, not into the address"
        )
    if parts.scheme not in ("http", "https") or not host or re.search(r"[\s,]", url.strip()):
        raise ValueError(_none(url))
    del port  # read to have it checked
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _given(url: object) -> str:
    """An empty address is a variable that is not set: calls must not go elsewhere than was meant."""
    if not (isinstance(url, str) and url.strip()):
        raise ValueError(_none(url))
    return url


def _none(url: object) -> str:
    return f"a base URL looks like {DEFAULT_URL} or http://127.0.0.1:8080/v1, not {url!r}"
