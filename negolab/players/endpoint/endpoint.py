"""An endpoint: calls go in, answers come out, whatever the network does in between."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from typing_extensions import override

from negolab.players.endpoint.call import Answer, Call, Kept
from negolab.players.endpoint.dialect import Dialect
from negolab.players.endpoint.exchange import Exchange
from negolab.players.endpoint.failures import GameFailed, RunFailed
from negolab.players.endpoint.keys import BROKER, Key
from negolab.players.endpoint.lane import Lane
from negolab.players.endpoint.outage import Outage
from negolab.players.endpoint.terms import Terms

if TYPE_CHECKING:
    from negolab.players.endpoint.client import Client


WORDS = ("text", "finish", "reasoning", "model", "fingerprint", "request_id")
"""What an endpoint writes in an answer."""
REPETITION = "negolab_repetition"
"""What a sweep's broker is told besides the request: to it, equal questions of different games are different calls."""


class _Here:
    """What an endpoint has in one event loop: connections, a lane for each model, and whether it is silent."""

    def __init__(self, url: str, client: Client, terms: Terms) -> None:
        clock = asyncio.get_running_loop().time
        self.client = client
        self.lanes: dict[str, Lane] = {}
        self._outage = Outage(url, clock, patience=terms.limits.patience, told=terms.told)
        self._limits = terms.limits
        self._clock = clock

    @property
    def silent(self) -> bool:
        """Whether it does not answer at all."""
        return self._outage.down

    def lane(self, model: str) -> Lane:
        lane = self.lanes.get(model)
        if lane is None:
            lane = self.lanes[model] = Lane(self._limits, self._outage, self._clock)
        return lane


class Traffic(NamedTuple):
    """Calls that are being answered, calls that wait to be sent, and whether an endpoint does not answer at all."""

    calls: int
    waiting: int
    silent: bool


class Endpoint:
    """Answers calls at one base URL. Made by `Models.at`; its connections belong to the event loop that uses them."""

    def __init__(self, url: str, key: Key, terms: Terms, kept: Kept | None) -> None:
        self.url = url
        self._key = key
        self._brokered = url.endswith(BROKER)
        self._terms = terms.of_broker() if self._brokered else terms
        self._kept = kept
        self._dialects: dict[str, Dialect] = {}
        self._places: dict[asyncio.AbstractEventLoop, _Here] = {}

    @override
    def __repr__(self) -> str:
        return f"Endpoint({self.url!r})"

    async def answer(self, call: Call) -> Answer:
        """The kept answer, or a new one, which is kept before it is returned."""
        kept = self._kept
        if kept is not None and (found := kept.find(self.url, call)) is not None:
            self._terms.tally.replay(found)
            return found
        answer = await self._asked(call)
        if kept is not None:
            await kept.keep(self.url, call, answer)
        return answer

    def traffic(self) -> Traffic:
        """What goes on now, in all event loops."""
        lanes = [lane for place in self._places.values() for lane in place.lanes.values()]
        calls, waiting = sum(lane.running for lane in lanes), sum(lane.waiting for lane in lanes)
        return Traffic(calls, waiting, any(place.silent for place in self._places.values()))

    async def names(self) -> list[str]:
        """The models that the endpoint lists; `RunFailed` if it lists none."""
        try:
            return list(map(self._key.hidden_exactly, await (await self._here()).client.names()))
        except RunFailed as failed:
            raise RunFailed(self._key.hidden_in(str(failed))) from None

    async def close(self) -> None:
        """End the connections of this event loop."""
        here = self._places.pop(asyncio.get_running_loop(), None)
        if here is not None:
            from negolab.players.endpoint.client import closed

            await closed(here.client)

    async def _asked(self, call: Call) -> Answer:
        here = self._places.get(asyncio.get_running_loop()) or await self._here()
        try:
            return self._without_key(await self._exchange(call, here).answer())
        except (GameFailed, RunFailed) as failed:
            raise type(failed)(self._key.hidden_in(str(failed))) from None

    def _without_key(self, answer: Answer) -> Answer:
        """A server may repeat the key that it was sent, in a header too: no answer that is kept may hold it."""
        said = {name: getattr(answer, name) or "" for name in WORDS}
        hidden = {name: less for name in WORDS if (less := self._key.hidden_exactly(said[name])) != said[name]}
        return msgspec.structs.replace(answer, **hidden) if hidden else answer

    def _exchange(self, call: Call, here: _Here) -> Exchange:
        """`RunFailed` for a call that cannot be sent at all."""
        if self._brokered:
            call = msgspec.structs.replace(call, params={**call.params, REPETITION: call.repetition})
        try:
            self._terms.check(call.model, call.params)
            return Exchange(call, self._dialect(call.model), here.lane(call.model), here.client, self._terms)
        except (ValueError, TypeError) as error:
            raise RunFailed(f"a call to {call.model} cannot be sent: {error}") from None

    def _dialect(self, model: str) -> Dialect:
        dialect = self._dialects.get(model)
        if dialect is None:
            dialect = self._dialects[model] = Dialect(model, self._terms.told)
        return dialect

    async def _here(self) -> _Here:
        loop = asyncio.get_running_loop()
        here = self._places.get(loop)
        if here is None:
            from negolab.players.endpoint.client import opened

            self._places = {other: place for other, place in self._places.items() if not other.is_closed()}
            here = self._places[loop] = _Here(self.url, await opened(self.url, self._key), self._terms)
        return here
