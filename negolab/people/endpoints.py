"""The endpoints whose models the host may seat: named by whoever started it, and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from negolab.players.endpoint.failures import RunFailed
from negolab.players.endpoint.keys import base_url

if TYPE_CHECKING:
    from negolab.players.endpoint.endpoint import Endpoint
    from negolab.players.endpoint.models import Models

LISTED_WITHIN = 5.0
"""Seconds for which an endpoint is waited for when it is asked what models it has."""


class At(msgspec.Struct, frozen=True):
    """An address of models, and the environment variable with its key (None: the usual one)."""

    url: str
    key: str | None = None


def at(text: str | None, environment: Mapping[str, str]) -> At:
    """`http://127.0.0.1:8080/v1` or `https://api.example/v1,key=EXAMPLE_KEY`; None: the environment's. `ValueError`
    says what is wrong."""
    if text is None:
        return At(base_url(None, environment))
    url, sign, rest = text.partition(",")
    name, _, value = rest.partition("=")
    if sign and (name.strip() != "key" or not value.strip()):
        raise ValueError(f"--base-url {url},...: after the address comes key=NAME, the variable that holds its key")
    return At(base_url(url.strip(), environment), value.strip() or None)


class Endpoints:
    """Hands out the endpoints that are known here; the first is meant where a player's name says none."""

    def __init__(self, known: Sequence[At], models: Models | None) -> None:
        self._known, self._models = tuple(known), models

    def at(self, base_url: str | None = None, key: str | None = None) -> Endpoint:
        """`ValueError` for an address that was not named when the host was started."""
        if self._models is None or not self._known:
            raise ValueError("no language model is known here: start with negolab serve --base-url URL")
        there = [known for known in self._known if base_url is None or known.url == base_url.rstrip("/")]
        if not there:
            listed = ", ".join(known.url for known in self._known)
            raise ValueError(f"the models at {base_url} are not known here, those at {listed} are: add --base-url URL")
        found = next((known for known in there if key in (None, known.key)), None)
        if found is None:
            url = there[0].url
            raise ValueError(f"the key {key} is not known here for the models at {url}: add --base-url {url},key={key}")
        return self._models.at(found.url, found.key)

    async def listed(self) -> list[dict[str, Any]]:
        """For each endpoint its `url`, its models' `names`, and `why` there are none ("": there are)."""
        return list(await asyncio.gather(*map(self._listed, self._known)))

    async def _listed(self, known: At) -> dict[str, Any]:
        names: list[str] = []
        why = ""
        try:
            async with asyncio.timeout(LISTED_WITHIN):
                names = await self.at(known.url, known.key).names()
        except TimeoutError:
            why = f"{known.url} does not answer"
        except (RunFailed, ValueError) as error:
            why = str(error)
        return {"url": known.url, "names": names, "why": why}


NONE = Endpoints((), None)
"""No models."""
