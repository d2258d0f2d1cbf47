"""Whether a port is free."""

from __future__ import annotations

import socket


def must_be_free(host: str, port: int, option: str = "--port") -> None:
    """Say it in one line if it is not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            raise RuntimeError(f"port {port} is in use: choose another with {option}") from None
