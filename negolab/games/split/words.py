"""The texts of the split table, which a study can change (`[texts.split]`)."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from negolab.games.split.reading import singular
from negolab.texts import Texts


class SplitTexts(Texts):
    """Texts of the split table. Each type has one name for several units and one for a single unit, under its name in
    the parameters: `items.hats` and `one.hats`."""

    def item(self, item: str) -> str:
        """Return the name for several units of a type."""
        return self.name("items", item)

    def one(self, item: str) -> str:
        """Return the name for one unit of a type."""
        return self.name("one", item, singular(item))

    @override
    def names(self, game: Any) -> dict[str, str]:
        several = {f"{self.group}.items.{item}".lower(): item for item in game.items}
        return several | {f"{self.group}.one.{item}".lower(): singular(item) for item in game.items}


WORDS = SplitTexts("split", __file__)
