"""The texts of the table of split, which a study can say otherwise (`[texts.split]`)."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from negolab.games.split.reading import singular
from negolab.texts import Texts


class SplitTexts(Texts):
    """Texts of the table of split. What is divided has a name for several and one for a single one, by its name in the
    parameters: `items.hats` and `one.hats`."""

    def item(self, item: str) -> str:
        """Return what several of a type are called."""
        return self.name("items", item)

    def one(self, item: str) -> str:
        """Return what one of a type is called."""
        return self.name("one", item, singular(item))

    @override
    def names(self, game: Any) -> dict[str, str]:
        several = {f"{self.group}.items.{item}".lower(): item for item in game.items}
        return several | {f"{self.group}.one.{item}".lower(): singular(item) for item in game.items}


WORDS = SplitTexts("split", __file__)
