"""Connections to an endpoint: requests, redirects, cookies, and malformed answers."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pytest

from negolab.llm.endpoint.client import Client, Response
from negolab.llm.endpoint.errors import BadResponse, Overloaded, RunFailed, Unreachable
from negolab.llm.endpoint.keys import Key
from tests.conftest import needs

KEY = "sk-test-0123456789abcdef"
BODY = b'{"model": "fake"}'
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Peer:
    """A server that answers each connection with the same bytes and keeps the requests."""

    def __init__(self, answer: bytes) -> None:
        self.heard: list[bytes] = []
        self._answer = answer
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen()
        self.at = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                heard = _request(connection)
                if not heard:
                    return  # nobody else comes
                self.heard.append(heard)
                connection.sendall(self._answer)

    def close(self) -> None:
        socket.create_connection(self._socket.getsockname()).close()
        self._thread.join()
        self._socket.close()


def _request(connection: socket.socket) -> bytes:
    """Read a request slowly, up to its Content-Length."""
    heard = b""
    while part := connection.recv(4096):
        heard += part
        head, end, body = heard.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if end and len(body) == (int(length[1]) if length else 0):
            break
    return heard


@contextmanager
def listening(answer: bytes = OK) -> Iterator[Peer]:
    peer = Peer(answer)
    try:
        yield peer
    finally:
        peer.close()


def sent(url: str, body: bytes = BODY) -> Response:
    """Post a body to an address and return the answer."""

    async def send() -> Response:
        client = Client(url, Key(KEY))
        try:
            return await client.complete(body, 20)
        finally:
            await client.close()

    return asyncio.run(send())


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


# What is sent.


def test_an_endpoint_is_told_the_key_and_nothing_of_this_machine() -> None:
    with listening() as peer:
        response = sent(f"{peer.at}/v1")
        assert (response.status, response.body) == (200, b"{}")
    head, _, body = peer.heard[0].partition(b"\r\n\r\n")
    first, *headers = head.decode().split("\r\n")
    assert first == "POST /v1/chat/completions HTTP/1.1" and body == BODY
    named = {name.lower(): value for name, value in (header.split(": ", 1) for header in headers)}
    assert named.pop("user-agent").startswith("AsyncOpenAI/Python ")
    assert named == {
        "host": peer.at.removeprefix("http://"),
        "accept": "application/json",
        "content-type": "application/json",
        "authorization": f"Bearer {KEY}",
        "accept-encoding": named["accept-encoding"],
        "connection": "keep-alive",
        "content-length": str(len(BODY)),
        "x-stainless-retry-count": "0",
    }


def test_a_long_body_arrives_whole_where_it_is_read_slowly() -> None:
    body = bytes(range(256)) * 3600
    with listening() as peer:
        assert sent(f"{peer.at}/v1", body).status == 200
    assert peer.heard[0].endswith(body)


def test_an_address_is_asked_through_the_proxy_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as peer:
        monkeypatch.setenv("http_proxy", peer.at)
        assert sent("http://models.example/v1").status == 200
    assert peer.heard[0].startswith(b"POST http://models.example/v1/chat/completions HTTP/1.1\r\n")


def test_a_proxy_may_be_named_without_its_protocol_and_is_blamed_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as peer:
        monkeypatch.setenv("all_proxy", peer.at.removeprefix("http://"))
        assert sent("http://models.example/v1").status == 200
    with pytest.raises(Unreachable, match=r"^the proxy: connection refused$"):
        sent("http://models.example/v1")


@pytest.mark.parametrize(
    "at",
    ["socks5://me:secret@host:1080", "ftp://me:secret@host", "me:secret@host:99999", "http://me:secret[@host", "//"],
)
def test_a_proxy_that_cannot_be_used_shows_no_password(monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    monkeypatch.setenv("all_proxy", at)
    with pytest.raises(
        (RunFailed, Unreachable), match=r"no HTTP proxy|not a usable address|unknown host|proxy"
    ) as raised:
        sent("https://models.example/v1")
    assert "secret" not in str(raised.value)


def test_a_proxy_is_not_told_the_key_of_an_encrypted_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n") as peer:
        monkeypatch.setenv("https_proxy", peer.at)
        with pytest.raises(Unreachable, match=r"^the proxy answers HTTP 407$"):
            sent("https://models.example/v1")
    assert peer.heard[0].startswith(b"CONNECT models.example:443 HTTP/1.1\r\n")
    assert KEY.encode() not in peer.heard[0]


def test_an_address_that_needs_no_proxy_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as both:
        between, peer = both.enter_context(listening()), both.enter_context(listening())
        monkeypatch.setenv("all_proxy", between.at)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert sent(f"{peer.at}/v1").status == 200
    assert len(peer.heard) == 1 and not between.heard


def test_cookies_come_back_to_the_server_that_set_them() -> None:
    """Some gateways use cookies for session affinity."""
    with listening(OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: at=b\r\nConnection: close\r\n\r\n")) as peer:
        url = peer.at.replace("127.0.0.1", "localhost")

        async def twice() -> None:
            client = Client(f"{url}/v1", Key(KEY))
            for _ in range(2):
                await client.complete(BODY, 20)
            await client.close()

        asyncio.run(twice())
    assert [b"Cookie: at=b" in heard for heard in peer.heard] == [False, True]


def test_a_client_does_not_show_its_key() -> None:
    async def shown() -> str:
        client = Client("http://127.0.0.1:1/v1", Key(KEY))
        await client.close()
        return f"{client!r} {vars(client)!r}"

    assert KEY not in asyncio.run(shown())


# What comes back.


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n{}",
    ],
    ids=["another protocol", "no chunks", "no length", "a long header"],
)
def test_what_is_no_answer_in_http_is_called_so(answer: bytes) -> None:
    with listening(answer) as peer, pytest.raises(BadResponse, match=r"^the response is not HTTP$"):
        sent(f"{peer.at}/v1")


@pytest.mark.parametrize("answer", [b"", OK[:-1]], ids=["nothing", "half of it"])
def test_an_answer_that_is_not_complete_is_called_so(answer: bytes) -> None:
    with (
        listening(answer) as peer,
        pytest.raises(Overloaded, match=r"^the connection was dropped before the answer was"),
    ):
        sent(f"{peer.at}/v1")


def test_a_redirection_is_not_followed() -> None:
    with listening() as other, listening(b"HTTP/1.1 302 Found\r\nLocation: %s/\r\n\r\n" % other.at.encode()) as peer:
        assert sent(f"{peer.at}/v1").status == 302
    assert not other.heard


@pytest.mark.parametrize("host", ["a..b", "x" * 64 + ".example", "127.0.0.1:99999"])
def test_an_address_that_cannot_be_one_ends_the_run(host: str) -> None:
    with pytest.raises(RunFailed, match=rf"^http://{re.escape(host)}/v1 is not a usable address$"):
        sent(f"http://{host}/v1")


def test_an_unknown_certificate_ends_the_run(tmp_path: Path) -> None:
    openssl, files = needs("openssl", "openssl"), (f"{tmp_path}/cert", f"{tmp_path}/key")
    made = f"req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -out {files[0]} -keyout {files[1]}"
    subprocess.run([openssl, *made.split()], check=True, capture_output=True)
    trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trusted.load_cert_chain(*files)

    async def refused() -> None:
        async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=trusted) as server:
            client = Client(f"https://localhost:{server.sockets[0].getsockname()[1]}/v1", Key(KEY))
            with pytest.raises(
                RunFailed, match=r"^https://localhost:\d+/v1: its certificate or encryption is not accepted$"
            ):
                await client.complete(BODY, 20)
            await client.close()

    asyncio.run(refused())


def test_nobody_there_is_silence_for_which_nothing_was_paid() -> None:
    with listening() as peer:
        pass
    with pytest.raises(Unreachable, match=r"^connection refused$") as raised:
        sent(f"{peer.at}/v1")
    assert raised.value.is_free
