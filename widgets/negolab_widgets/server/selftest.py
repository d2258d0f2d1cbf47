"""The test of a server before it is announced: it answers as it should, and refuses what it should."""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Callable

from negolab_widgets.server.addresses import Address
from negolab_widgets.server.supervisor import Child

READY_WITHIN = 60.0
"""Seconds a server may take to answer."""
FOREIGN_HOST = "foreign.example"


def probe(ip: str, port: int, address: Address, path: str, host: str = "", tls: bool = False) -> tuple[int, str] | None:
    """Request a path and return status and Content-Security-Policy; None if nobody answers yet."""
    secure = ssl._create_unverified_context() if tls else None
    connection = (
        http.client.HTTPSConnection(ip, port, timeout=5, context=secure)
        if secure
        else http.client.HTTPConnection(ip, port, timeout=5)
    )
    try:
        connection.request("GET", address.prefix + path, headers={"Host": host or address.host})
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Security-Policy", "")
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def wait_for_answer(question: Callable[[], tuple[int, str] | None], child: Child) -> tuple[int, str]:
    """Ask until there is an answer; raise RuntimeError if the process ends or takes too long."""
    end = time.monotonic() + READY_WITHIN
    while time.monotonic() < end:
        if (answer := question()) is not None:
            return answer
        if child.process is not None and child.process.poll() is not None:
            raise RuntimeError(f"{child.name} ended with code {child.process.returncode} before it was ready")
        time.sleep(0.1)
    raise RuntimeError(f"{child.name} did not answer within {READY_WITHIN:g} s")


def check_server(child: Child, ip: str, port: int, address: Address, tls: bool = False) -> None:
    """Raise RuntimeError for a server that lets a stranger in."""

    def answer(path: str, host: str = "") -> tuple[int, str]:
        return wait_for_answer(lambda: probe(ip, port, address, path, host, tls), child)

    status, policy = answer("")
    faults = {
        "a page without a link": status == 403,
        "a page without a Content-Security-Policy": "default-src" in policy,
        "a file beside the page": answer("voila/files/probe.png")[0] in (403, 404),
        "another notebook": answer("voila/render/play.ipynb")[0] in (403, 404),
        "a request for another host": answer("", FOREIGN_HOST)[0] == 403,
        "a kernel to a stranger": answer("api/kernels/00000000-0000-0000-0000-000000000000/channels")[0] == 403,
    }
    for what, refused in faults.items():
        if not refused:
            raise RuntimeError(f"{child.name} would give {what}; not serving")
