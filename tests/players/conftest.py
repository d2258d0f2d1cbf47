"""A file of players of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

PLAYERS_FILE = '''"""Players of one's own."""

import asyncio
import threading
import time

import negolab as nl
from negolab.games.bargaining import Bargaining
from neighbour import middle


class Haggler(nl.Scripted):
    """Choose an option by a share."""

    def __init__(self, *, share: float = 0.5, seed: int = 0):
        super().__init__(seed=seed)
        self.share = share

    def act(self, game, seen):
        return middle(game.options(seen), self.share)


class Patient:
    async def reply(self, told, ask):
        await asyncio.sleep(0)
        return told.options(ask.seen)[0]


class Raises(nl.Scripted):
    def act(self, game, seen):
        raise KeyError(f"no plan for {seen.seat}")


class RaisesAtFirst(nl.Scripted):
    def __init__(self, *, seed: int = 0):
        super().__init__(seed=seed)
        if seed:
            raise RuntimeError("no luck")


class Babbles:
    def reply(self, told, ask):
        return {"price": 3}


class Nonsense:
    def reply(self, told, ask):
        return object()


class Sleeps:
    def reply(self, told, ask):
        threading.Event().wait()


class Spins:
    def reply(self, told, ask):
        try:
            while True:
                pass
        except:
            while True:
                pass


class Exits:
    def reply(self, told, ask):
        raise SystemExit(3)


class ExitsLater:
    async def reply(self, told, ask):
        raise SystemExit(3)


class Hangs:
    async def reply(self, told, ask):
        await asyncio.Event().wait()


class Later:
    def reply(self, told, ask):
        return Hangs().reply(told, ask)


class OnlyTrading(nl.Scripted):
    def check(self, game):
        if type(game).__name__ != "Trading":
            raise ValueError("only-trading plays trading")


class Silent(nl.Scripted):
    pass


class Empty:
    pass


class Broken(nl.Scripted):
    def __init__(self):
        1 / 0


class Needs(nl.Scripted):
    def __init__(self, *, depth: int):
        super().__init__()

    def act(self, game, seen):
        return game.options(seen)[0]


def eager(share: float = 1.0):
    return Haggler(share=share)


PLAYERS = {"haggler": Haggler}
'''
NEIGHBOUR = "def middle(options, share):\n    return options[int(share * (len(options) - 1))]\n"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file `mine.py` in the current folder."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "neighbour.py").write_text(NEIGHBOUR)
    (folder / "mine.py").write_text(PLAYERS_FILE)
    monkeypatch.chdir(folder)
    return folder / "mine.py"
