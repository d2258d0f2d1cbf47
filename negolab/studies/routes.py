"""HTTP routes of the host on its two Unix sockets. Bodies are JSON; the body of an error is {"why": sentence}."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
import tornado.web
from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest
from tornado.routing import Router
from typing_extensions import override

from negolab.studies.admin import AdminService
from negolab.studies.authentication import LeaseTaken
from negolab.studies.database.connection import is_unreachable
from negolab.studies.links import AccessDenied
from negolab.studies.metrics import OPERATIONS, GateNumbers
from negolab.studies.page_service import PageService
from negolab.studies.service import StudyService
from negolab.studies.texts import texts
from negolab.texts import use

log = logging.getLogger("negolab.studies")

Operations = Mapping[str, Callable[[dict[str, Any]], Any]]
"""Functions of a request's body, by the route's name; they may be asynchronous."""

ACT = "/act"
"""Path of the actions of pages."""
POLL = 25.0
"""Seconds after which a long poll returns without news."""


class Handler(tornado.web.RequestHandler):
    """Base of all handlers: JSON bodies, and errors as status 403, 404, 405, 409, 500 or 503 with one plain sentence.

    Details of an unexpected error go to the log only.
    """

    @override
    def prepare(self) -> None:
        use(self.settings.get("texts", {}))

    def body(self) -> dict[str, Any]:
        """Decode the JSON object of the request, {} for an empty one; `AccessDenied` for anything else."""
        try:
            return msgspec.json.decode(self.request.body or b"{}", type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            raise AccessDenied(texts.NOT_UNDERSTOOD) from None

    def answer(self, value: Any) -> None:
        """Write a value as JSON."""
        self.set_header("Content-Type", "application/json")
        self.write(msgspec.json.encode(value))

    @override
    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        why = texts.FAULT
        if isinstance(error, AccessDenied):
            status_code, why = 403, str(error)
        elif isinstance(error, LeaseTaken):
            status_code, why = 409, texts.LEASE_TAKEN
        elif is_unreachable(error):
            # Of what was to be saved, nobody knows whether it was.
            status_code, why = 503, texts.UNSURE if self.request.path == ACT else texts.AWAY
        elif status_code in (404, 405):
            why = texts.NOT_FOUND
        self.set_status(status_code)
        self.answer({"why": why})

    @override
    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        if isinstance(value, AccessDenied | LeaseTaken | tornado.web.HTTPError):
            return
        log.error("a request failed", exc_info=(typ, value, tb))
        if (note_error := self.settings.get("note_error")) is not None and not is_unreachable(value):
            with suppress(Exception):  # the database itself may have failed; the error is in the log
                note_error(self.get_argument("lease", "") or text(self.body(), "lease"), value)


class Poll(Handler):
    """Long poll for a page state newer than the version `after`."""

    @override
    def initialize(self, pages: PageService) -> None:
        self.pages = pages

    @override
    async def get(self) -> None:
        after = self.get_argument("after", "0")
        version = int(after) if after.isascii() and after.isdigit() and len(after) < 18 else 0
        self.poll = asyncio.ensure_future(self.pages.poll(self.get_argument("lease", ""), version, POLL))
        with suppress(asyncio.CancelledError):  # its page is gone
            self.answer(await self.poll)

    @override
    def on_connection_close(self) -> None:
        self.poll.cancel()


class NotNow(Handler):
    """Any request while there is no database: status 503, and nothing is done or kept for later."""

    @override
    def initialize(self, why: Callable[[], str] | None) -> None:
        self.why = why

    @override
    def prepare(self) -> None:
        why = texts.NOT_NOW if self.request.path == ACT else texts.AWAY
        self.set_status(503)
        self.answer({"why": why if self.why is None else self.why()})
        self.finish()


class Operation(Handler):
    """One operation, called with the request's body; status 204 if it returns None."""

    @override
    def initialize(self, operation: Callable[[dict[str, Any]], Any]) -> None:
        self.operation = operation

    @override
    async def post(self) -> None:
        began = time.monotonic()
        result = self.operation(self.body())
        if inspect.isawaitable(result):
            result = await result
        else:
            OPERATIONS.labels(self.request.path.strip("/")).observe(time.monotonic() - began)
        if result is None:
            self.set_status(204)
        else:
            self.answer(result)

    get = post


def text(body: dict[str, Any], name: str) -> str:
    """Return a string field of a body; "" if it is missing or not a string."""
    value = body.get(name)
    return value if isinstance(value, str) else ""


# Operations of participants' pages, and of the gate server in front of them.


def _admit(service: StudyService, body: dict[str, Any]) -> dict[str, Any]:
    """Check a link or cookie, before a kernel is spent on it."""
    visitor = service.authenticator.admit(text(body, "token"), _query(body))
    return {
        "visitor": None if visitor is None else visitor.id,
        "link": "open" if visitor is None else visitor.link,
        "title": service.study.title,
        "names": service.study.external is not None,
    }


def _join(service: StudyService, body: dict[str, Any]) -> dict[str, Any]:
    """Exchange a link for a personal token."""
    token, visitor = service.authenticator.join(text(body, "token"), _query(body) or {})
    return {"token": token, "visitor": visitor}


def _bind(service: StudyService, body: dict[str, Any]) -> dict[str, Any]:
    """Assign a kernel to a participant; answers with the kernel that is replaced."""
    return {"replaced": service.authenticator.bind(text(body, "token"), text(body, "kernel"))}


def _away(service: StudyService, body: dict[str, Any]) -> dict[str, Any]:
    """Take note that a page's browser has gone silent or is back."""
    service.away(text(body, "kernel"), body.get("away") is True)
    return {}


def _gate(service: StudyService, body: dict[str, Any]) -> dict[str, Any]:
    """Take note of the numbers of the participants' server."""
    with suppress(msgspec.ValidationError):
        service.gate = msgspec.convert(body, type=GateNumbers)
    return {}


async def _arrive(service: StudyService, body: dict[str, Any]) -> dict[str, Any] | None:
    """Wait for the lease of a kernel's participant; None if there is none yet."""
    lease = await service.authenticator.arrive(text(body, "kernel"), POLL)
    return None if lease is None else {"lease": lease, "module": service.module, "texts": service.study.texts}


def _query(body: dict[str, Any]) -> dict[str, str] | None:
    """Return the string parameters of the link's query; None if the request carries none."""
    query = body.get("query")
    return {k: v for k, v in query.items() if isinstance(v, str)} if isinstance(query, dict) else None


# Operations of all pages.


def _now(pages: PageService, body: dict[str, Any]) -> Any:
    """Return the current page state, without waiting for news."""
    return pages.now(text(body, "lease"))


def _act(pages: PageService, body: dict[str, Any]) -> Any:
    """Carry out an action of a page."""
    action = body.get("act")
    return pages.act(text(body, "lease"), action if isinstance(action, dict) else {})


def seats_app(service: StudyService) -> tornado.web.Application:
    """Build the application for participants' pages and the gate server in front of them."""
    operations = {"admit": _admit, "join": _join, "bind": _bind, "away": _away, "arrive": _arrive, "gate": _gate}
    return _app(
        service,
        {"title": service.study.title, "study": service.study.name},
        {name: partial(operation, service) for name, operation in operations.items()},
        note_error=service.note_error,
        texts=service.study.texts,
    )


def admin_app(admin: AdminService) -> tornado.web.Application:
    """Build the application for the researcher's pages."""
    operations = {
        "play": admin.play,
        "playing": admin.playing,
        "models": admin.models,
        "branch": admin.branch,
        "branched": admin.branched,
        "stop": admin.stop,
        "monitor": admin.monitor,
        "watch": admin.watch,
        "metrics": admin.metrics,
        "end": admin.end,
    }
    return _app(admin, {"title": admin.title, "study": ""}, operations)


def away_app(why: Callable[[], str] | None = None) -> tornado.web.Application:
    """Build the application that refuses everything for now, with a reason for the researcher or without one."""
    return tornado.web.Application([(r".*", NotNow, {"why": why})], log_function=lambda handler: None)


class Switch(Router):
    """The application at a socket, which can be exchanged at any time, also for connections that are open."""

    def __init__(self, app: tornado.web.Application) -> None:
        self.app = app

    @override
    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> HTTPMessageDelegate | None:
        return self.app.find_handler(request, **kwargs)


def _app(
    pages: PageService,
    health: dict[str, str],
    operations: Operations,
    **settings: Any,
) -> tornado.web.Application:
    """Build an application with a health check, the routes of pages, and further operations."""
    shared = {"health": lambda _: health, "now": partial(_now, pages), "act": partial(_act, pages)}
    return tornado.web.Application(
        [
            (r"/poll", Poll, {"pages": pages}),
            *((f"/{name}", Operation, {"operation": work}) for name, work in {**shared, **operations}.items()),
        ],
        default_handler_class=Handler,
        log_function=lambda handler: None,
        **settings,
    )
