"""`python -m tests.support.fake_host --seats PATH --admin PATH ...`: a stand-in for the study host.

The token `good-NAME` is NAME's personal token, `open` the open link (refused with an empty `ID`); everything else is
bad. `GET /requests` returns the requests that it received."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_unix_socket
from tornado.web import Application, RequestHandler


class Fake:
    """The requests that were received, and the kernel of each token."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.kernels: dict[str, str] = {}
        self.numbers = itertools.count(1)


class Route(RequestHandler):
    """Dispatches on the last part of the path."""

    def initialize(self, fake: Fake) -> None:
        self.fake = fake

    def get(self, name: str) -> None:
        health = {"title": "A small study", "study": "small"}
        self.finish({"requests": self.fake.requests} if name == "requests" else health)

    def post(self, name: str) -> None:
        body = json.loads(self.request.body)
        self.fake.requests.append((name, body))
        if name == "away":
            self.finish({})
            return
        token = body.get("token", "")
        if token != "open" and not token.startswith("good-"):
            self.set_status(403)
            self.finish({"why": "This link is not known here."})
            return
        if token == "open" and body.get("query", {}).get("ID") == "":
            self.set_status(403)
            self.finish({"why": "This link must contain your ID."})
            return
        self.finish(getattr(self, name)(token, body))

    def admit(self, token: str, body: dict[str, Any]) -> dict[str, Any]:
        is_open, link = token == "open", "open" if token.startswith("good-new") else "one"
        names = "ID" in (body.get("query") or {})
        who = None if is_open else token[5:]
        return {"link": link, "visitor": who, "open": is_open, "title": "A small study", "names": names}

    def join(self, token: str, body: dict[str, Any]) -> dict[str, Any]:
        own = f"good-new{next(self.fake.numbers)}" if token == "open" else token
        return {"token": own, "visitor": own[5:]}

    def bind(self, token: str, body: dict[str, Any]) -> dict[str, Any]:
        replaced = self.fake.kernels.get(token)
        self.fake.kernels[token] = body["kernel"]
        return {"replaced": replaced}


def main() -> None:
    asyncio.run(serve())


async def serve() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seats", required=True)
    parser.add_argument("--admin", required=True)
    parser.add_argument("--owner")
    args, _ = parser.parse_known_args()
    server = HTTPServer(Application([(r"/(\w+)", Route, {"fake": Fake()})]))
    for path in (args.seats, args.admin):
        Path(path).unlink(missing_ok=True)
        server.add_socket(bind_unix_socket(path, mode=0o600))
    if args.owner:
        import pwd

        os.chown(args.seats, pwd.getpwnam(args.owner).pw_uid, -1)
    print("ready", flush=True)
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, done.set)
    if not sys.stdin.isatty():
        with contextlib.suppress(OSError, PermissionError):
            loop.add_reader(0, lambda: os.read(0, 1024) or (loop.remove_reader(0), done.set()))
    await done.wait()
    for path in (args.seats, args.admin):
        Path(path).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
