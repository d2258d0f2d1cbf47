"""What is checked of every request first: for which host it is, from which page it comes, how many came before."""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass, field

from tornado.httputil import HTTPServerRequest
from tornado.web import HTTPError

from negolab_widgets.dashboard.rates import Buckets

_SAFE = ("GET", "HEAD")


class Refused(HTTPError):
    """A request that is not answered; `why` is one sentence for the person who made it."""

    def __init__(self, status: int, why: str = "", after: float = 0.0) -> None:
        super().__init__(status)
        self.why, self.after = why, math.ceil(after)


@dataclass(frozen=True)
class Front:
    """The checks; each can be switched off so that tests can show what it is for."""

    hosts: frozenset[str]
    origins: frozenset[str]
    behind_proxy: bool = False
    check_host: bool = True
    check_origin: bool = True
    limit_rates: bool = True
    # A class behind one address may start together: thirty pages ask for some two thousand small files.
    files: Buckets = field(default_factory=lambda: Buckets(rate=400, burst=6000))
    requests: Buckets = field(default_factory=lambda: Buckets(rate=100, burst=1000))
    failures: Buckets = field(default_factory=lambda: Buckets(rate=0.5, burst=20))

    def address(self, request: HTTPServerRequest) -> str:
        """Who asks: the peer, or behind a proxy the last address that the proxy named; of IPv6 the network."""
        named = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip() if self.behind_proxy else ""
        try:
            address = ipaddress.ip_address(named or str(request.remote_ip))
        except ValueError:
            return str(request.remote_ip)
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, 64), strict=False))
        return str(address)

    def check(self, request: HTTPServerRequest, *, is_file: bool, is_socket: bool) -> None:
        """Refuse what is for another host, comes from another site's page, or comes too often."""
        if self.check_host and request.headers.get("Host", "").lower() not in self.hosts:
            raise Refused(403)
        if self.check_origin and not self._is_ours(request, writes=is_socket or request.method not in _SAFE):
            raise Refused(403)
        wait = (self.files if is_file else self.requests).take(self.address(request)) if self.limit_rates else 0
        if wait:
            raise Refused(429, after=wait)

    def _is_ours(self, request: HTTPServerRequest, *, writes: bool) -> bool:
        origin = request.headers.get("Origin")
        site = request.headers.get("Sec-Fetch-Site")
        if origin == "null":  # what browsers send with a form or a beacon of a page that gives no referrer
            return site == "same-origin"
        if origin is not None and origin.lower() not in self.origins:
            return False
        return not writes or site in (None, "same-origin")

    def attempt(self, request: HTTPServerRequest) -> None:
        """Before a token is looked up: too many bad ones from there, and none is looked up for a while."""
        wait = self.failures.take(self.address(request)) if self.limit_rates else 0
        if wait:
            raise Refused(429, after=wait)

    def was_good(self, request: HTTPServerRequest) -> None:
        """The token was good: it does not count."""
        self.failures.give_back(self.address(request))
