"""The checks that every request passes, the headers of every answer, and small pages without a kernel."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import inspect
import ipaddress
import math
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.resources import files
from typing import Any, ClassVar, Literal

from markupsafe import Markup
from tornado.httputil import HTTPServerRequest
from tornado.web import HTTPError, RequestHandler
from tornado.websocket import WebSocketHandler
from typing_extensions import override

from negolab.studies.texts import gate_texts
from negolab_widgets.server.limits import TokenBuckets

_SAFE = ("GET", "HEAD")
PATIENCE = 10.0
"""Seconds for which a request that comes too soon waits at most; one that would wait longer is refused."""


class RefusedRequest(HTTPError):
    """A request that is not answered; `why` is one sentence for the person who made it."""

    def __init__(self, status: int, why: str = "", after: float = 0.0) -> None:
        super().__init__(status)
        self.why, self.after = why, math.ceil(after)


class RequestChecks:
    """Checks of host, origin and rate."""

    def __init__(self, hosts: frozenset[str], origins: frozenset[str], *, behind_proxy: bool = False) -> None:
        self.hosts, self.origins, self.behind_proxy = hosts, origins, behind_proxy
        # A class behind one address may start together: thirty pages ask for some two thousand small files.
        self.files = TokenBuckets(rate=400, burst=6000)
        self.requests = TokenBuckets(rate=30, burst=300)
        self.failures = TokenBuckets(rate=0.5, burst=20)

    def address(self, request: HTTPServerRequest) -> str:
        """Return who asks: the peer, or behind a proxy the last address that the proxy named; of IPv6 the network."""
        named = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip() if self.behind_proxy else ""
        try:
            address = ipaddress.ip_address(named or str(request.remote_ip))
        except ValueError:
            return str(request.remote_ip)
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, 64), strict=False))
        return str(address)

    def check(self, request: HTTPServerRequest, *, is_socket: bool) -> None:
        """Refuse what is for another host or comes from another site's page."""
        is_for_us = request.headers.get("Host", "").lower() in self.hosts
        if not is_for_us or not self._is_ours(request, writes=is_socket or request.method not in _SAFE):
            raise RefusedRequest(403)

    async def pace(self, holder: str, *, is_file: bool) -> None:
        """Wait until another request of its holder may be answered; refuse it if that is long."""
        wait = (self.files if is_file else self.requests).take(holder, patience=PATIENCE)
        if wait > PATIENCE:
            raise RefusedRequest(429, after=wait)
        if wait:
            await asyncio.sleep(wait)

    def _is_ours(self, request: HTTPServerRequest, *, writes: bool) -> bool:
        origin = request.headers.get("Origin")
        site = request.headers.get("Sec-Fetch-Site")
        if origin == "null":  # what browsers send with a form or a beacon of a page that gives no referrer
            return site == "same-origin"
        if origin is not None and origin.lower() not in self.origins:
            return False
        return not writes or site in (None, "same-origin")

    def count_guess(self, request: HTTPServerRequest) -> None:
        """Count a token before it is looked up; after too many bad ones from an address, refuse for a while."""
        if wait := self.failures.take(self.address(request)):
            raise RefusedRequest(429, after=wait)

    def forgive_guess(self, request: HTTPServerRequest) -> None:
        """Uncount a token that was good."""
        self.failures.give_back(self.address(request))


_COLOURS = files("negolab.formats").joinpath("colours.css").read_text(encoding="utf-8")
_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; background: var(--nl-paper); color: var(--nl-ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 34rem; margin: 12vh auto 0; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.5rem; font-weight: 600; overflow-wrap: anywhere; }
p { margin: 0 0 0.75rem; }
form { display: inline-block; margin: 0.25rem 0.75rem 0 0; }
button { font: inherit; font-weight: 600; min-height: 2.5rem; padding: 0 1.25rem; border: 1px solid var(--nl-accent);
  border-radius: var(--nl-radius); background: var(--nl-accent); color: var(--nl-accent-ink); cursor: pointer; }
button.second { background: var(--nl-paper); color: var(--nl-ink); border-color: var(--nl-edge); }
:focus-visible { outline: 3px solid var(--nl-accent); outline-offset: 2px; }
"""
_WAITING_SCRIPT = """
const place = document.getElementById("place");
const { next, one, many } = place.dataset;
const describe = (ahead) => ahead === 0 ? next : ahead === 1 ? one : many.replace("{count}", ahead);
const ask = async () => {
  try {
    const answer = await fetch("waiting", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (answer.status === 403) return location.reload();
    if (answer.ok) {
      const { ready, ahead } = await answer.json();
      if (ready) return location.reload();
      if (place.textContent !== describe(ahead)) place.textContent = describe(ahead);
    }
  } catch { /* asked again */ }
  setTimeout(ask, 1500);
};
setTimeout(ask, 700);
"""


def _script_hash(script: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"


SMALL_PAGE_POLICY = "; ".join(
    [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        f"script-src {_script_hash(_WAITING_SCRIPT)}",
        "connect-src 'self'",
        "img-src data:",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
"""The Content-Security-Policy of these pages: the one script is named by its hash."""

ADMIN_TEXTS = {
    **dict.fromkeys(("400", "403", "404", "405"), "Please open the address that negolab printed when it was started."),
    "503": "negolab cannot be reached at the moment. This page will try again automatically.",
}
"""Texts for the researcher in place of those for participants, by status."""


def _page(title: str, *parts: Markup, script: str = "") -> str:
    return Markup(
        '<!DOCTYPE html>\n<html lang="{}"><head><meta charset="utf-8"><title>{}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        '<link rel="icon" href="data:;base64,="><style>{}</style></head>'
        "<body><main><h1>{}</h1>{}</main>{}</body></html>\n"
    ).format(
        gate_texts.LANGUAGE,
        title,
        Markup(_COLOURS + _STYLE),
        title,
        Markup("").join(parts),
        Markup(f"<script>{script}</script>" if script else ""),
    )


def join_page(title: str, has_taken_part: bool) -> str:
    """Render the page behind a link: one button, or two where somebody in this browser came by an open link before."""
    paragraph, button = Markup("<p>{}</p>").format, Markup("<form method='post'><button>{}</button></form>").format
    if not has_taken_part:
        return _page(title, paragraph(gate_texts.INVITATION), button(gate_texts.CONTINUE))
    return _page(
        title,
        paragraph(gate_texts.TAKEN_PART),
        button(gate_texts.CONTINUE_WHERE),
        Markup(
            "<form method='post'><input type='hidden' name='new' value='1'><button class='second'>{}</button></form>"
        ).format(gate_texts.NEW_PERSON),
    )


def waiting_page(ahead: int) -> str:
    """Render the page shown while all places are taken; its script asks again and moves on by itself."""
    several = gate_texts.ONE_AHEAD if ahead == 1 else gate_texts.AHEAD.format(count=ahead)
    texts = {"next": gate_texts.NEXT, "one": gate_texts.ONE_AHEAD, "many": gate_texts.AHEAD}
    return _page(
        gate_texts.WAIT,
        Markup("<p id='place' role='status' data-next='{next}' data-one='{one}' data-many='{many}'>{place}</p>").format(
            place=several if ahead else gate_texts.NEXT, **texts
        ),
        Markup("<p>{}</p>").format(gate_texts.KEEP_OPEN),
        Markup("<noscript><p>{}</p></noscript>").format(gate_texts.NEEDS_SCRIPT),
        script=_WAITING_SCRIPT,
    )


def refusal_page(status: int, why: str, texts: Mapping[str, str]) -> str:
    """Render a refused request in plain words: `why`; if that is "", the words of `texts` for the status, or the usual
    ones."""
    titles = gate_texts["titles"]
    titled = str(status if str(status) in titles else 500 if status >= 500 else 404)
    why = why or texts.get(titled, gate_texts["refusals"][titled])
    return _page(titles[titled], Markup("<p>{}</p>").format(why))


Requirement = Literal["nothing", "visitor", "kernel"]

HEADERS = {
    "Content-Security-Policy": SMALL_PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class CheckedHandler(RequestHandler):
    """Base of all handlers, mixed in before any other; it checks each request first.

    `needs`: nothing, a visitor whom the server knows, or a kernel of that visitor (named `kernel_id` in the path).
    Files are counted apart and may be cached.
    """

    needs: ClassVar[Requirement] = "visitor"
    is_file: ClassVar[bool] = False
    visitor: str = ""
    _turn: ExitStack | None = None

    @property
    def server(self) -> Any:
        """Our Voila application."""
        return self.settings["server"]

    @override
    def set_default_headers(self) -> None:
        for name, value in HEADERS.items():
            self.set_header(name, value)
        self.clear_header("Server")
        if not self.is_file:
            self.set_header("Cache-Control", "no-store")

    @override
    async def _execute(self, transforms: Any, *args: bytes, **kwargs: bytes) -> None:
        # Before Tornado's own: it refuses methods, bodies and paths that it cannot read without asking `prepare`.
        self._transforms = transforms
        try:
            await self._wait_for_turn()
        except RefusedRequest as error:
            self._handle_request_exception(error)
        else:
            await super()._execute(transforms, *args, **kwargs)

    async def _wait_for_turn(self) -> None:
        holder = self.server.holder(self)
        await self.server.checks.pace(holder, is_file=self.is_file)
        if not isinstance(self, WebSocketHandler):  # a websocket stays
            self._turn = await self.server.turns.take(f"files of {holder}" if self.is_file else holder)

    @override
    async def prepare(self) -> None:
        self.server.checks.check(self.request, is_socket=isinstance(self, WebSocketHandler))
        if self.needs != "nothing":
            self.visitor = await self.server.authenticate(self)
        if self.needs == "kernel" and not self.server.owns(self.visitor, self.path_kwargs["kernel_id"]):
            raise RefusedRequest(403)
        coming: Any = super().prepare()
        if inspect.isawaitable(coming):
            await coming

    @override
    def on_finish(self) -> None:
        if self._turn is not None:
            self._turn.close()

    @override
    def check_xsrf_cookie(self) -> None:
        """Check nothing here: `RequestChecks` compares the origin."""

    @override
    def compute_etag(self) -> None:
        """Send none."""

    @override
    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """Log a fault of ours, without the request, which may name a visitor."""
        if not isinstance(value, HTTPError):
            self.server.log.error("%s failed", type(self).__name__, exc_info=(typ, value, tb))

    @override
    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.server.refusals[str(status_code)] += 1
        error = kwargs.get("exc_info", (None, None))[1]
        refused = error if isinstance(error, RefusedRequest) else None
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", SMALL_PAGE_POLICY)
        self.set_header("Cache-Control", "no-store")
        if refused is not None and refused.after:
            self.set_header("Retry-After", str(refused.after))
            self.set_header("Refresh", str(refused.after))  # a page that a person looks at tries again by itself
        self.finish(refusal_page(status_code, refused.why if refused else "", self.server.texts))


class NotFound(CheckedHandler):
    """Every path that is not ours."""

    needs = "nothing"

    @override
    async def prepare(self) -> None:
        await super().prepare()
        raise RefusedRequest(404)
