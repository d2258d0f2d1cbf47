"""HTTP routes of the host on its two Unix sockets. Bodies are JSON; the body of an error is {"why": sentence}."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import tornado.web
from typing_extensions import override

from negolab.studies.admin import AdminService
from negolab.studies.authentication import AccessDenied, LeaseTaken
from negolab.studies.database.connection import is_unreachable
from negolab.studies.service import StudyService

log = logging.getLogger("negolab.studies")

POLL = 25.0
"""Seconds after which a long poll returns without news."""


class Handler(tornado.web.RequestHandler):
    """Base of all handlers: JSON bodies, and errors as status 403, 404, 405, 409 or 500 with one plain sentence.

    Details of an unexpected error go to the log only.
    """

    def body(self) -> dict[str, Any]:
        """Decode the JSON object of the request, {} for an empty one; `AccessDenied` for anything else."""
        try:
            found = msgspec.json.decode(self.request.body or b"{}")
        except msgspec.DecodeError:
            found = None
        if not isinstance(found, dict):
            raise AccessDenied("The request was not understood.")
        return found

    def text(self, name: str) -> str:
        """Return a string field of the body; "" if it is missing or not a string."""
        found = self.body().get(name)
        return found if isinstance(found, str) else ""

    def answer(self, value: Any) -> None:
        """Write a value as JSON."""
        self.set_header("Content-Type", "application/json")
        self.write(msgspec.json.encode(value))

    @override
    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        why = "Something went wrong on our side. Nothing that was kept is lost."
        if isinstance(error, AccessDenied):
            status_code, why = 403, str(error)
        elif isinstance(error, LeaseTaken):
            status_code, why = 409, "This page was opened elsewhere."
        elif status_code in (404, 405):
            why = "There is nothing here."
        self.set_status(status_code)
        self.answer({"why": why})

    @override
    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        if isinstance(value, AccessDenied | LeaseTaken | tornado.web.HTTPError):
            return
        log.error("a request failed", exc_info=(typ, value, tb))
        if (note := self.settings.get("fault")) is not None and not is_unreachable(value):
            with suppress(Exception):  # the database itself may have failed; the error is in the log
                note(self.get_argument("lease", "") or self.text("lease"), value)


class Health(Handler):
    """Health check; answers with the title and name of the study ("negolab" and "" for the admin API)."""

    @override
    def initialize(self, title: str, study: str) -> None:
        self.about = {"title": title, "study": study}

    @override
    def get(self) -> None:
        self.answer(self.about)


class Of(Handler):
    """Base of the handlers of the study service."""

    @override
    def initialize(self, service: StudyService) -> None:
        self.service = service

    def query(self) -> dict[str, str] | None:
        """Return the string parameters of the link's query; None if the request carries none."""
        query = self.body().get("query")
        return {k: v for k, v in query.items() if isinstance(v, str)} if isinstance(query, dict) else None


class Admit(Of):
    """Check of a link or cookie by the gate server, before a kernel is spent on it."""

    @override
    def post(self) -> None:
        visitor, title = self.service.authenticator.admit(self.text("token"), self.query())
        link = "open" if visitor is None else self.service.authenticator.participant(visitor).link
        self.answer({"visitor": visitor, "open": visitor is None, "link": link, "title": title})


class Join(Of):
    """Exchange of a link for a personal token."""

    @override
    def post(self) -> None:
        token, visitor = self.service.authenticator.join(self.text("token"), self.query() or {})
        self.answer({"token": token, "visitor": visitor})


class Bind(Of):
    """Assignment of a kernel to a participant; answers with the kernel that is replaced."""

    @override
    def post(self) -> None:
        self.answer({"replaced": self.service.authenticator.bind(self.text("token"), self.text("kernel"))})


class Away(Of):
    """Report of the gate server that a page's browser has gone silent or is back."""

    @override
    def post(self) -> None:
        self.service.away(self.text("kernel"), self.body().get("away") is True)
        self.answer({})


class Arrive(Of):
    """Long poll of a kernel for its participant's lease; status 204 if there is none yet."""

    @override
    async def post(self) -> None:
        lease = await self.service.authenticator.arrive(self.text("kernel"), POLL)
        if lease is None:
            self.set_status(204)
        else:
            self.answer({"lease": lease, "module": self.service.module})


class Scene(Handler):
    """Long poll for a page state newer than the version `after`."""

    @override
    def initialize(self, pages: StudyService | AdminService) -> None:
        self.pages = pages

    @override
    async def get(self) -> None:
        after = self.get_argument("after", "0")
        version = int(after) if after.isascii() and after.isdigit() and len(after) < 18 else 0
        self.answer(await self.pages.scene(self.get_argument("lease", ""), version, POLL))


class Now(Handler):
    """Current page state, without waiting for news."""

    @override
    def initialize(self, pages: StudyService | AdminService) -> None:
        self.pages = pages

    @override
    def post(self) -> None:
        self.answer(self.pages.now(self.text("lease")))


class Act(Now):
    """Action of a page."""

    @override
    def post(self) -> None:
        body = self.body()
        act = body.get("act")
        self.answer(self.pages.act(self.text("lease"), act if isinstance(act, dict) else {}))


class Ask(Handler):
    """One operation of the admin API, called with the request's body."""

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


def seats_app(service: StudyService) -> tornado.web.Application:
    """Build the application for participants' pages and the gate server in front of them."""
    of, pages = {"service": service}, {"pages": service}
    about = {"title": service.study.title, "study": service.study.name}
    return _app(
        fault=service.fault,
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


def admin_app(of: AdminService) -> tornado.web.Application:
    """Build the application for the researcher's pages."""
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
