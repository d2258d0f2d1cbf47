"""The participants' server: admission, queueing, and strangers."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from negolab_widgets.server import addresses, requests
from negolab_widgets.server.admission import CALLED, LATELY, AdmissionQueue
from negolab_widgets.server.door import Connections
from negolab_widgets.server.kernels import KernelPool, WarmKernel
from negolab_widgets.server.limits import AddressQuota, TokenBuckets, Turns
from negolab_widgets.server.logs import LimitedFilter, RedactingFormatter, redact
from negolab_widgets.server.requests import RefusedRequest, RequestChecks
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.iostream import IOStream
from tornado.websocket import websocket_connect

from negolab.cli.serve import ServeOptions
from tests.support import careless_gate
from tests.support.bots import V1, framed, message, read_frame
from tests.support.gate_server import KERNEL_ID, PAGE, Gate, running_gate, send_raw, wait_until, write_page
from tests.support.processes import command_line, kernels_of
from tests.support.unguarded_gate import PLAIN

NOBODY = "00000000-0000-0000-0000-000000000000"


# The line and the places.


def test_who_comes_first_is_served_first() -> None:
    visitors = AdmissionQueue(most=2)
    assert not visitors.enter("ann", 0, 0)
    assert not visitors.enter("bob", 0, 1)
    assert not visitors.enter("bob", 1, 2), "one kernel is ready, and it is for ann"
    assert visitors.count_ahead("bob") == 1
    assert visitors.enter("ann", 1, 3)
    assert visitors.enter("bob", 1, 4)


def test_who_is_not_in_the_line_stands_behind_it() -> None:
    visitors = AdmissionQueue(most=2)
    visitors.enter("ann", 0, 0)
    assert not visitors.enter("bob", 1, 1)
    assert visitors.enter("bob", 2, 2)


def test_who_does_not_ask_loses_the_place_in_the_line() -> None:
    visitors = AdmissionQueue(most=2, patience=10)
    visitors.enter("ann", 0, 0)
    visitors.enter("bob", 0, 8)
    assert visitors.enter("bob", 1, 11)


def test_who_is_told_to_come_in_and_only_asks_again_holds_up_nobody() -> None:
    visitors = AdmissionQueue(most=2)
    visitors.enter("ann", 0, 0)
    assert visitors.may_enter("ann", 1, 1)
    assert not visitors.enter("bob", 1, 1 + CALLED), "a page that was told to come in gets the time for it"
    assert visitors.may_enter("ann", 1, 2 + CALLED)
    assert visitors.enter("bob", 1, 2 + CALLED)
    assert not visitors.may_enter("ann", 0, 3 + CALLED)
    assert visitors.enter("cat", 1, 4 + CALLED), "nor does she hold up the next one"


def test_who_had_many_kernels_of_late_waits_for_those_who_had_fewer() -> None:
    visitors = AdmissionQueue(most=9)
    visitors.assign_kernel("ann", "k0", 0)
    visitors.assign_kernel("ann", "k1", 1)
    visitors.enter("ann", 0, 2)
    visitors.enter("bob", 0, 3)
    assert visitors.count_ahead("ann") == 1 and visitors.count_ahead("bob") == 0
    assert not visitors.enter("ann", 1, 4)
    assert visitors.enter("bob", 1, 4)
    visitors.assign_kernel("bob", "k2", 4)
    visitors.enter("ann", 0, 1 + LATELY)
    visitors.enter("bob", 0, 2 + LATELY)
    assert visitors.count_ahead("bob") == 1, "what was long ago is forgotten"


def test_places_are_limited_and_a_free_one_goes_to_the_first_in_the_line() -> None:
    visitors = AdmissionQueue(most=1, keep=15)
    assert visitors.enter("ann", 1, 0)
    visitors.assign_kernel("ann", "k1", 0)
    assert not visitors.enter("bob", 1, 1)
    visitors.release_kernel("k1", 2)
    assert not visitors.enter("bob", 1, 3), "ann may be reloading"
    visitors.may_enter("bob", 1, 10)
    assert visitors.enter("bob", 1, 18)


def test_a_reload_keeps_its_place_while_others_wait() -> None:
    visitors = AdmissionQueue(most=1)
    visitors.enter("ann", 1, 0)
    visitors.assign_kernel("ann", "k1", 0)
    visitors.enter("bob", 1, 1)
    visitors.release_kernel("k1", 2)
    assert visitors.enter("ann", 1, 3)
    assert visitors.assign_kernel("ann", "k2", 3) is None


def test_another_tab_replaces_the_kernel_of_the_first() -> None:
    visitors = AdmissionQueue(most=1)
    visitors.enter("ann", 1, 0)
    visitors.assign_kernel("ann", "k1", 0)
    assert visitors.enter("ann", 1, 1)
    assert visitors.assign_kernel("ann", "k2", 1) == "k1"
    assert visitors.state("ann", "k1") == "replaced"
    assert visitors.state("ann", "k2") == "here"
    assert visitors.owner("k1") == "ann"


def test_somebody_elses_kernel_is_as_unknown_as_none() -> None:
    visitors = AdmissionQueue(most=2)
    visitors.assign_kernel("ann", "k1", 0)
    assert visitors.state("bob", "k1") == visitors.state("bob", "k9") == "gone"


def test_a_crowd_of_requests_of_one_key_takes_turns_and_delays_no_other_key() -> None:
    async def crowd() -> None:
        turns, at_work = Turns(at_once=2), 0

        async def request() -> None:
            nonlocal at_work
            turn = await turns.take("crowd")
            at_work += 1
            assert at_work <= 2
            await asyncio.sleep(0)
            at_work -= 1
            turn.close()
            turn.close()

        requests = [asyncio.ensure_future(request()) for _ in range(20)]
        await asyncio.sleep(0)
        await asyncio.wait_for(turns.take("other"), 0.1)
        await asyncio.gather(*requests)
        assert "crowd" not in turns._turns, "a key is forgotten after its last request"

    asyncio.run(crowd())


def test_an_answer_that_is_read_for_ever_gives_its_turn_away() -> None:
    async def stall() -> None:
        turns = Turns(at_once=1, seconds=0.05)
        await turns.take("ann")
        await asyncio.wait_for(turns.take("ann"), 5)

    asyncio.run(stall())


def test_those_who_came_by_the_open_link_from_one_address_never_take_all_places() -> None:
    crowds, places = AddressQuota(most=2), set[str]()
    for name in ("ann", "bob"):
        assert not crowds.full(name, "here", places)
        places.add(name)
    assert crowds.full("cat", "here", places)
    assert not crowds.full("ann", "here", places), "a reload"
    assert not crowds.full("dan", "there", places)
    places.remove("bob")
    assert not crowds.full("cat", "here", places)


def test_a_bucket_lets_a_burst_through_and_then_its_rate() -> None:
    now = [0.0]
    bucket = TokenBuckets(rate=2, burst=3, clock=lambda: now[0])
    assert [bucket.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert bucket.take("b") == 0
    now[0] = 0.5
    assert bucket.take("a") == 0
    bucket.give_back("a")
    assert bucket.take("a") == 0


def test_a_bucket_promises_tokens_to_those_who_wait() -> None:
    now = [0.0]
    bucket = TokenBuckets(rate=2, burst=1, clock=lambda: now[0])
    assert [bucket.take("a", patience=1) for _ in range(4)] == [0, 0.5, 1, 1.5], "the last is too long and takes none"
    now[0] = 0.5
    assert bucket.take("a", patience=1) == 1


def test_a_bucket_gives_several_tokens_or_none() -> None:
    now = [0.0]
    bucket = TokenBuckets(rate=2, burst=10, clock=lambda: now[0])
    assert bucket.take("a", 8) == 0
    assert bucket.take("a", 8) == 3, "six more, at two a second"
    now[0] = 3
    assert bucket.take("a", 8) == 0


def test_requests_that_come_too_soon_wait_for_their_turn_unless_it_is_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "PATIENCE", 0.1)
    checks = RequestChecks(frozenset(), frozenset())
    checks.requests = TokenBuckets(rate=100, burst=1)

    async def crowd() -> list[BaseException | None]:
        paced = [checks.pace("somebody", is_file=False) for _ in range(20)]
        return await asyncio.gather(*paced, checks.pace("another", is_file=False), return_exceptions=True)

    *crowded, another = asyncio.run(crowd())
    assert crowded[:10] == [None] * 10 and another is None
    assert all(isinstance(late, RefusedRequest) and late.status_code == 429 for late in crowded[12:])


def test_many_addresses_fill_no_memory() -> None:
    bucket = TokenBuckets(rate=1, burst=1, most=100)
    for number in range(1000):
        bucket.take(str(number))
    assert len(bucket._left) == 100


def test_a_pool_goes_on_after_a_kernel_failed_to_start_and_drops_dead_ones() -> None:
    async def run() -> None:
        dead: set[str] = set()
        numbers = iter(range(100))
        failures: list[Exception] = []

        async def heat() -> WarmKernel:
            number = next(numbers)
            if number == 0:
                raise OSError("no memory")
            return WarmKernel(f"k{number}", "page")

        async def alive(kernel: str) -> bool:
            return kernel not in dead

        pool = KernelPool(heat, alive, failures.append, size=2, at_once=1)
        pool.fill()
        await asyncio.sleep(0.01)
        assert len(failures) == 1 and pool.take() is None
        pool._again = 0
        pool.fill()
        await asyncio.sleep(0.01)
        assert len(pool) == 2
        dead.add("k1")
        await pool.tidy()
        assert pool.take() == WarmKernel("k2", "page")

    asyncio.run(run())


def test_a_page_loads_before_its_kernels_successor_starts_unless_somebody_comes(monkeypatch: Any) -> None:
    async def run() -> None:
        started: list[str] = []

        async def heat() -> WarmKernel:
            started.append(f"k{len(started)}")
            return WarmKernel(started[-1], "page")

        async def alive(kernel: str) -> bool:
            return True

        pool = KernelPool(heat, alive, pytest.fail, size=1)
        pool.fill()
        await asyncio.sleep(0.01)
        monkeypatch.setattr("negolab_widgets.server.kernels.CALM", 0.05)
        assert pool.take() == WarmKernel("k0", "page")
        await asyncio.sleep(0.01)
        assert started == ["k0"]
        await asyncio.sleep(0.1)
        assert started == ["k0", "k1"] and len(pool) == 1
        assert pool.take() == WarmKernel("k1", "page")
        assert pool.take() is None, "somebody comes"
        await asyncio.sleep(0.01)
        assert started == ["k0", "k1", "k2"]

    asyncio.run(run())


def test_a_text_in_a_traceback_looks_like_no_other_entry_of_a_log() -> None:
    try:
        raise ValueError("cannot parse hello\nnegolab: the database is back\n\x1b[31;1m\x1b]0;owned\x07")
    except ValueError:
        entry = logging.LogRecord("a", logging.ERROR, "", 0, "a match failed", (), sys.exc_info())
    first, *rest = RedactingFormatter("negolab: %(message)s").format(entry).splitlines()
    assert first == "negolab: a match failed" and all(line.startswith("  ") for line in rest)
    assert "  negolab: the database is back" in rest and "\x1b" not in "".join(rest)


def test_logs_name_no_visitor() -> None:
    line = redact(f"404 GET /study/join/abc.DEF-1?x=secret api/kernels/{NOBODY}/channels?session_id=5")
    assert line == "404 GET /study/join/...?... api/kernels/.../channels?..."


def test_a_flood_of_log_lines_is_cut_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("a flooded log")
    caplog.handler.addFilter(limit := LimitedFilter(rate=1e-9, burst=3))
    try:
        for n in range(1000):
            log.error("line %d", n)
        limit._bucket.give_back("")
        log.error("the end")
    finally:
        caplog.handler.removeFilter(limit)
    assert caplog.messages == ["line 0", "line 1", "line 2", "the end (997 earlier lines were omitted)"]


class Stream:
    """A connection."""

    is_closed = False

    def close(self) -> None:
        self.is_closed = True

    def closed(self) -> bool:
        return self.is_closed


def test_who_holds_too_many_connections_loses_the_oldest() -> None:
    door = Connections(of_strangers=5, of_address=3, of_visitor=2)
    first, *others = many = [cast(IOStream, Stream()) for _ in range(4)]
    for stream in many:
        door.open(stream, "1.2.3.4")
    assert first.closed() and not any(stream.closed() for stream in others)
    known = [cast(IOStream, Stream()) for _ in range(3)]
    for stream in known:
        door.open(stream, "5.6.7.8")
        door.recognise(stream, "ann")
    assert [stream.closed() for stream in known] == [True, False, False]
    assert not any(stream.closed() for stream in others), "a visitor takes nothing from strangers"
    door.prune()
    assert len(door) == 5


def test_a_connection_that_a_proxy_uses_for_several_is_the_last_ones() -> None:
    door = Connections(of_strangers=5, of_address=5, of_visitor=2)
    shared, *more = [cast(IOStream, Stream()) for _ in range(3)]
    for visitor in ("ann", "bob"):
        door.recognise(shared, visitor)
    for stream in more:
        door.recognise(stream, "ann")
    assert not shared.closed(), "ann has two, and bob one"


def test_a_crowd_of_strangers_closes_no_visitors_connection() -> None:
    door = Connections(of_strangers=5, of_address=3)
    known = cast(IOStream, Stream())
    door.open(known, "1.2.3.4")
    door.recognise(known, "ann")
    for n in range(100):
        door.open(cast(IOStream, Stream()), f"10.0.0.{n}")
    assert not known.closed() and len(door) == 6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (ServeOptions(host="0.0.0.0"), "--public-url"),
        (ServeOptions(host="0.0.0.0", public_url="http://lab.example/"), "not encrypted"),
        (ServeOptions(host="0.0.0.0", public_url="https://lab.example/"), "--behind-proxy"),
        (ServeOptions(behind_proxy=True), "--public-url"),
        (ServeOptions(public_url="lab.example"), "is not an address"),
        (ServeOptions(public_url="https://me:pw@lab.example/", behind_proxy=True), "is not an address"),
        (ServeOptions(public_url="https://lab.example/?a=1", behind_proxy=True), "is not an address"),
        (ServeOptions(public_url="https://lab.example/a b/", behind_proxy=True), "letters"),
        (ServeOptions(public_url="https://lab.example:x/", behind_proxy=True), "is not an address"),
        (ServeOptions(host="0.0.0.0", public_url="https://lab.example/", certfile=Path("cert.pem")), "--keyfile"),
    ],
)
def test_an_unsafe_address_is_refused(options: ServeOptions, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        addresses.serving_address(options)


@pytest.mark.parametrize(
    ("url", "host", "prefix"),
    [
        ("https://lab.example/study/", "lab.example", "/study/"),
        ("https://Lab.Example:443/a/b", "lab.example", "/a/b/"),
        ("https://lab.example:8443", "lab.example:8443", "/"),
        ("http://127.0.0.1:9000/x", "127.0.0.1:9000", "/x/"),
        ("http://[::1]:9000/", "[::1]:9000", "/"),
    ],
)
def test_a_public_address_is_read(url: str, host: str, prefix: str) -> None:
    assert addresses.parse_public_url(url)[1:] == (host, prefix)


# A running gate.


ORDERS = """
import asyncio, os, pathlib, threading

async def obey():
    order = pathlib.Path({folder!r}, str(os.getpid()))
    while not order.exists():
        await asyncio.sleep(0.05)
    exec(order.read_text(), globals())

obeying = asyncio.ensure_future(obey())
"""


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a kernel looks for code that a test wants it to run."""
    return tmp_path_factory.mktemp("orders")


@pytest.fixture(scope="module")
def door(orders: Path) -> Iterator[Gate]:
    source = PAGE + ORDERS.format(folder=str(orders))
    options = ("pool_size=1", "max_kernels=20", "computing_at_once=2", "absent_after=600")
    with running_gate(*options, page=write_page(orders, source=source), warm=False) as running:
        yield running


@pytest.fixture(scope="module")
def page(door: Gate) -> httpx2.Response:
    """The page of the visitor cat, whose kernel no test ends."""
    return door.open_page("good-cat")


@pytest.fixture(scope="module")
def kernel(page: httpx2.Response) -> str:
    found = KERNEL_ID.search(page.text)
    assert found
    return found[1]


def pid_of(door: Gate, kernel: str) -> int:
    """The process of a kernel."""
    (pid,) = [pid for pid in kernels_of(door.pid) if kernel in command_line(pid)]
    return pid


def state_of(door: Gate, kernel: str, token: str) -> str:
    """The state of a kernel, as its page is told."""
    return str(door.get(f"alive/{kernel}", token).json()["state"])


def order(folder: Path, door: Gate, kernel: str, source: str) -> None:
    """Let a kernel run this code."""
    (folder / "new").write_text(source)
    (folder / "new").rename(folder / str(pid_of(door, kernel)))


def test_requests_of_those_who_went_away_keep_nobody_waiting(door: Gate) -> None:
    for _ in range(60):
        with socket.create_connection(("127.0.0.1", door.port)) as connection:
            connection.sendall(f"GET /join/open HTTP/1.1\r\nHost: {door.url[7:-1]}\r\n\r\n".encode())
    began = time.monotonic()
    assert door.get("join/open").status_code == 200
    assert time.monotonic() - began < 60


def test_headers_have_their_bound(door: Gate) -> None:
    assert door.get("join/open", X="x" * 12_000).status_code == 200
    with pytest.raises(httpx2.TransportError):
        door.get("join/open", X="x" * 17_000)
    assert door.get("join/open", **{f"X{i}": "x" for i in range(80)}).status_code == 200
    assert door.get("join/open", **{f"X{i}": "x" for i in range(101)}).status_code == 400


def socket_of(door: Gate, kernel: str, token: str | None, **headers: str) -> Any:
    """A websocket to a kernel, opened as a browser does; returns the kernel's answer to a request for its info."""

    async def ask_once() -> Any:
        connection = await open_socket(door, kernel, token, **headers)
        try:
            return await ask_info(connection)
        finally:
            connection.close()

    return asyncio.run(ask_once())


async def open_socket(door: Gate, kernel: str, token: str | None, **headers: str) -> Any:
    shown = {"Cookie": f"{door.cookie}={token}"} if token else {}
    named = {"Origin": door.url.rstrip("/"), **{name.replace("_", "-"): value for name, value in headers.items()}}
    url = door.url.replace("http", "ws") + f"api/kernels/{kernel}/channels?session_id=test"
    request = HTTPRequest(url, headers={**shown, **named}, request_timeout=60)
    return await websocket_connect(request, subprotocols=[V1])


async def ask_info(connection: Any) -> Any:
    """Ask a kernel for its info, and return its answer."""
    await connection.write_message(framed(message("kernel_info_request", {})), binary=True)
    while True:
        got = read_frame(await asyncio.wait_for(connection.read_message(), 60))
        if got["header"]["msg_type"] == "kernel_info_reply":
            return got


def refused(door: Gate, kernel: str, token: str | None, **headers: str) -> int:
    """The HTTP status with which the websocket is refused."""
    with pytest.raises(HTTPClientError) as caught:
        socket_of(door, kernel, token, **headers)
    return int(caught.value.code)


def test_a_websocket_that_is_broken_off_at_its_handshake_leaves_nothing_open(door: Gate, kernel: str) -> None:
    async def attacked() -> None:
        page = await open_socket(door, kernel, "good-cat")
        await ask_info(page)
        before = open_descriptors(door.pid)
        for number in range(30):
            await asyncio.to_thread(break_off, door, kernel, number)
        assert await asyncio.to_thread(wait_until, lambda: open_descriptors(door.pid) <= before + 4, 20), before
        assert (await ask_info(page))["header"]["msg_type"] == "kernel_info_reply", "the page still works"
        page.close()
        assert "Traceback" not in (door.folder / "log").read_text()

    door.settle()
    asyncio.run(attacked())


def break_off(door: Gate, kernel: str, number: int) -> None:
    """Begin the handshake of a websocket, by turns without a key, and reset it some milliseconds later."""
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" if number % 5 else ""
    request = (
        f"GET /api/kernels/{kernel}/channels?session_id={number} HTTP/1.1\r\nHost: 127.0.0.1:{door.port}\r\n"
        f"Origin: {door.url.rstrip('/')}\r\nCookie: {door.cookie}=good-cat\r\nSec-WebSocket-Protocol: {V1}\r\n"
        f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n{key}\r\n"
    )
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as connection:
        connection.sendall(request.encode())
        time.sleep(number % 5 / 1000)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, not an end
    time.sleep(0.02)


def open_descriptors(pid: int) -> int:
    """Count the open descriptors of a process."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_a_body_in_chunks_is_refused_before_it_is_read(door: Gate) -> None:
    head = f"POST /x HTTP/1.1\r\nHost: 127.0.0.1:{door.port}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as connection:
        connection.sendall(head)
        assert connection.recv(1000).startswith(b"HTTP/1.1 400"), "no chunk is waited for"
        assert connection.recv(1000) == b""


TALKS = """
async def talk():
    for n in range(10_000):
        said.value = f"{n}" + "x" * 300_000
        await asyncio.sleep(0.1)
talking = asyncio.ensure_future(talk())
"""


def test_what_waits_for_a_page_that_went_away_has_a_bound(door: Gate, orders: Path) -> None:
    kernel = door.open_kernel("good-tia")
    order(orders, door, kernel, TALKS)
    socket_of(door, kernel, "good-tia")
    assert wait_until(lambda: state_of(door, kernel, "good-tia") == "gone", 20)


COMPUTES = 'threading.Thread(target=lambda: exec("while True: pass"), daemon=True).start()'


@pytest.mark.skipif(sys.platform != "linux", reason="tells no processor's time")
def test_a_kernel_that_computes_without_end_is_ended_and_its_visitor_waits_for_the_next(
    door: Gate, orders: Path
) -> None:
    def is_refused() -> bool:
        answer = door.get("", "good-una")
        if found := KERNEL_ID.search(answer.text):
            order(orders, door, found[1], COMPUTES)
        return answer.status_code == 429 and int(answer.headers["retry-after"]) > 1

    assert wait_until(is_refused, 60)
    assert door.open_kernel("good-bob"), "another one is not held up"
    assert any(report["refused"].get("computing") for report in door.reports())


def test_looking_at_a_link_does_nothing(door: Gate) -> None:
    # What the gate asks for each visitor, and what it tells at any time: of itself, and of connections of before.
    own = {"admit", "gate", "away"}
    before = [name for name, _ in door.requests() if name not in own]
    for method in ("GET", "HEAD"):
        answer = door.get("join/good-look", method=method)
        assert answer.status_code == 200 and "set-cookie" not in answer.headers
    shown = door.get("join/good-look").text
    assert "A small study" in shown and "You are invited to take part in a study" in shown
    assert [name for name, _ in door.requests() if name not in own] == before


def test_the_button_turns_the_link_into_a_cookie(door: Gate) -> None:
    answer = door.get("join/good-ann", method="POST", Origin=door.url.rstrip("/"))
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{door.cookie}=good-ann;")
    assert all(part in cookie for part in ("HttpOnly", "SameSite=Lax", "Path=/"))
    assert door.get("join/good-ann", token="good-ann").status_code == 303, "a browser that has it goes on at once"


def test_the_open_link_makes_a_participant_of_everybody(door: Gate) -> None:
    own = [door.get("join/open", method="POST").headers["set-cookie"].partition(";")[0] for _ in range(2)]
    assert own[0] != own[1] and all("good-new" in cookie for cookie in own)


def test_what_a_panel_adds_to_the_open_link_reaches_the_host(door: Gate) -> None:
    assert door.get("join/open?ID=ann&x=1").status_code == 200
    assert door.get("join/open?ID=ann&x=1", method="POST").status_code == 303
    told = [(name, body.get("query")) for name, body in door.requests() if body.get("token") == "open"]
    assert told[-3:] == [(name, {"ID": "ann", "x": "1"}) for name in ("admit", "admit", "join")]
    assert "must contain your ID" in door.get("join/open?ID=").text, "already before the button"


def test_an_id_given_twice_and_a_character_that_is_not_seen_reach_the_host(door: Gate) -> None:
    """It refuses them; neither is changed or left out on the way."""
    for query in ("ID=ann&ID=bob", "ID=ann&ID=ann", "ID=an%07n%E2%80%8B", "ID=a%256En"):
        door.get(f"join/open?{query}")
    found = [body for name, body in door.requests() if name == "admit" and body["token"] == "open"]
    told = [body["query"].get("ID") for body in found]
    assert told[-4:] == ["ann\nbob", "ann", "an\x07n\u200b", "a%6En"]


def test_the_open_link_asks_whether_it_is_the_same_person(door: Gate) -> None:
    assert door.get("join/open", token="good-back").text.count("<form") == 2
    again = door.get("join/open", token="good-back", method="POST")
    assert again.status_code == 303 and "set-cookie" not in again.headers
    answer = httpx2.post(door.url + "join/open", data={"new": "1"}, headers={"Cookie": f"{door.cookie}=good-back"})
    assert "good-new" in answer.headers["set-cookie"]


def test_an_open_link_that_names_somebody_is_theirs_whoever_used_the_browser_before(door: Gate) -> None:
    assert door.get("join/open?ID=bob", token="good-back").text.count("<form") == 1
    assert "good-new" in door.get("join/open?ID=bob", token="good-back", method="POST").headers["set-cookie"]


def test_a_cookie_of_other_letters_is_a_bad_token_like_any_other(door: Gate) -> None:
    request = b"GET /%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nCookie: %s=\xc3\xa9\r\nConnection: close\r\n\r\n"
    for path, status in ((b"join/good-ann", b" 200 "), (b"", b" 403 ")):
        with socket.create_connection(("127.0.0.1", door.port), timeout=10) as connection:
            connection.sendall(request % (path, door.port, door.cookie.encode()))
            assert status in connection.recv(200).partition(b"\r\n")[0]


def test_the_page_comes_with_a_kernel_that_the_host_knows(door: Gate, kernel: str) -> None:
    assert ("bind", {"token": "good-cat", "kernel": kernel}) in door.requests()
    assert socket_of(door, kernel, "good-cat")["content"]["status"] == "ok"
    assert door.get(f"alive/{kernel}", "good-cat").json() == {"state": "here"}
    assert door.get(f"api/kernels/{kernel}", "good-cat").json()["id"] == kernel


def test_a_second_tab_takes_over_and_kernels_that_ended_are_given_to_nobody(door: Gate, kernel: str) -> None:
    first, second = door.open_kernel("good-dan"), door.open_kernel("good-dan")
    assert (state_of(door, first, "good-dan"), state_of(door, second, "good-dan")) == ("replaced", "here")
    assert wait_until(lambda: door.get(f"api/kernels/{first}", "good-dan").status_code == 403), "it is ended"
    assert state_of(door, first, "good-dan") == "replaced"
    door.settle()
    others = [pid for pid in kernels_of(door.pid) if kernel not in command_line(pid)]
    for pid in others:
        os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not any(map(command_line, others)))
    assert wait_until(lambda: state_of(door, second, "good-dan") == "gone")
    third = door.open_kernel("good-dan")
    assert socket_of(door, third, "good-dan")
    answer = door.get(f"voila/api/shutdown/{third}", "good-dan", "POST", Origin="null", Sec_Fetch_Site="same-origin")
    assert answer.status_code == 204
    assert state_of(door, third, "good-dan") == "gone", "a page that is closed ends its kernel"


async def opened_and_read(door: Gate, kernel: str, token: str) -> Any:
    """Open a websocket that reads all, and so answers pings, as a browser does."""
    connection = await open_socket(door, kernel, token)

    async def read() -> None:
        while await connection.read_message() is not None:
            pass

    connection.reading = asyncio.ensure_future(read())
    return connection


def test_the_host_is_told_at_once_when_a_page_closes_its_last_websocket_and_when_it_is_back(
    door: Gate, kernel: str
) -> None:
    def told() -> list[bool]:
        return [body["away"] for name, body in door.requests() if name == "away" and body["kernel"] == kernel]

    async def is_told(away: bool, within: float) -> bool:
        end = time.monotonic() + within
        while told()[-1:] != [away] and time.monotonic() < end:
            await asyncio.sleep(0.1)
        return told()[-1:] == [away]

    async def scene() -> None:
        first, second = [await opened_and_read(door, kernel, "good-cat") for _ in range(2)]
        assert door.get(f"alive/{kernel}", "good-cat").status_code == 200
        assert await is_told(False, within=4.0)
        first.close()
        assert not await is_told(True, within=0.5)
        second.close()
        assert await is_told(True, within=2.0)
        await opened_and_read(door, kernel, "good-cat")
        assert await is_told(False, within=4.0)

    asyncio.run(scene())


def test_a_kernel_writes_nothing_to_the_terminal(door: Gate, kernel: str) -> None:
    def open_files(pid: int) -> set[str]:
        return {str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir() if file.is_symlink()}

    log = str(door.folder / "log")
    assert log in open_files(door.pid) and log not in open_files(pid_of(door, kernel))


def test_a_prefetch_takes_no_kernel(door: Gate) -> None:
    assert door.get("", "good-ida", Sec_Purpose="prefetch;prerender").status_code == 503
    assert not KERNEL_ID.search(door.get("", "good-ida", "HEAD").text)


def test_every_answer_carries_the_headers_and_no_server(door: Gate, page: httpx2.Response) -> None:
    for path in ("", "join/good-a", "join/bad", "nowhere", "voila/static/voila.js", "voila/templates/x"):
        headers = door.get(path).headers
        assert "default-src" in headers["content-security-policy"], path
        assert "frame-ancestors 'none'" in headers["content-security-policy"], path
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"], path
        assert "server" not in headers and "set-cookie" not in headers, path
    assert page.headers["cache-control"] == "no-store"
    assert "ws:" not in page.headers["content-security-policy"]


# A stranger at it.


@pytest.mark.visitor
@pytest.mark.parametrize("token", [None, "bad", "good", "../open", "open", "a" * 5000])
def test_without_a_good_token_there_is_no_kernel(door: Gate, token: str | None) -> None:
    before = [name for name, _ in door.requests()].count("bind")
    answer = door.get("", token)
    assert answer.status_code in (403, 429)
    assert not KERNEL_ID.search(answer.text)
    assert [name for name, _ in door.requests()].count("bind") == before


@pytest.mark.visitor
def test_another_visitors_kernel_is_refused(door: Gate, kernel: str) -> None:
    for token in ("good-mia", None):
        assert refused(door, kernel, token) == 403
        assert refused(door, NOBODY, token) == 403
        for path, method in ((f"api/kernels/{kernel}", "GET"), (f"voila/api/shutdown/{kernel}", "POST")):
            assert door.get(path, token, method).status_code == 403
    assert door.get(f"alive/{kernel}", "good-mia").json() == door.get(f"alive/{NOBODY}", "good-mia").json()
    assert door.get(f"alive/{kernel}").status_code == 403
    assert socket_of(door, kernel, "good-cat"), "it still runs, and for its owner"


@pytest.mark.visitor
def test_a_warm_kernel_in_the_pool_is_nobodys(door: Gate) -> None:
    door.settle()
    for pid in kernels_of(door.pid):
        kernel = command_line(pid).partition("kernel-")[2][:36]
        if not kernel:
            continue  # it has ended since
        if state_of(door, kernel, "good-cat") == "gone":
            assert refused(door, kernel, "good-cat") == 403


@pytest.mark.visitor
def test_other_hosts_and_origins_are_refused(door: Gate, kernel: str) -> None:
    assert door.get("", "good-cat", Host="evil.example").status_code == 403
    assert door.get("join/good-cat", method="POST", Origin="https://evil.example").status_code == 403
    assert door.get("join/good-cat", method="POST", Origin="null").status_code == 403
    assert door.get("join/good-cat", method="POST", Sec_Fetch_Site="cross-site").status_code == 403
    assert refused(door, kernel, "good-cat", Origin="https://evil.example") == 403
    assert refused(door, kernel, "good-cat", Origin="null") == 403
    assert send_raw(door.port, "GET / HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 4")
    assert send_raw(door.port, "GET / HTTP/1.0\r\n\r\n").startswith("HTTP/1.1 403")


REFUSED_TO_ALL = {
    "another method": "FOO / HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "another host": "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "a broken form": "POST /waiting HTTP/1.1\r\nHost: {host}\r\nContent-Type: multipart/form-data\r\n\r\n",
}


@pytest.mark.visitor
@pytest.mark.parametrize("kind", REFUSED_TO_ALL)
def test_requests_that_cannot_be_answered_wait_for_their_turn_as_others_do(door: Gate, kind: str) -> None:
    number = list(REFUSED_TO_ALL).index(kind)
    request = REFUSED_TO_ALL[kind].format(host=f"127.0.0.1:{door.port}").encode()
    at_once, a_second, more = 300, 30, 60
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", door.port), 60, (f"127.0.1.{number}", 0)) as connection:
        answers = connection.makefile("rb")
        for _ in range(at_once + more):
            connection.sendall(request)
            assert answers.readline().split()[1] in (b"400", b"403", b"404", b"405")
            headers = dict(line.split(b": ", 1) for line in iter(answers.readline, b"\r\n"))
            answers.read(int(headers[b"Content-Length"]))
    assert time.monotonic() - began > 0.9 * more / a_second


@pytest.mark.visitor
@pytest.mark.parametrize(
    "path",
    [
        "voila/files/study.ipynb",
        "voila/render/study.ipynb",
        "voila/tree",
        "voila/query/" + NOBODY,
        "voila/execution/" + NOBODY,
        "voila/api/themes/@jupyterlab/theme-light-extension/index.css",
        "study.ipynb",
        "api/kernels",
        "api/contents",
        "api/sessions",
        "api/terminals",
        "api/kernelspecs",
        "api/status",
        "login",
        "logout",
        "lab",
        "tree",
        "metrics",
        "static/../../etc/passwd",
        "voila/static/..%2f..%2f..%2fetc/passwd",
        "voila/templates/negolab/static/../../../../../../etc/passwd",
        "voila/templates/../static/x",
        "voila/labextensions/%2e%2e/%2e%2e/etc/passwd",
    ],
)
def test_other_paths_answer_nothing(door: Gate, path: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
        answer = door.get(path, "good-pat", method)
        assert answer.status_code in (403, 404, 405), (method, path)
        assert "root:" not in answer.text and "Traceback" not in answer.text and str(door.folder) not in answer.text


@pytest.mark.visitor
def test_a_page_whose_name_no_kernel_takes_is_refused_without_a_word_in_the_log(door: Gate, kernel: str) -> None:
    opening = f"Host: 127.0.0.1:{door.port}\r\nCookie: {door.cookie}=good-cat\r\nUpgrade: websocket\r\n"
    opening += "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    opening += f"Sec-WebSocket-Protocol: {V1}\r\n\r\n"
    logged = (door.folder / "log").read_text()
    for name in ("%F0%9F%98%80", "%00", "a%0Ab", "x" * 300, ""):
        with socket.create_connection(("127.0.0.1", door.port), timeout=300) as connection:
            connection.sendall(f"GET /api/kernels/{kernel}/channels?session_id={name} HTTP/1.1\r\n{opening}".encode())
            assert connection.recv(1000).startswith(b"HTTP/1.1 400"), name
    assert (door.folder / "log").read_text() == logged


@pytest.mark.visitor
def test_a_file_has_one_path_so_that_those_that_were_found_fill_no_memory(door: Gate) -> None:
    path = "voila/labextensions/anywidget/package.json"
    assert door.get(path).status_code == 200
    folder, _, name = path.rpartition("/")
    for other in (f"{folder}//{name}", f"{folder}/./{name}", f"{folder}/x/../{name}", f"{folder}/%2e/{name}"):
        answer = send_raw(door.port, f"GET /{other} HTTP/1.0\r\nHost: 127.0.0.1:{door.port}\r\n\r\n")
        assert answer.startswith("HTTP/1.1 404"), other


@pytest.mark.visitor
def test_a_kernel_cannot_be_changed_by_other_methods(door: Gate, kernel: str) -> None:
    for method in ("DELETE", "POST", "PUT", "PATCH"):
        assert door.get(f"api/kernels/{kernel}", "good-cat", method).status_code == 405
    assert socket_of(door, kernel, "good-cat")


@pytest.mark.visitor
def test_hundreds_of_bad_tokens_start_nothing_and_are_soon_told_to_wait() -> None:
    with running_gate("pool_size=1") as own:
        assert wait_until(lambda: len(kernels_of(own.pid)) == 2)
        began = time.monotonic()
        answers = [own.get("", f"bad-{number}") for number in range(250)]
        answers += [own.get(f"join/bad-{number}", method="POST") for number in range(250)]
        allowed = 21 + 0.5 * (time.monotonic() - began)
        codes = [answer.status_code for answer in answers]
        assert set(codes) == {403, 429} and codes.count(403) <= allowed
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers if answer.status_code == 429)
        assert len(kernels_of(own.pid)) == 2
        asked = [body["token"] for name, body in own.requests() if body.get("token", "").startswith("bad")]
        assert len(asked) <= allowed, "the host is not troubled with the rest"
        assert own.get("waiting", "good-first").status_code == 200, "who is known already is not held up"


@pytest.mark.visitor
def test_a_program_with_the_open_link_makes_few_people_and_leaves_places_for_others() -> None:
    with running_gate("pool_size=1", "max_kernels=2", "keep_place=1") as own:
        taken = own.open_kernel("good-first")
        own.get(f"voila/api/shutdown/{taken}", "good-first", "POST")
        answers = [own.get("join/open", method="POST") for _ in range(60)]
        made = [answer for answer in answers if answer.status_code == 303]
        assert len(made) <= 45 and "Many people have just arrived" in answers[-1].text
        assert int(answers[-1].headers["retry-after"]) > 1
        tokens = [answer.headers["set-cookie"].partition("=")[2].partition(";")[0] for answer in made]
        own.open_kernel(tokens[0])
        assert not KERNEL_ID.search(own.get("", tokens[1]).text)
        assert own.get("waiting", tokens[1]).json()["ready"] is False
        assert own.open_kernel("good-second"), "a personal link has a place"


# The line at a running gate.


@pytest.mark.long
def test_when_all_places_are_taken_one_waits_and_then_moves_on() -> None:
    with running_gate("pool_size=1", "max_kernels=1", "keep_place=1") as own:
        taken = own.open_kernel("good-first")
        page = own.get("", "good-second")
        assert page.status_code == 200 and "You are next." in page.text and not KERNEL_ID.search(page.text)
        assert "One person is ahead of you." in own.get("", "good-third").text
        assert own.get("waiting", "good-second").json() == {"ready": False, "ahead": 0}
        assert own.get("waiting", "good-third").json() == {"ready": False, "ahead": 1}
        own.get(f"voila/api/shutdown/{taken}", "good-first", "POST")
        assert wait_until(lambda: own.get("waiting", "good-second").json()["ready"], 30)
        assert own.get("waiting", "good-third").json()["ready"] is False
        assert KERNEL_ID.search(own.get("", "good-second").text)


@pytest.mark.long
def test_a_page_of_which_nothing_is_heard_gives_its_place_back() -> None:
    with running_gate("pool_size=1", "max_kernels=1", "keep_place=1", "absent_after=3") as own:
        own.open_kernel("good-first")
        assert own.open_kernel("good-second", within=30)


@pytest.mark.long
def test_the_host_is_told_when_nothing_is_heard_of_a_page_and_when_it_is_back() -> None:
    with running_gate("pool_size=1") as own:
        kernel = own.open_kernel("good-ann")

        def absences() -> list[bool]:
            return [body["away"] for name, body in own.requests() if name == "away" and body["kernel"] == kernel]

        for _ in range(3):
            assert state_of(own, kernel, "good-ann") == "here"
            time.sleep(1)
        assert absences() == []
        assert wait_until(lambda: True in absences(), 25)
        own.get(f"alive/{kernel}", "good-ann")
        assert wait_until(lambda: absences()[-1] is False)


def test_a_host_that_is_away_is_said_in_plain_words_and_found_again(door: Gate) -> None:
    door.fake_host.kill()
    door.fake_host.wait()
    answer = door.get("", "good-late")
    assert answer.status_code == 503 and "Nothing you did is lost" in answer.text
    door.start_host()
    assert door.get("waiting", "good-late").status_code == 200
    assert "good-" not in (door.folder / "log").read_text(), "the log names nobody"


# What each defence is for: with it switched off, the attack works.


@pytest.fixture(scope="module")
def open_door() -> Iterator[Gate]:
    """A gate without its defences."""
    with running_gate("pool_size=1", *careless_gate.OPEN, module=careless_gate.__name__) as running:
        yield running


@pytest.mark.visitor
def test_with_the_owner_check_off_another_visitors_kernel_is_open(open_door: Gate) -> None:
    assert socket_of(open_door, open_door.open_kernel("good-ann"), "good-second")


@pytest.mark.visitor
def test_with_the_token_check_off_a_stranger_gets_a_kernel(open_door: Gate) -> None:
    assert open_door.open_kernel("bad")


@pytest.mark.visitor
def test_with_the_host_and_origin_checks_off_another_site_gets_in(open_door: Gate) -> None:
    kernel = open_door.open_kernel("good-bob")
    assert open_door.get("", "good-bob", Host="evil.example").status_code == 200
    assert socket_of(open_door, kernel, "good-bob", Origin="https://evil.example")


@pytest.mark.visitor
def test_with_guesses_not_counted_the_host_is_asked_about_every_bad_token(open_door: Gate) -> None:
    codes = {open_door.get("", f"bad-{number}").status_code for number in range(60)}
    assert codes == {200}, "none is refused"
    assert {body.get("token") for name, body in open_door.requests()} >= {f"bad-{number}" for number in range(60)}


@pytest.mark.visitor
def test_a_gate_with_a_defence_off_does_not_serve() -> None:
    option = f"--Voila.kernel_websocket_connection_class={PLAIN}"
    with (
        pytest.raises(AssertionError, match="not serving: the guard at the websocket"),
        running_gate(option, warm=False),
    ):
        pass
