"""Client of the host for one page: its latest page state, its actions, and its seat at a match."""

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
from negolab.match import replace_surrogates
from negolab.studies.page_state import Answer, Playing, Shown
from negolab.studies.session import NotDelivered, SeatView, check_message

log = logging.getLogger("negolab.studies")

AWAY = "The table cannot be reached just now. Nothing is lost: it is tried again by itself."
UNSURE = "The table cannot be reached just now, so this may not have arrived. When it is back, look what stands here."
ELSEWHERE = "This page was opened in another tab. It goes on there."

_PATIENCE = httpx.Timeout(10.0)
_POLL = httpx.Timeout(10.0, read=60.0)
_AGAIN = 0.5
"""Seconds between two attempts to reach the host."""


class HostUnreachable(NotDelivered):
    """The host does not answer; a request may or may not have reached it."""


class PageReplaced(NotDelivered):
    """A newer page of the same person holds the lease."""


class HostClient:
    """HTTP client of the host on the Unix socket at the path `socket`."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self._client = httpx.Client(
            transport=httpx.HTTPTransport(uds=socket, verify=False), base_url="http://host", timeout=_PATIENCE
        )

    def ask(self, path: str, **body: Any) -> Any:
        """Post to a route.

        Args:
            path: Path of the route, such as "/now".
            **body: Fields of the JSON body; lone surrogates in strings are replaced.

        Returns:
            The decoded JSON body of the response; None for an empty one (status 204).

        Raises:
            HostUnreachable: The host does not answer, or with something else than its JSON.
            PageReplaced: A newer page holds the lease.
            NotDelivered: The host refused; the text is its reason.
        """
        try:
            return said(self._client.post(path, json=_plain(body)))
        except httpx.TransportError:
            raise HostUnreachable(AWAY) from None

    async def arrival(self, kernel: str) -> tuple[str, str | None]:
        """Wait, for as long as it takes, until a kernel is bound to a participant.

        Args:
            kernel: Id of the kernel.

        Returns:
            The participant's lease, and the file of a researcher's own game (None: a game of negolab's).
        """
        async with self.asking() as client:
            while True:
                try:
                    found = said(await client.post("/arrive", json={"kernel": kernel}))
                except (httpx.TransportError, NotDelivered):
                    await asyncio.sleep(_AGAIN)
                    continue
                if found is not None:
                    return found["lease"], found["module"]

    def asking(self) -> httpx.AsyncClient:
        """Open an asynchronous client for long polls."""
        return httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=self.socket, verify=False), base_url="http://host", timeout=_POLL
        )


class PageClient:
    """One page: its latest state, kept up to date by `follow`, and its actions.

    Args:
        host: The host.
        lease: Lease of the page.

    Raises:
        NotDelivered: The host cannot be reached, or refuses the lease.
    """

    def __init__(self, host: HostClient, lease: str) -> None:
        self._host, self._lease = host, lease
        self._watchers: list[Callable[[], None]] = []
        self.trouble = ""
        """Reason for which the page is not up to date, for the person; "" if it is."""
        self.replaced = False
        self._answer = self._read(host.ask("/now", lease=lease))

    @property
    def scene(self) -> Shown:
        """The latest page state."""
        return self._answer.scene

    def watch(self, changed: Callable[[], None]) -> None:
        """Register a callback that is called after every change of the page state or of `trouble`."""
        self._watchers.append(changed)

    def act(self, kind: str, **more: Any) -> str:
        """Send an action to the host and take over the new page state.

        Args:
            kind: Kind of the action; `StudyService.act` and `AdminService.act` list them.
            **more: Further fields of the action.

        Returns:
            The reason for which the game rejected a reply; "" if it was accepted.

        Raises:
            NotDelivered: Nothing was done, or with `HostUnreachable` it is not known whether it was.
        """
        try:
            answer = self._read(self._host.ask("/act", lease=self._lease, act={"kind": kind, **more}))
        except HostUnreachable:
            raise HostUnreachable(UNSURE) from None
        self._take(answer)
        if answer.unheard:
            raise NotDelivered(answer.unheard)
        return answer.refused

    async def follow(self) -> None:
        """Poll the host until a newer page replaces this one; failures set `trouble` and are retried."""
        async with self._host.asking() as client:
            while not self.replaced:
                try:
                    params: dict[str, str | int] = {"lease": self._lease, "after": self._answer.version}
                    answer = self._read(said(await client.get("/scene", params=params)))
                except httpx.TransportError:
                    self._troubled(AWAY)
                    await asyncio.sleep(_AGAIN)
                except PageReplaced as why:
                    self.replaced = True
                    self._troubled(str(why))
                except NotDelivered as why:
                    self._troubled(str(why))
                    await asyncio.sleep(_AGAIN)
                else:
                    self._take(answer)

    def _read(self, plain: Any) -> Answer:
        return msgspec.convert(plain, type=Answer)

    def _take(self, answer: Answer) -> None:
        """Take over an answer unless it is older than the current one, and clear `trouble`."""
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


class HostSeat:
    """The seat at the match that a page shows: a `SeatHandle` through the host.

    Raises:
        ValueError: The page shows no match, or the module of its game is not imported.
    """

    def __init__(self, page: PageClient) -> None:
        scene = page.scene
        if not isinstance(scene, Playing):
            raise ValueError(f"the page shows no match but {type(scene).__name__}")
        self._page, self._last = page, scene
        self._class = catalog.imported_class(scene.game)
        self.game: AnyGame = told(self._class, scene.params)
        self.seat: Seat = scene.seat
        self.fronted = scene.fronted

    def table(self) -> SeatView:
        """Return the seat's current view, or the last one if the page has moved on from the match."""
        scene = self._page.scene
        if isinstance(scene, Playing) and self._on():
            self._last = scene
        plain = self._last.table
        seen = catalog.decode_observation(self._class, plain["seen"])
        return msgspec.convert({**plain, "seen": seen}, type=SeatView)

    def say(self, text: str, turn: int) -> str:
        check_message(text)
        return self._page.act("say", match=self._last.match, text=text, turn=turn)

    def watch(self, changed: Callable[[], None]) -> None:
        self._page.watch(lambda: changed() if self._on() else None)

    def _on(self) -> bool:
        """Return True while the page shows this match."""
        scene = self._page.scene
        return isinstance(scene, Playing) and scene.match == self._last.match


def told(cls: type[AnyGame], params: dict[str, Any]) -> AnyGame:
    """Rebuild a game from the parameters that a seat was told.

    Hidden parameters are None whatever their type, so the game as a whole is not validated.

    Args:
        cls: Class of the game.
        params: Parameters as plain data.

    Raises:
        msgspec.ValidationError: A known parameter has the wrong type.
    """
    types = {field.name: field.type for field in msgspec.structs.fields(cls)}
    known = {name: None if value is None else msgspec.convert(value, types[name]) for name, value in params.items()}
    return cls(**known)


def said(response: httpx.Response) -> Any:
    """Decode a response of the host: its JSON, None for status 204.

    Raises:
        PageReplaced: Status 409.
        HostUnreachable: An error without the host's JSON body.
        NotDelivered: Any other error; the text is the host's reason.
    """
    if response.status_code == 204:
        return None
    if response.status_code == 200:
        return response.json()
    if response.status_code == 409:
        raise PageReplaced(ELSEWHERE)
    try:
        why = response.json()["why"]
    except (ValueError, KeyError):
        raise HostUnreachable(AWAY) from None
    raise NotDelivered(why)


def _plain(value: Any) -> Any:
    """Replace lone surrogates, which a browser may send and UTF-8 cannot encode, in strings and dicts of strings."""
    if isinstance(value, str):
        return replace_surrogates(value)
    return {name: _plain(inner) for name, inner in value.items()} if isinstance(value, dict) else value
