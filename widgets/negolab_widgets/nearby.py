"""The language models that this process can reach by its own environment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from negolab.people.briefing import briefed
from negolab.people.endpoints import Endpoints
from negolab.play import blocking

if TYPE_CHECKING:
    from negolab.players.endpoint.endpoint import Endpoint


class Nearby:
    """Looks at the environment when a model is first asked for: what is wrong there disturbs no other player."""

    @cached_property
    def _endpoints(self) -> Endpoints:
        return briefed("", (), None, os.environ).models()

    def at(self, base_url: str | None = None, key: str | None = None) -> Endpoint:
        """As `Endpoints.at`."""
        return self._endpoints.at(base_url, key)

    def listed(self) -> Sequence[dict[str, Any]]:
        """As `Endpoints.listed`; `ValueError` if the environment names an address that is none."""
        return blocking(self._endpoints.listed())
