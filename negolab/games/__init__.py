"""The games: one module each, found by its name. `nl.games()` lists them: the package itself can be called."""

from __future__ import annotations

import sys
from types import ModuleType

from negolab import catalog


class _Games(ModuleType):
    """`negolab.games` is the package and, as `nl.games()`, the list of what is in it: one name, so one object."""

    def __call__(self) -> dict[str, tuple[str, ...]]:
        return catalog.games()


sys.modules[__name__].__class__ = _Games
