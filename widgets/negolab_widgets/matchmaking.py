"""How the lobby makes a match: in this process, or at the host, where a match outlives the page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import ipywidgets as w

from negolab import catalog
from negolab.game import Seat, other
from negolab.match import Match
from negolab.people.client import Host, HostChair, Page
from negolab.people.scenes import Playing
from negolab.people.sitting import LEFT, PERSON
from negolab.play import seated
from negolab.players.player import MODEL as MODEL_PLAYER
from negolab.store import Store
from negolab_widgets.following import behind, followed
from negolab_widgets.nearby import Nearby
from negolab_widgets.seat import HumanSeat, Seated
from negolab_widgets.tables.controls import column, shown_if, warning

TITLES = {
    "balloon": "Balloon: agree on a set of items",
    "bargaining": "Bargaining: agree on a price",
    "split": "Split: divide what is there",
    "trading": "Trading: exchange goods",
}


def title(game: str) -> str:
    """What a game is called on screen."""
    return TITLES.get(game, game)


class Wish(NamedTuple):
    """What is to be played, where the person sits, and who is across."""

    game: str
    preset: str
    opponent: str
    seat: Seat
    seed: int | None


class Matchmaker(Protocol):
    """Makes one match at a time. `ended` is called once it is over and kept, or goes on
    elsewhere, with why it was stopped ("": it was not)."""

    def sit(self, wish: Wish) -> w.Widget:
        """A table with a new match."""
        ...

    def resumed(self) -> w.Widget | None:
        """The table of the match that runs already."""
        ...

    def models(self) -> Sequence[dict[str, Any]]:
        """The endpoints of language models, as `Endpoints.listed` tells of them."""
        ...

    def leave(self) -> None:
        """Stop the match if it is not over, and see that it is kept."""
        ...


class Local:
    """Matches in this process; records go to the folder `out`."""

    def __init__(self, out: Path, ended: Callable[[str], None]) -> None:
        self._out, self._ended = out, ended
        self._match: Match | None = None
        self._kept: set[str] = set()
        self._nearby = Nearby()

    def sit(self, wish: Wish) -> w.Widget:
        game, across = catalog.load(wish.game, preset=wish.preset), other(wish.seat)
        match = Match(game, seed=wish.seed, players={wish.seat: PERSON, across: wish.opponent})
        table = HumanSeat(
            match,
            wish.seat,
            seated(match, self._nearby, {wish.seat}),
            title=title(wish.game),
            keep=self._keep,
            thinker=model_of(wish.opponent),
        )
        self._match = match
        return table

    def models(self) -> Sequence[dict[str, Any]]:
        return self._nearby.listed()

    def resumed(self) -> w.Widget | None:
        return None

    def leave(self) -> None:
        if self._match is not None:
            self._match.abort(LEFT)
            if self._match.id not in self._kept:
                self._keep(self._match)
        self._match = None

    def _keep(self, match: Match) -> str:
        with Store(self._out, wait=3).free() as store:
            store.append(match.record())
        self._kept.add(match.id)
        self._ended(_stopped(match.ended.reason if match.ended else None))
        return _kept(match.id)


class AtHost:
    """Matches at the host, which keeps their records. The newest page of a match is the one that plays it."""

    def __init__(self, socket: str, ended: Callable[[str], None]) -> None:
        self._host, self._ended = Host(socket), ended
        self._page: Page | None = None
        self._following: asyncio.Task[None] | None = None

    def sit(self, wish: Wish) -> w.Widget:
        return self.table(self._host.ask("/play", **wish._asdict()))

    def resumed(self) -> w.Widget | None:
        found = self._host.ask("/playing")
        return self.table(found) if found else None

    def leave(self) -> None:
        if self._page is not None and not self._page.replaced:
            self._page.act("leave")
        self._forget()

    def table(self, found: dict[str, str]) -> w.Widget:
        """The table of a match that the host has begun or found."""
        page = self._page = Page(self._host, found["lease"])
        scene = page.scene
        assert isinstance(scene, Playing)
        chair, thinker = HostChair(page), model_of(found["opponent"])
        seated = Seated(chair, title=title(scene.game), keep=lambda: self._over(found["match"]), thinker=thinker)
        banner = w.HTML(warning(""))

        def tell(why: str = "") -> None:
            why = why or page.trouble or _stopped(getattr(page.scene, "fault", ""))
            banner.value = warning(why)
            if page.replaced:
                shown_if(seated, False)
                self._ended("")

        page.watch(tell)
        self._following = behind(lambda: followed(page, tell))
        return column(banner, seated)

    def models(self) -> Sequence[dict[str, Any]]:
        found: Sequence[dict[str, Any]] = self._host.ask("/models")
        return found

    def _over(self, match: str) -> str:
        self._ended("")
        return _kept(match)

    def _forget(self) -> None:
        if self._following is not None:
            self._following.cancel()
        self._page = self._following = None


def model_of(opponent: str) -> str:
    """The model across, by its name; "" for a scripted player, which answers at once."""
    return opponent.partition(",")[0].removeprefix(MODEL_PLAYER) if opponent.startswith(MODEL_PLAYER) else ""


def _stopped(reason: str | None) -> str:
    """Why a match was stopped from outside its rules; "" if it was not, or by whoever reads this."""
    return f"This match was stopped: {reason}." if reason and reason != LEFT else ""


def _kept(match: str) -> str:
    return f"Kept as record {match[:12]}."
