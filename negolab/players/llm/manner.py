"""How a model's answer becomes the game's words; and the plainest manner: it writes them itself."""

from __future__ import annotations

from typing import Any, Protocol

from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.game import Ask, Invalid, Observation, Reply
from negolab.players.llm.thinking import spoken

Seen = Observation[Any, Any]


class Manner(Protocol):
    """One of `Free`, `Filling` and `Wording`."""

    def closing(self, told: AnyGame, seen: Seen) -> str:
        """What the turn's first message ends with; asked for once in each turn."""
        ...

    def body(self, told: AnyGame, seen: Seen) -> dict[str, Any]:
        """Fields of the request's body that depend on the turn."""
        ...

    def words(self, told: AnyGame, ask: Ask, text: str, fault: Invalid | None) -> str | Invalid:
        """The game's words for an answer without its reasoning, or what is wrong with it; `fault` was found before."""
        ...

    def own(self, reply: Reply) -> str:
        """The words of a reply that the model sees as its own answer."""
        ...


class Free(Manner):
    """The model writes the game's words."""

    @override
    def closing(self, told: AnyGame, seen: Seen) -> str:
        return ""

    @override
    def body(self, told: AnyGame, seen: Seen) -> dict[str, Any]:
        return {}

    @override
    def words(self, told: AnyGame, ask: Ask, text: str, fault: Invalid | None) -> str | Invalid:
        return fault or text

    @override
    def own(self, reply: Reply) -> str:
        return spoken(reply.text).text
