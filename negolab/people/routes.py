"""What the host answers on its two sockets, as HTTP with JSON bodies. An error is {"why": one plain sentence}."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import tornado.web
from typing_extensions import override

from negolab.people.desk import Desk
from negolab.people.door import Refused, Replaced
from negolab.people.faults import away
from negolab.people.house import House

log = logging.getLogger("negolab.people")

POLL = 25.0
"""Seconds for which a question waits for news."""


class Handler(tornado.web.RequestHandler):
    """Answers with JSON; a fault is told in one plain sentence, and in full only to the log."""

    def body(self) -> dict[str, Any]:
        try:
            found = msgspec.json.decode(self.request.body or b"{}")
        except msgspec.DecodeError:
            found = None
        if not isinstance(found, dict):
            raise Refused("The request was not understood.")
        return found

    def text(self, name: str) -> str:
        """A text of the body; "" if it is missing or no text."""
        found = self.body().get(name)
        return found if isinstance(found, str) else ""

    def answer(self, value: Any) -> None:
        self.set_header("Content-Type", "application/json")
        self.write(msgspec.json.encode(value))

    @override
    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        why = "Something went wrong on our side. Nothing that was kept is lost."
        if isinstance(error, Refused):
            status_code, why = 403, str(error)
        elif isinstance(error, Replaced):
            status_code, why = 409, "This page was opened elsewhere."
        elif status_code in (404, 405):
            why = "There is nothing here."
        self.set_status(status_code)
        self.answer({"why": why})

    @override
    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        if isinstance(value, Refused | Replaced | tornado.web.HTTPError):
            return
        log.error("a request failed", exc_info=(typ, value, tb))
        if (note := self.settings.get("fault")) is not None and not away(value):
            with suppress(Exception):  # the database may be what failed; the log has it in any case
                note(self.get_argument("lease", "") or self.text("lease"), value)


class Health(Handler):
    @override
    def initialize(self, title: str, study: str) -> None:
        self.about = {"title": title, "study": study}

    @override
    def get(self) -> None:
        self.answer(self.about)


class Of(Handler):
    """A request to a study."""

    @override
    def initialize(self, house: House) -> None:
        self.house = house

    def query(self) -> dict[str, str] | None:
        """What came with a link; None: nothing is said of it."""
        query = self.body().get("query")
        return {k: v for k, v in query.items() if isinstance(v, str)} if isinstance(query, dict) else None


class Admit(Of):
    @override
    def post(self) -> None:
        visitor, title = self.house.door.admit(self.text("token"), self.query())
        link = "open" if visitor is None else self.house.door.participant(visitor).link
        self.answer({"visitor": visitor, "open": visitor is None, "link": link, "title": title})


class Join(Of):
    @override
    def post(self) -> None:
        token, visitor = self.house.door.join(self.text("token"), self.query() or {})
        self.answer({"token": token, "visitor": visitor})


class Bind(Of):
    @override
    def post(self) -> None:
        self.answer({"replaced": self.house.door.bind(self.text("token"), self.text("kernel"))})


class Away(Of):
    """The gate tells that a page's browser went silent, or is back."""

    @override
    def post(self) -> None:
        self.house.away(self.text("kernel"), self.body().get("away") is True)
        self.answer({})


class Arrive(Of):
    @override
    async def post(self) -> None:
        lease = await self.house.door.arrive(self.text("kernel"), POLL)
        if lease is None:
            self.set_status(204)
        else:
            self.answer({"lease": lease, "module": self.house.module})


class Scene(Handler):
    @override
    def initialize(self, pages: House | Desk) -> None:
        self.pages = pages

    @override
    async def get(self) -> None:
        after = self.get_argument("after", "0")
        version = int(after) if after.isascii() and after.isdigit() and len(after) < 18 else 0
        self.answer(await self.pages.scene(self.get_argument("lease", ""), version, POLL))


class Now(Handler):
    """What a page shows at this moment, without waiting for news."""

    @override
    def initialize(self, pages: House | Desk) -> None:
        self.pages = pages

    @override
    def post(self) -> None:
        self.answer(self.pages.now(self.text("lease")))


class Act(Now):
    @override
    def post(self) -> None:
        body = self.body()
        act = body.get("act")
        self.answer(self.pages.act(self.text("lease"), act if isinstance(act, dict) else {}))


class Ask(Handler):
    """One of the researcher's questions or orders, by name."""

    @override
    def initialize(self, done: Callable[[dict[str, Any]], Any]) -> None:
        self.done = done

    @override
    async def get(self) -> None:
        await self._do({})

    @override
    async def post(self) -> None:
        await self._do(self.body())

    async def _do(self, wanted: dict[str, Any]) -> None:
        found = self.done(wanted)
        self.answer(await found if inspect.isawaitable(found) else found)


def seats(house: House) -> tornado.web.Application:
    """What participants' pages and their gate may ask."""
    of, pages = {"house": house}, {"pages": house}
    about = {"title": house.study.title, "study": house.study.name}
    return _app(
        fault=house.fault,
        routes=[
            (r"/health", Health, about),
            (r"/admit", Admit, of),
            (r"/join", Join, of),
            (r"/bind", Bind, of),
            (r"/away", Away, of),
            (r"/arrive", Arrive, of),
            (r"/scene", Scene, pages),
            (r"/now", Now, pages),
            (r"/act", Act, pages),
        ],
    )


def desk(of: Desk) -> tornado.web.Application:
    """What the researcher's pages may ask."""
    orders = {
        "play": of.play,
        "playing": of.playing,
        "models": of.models,
        "branch": of.branch,
        "branched": of.branched,
        "stop": of.stop,
        "monitor": of.monitor,
        "end": of.end,
    }
    pages = {"pages": of}
    return _app(
        routes=[
            (r"/health", Health, {"title": of.title, "study": ""}),
            (r"/scene", Scene, pages),
            (r"/now", Now, pages),
            (r"/act", Act, pages),
            *((f"/{name}", Ask, {"done": done}) for name, done in orders.items()),
        ]
    )


def _app(routes: list[Any], fault: Callable[[str, BaseException], None] | None = None) -> tornado.web.Application:
    return tornado.web.Application(
        routes, default_handler_class=Handler, log_function=lambda handler: None, fault=fault
    )
