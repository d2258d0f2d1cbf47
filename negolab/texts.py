"""Texts that people read, by key: a default in `en.toml`, which a study file can replace (`[texts]`).

A group's defaults are in a file beside the code that shows them; reading one gives the override for its key if there is
one. The key of `WORDS.AGREE` in the group "balloon" is `balloon.agree`. Overrides apply to a whole process (`install`,
in a participant's kernel and at the gate) or to one request (`use`, on the host, which serves the researcher too).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import Any, ClassVar

from typing_extensions import override

from negolab._internal.validation import suggest

Overrides = Mapping[str, str]
"""Texts by key."""

_everywhere: dict[str, str] = {}
_overrides: ContextVar[Overrides] = ContextVar("overrides", default=_everywhere)


def install(overrides: Overrides) -> None:
    """Apply these overrides, and no others, in this process from now on."""
    _everywhere.clear()
    _everywhere.update(overrides)


def use(overrides: Overrides) -> None:
    """Apply these overrides, and no others, in the current context (a request's task)."""
    _overrides.set(MappingProxyType(dict(overrides)))


def are_overridden() -> bool:
    """Return True if a study's own texts apply here."""
    return bool(_overrides.get())


class Texts:
    """A group of texts, from the file `en.toml` beside a module: each by its key, or several by name under one key.

    Names in braces are placeholders for `str.format`. A default of "" stands for words that the code gets from
    elsewhere. `WORDS.AGREE` is the text `agree`, and `WORDS["rules"]` holds the texts under `rules` by name.

    Args:
        group: Name of the group, the table of the file.
        module: `__file__` of the module that the file is beside.

    A subclass may list its texts as attributes in capitals instead: `class MineTexts(Texts, group="mine")`.
    """

    _listed: ClassVar[dict[str, str | dict[str, str]]] = {}
    _group: ClassVar[str] = ""

    @override
    def __init_subclass__(cls, *, group: str = "") -> None:
        """Take over the texts that a user's own class lists as attributes in capitals."""
        cls._group = group
        cls._listed = {name.lower(): vars(cls)[name] for name in filter(str.isupper, vars(cls))}
        for name in cls._listed:
            delattr(cls, name.upper())

    def __init__(self, group: str = "", module: str = "") -> None:
        self.group = group or self._group
        self._texts = self._listed
        if module:
            self._texts = tomllib.loads(Path(module).with_name("en.toml").read_text("utf-8"))[group]

    def __getattr__(self, name: str) -> str:
        if not name.isupper() or not isinstance(default := self._texts.get(key := name.lower()), str):
            raise AttributeError(name)
        return _overrides.get().get(f"{self.group}.{key}", default)

    def __getitem__(self, key: str) -> Mapping[str, str]:
        default, overrides = self._texts[key], _overrides.get()
        assert isinstance(default, dict)
        return {part: overrides.get(f"{self.group}.{key}.{part}".lower(), text) for part, text in default.items()}

    def get(self, key: str) -> Mapping[str, str]:
        """Return the texts under a key; none if the group has no such key."""
        return self[key] if key in self._texts else {}

    def name(self, kind: str, name: str, default: str = "") -> str:
        """Return what a study calls something that a parameter of its game names (see `names`)."""
        return _overrides.get().get(f"{self.group}.{kind}.{name}".lower(), default or name)

    def names(self, game: Any) -> dict[str, str]:
        """Return the names that come with a game's parameters, by key."""
        return {}

    def defaults(self) -> dict[str, str]:
        """Return the default texts by key, in order."""
        return {key.lower(): text for key, text in flatten({self.group: self._texts}).items()}


# Reading of overrides.


def flatten(table: Mapping[str, Any], within: str = "") -> dict[str, str]:
    """Return the texts in nested tables by dotted key; raise `ValueError` for a value that is not a text."""
    found: dict[str, str] = {}
    for name, value in table.items():
        key = f"{within}{name}"
        if isinstance(value, Mapping):
            found |= flatten(value, f"{key}.")
        elif isinstance(value, str):
            found[key] = value
        else:
            raise ValueError(f'texts: {key} must be text in quotes, "...", not {value!r}')
    return found


def unknown_keys(overrides: Overrides, defaults: Mapping[str, str]) -> list[str]:
    """Return a sentence for each override with an unknown key."""
    return [f"{key}: there is no such text: {_suggest_key(key, defaults)}" for key in overrides.keys() - defaults]


def check(overrides: Overrides, defaults: Mapping[str, str]) -> None:
    """Check overrides against the default texts.

    Raises:
        ValueError: A key is unknown, a text is blank, or it names a placeholder that the default does not have.
    """
    for fault in sorted(unknown_keys(overrides, defaults)):
        raise ValueError(fault)
    for key, text in overrides.items():
        if defaults[key] and not text.strip():
            raise ValueError(f"{key} is empty: write text, or delete the key")
        known = placeholders(defaults[key])
        try:
            named = placeholders(text)
        except ValueError as error:
            raise ValueError(f"{key}: {error}; write a literal brace twice, {{{{ or }}}}") from None
        for name in sorted(named - known):
            there = suggest(name, [f"{{{each}}}" for each in sorted(known)]) if known else "this text has none."
            raise ValueError(f"{key}: there is no placeholder {{{name}}}: {there}")


def placeholders(text: str) -> set[str]:
    """Return the names in braces, with everything else that is in them; raise `ValueError` for an unpaired brace."""
    return {
        f"{name}{f'!{conversion}' if conversion else ''}{f':{spec}' if spec else ''}"
        for _, name, spec, conversion in Formatter().parse(text)
        if name is not None
    }


def _suggest_key(key: str, defaults: Mapping[str, str]) -> str:
    groups = {each.partition(".")[0] for each in defaults}
    group = key.partition(".")[0]
    within = [each for each in defaults if each.startswith(f"{group}.")]
    hint = suggest(key, within or defaults)
    if hint.startswith("did you mean"):
        return hint
    return (
        f"negolab study texts lists the texts of {group}" if within else f"the groups are {', '.join(sorted(groups))}"
    )


# Writing.


def format_texts(defaults: Mapping[str, str], overrides: Overrides) -> str:
    """Write texts as TOML, with the default after each one that is overridden."""
    lines: list[str] = []
    for key, default in defaults.items():
        group, _, name = key.partition(".")
        if f"[texts.{group}]" not in lines:
            lines += ["", f"[texts.{group}]"]
        was = f"  # {_quoted(default)}" if key in overrides and overrides[key] != default else ""
        bare = ".".join(part if _BARE.fullmatch(part) else _quoted(part) for part in name.split("."))
        lines.append(f"{bare} = {_quoted(overrides.get(key, default))}{was}")
    return "\n".join(lines[1:])


_BARE = re.compile(r"[A-Za-z0-9_-]+")
"""A key that TOML accepts without quotes."""


def _quoted(text: str) -> str:
    # The text may come from somebody else's file; a no-break space is not a control character either.
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() or c == "\xa0" else f"\\U{ord(c):08x}" for c in quoted)
