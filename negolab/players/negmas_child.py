"""NegMAS's side of the bridge: a question is a line of JSON on standard input, its answer a line on standard output.

The Python named by NEGOLAB_NEGMAS runs this file. It imports nothing from negolab, which never imports it.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import random
import sys
import threading
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import distributions
from importlib.util import find_spec
from queue import SimpleQueue
from typing import Any

try:
    import negmas.events
    import negmas.mechanisms
    import numpy as np
    from negmas import LinearAdditiveUtilityFunction, ResponseType, SAOMechanism, SAOResponse, make_issue, make_os
    from negmas.helpers.rand import apply_seed
    from negmas.negotiators import Negotiator
    from negmas.preferences import ExpDiscountedUFun
    from negmas.preferences.value_fun import AffineFun, TableFun
    from negmas.sao import SAONegotiator
except ImportError as error:
    print(json.dumps({"error": str(error)}), flush=True)  # noqa: T201
    raise SystemExit(1) from None

PACKAGES = ("negmas.sao.negotiators", "negmas_negolog", "negmas_genius_agents")
NO_OFFER = SAOResponse(ResponseType.REJECT_OFFER, None, {"text": " "})
"""A message without an offer; without data, it would end the negotiation."""

# A mechanism draws at its start, at each step and once more each second, from numbers of its own and not an agent's.
negmas.events.random = negmas.mechanisms.random = random.Random(0)


class Other(SAONegotiator):
    """The other seat: its moves come as actions in the mechanism's steps."""

    def propose(self, state: Any, dest: str | None = None) -> Any:
        raise RuntimeError("the agent raised a TypeError")  # a mechanism then takes the step again without an action


class Table:
    """A match: a mechanism in which each message is a step, with the agent and the other seat.

    Agents share the process's random numbers, so each match puts its own there while its agent is at work.
    """

    def __init__(self, match: dict[str, Any], opens: bool) -> None:
        self.match, self.opens = match, opens
        self.moves: list[list[int] | None] = []
        domain = match["domain"]
        ranges = [
            issue.get("options") or (issue["low"], issue["low"] + issue["size"] - 1) for issue in domain["issues"]
        ]
        space = make_os([make_issue(each, issue["name"]) for each, issue in zip(ranges, domain["issues"], strict=True)])
        self.options = [list(issue.all) for issue in space.issues]
        ufun = make_ufun(domain, space, self.options)
        self.mechanism = SAOMechanism(
            outcome_space=space, n_steps=domain["steps"], one_offer_per_step=True, name="match"
        )
        apply_seed(match["seed"])
        self.agent = recorded(find(match["agent"]))(name="agent", ufun=ufun, **match["params"])
        self.other = Other(name="other")
        for seat in (self.agent, self.other) if opens else (self.other, self.agent):
            self.mechanism.add(seat)
        self.random = take_random()

    def play(self, moves: list[list[int] | None]) -> list[int] | str:
        """Return the agent's move after these `moves`, some of which it has yet to hear."""
        put_random(self.random)
        try:
            for move in moves[len(self.moves) :]:
                said = NO_OFFER
                if move is not None:
                    offer = tuple(options[at] for options, at in zip(self.options, move, strict=True))
                    said = SAOResponse(ResponseType.REJECT_OFFER, offer)
                is_own = self.opens == (len(self.moves) % 2 == 0)
                self.agent.bridge_record = said
                self.mechanism.step(None if is_own else {self.other.id: said})
                self.moves.append(move)
            self.agent.bridge_record = self.agent.bridge_answer = None
            self.mechanism.step()
        finally:
            self.random = take_random()
        answer = self.read(self.agent.bridge_answer)
        self.moves.append(answer if isinstance(answer, list) else None)
        return answer

    def read(self, answer: Any) -> list[int] | str:
        """Return an agent's answer as a move; it has none if its negotiation is over."""
        if answer is not None and answer.response == ResponseType.ACCEPT_OFFER:
            return "accept"
        if answer is None or answer.outcome is None:
            return "end" if self.mechanism.state.broken else "reject"
        outcome = getattr(answer.outcome, "outcome", answer.outcome)
        if [value for value, options in zip(outcome, self.options, strict=True) if value not in options]:
            raise ValueError(f"the offer {outcome} is not an agreement in this game")
        return [options.index(value) for options, value in zip(self.options, outcome, strict=True)]


def recorded(cls: Any) -> Any:
    """Return an agent's class that keeps what it answers, and instead says what it is recorded to have said."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.bridge_answer = cls.__call__(self, *args, **kwargs)
        return self.bridge_record or self.bridge_answer

    return type(cls.__name__, (cls,), {"__call__": call, "bridge_answer": None, "bridge_record": None})


def make_ufun(domain: dict[str, Any], space: Any, options: list[list[Any]]) -> Any:
    """Return the agent's utility function."""
    values = [
        TableFun(dict(zip(each, issue["utilities"], strict=True)))
        if "utilities" in issue
        else AffineFun(issue["slope"], issue["bias"])
        for each, issue in zip(options, domain["issues"], strict=True)
    ]
    about = {"outcome_space": space, "reserved_value": domain["reservation"]}
    ufun = LinearAdditiveUtilityFunction(values, weights=[1.0] * len(values), **about)
    if (discount := domain["discount"]) == 1:
        return ufun
    return ExpDiscountedUFun(ufun, discount, dynamic_reservation=domain["no_deal_is_discounted"], **about)


def take_random() -> Any:
    """Return the state of the random numbers, including those of NegoLog's agents."""
    negolog = sys.modules.get("negmas_negolog._seeding")
    return random.getstate(), np.random.get_state(), negolog and (negolog._seed, negolog._counter)


def put_random(state: Any) -> None:
    """Restore a state of the random numbers."""
    random.setstate(state[0])
    np.random.set_state(state[1])
    if state[2]:
        negolog: Any = sys.modules["negmas_negolog._seeding"]
        negolog._seed, negolog._counter = state[2]


# Questions.


def agents_in(module: str) -> dict[str, Any]:
    """Return the agent classes in a module by name."""
    found = vars(import_module(module)).items()
    return {name: value for name, value in found if isinstance(value, type) and issubclass(value, Negotiator)}


def find(agent: str) -> Any:
    """Return an agent class by its name, with its module if that is not NegMAS's own."""
    module, _, name = agent.rpartition(".")
    module = module or PACKAGES[0]
    if not module.startswith("negmas"):
        raise LookupError("an agent's module name must begin with negmas")
    if name not in (agents := agents_in(module)):
        near = get_close_matches(name, agents) or ["those that negolab agents lists"]
        raise LookupError(f"{module} has no such agent: did you mean {' or '.join(near)}?")
    return agents[name]


def reply(
    tables: dict[int, Table], do: str, gone: Sequence[int] = (), agent: str = "", **question: Any
) -> dict[str, Any]:
    """Answer a question: for a `list` of the agents, to `find` one, or for its `move`; forget the players `gone`."""
    for number in gone:
        tables.pop(number, None)
    if do == "list":
        names = [f"{home}.{name}" for home in PACKAGES if find_spec(home) for name in sorted(agents_in(home))]
        return {"agents": [name.removeprefix(f"{PACKAGES[0]}.") for name in names]}
    if do == "find":
        return {"found": find(agent).__name__}
    player, moves = question.pop("id"), question.pop("moves")
    match = {"agent": agent, **question}
    table = tables.pop(player, None)
    if table is None or table.match != match or table.moves != moves[: len(table.moves)]:
        table = Table(match, opens=len(moves) % 2 == 0)
    move = table.play(moves)
    tables[player] = table
    return {"move": move}


def pass_on(questions: SimpleQueue[str]) -> None:
    """Pass on the lines of standard input; at its end, end this process, whatever an agent is doing."""
    for line in sys.stdin:
        questions.put(line)
    os._exit(0)


def main() -> None:
    """Answer questions forever; what agents print goes to standard error."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    questions: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=pass_on, args=(questions,), daemon=True).start()
    versions = {each.name.replace("_", "-"): each.version for each in distributions() if each.name.startswith("negmas")}
    tables: dict[int, Table] = {}
    said: dict[str, Any] = {"versions": {"python": platform.python_version(), **versions}}
    gc.set_threshold(100_000)  # agents keep tens of thousands of agreements for as long as their match
    while True:
        out.write(json.dumps(said) + "\n")
        try:
            said = reply(tables, **json.loads(questions.get()))
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
