"""Matches between two agents of NegMAS, played by NegMAS itself; run by its own Python.

Reads a list of matches as JSON, and writes for each the offers in turn, None for none, and the agreement.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

spec: Any = importlib.util.spec_from_file_location("negmas_child", sys.argv[1])
bridge: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bridge)

CALLED = ("__call__", "_on_negotiation_start", "on_round_start", "on_partner_proposal", "on_partner_response")


class Agent:
    """An agent with random numbers of its own, which it draws from in whatever the mechanism calls."""

    def __init__(self, name: str, seed: int, ufun: Any) -> None:
        cls = bridge.find(name)
        wrapped = {called: self.wrap(getattr(cls, called)) for called in CALLED}
        bridge.apply_seed(seed)
        self.random = bridge.take_random()
        with self.own():
            self.agent = type(name, (cls,), wrapped)(name=str(seed), ufun=ufun)

    @contextmanager
    def own(self) -> Iterator[None]:
        outer = bridge.take_random()
        bridge.put_random(self.random)
        yield
        self.random = bridge.take_random()
        bridge.put_random(outer)

    def wrap(self, method: Any) -> Any:
        def call(agent: Any, *args: Any, **kwargs: Any) -> Any:
            with self.own():
                return method(agent, *args, **kwargs)

        return call


def play(match: dict[str, Any]) -> dict[str, Any]:
    """Play a match: `agents`, `seeds` and `domains` of the seat that opens and of the other."""
    first = match["domains"][0]
    ranges = [each.get("options") or (each["low"], each["low"] + each["size"] - 1) for each in first["issues"]]
    issues = zip(ranges, first["issues"], strict=True)
    space = bridge.make_os([bridge.make_issue(each, issue["name"]) for each, issue in issues])
    options = [list(issue.all) for issue in space.issues]
    mechanism = bridge.SAOMechanism(outcome_space=space, n_steps=first["steps"], one_offer_per_step=True, name="match")
    for name, seed, domain in zip(match["agents"], match["seeds"], match["domains"], strict=True):
        agent = Agent(name, seed, bridge.make_ufun(domain, space, options))
        with agent.own():
            mechanism.add(agent.agent)
    mechanism.run()
    numbers = [
        offer and [o.index(value) for o, value in zip(options, offer, strict=True)]
        for state in mechanism.history
        for _, offer in state.new_offers
    ]
    agreement = mechanism.agreement
    return {"offers": numbers, "agreed": agreement is not None}


if __name__ == "__main__":
    json.dump([play(match) for match in json.load(sys.stdin)], sys.stdout)
