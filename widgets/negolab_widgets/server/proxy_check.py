"""What the gate sees of a request that came through a proxy, for `negolab study doctor`."""

from __future__ import annotations

from typing_extensions import override

from negolab_widgets.server.requests import CheckedHandler


class ProxyCheck(CheckedHandler):
    """Tell a visitor where the gate sees them, and which headers of their request arrived."""

    needs, SUPPORTED_METHODS = "nothing", ("GET",)

    @override
    async def get(self) -> None:
        checks, headers = self.server.checks, self.request.headers
        self.finish(
            {
                "address": checks.address(self.request),
                "behind_proxy": checks.behind_proxy,
                "named": "X-Forwarded-For" in headers,
                "upgrade": headers.get("Upgrade", "").lower() == "websocket",
            }
        )
