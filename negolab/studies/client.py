"""Client of the host for one page: its latest page state, its actions, and its seat at a match."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx2
import msgspec

from negolab import catalog, decoding
from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.match import replace_surrogates
from negolab.studies.faults import locate_fault
from negolab.studies.page_state import Answer, NotDelivered, PageState, Playing, SeatView, check_message
from negolab.studies.texts import texts

log = logging.getLogger("negolab.studies")

_TIMEOUT = httpx2.Timeout(10.0)
_POLL_TIMEOUT = httpx2.Timeout(10.0, read=60.0)
_RETRY_AFTER = 0.5
"""Seconds between attempts to reach the host."""


class HostUnreachable(NotDelivered):
    """The host does not answer; a request may or may not have reached it."""


class PageReplaced(NotDelivered):
    """A newer page of the same person holds the lease."""


class HostClient:
    """HTTP client of the host on the Unix socket at the path `socket`."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self._client = httpx2.Client(
            transport=httpx2.HTTPTransport(uds=socket, verify=False), base_url="http://host", timeout=_TIMEOUT
        )

    def ask(self, path: str, **body: Any) -> Any:
        """Post to a route.

        Args:
            path: Path of the route, such as "/now".
            **body: Fields of the JSON body; lone surrogates in strings are replaced.

        Returns:
            The decoded JSON body of the response; None for an empty one (status 204).

        Raises:
            HostUnreachable: The host does not answer, or answers with something other than its JSON.
            PageReplaced: A newer page holds the lease.
            NotDelivered: The host refused; the text is its reason.
        """
        try:
            # A browser may send lone surrogates, which UTF-8 cannot encode.
            content = replace_surrogates(json.dumps(body, ensure_ascii=False))
            return decode_response(self._client.post(path, content=content))
        except httpx2.TransportError:
            raise HostUnreachable(texts.AWAY) from None

    async def arrival(self, kernel: str) -> tuple[str, str | None, dict[str, str]]:
        """Wait, for as long as it takes, until a kernel is bound to a participant.

        Args:
            kernel: Id of the kernel.

        Returns:
            The participant's lease, the file of a researcher's own game (None: a game of negolab's), and the study's
            own texts.
        """
        async with self.open_async() as client:
            while True:
                try:
                    arrival = decode_response(await client.post("/arrive", json={"kernel": kernel}))
                except (httpx2.TransportError, NotDelivered):
                    await asyncio.sleep(_RETRY_AFTER)
                    continue
                if arrival is not None:
                    return arrival["lease"], arrival["module"], arrival["texts"]

    def open_async(self) -> httpx2.AsyncClient:
        """Open an asynchronous client for long polls."""
        return httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(uds=self.socket, verify=False),
            base_url="http://host",
            timeout=_POLL_TIMEOUT,
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
        self.error = ""
        """Reason why the page is not up to date, for the person; "" if it is."""
        self.replaced = False
        self._answer = msgspec.convert(host.ask("/now", lease=lease), Answer)

    @property
    def state(self) -> PageState:
        """The latest page state."""
        return self._answer.state

    def watch(self, changed: Callable[[], None]) -> None:
        """Register a callback to be called after every change to the page state or `error`."""
        self._watchers.append(changed)

    def act(self, kind: str, **details: Any) -> str:
        """Send an action to the host and adopt the new page state.

        Args:
            kind: Kind of the action; `StudyService` and `AdminService` list them.
            **details: Other fields of the action.

        Returns:
            The reason why the game rejected a reply; "" if it was accepted.

        Raises:
            NotDelivered: Nothing was done, or, with `HostUnreachable`, it is not known whether anything was.
        """
        try:
            answer = self._host.ask("/act", lease=self._lease, act={"kind": kind, "place": self.state.place, **details})
        except HostUnreachable:
            raise HostUnreachable(texts.UNSURE) from None
        answer = self._update(answer)
        if answer.not_done:
            raise NotDelivered(answer.not_done)
        return answer.refused

    def report(self, error: Exception) -> None:
        """Tell the host that code of the game or its table raised, so that the match that the page shows ends.

        If the host cannot be told, the page draws the match again, and reports again, when it next hears from the host.
        """
        if isinstance(self.state, Playing):
            with suppress(NotDelivered):
                self.act("fault", where=locate_fault(error))

    async def follow(self) -> None:
        """Poll the host until a newer page replaces this one; failures set `error` and are retried."""
        async with self._host.open_async() as client:
            while not self.replaced:
                try:
                    params: dict[str, str | int] = {"lease": self._lease, "after": self._answer.version}
                    self._update(decode_response(await client.get("/poll", params=params)))
                except PageReplaced as error:
                    self.replaced = True
                    self._set_error(str(error))
                except (httpx2.TransportError, NotDelivered) as error:
                    self._set_error(str(error) if isinstance(error, NotDelivered) else texts.AWAY)
                    await asyncio.sleep(_RETRY_AFTER)

    def _update(self, plain: Any) -> Answer:
        """Adopt an answer unless it is older than the current one, and clear `error`."""
        answer = msgspec.convert(plain, Answer)
        if answer.version > self._answer.version or self.error:
            self._answer = max(answer, self._answer, key=lambda a: a.version)
            self.error = ""
            self._notify()
        return answer

    def _set_error(self, error: str) -> None:
        if error != self.error:
            self.error = error
            self._notify()

    def _notify(self) -> None:
        for changed in self._watchers:
            try:
                changed()
            except Exception:  # the action itself was done; code that draws reports its own errors to the person
                log.exception("a page could not be rendered")


class HostSeat:
    """The seat in the match that a page shows: a `SeatHandle` through the host.

    Raises:
        ValueError: The page shows no match, or the module of its game is not imported.
    """

    def __init__(self, page: PageClient) -> None:
        state = page.state
        if not isinstance(state, Playing):
            raise ValueError(f"the page shows no match, but {type(state).__name__}")
        self._page, self._last = page, state
        self._class = catalog.imported_class(state.game)
        self.game: AnyGame = decoding.told_game(self._class, state.params)
        self.seat: Seat = state.seat
        self.fronted = state.fronted

    def view(self) -> SeatView:
        """Return the seat's current view, or the last one if the page has moved on from the match."""
        self._last = self._current() or self._last
        plain = self._last.table
        seen = decoding.decode_observation(self._class, plain["seen"])
        return msgspec.convert({**plain, "seen": seen}, SeatView)

    def submit(self, text: str, turn: int) -> str:
        check_message(text)
        return self._page.act("reply", match=self._last.match, text=text, turn=turn)

    def watch(self, changed: Callable[[], None]) -> None:
        self._page.watch(lambda: changed() if self._current() else None)

    def _current(self) -> Playing | None:
        """Return the page state while the page shows this match."""
        state = self._page.state
        return state if isinstance(state, Playing) and state.match == self._last.match else None


def decode_response(response: httpx2.Response) -> Any:
    """Decode the host's response: its JSON, or None for status 204.

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
        raise PageReplaced(texts.ELSEWHERE)
    try:
        why = response.json()["why"]
    except (ValueError, KeyError):
        raise HostUnreachable(texts.AWAY) from None
    raise NotDelivered(why)
