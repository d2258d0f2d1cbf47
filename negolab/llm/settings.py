"""Settings of a model player, given in its name or by keyword: `llm:MODEL,temperature=0.7,form=schema`."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from negolab._internal.files import read_bytes
from negolab._internal.validation import Count, Share, check_fields, convert_value, parse_value, suggest
from negolab.llm.endpoint.compatibility import RESERVED
from negolab.llm.endpoint.keys import base_url

Form = Literal["free", "schema"]

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_MAX_NAME_PART = 20
_ERROR_PREFIX = "parameter {} of a model player"
EXTRA_PREFIX = "extra."
"""Prefix of a setting that stands for any field of the request body."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a model player.

    Attributes:
        model: The model's name at its endpoint.
        temperature, top_p, seed, reasoning_effort: Sent with each call if given.
        max_tokens: Most tokens in one answer, including reasoning (None: as `ParameterCompatibility` sets it).
        extra: Other fields of the request body, such as {"top_k": 40}; in a player's name `extra.top_k=40`.
        form: "free": the model writes the game's words; "schema": it fills in a JSON schema of the legal moves.
        chat: Send the match as a chat; otherwise, as one message with everything.
        history: The part of the chat to send: "last:6" is its opening, with the rules, and the last six exchanges after
            it (None: all of it).
        label: A name for records and tables.
        talk: Allow free text in a form.
        persona: A file whose text is the system message.
        base_url: The endpoint's address (None: the run's).
        key: Name of the environment variable that holds the key.
        strategy: A scripted player that decides while the model words its moves, such as `time:beta=0.2;kappa=0.1`.

    Raises:
        ValueError: A value is out of range, or holds a secret.
    """

    model: str
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    top_p: Share | None = None
    max_tokens: Count | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    form: Form = "free"
    chat: bool = True
    history: str | None = None
    label: str | None = None
    talk: bool = True
    persona: str | None = None
    base_url: str | None = None
    key: str | None = None
    strategy: str | None = None
    extra: dict[str, Any] = {}

    def __post_init__(self) -> None:
        _check("model", self.model, bool(self.model.strip()), "the name of a model, as in llm:MODEL")
        check_fields(self)
        last = self.last_exchanges
        _check("history", self.history, (self.history is None) == (last is None), "such as last:6")
        if last is not None and not self.chat:
            raise ValueError("chat=false sends no earlier messages, but history= selects some: use one or the other")
        if reserved := [name for name in self.extra if name in RESERVED]:
            raise ValueError(f"extra.{reserved[0]} cannot be set: the call itself sets it")
        if self.base_url is not None:
            base_url(self.base_url, {})  # a player's name appears in records: it must hold no secret
        if self.key is not None and not _is_variable_name(self.key):
            # The value given may be the key itself, so it is not repeated.
            raise ValueError("key must be the NAME of an environment variable such as MY_API_KEY, not a key itself")
        if self.strategy is not None and self.form == "schema":
            raise ValueError("form=schema lets the model decide, but strategy= decides for it: use one or the other")

    @property
    def last_exchanges(self) -> int | None:
        """Number of last exchanges to send (None: all)."""
        found = re.fullmatch(r"last:([1-9]\d{0,5})", self.history or "")
        return None if found is None else int(found[1])

    def request_fields(self) -> dict[str, Any]:
        """Return the fields of the request body that are set."""
        names = ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort")
        return {name: value for name in names if (value := getattr(self, name)) is not None} | self.extra


def model_settings(values: dict[str, Any]) -> Settings:
    """Convert to typed settings; strings become numbers and booleans where those are expected.

    Raises:
        ValueError: A setting is unknown or has a wrong value.
    """
    fields = [name for name in Settings.__struct_fields__ if name != "model"]
    values = _collect_extra(values)
    for name in values:
        if name not in Settings.__struct_fields__:
            raise ValueError(f"a model player has no parameter {name!r}: {suggest(name, fields)}")
    settings: Settings = convert_value(values, Settings, label=_ERROR_PREFIX, strict=False)
    return settings


def _collect_extra(values: dict[str, Any]) -> dict[str, Any]:
    """Collect settings such as `extra.top_k` in `extra`; strings that are JSON are parsed."""
    extra = {
        name.removeprefix(EXTRA_PREFIX): parse_value(value) if isinstance(value, str) else value
        for name, value in values.items()
        if name.startswith(EXTRA_PREFIX)
    }
    if not extra:
        return values
    own = {name: value for name, value in values.items() if not name.startswith(EXTRA_PREFIX)}
    return {**own, "extra": {**own.get("extra", {}), **extra}}


def _check(name: str, value: object, is_valid: bool, must: str) -> None:
    if not is_valid:
        raise ValueError(f"{_ERROR_PREFIX.format(name)} must be {must}, not {value!r}")


def _is_variable_name(text: str) -> bool:
    """Return True for capitals in short words: keys are long or contain lowercase letters."""
    return _VARIABLE.fullmatch(text) is not None and all(len(word) < _MAX_NAME_PART for word in text.split("_"))


MAX_PERSONA = 100_000
"""Most bytes in a persona."""


class Persona(msgspec.Struct, frozen=True):
    """A system message, with its file's name (without the folder) and SHA-256 for records."""

    text: str
    file: str
    sha256: str


def read_persona(path: str) -> Persona:
    """Read a system message from a file; ValueError if it is missing, empty, too long or not UTF-8."""
    file = Path(path).expanduser()
    try:
        content = read_bytes(file)
        text = content.decode("utf-8-sig").strip()
    except OSError as error:
        raise ValueError(f"persona {path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise ValueError(f"persona {path} is not UTF-8 text") from None
    if not text or len(content) > MAX_PERSONA:
        must = f"must contain some text, at most {MAX_PERSONA} bytes"
        raise ValueError(f"persona {path} {must}")
    return Persona(text, file.name, hashlib.sha256(content).hexdigest())
