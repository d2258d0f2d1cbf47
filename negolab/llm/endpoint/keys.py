"""Settings from the environment: addresses, and API keys, sent only to their endpoints and redacted elsewhere."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import urlsplit

from typing_extensions import override

DEFAULT_KEY = "OPENAI_API_KEY"
NO_KEY = "none"
"""Sent if no key is set: local servers want something."""
DEFAULT_URL = "https://api.openai.com/v1"
URL_NAMES = ("NEGOLAB_BASE_URL", "OPENAI_BASE_URL")
CACHE_VARIABLE = "NEGOLAB_CACHE"
"""The environment variable that names the file of stored answers."""
OFF = "off"
"""The variable's value for keeping no answers."""
BROKER_PATH = "/negolab/v1"
"""End of the address of a sweep's broker."""
PLACEHOLDER = "[key]"
JSON_ESCAPED = '/"\\'
"""Characters that JSON may write with a backslash."""
MIN_SECRET_LENGTH = 6
"""Characters; a shorter key is not a secret, but a word that answers may well contain."""
_KEY_PATTERN = re.compile(r"\b(?:sk|pk|rk)-[\w*.-]{4,}|\bbearer\s+[^\s\"']+", re.IGNORECASE)


class Key:
    """A key that appears in no repr, pickle or error, and redacts itself from what a server sends back."""

    __slots__ = ("_coded", "_escaped", "_escapes", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        self._escapes = [rb"\u00", *(b"\\" + char.encode() for char in JSON_ESCAPED if char in value)]
        self._coded = re.compile(
            "|".join(
                r"[\W_]*".join(map(re.escape, code))
                for code in (value, value[::-1], b64encode(value.encode()).decode().rstrip("="))
            )
        )
        self._escaped = re.compile("".join(map(_json_pattern, value)).encode())

    @override
    def __repr__(self) -> str:
        return PLACEHOLDER

    @override
    def __reduce__(self) -> str:
        raise TypeError("keys are never stored")

    def reveal(self) -> str:
        """Return the key itself, for the header that sends it."""
        return self._value

    @property
    def _is_secret(self) -> bool:
        return len(self._value) >= MIN_SECRET_LENGTH

    def redact_body(self, body: bytes) -> bytes:
        """Remove this key from a UTF-8 body, even where JSON escapes parts of it."""
        if not self._is_secret:
            return body
        if any(escape in body for escape in self._escapes):
            body = self._escaped.sub(PLACEHOLDER.encode(), body)
        return body.replace(self._value.encode(), PLACEHOLDER.encode())

    def redact(self, text: str) -> str:
        """Remove this key from a model's text; other strings that look like keys stay."""
        return text.replace(self._value, PLACEHOLDER) if self._is_secret else text

    def redact_error(self, text: str) -> str:
        """Remove this key and everything that looks like one from an error message; nothing is left of a message that
        holds the key backward, in base64 or in parts."""
        rest = self.redact(text)
        return PLACEHOLDER if self._is_secret and self._coded.search(rest) else _KEY_PATTERN.sub(PLACEHOLDER, rest)


def _json_pattern(char: str) -> str:
    """Return a pattern for all ways in which JSON, and JSON inside JSON, may write a character."""
    escaped = "".join(f"[{digit}{digit.upper()}]" for digit in f"{ord(char):04x}")
    plain = rf"\\{{0,4}}{re.escape(char)}" if char in JSON_ESCAPED else re.escape(char)
    return rf"(?:\\{{1,4}}u{escaped}|{plain})"


def read_key(name: str | None, environment: Mapping[str, str]) -> Key:
    """Read the key in the environment variable `name` (None: the default variable, which may be unset).

    Raises:
        ValueError: `name` is not the name of a variable, the variable is not set, or its value cannot be sent.
    """
    if name is not None and not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ValueError(f"give the name of an environment variable that holds the key, such as {DEFAULT_KEY}")
    value = environment.get(name or DEFAULT_KEY, "").strip()
    if not value and name not in (None, DEFAULT_KEY):
        raise ValueError(f"environment variable {name} is not set: set it to the endpoint's key")
    if not (value.isascii() and value.isprintable()):
        raise ValueError(f"the key in {name or DEFAULT_KEY} contains characters that cannot be sent: copy it again")
    return Key(value or NO_KEY)


def base_url(given: str | None, environment: Mapping[str, str]) -> str:
    """Return an endpoint's address without a trailing slash (None: from the environment, or else OpenAI's).

    Raises:
        ValueError: The address is invalid or holds a secret. The message does not repeat a secret.
    """
    default = next(filter(None, map(environment.get, URL_NAMES)), DEFAULT_URL)
    url = str(default if given is None else given)
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.username or parts.password or "@" in parts.netloc:
        raise ValueError("a base URL must not contain a name or password: put the key in an environment variable")
    if parts.query or parts.fragment:
        raise ValueError(
            "a base URL must end with its path: put the key in an environment variable, not in the address"
        )
    if parts.scheme not in ("http", "https") or not host or re.search(r"[\s,]", url.strip()):
        raise ValueError(f"a base URL must look like {DEFAULT_URL} or http://127.0.0.1:8080/v1, not {given or url!r}")
    del port  # read so that it is checked
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
