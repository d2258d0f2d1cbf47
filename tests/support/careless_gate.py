"""`python -m tests.support.careless_gate ...`: a participants' server that does not check who owns a kernel."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from negolab_widgets.server.gate import Gate
from negolab_widgets.server.requests import CheckedHandler, RefusedRequest, RequestChecks
from traitlets import Bool
from typing_extensions import override

from tests.support.unguarded_gate import PLAIN

OPEN = ("--CarelessGate.lets_anybody_in=True", f"--Voila.kernel_websocket_connection_class={PLAIN}")
"""Options of a gate without any defence."""


class CarelessChecks(RequestChecks):
    """Checks of neither host nor origin, and no end of guesses."""

    @override
    def check(self, *_: Any, **__: Any) -> None:
        pass

    @override
    def count_guess(self, _: Any) -> None:
        pass


class CarelessGate(Gate):  # type: ignore[misc]
    """A gate that lets visitors to every kernel."""

    lets_anybody_in = Bool(
        False, config=True, help="Without a link, from any site, and for any host: the launcher would not serve it."
    )

    @override
    def initialize(self, argv: list[str] | None = None) -> None:
        super().initialize(argv)
        if self.lets_anybody_in:
            self.checks = CarelessChecks(self.checks.hosts, self.checks.origins)

    @override
    def disabled_defence(self) -> str:
        return ""

    @override
    async def authenticate(self, handler: CheckedHandler) -> str:
        try:
            return await super().authenticate(handler)
        except RefusedRequest:
            if not self.lets_anybody_in:
                raise
            return self.browser_token(handler) or "anyone"

    @override
    async def _bind_kernel(self, token: str, kernel: str) -> None:
        if not self.lets_anybody_in:
            await super()._bind_kernel(token, kernel)
            return
        with suppress(RefusedRequest):
            await self.host.ask("/bind", token=token, kernel=kernel)

    @override
    def owns(self, visitor: str, kernel: str) -> bool:
        return kernel in self.kernel_manager


if __name__ == "__main__":
    CarelessGate.launch_instance()
