"""Limits on a server's connections: how many an address and a visitor may hold, and how slow each may be."""

from __future__ import annotations

import resource
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPConnection, HTTPInputError, HTTPMessageDelegate, HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream
from tornado.web import Application
from typing_extensions import override

from negolab_widgets.server.limits import TokenBuckets

MAX_OF_ADDRESS = 256
"""Connections from one address without a valid cookie; a class behind one address opens some 200 at once."""
MAX_OF_VISITOR = 48
"""Connections from one visitor; a browser opens six for files, and a websocket or two for each tab."""
HEADER_SECONDS, BODY_SECONDS = 10, 20
"""Seconds within which a request's headers (or, on a connection that is kept open, the next request) and its body must
arrive."""
MAX_HEADERS = 16 << 10
"""Bytes of a request's headers, including cookies, and bytes read from a connection at once."""
MAX_HEADER_LINES = 100
"""Header lines of a request; a browser sends some 20, and thousands take the server milliseconds to parse."""
OPENINGS, OPENINGS_AT_ONCE = 100, 1000
"""New connections from one address per second, and at once. Further ones wait; those that would wait too long are
closed."""
MAX_STRANGERS = 8192
"""Connections without a valid cookie from all addresses together."""

Streams = dict[IOStream, str]
"""Connections in order of arrival, with their addresses."""


def raise_descriptor_limit() -> int:
    """Raise the soft limit on open descriptors to the hard limit, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 1 << 20 if hard == resource.RLIM_INFINITY else hard
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


class Connections:
    """Open connections by holder; a holder with too many loses the oldest.

    Args:
        of_strangers: Maximum number of connections without a valid cookie from all addresses.
        of_address: Maximum number of these from one address.
        of_visitor: Maximum number of connections from one visitor.
    """

    def __init__(self, of_strangers: int, of_address: int = MAX_OF_ADDRESS, of_visitor: int = MAX_OF_VISITOR) -> None:
        self._of_strangers, self._of_address, self._of_visitor = of_strangers, of_address, of_visitor
        self._strangers: Streams = {}
        self._by_address: dict[str, Streams] = {}
        self._by_visitor: dict[str, Streams] = {}

    def open(self, stream: IOStream, address: str) -> None:
        """Count a new connection as a stranger's."""
        _add(stream, address, self._by_address.setdefault(address, {}), self._of_address)
        _add(stream, address, self._strangers, self._of_strangers)

    def recognise(self, stream: IOStream, visitor: str) -> None:
        """Count a connection as this visitor's from now on, and no longer as anyone else's; a proxy may use one for
        several."""
        own = self._by_visitor.setdefault(visitor, {})
        if stream in own:
            return
        address = self._strangers.pop(stream, "")
        for group in (self._by_address.get(address, {}), *self._by_visitor.values()):
            group.pop(stream, None)
        _add(stream, address, own, self._of_visitor)

    def prune(self) -> None:
        """Forget closed connections."""
        _forget_closed(self._strangers)
        for groups in (self._by_address, self._by_visitor):
            for key, group in list(groups.items()):
                _forget_closed(group)
                if not group:
                    del groups[key]

    def __len__(self) -> int:
        return len(self._strangers) + sum(map(len, self._by_visitor.values()))


def _add(stream: IOStream, address: str, group: Streams, most: int) -> None:
    group.setdefault(stream, address)
    if len(group) > most:
        _forget_closed(group)
    while len(group) > most:
        oldest = next(iter(group))
        del group[oldest]
        oldest.close()


def _forget_closed(group: Streams) -> None:
    for stream in [stream for stream in group if stream.closed()]:
        del group[stream]


class Door(HTTPServer):
    """An HTTP server that limits its connections."""

    connections: Connections
    openings: TokenBuckets | None
    """None behind a proxy, whose connections all come from one address."""

    @override
    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        # Tornado counts the bytes of headers, not their lines, and reads a body before checking whether it is accepted;
        # the only place to change either is its parser.
        connection: Any = request_conn
        parse = connection._parse_headers

        def parse_few(data: bytes) -> Any:
            if data.count(b"\n") > MAX_HEADER_LINES:
                raise HTTPInputError("too many header lines")
            start, headers = parse(data)
            if "Transfer-Encoding" in headers:
                raise HTTPInputError("a body in chunks: no browser sends one, and thousands of chunks take seconds")
            return start, headers

        connection._parse_headers = parse_few
        return super().start_request(server_conn, request_conn)

    @override
    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        wait = 0.0 if self.openings is None else self.openings.take(str(address[0]), patience=HEADER_SECONDS)
        if wait > HEADER_SECONDS:
            stream.close()
            return
        self.connections.open(stream, str(address[0]))
        serve = super().handle_stream
        if wait:
            IOLoop.current().call_later(wait, serve, stream, address)
        else:
            serve(stream, address)

    def recognise(self, request: HTTPServerRequest, visitor: str) -> None:
        """Note that a request comes from a visitor, whose connections strangers cannot crowd out."""
        connection: Any = request.connection
        self.connections.recognise(connection.stream, visitor)


def make_door(app: Application, *, behind_proxy: bool, ssl_options: dict[str, Any] | None) -> Door:
    """Make the server for an application.

    Args:
        app: The application.
        behind_proxy: All connections come from one proxy, so their address says nothing.
        ssl_options: Certificate and key, if it handles TLS itself.
    """
    door = Door(
        app,
        ssl_options=ssl_options,
        chunk_size=MAX_HEADERS,
        max_header_size=MAX_HEADERS,
        max_body_size=1 << 16,
        idle_connection_timeout=HEADER_SECONDS,
        body_timeout=BODY_SECONDS,
    )
    # Half of the descriptors are reserved for known visitors, kernels and files.
    strangers = min(MAX_STRANGERS, raise_descriptor_limit() // 2)
    door.openings = None if behind_proxy else TokenBuckets(rate=OPENINGS, burst=OPENINGS_AT_ONCE)
    door.connections = Connections(strangers, strangers if behind_proxy else MAX_OF_ADDRESS)
    return door
