"""The host as one page reaches it: what it last said, the way to answer it, and the seat at a match it shows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import httpx
import msgspec

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.match import clean
from negolab.people.room import Unheard, sendable
from negolab.people.scenes import Answer, Playing, Shown
from negolab.people.sitting import Table

log = logging.getLogger("negolab.people")

AWAY = "The table cannot be reached just now. Nothing is lost: it is tried again by itself."
UNSURE = "The table cannot be reached just now, so this may not have arrived. When it is back, look what stands here."
ELSEWHERE = "This page was opened in another tab. It goes on there."

_PATIENCE = httpx.Timeout(10.0)
_POLL = httpx.Timeout(10.0, read=60.0)
_AGAIN = 0.5
"""Seconds between two attempts to reach a host that is away."""


class Away(Unheard):
    """The host does not answer; what was sent may or may not have reached it."""


class Elsewhere(Unheard):
    """A newer page of the same person has taken over."""


class Host:
    """The host behind a Unix socket."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self._client = httpx.Client(
            transport=httpx.HTTPTransport(uds=socket, verify=False), base_url="http://host", timeout=_PATIENCE
        )

    def ask(self, path: str, **body: Any) -> Any:
        """Post to a route and return what it says, None for nothing yet; `Unheard` with the reason it gives."""
        try:
            return said(self._client.post(path, json=_plain(body)))
        except httpx.TransportError:
            raise Away(AWAY) from None

    async def arrival(self, kernel: str) -> tuple[str, str | None]:
        """Wait until this kernel is given to someone: their lease, and the file of a researcher's own game."""
        async with self.asking() as client:
            while True:
                try:
                    found = said(await client.post("/arrive", json={"kernel": kernel}))
                except (httpx.TransportError, Unheard):
                    await asyncio.sleep(_AGAIN)
                    continue
                if found is not None:
                    return found["lease"], found["module"]

    def asking(self) -> httpx.AsyncClient:
        """For questions that wait for news."""
        return httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=self.socket, verify=False), base_url="http://host", timeout=_POLL
        )


class Page:
    """What one page is shown. `follow` keeps it up to date; `watch` tells of every change."""

    def __init__(self, host: Host, lease: str) -> None:
        self._host, self._lease = host, lease
        self._watchers: list[Callable[[], None]] = []
        self.trouble = ""
        """Why the page does not go on just now; "" if it does."""
        self.replaced = False
        self._answer = self._read(host.ask("/now", lease=lease))

    @property
    def scene(self) -> Shown:
        return self._answer.scene

    def watch(self, changed: Callable[[], None]) -> None:
        """Have `changed` called whenever the scene, or the trouble, is another."""
        self._watchers.append(changed)

    def act(self, kind: str, **more: Any) -> str:
        """Do something; why the rules refused it, "" if they did not. `Unheard` if nothing was done."""
        try:
            answer = self._read(self._host.ask("/act", lease=self._lease, act={"kind": kind, **more}))
        except Away:
            raise Away(UNSURE) from None
        self._take(answer)
        if answer.unheard:
            raise Unheard(answer.unheard)
        return answer.refused

    async def follow(self) -> None:
        """Ask for news until the page is replaced."""
        async with self._host.asking() as client:
            while not self.replaced:
                try:
                    params: dict[str, str | int] = {"lease": self._lease, "after": self._answer.version}
                    answer = self._read(said(await client.get("/scene", params=params)))
                except httpx.TransportError:
                    self._troubled(AWAY)
                    await asyncio.sleep(_AGAIN)
                except Elsewhere as why:
                    self.replaced = True
                    self._troubled(str(why))
                except Unheard as why:
                    self._troubled(str(why))
                    await asyncio.sleep(_AGAIN)
                else:
                    self._take(answer)

    def _read(self, plain: Any) -> Answer:
        return msgspec.convert(plain, type=Answer)

    def _take(self, answer: Answer) -> None:
        """Show an answer, unless it is older than what is shown."""
        if answer.version > self._answer.version or self.trouble:
            self._answer = max(answer, self._answer, key=lambda a: a.version)
            self.trouble = ""
            self._tell()

    def _troubled(self, why: str) -> None:
        if why != self.trouble:
            self.trouble = why
            self._tell()

    def _tell(self) -> None:
        for changed in self._watchers:
            try:
                changed()
            except Exception:
                log.exception("a page could not be drawn")


class HostChair:
    """The seat at the match that a page shows: a `Chair` through the host."""

    def __init__(self, page: Page) -> None:
        scene = page.scene
        if not isinstance(scene, Playing):
            raise ValueError(f"the page shows no match but {type(scene).__name__}")
        self._page, self._last = page, scene
        self._class = catalog.known_class(scene.game)
        self.game: AnyGame = told(self._class, scene.params)
        self.seat: Seat = scene.seat
        self.fronted = scene.fronted

    def table(self) -> Table:
        """What stands before the seat; when the page has gone on from the match, as it was last."""
        scene = self._page.scene
        if isinstance(scene, Playing) and self._on():
            self._last = scene
        plain = self._last.table
        seen = catalog.read_seen(self._class, plain["seen"])
        return msgspec.convert({**plain, "seen": seen}, type=Table)

    def say(self, text: str, turn: int) -> str:
        sendable(text)
        return self._page.act("say", match=self._last.match, text=text, turn=turn)

    def watch(self, changed: Callable[[], None]) -> None:
        self._page.watch(lambda: changed() if self._on() else None)

    def _on(self) -> bool:
        """Whether the page still shows this match."""
        scene = self._page.scene
        return isinstance(scene, Playing) and scene.match == self._last.match


def told(cls: type[AnyGame], params: dict[str, Any]) -> AnyGame:
    """A game as a seat was told it: what it may not know is None, whatever type the parameter has."""
    types = {field.name: field.type for field in msgspec.structs.fields(cls)}
    known = {name: None if value is None else msgspec.convert(value, types[name]) for name, value in params.items()}
    return cls(**known)


def said(response: httpx.Response) -> Any:
    """The JSON of a response, None for an empty one; its refusal as an exception."""
    if response.status_code == 204:
        return None
    if response.status_code == 200:
        return response.json()
    if response.status_code == 409:
        raise Elsewhere(ELSEWHERE)
    try:
        why = response.json()["why"]
    except (ValueError, KeyError):
        raise Away(AWAY) from None
    raise Unheard(why)


def _plain(value: Any) -> Any:
    """A value that can be written as UTF-8: a page may send lone surrogates."""
    if isinstance(value, str):
        return clean(value)
    return {name: _plain(inner) for name, inner in value.items()} if isinstance(value, dict) else value
