"""What a model player can be set to, in its name or by keyword: `llm:MODEL,temperature=0.7,form=schema`."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from negolab import catalog
from negolab.fitting import misfit
from negolab.players.endpoint.keys import base_url

Form = Literal["free", "schema"]

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_LONGEST_WORD = 20
_CALLED = "parameter {} of a model player"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`temperature`, `top_p`, `seed` and `reasoning_effort` are sent if given, `max_tokens` (of one answer, reasoning
    included) always. `form`: the model writes the game's words, or fills in a JSON schema of what is legal now, with
    or without free text (`talk`). `chat=False` sends one message with everything instead of a chat. `persona` is a
    file whose text is the system message. `key` names the environment variable that holds the key. With `strategy`, a
    scripted player decides and the model words it; its settings follow a colon: `strategy=time:beta=0.2;kappa=0.1`.
    """

    model: str
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int = 1000
    seed: int | None = None
    reasoning_effort: str | None = None
    form: Form = "free"
    chat: bool = True
    talk: bool = True
    persona: str | None = None
    base_url: str | None = None
    key: str | None = None
    strategy: str | None = None

    def __post_init__(self) -> None:
        _check("model", self.model, bool(self.model.strip()), "the name of a model, as in llm:MODEL")
        _check("temperature", self.temperature, _within(self.temperature, 0, 2), "from 0 to 2")
        _check("top_p", self.top_p, _within(self.top_p, 0, 1), "from 0 to 1")
        _check("max_tokens", self.max_tokens, self.max_tokens >= 1, "at least 1")
        if self.base_url is not None:
            base_url(self.base_url, {})  # the name of a player stands in records: nothing secret may be in it
        if self.key is not None and not _names_a_variable(self.key):
            # What was given may be the key itself, so it is not repeated.
            raise ValueError("key must be the NAME of an environment variable such as MY_API_KEY, not a key itself")
        if self.strategy is not None and self.form == "schema":
            raise ValueError("form=schema lets the model decide, strategy= decides for it: choose one of them")

    def sent(self) -> dict[str, Any]:
        """The fields of a request's body that are set."""
        names = ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def settings(given: dict[str, Any]) -> Settings:
    """Typed settings; `ValueError` names the one that is unknown or does not fit. Texts are read as numbers and truth
    values where such are asked for."""
    fields = [name for name in Settings.__struct_fields__ if name != "model"]
    for name in given:
        if name not in Settings.__struct_fields__:
            raise ValueError(f"a model player has no parameter {name!r}: {catalog.near(name, fields)}")
    try:
        return msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(misfit(error, Settings, given, _CALLED)) from None


def _check(name: str, value: object, fits: bool, must: str) -> None:
    if not fits:
        raise ValueError(f"{_CALLED.format(name)} must be {must}, not {value!r}")


def _within(value: float | None, least: float, most: float) -> bool:
    return value is None or least <= value <= most


def _names_a_variable(text: str) -> bool:
    """Whether it can only be a name: capitals, in words of no great length. Keys are long or hold small letters."""
    return _VARIABLE.fullmatch(text) is not None and all(len(word) < _LONGEST_WORD for word in text.split("_"))
