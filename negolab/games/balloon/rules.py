"""Two seats agree on one set of items under a common effort limit; each is paid the sum of its own importances over it.

Messages alternate, A first, and consist of tagged moves (PROPOSAL, REFUSE, AGREE) and tagged free text. This is
clembench's `hot_air_balloon` (Chalamalasetti et al. 2023; the game: The Price of Thought, arXiv 2510.08098).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

import msgspec
from typing_extensions import override

from negolab.formatting import format_quote
from negolab.game import ANY_LENGTH, SEATS, End, FrozenDict, Invalid, Outcome, Seat, other
from negolab.games.balloon import effects
from negolab.games.balloon.instance import (
    Instance,
    draw_importance,
    draw_instance,
)
from negolab.games.balloon.parameters import Parameters
from negolab.games.balloon.prompt import fault_reason, full_prompt
from negolab.games.balloon.reading import Reader, fair_text, reader
from negolab.games.balloon.state import (
    Fault,
    Message,
    Names,
    Private,
    Public,
    Say,
    Seen,
    State,
    Terms,
)
from negolab.moves import Moves
from negolab.reading import PHRASES, REASONING_OPEN

_TURNS: dict[Seat, tuple[Seat, ...]] = {"A": ("A",), "B": ("B",)}
_FORMAT = frozenset({"no_reasoning", "no_argument", "untagged", "bad_set", "nothing_to_relay"})


class Balloon(Parameters, frozen=True, kw_only=True):
    """The hot air balloon game."""

    unit: ClassVar[str] = "points of own importance"
    legacy_defaults: ClassVar[Mapping[str, Any]] = {"reading": "literal"}
    measure_units: ClassVar[Mapping[str, str]] = dict.fromkeys(("norm", "harmonic", "normalised_harmonic", "main"), "%")
    forbids_telling: ClassVar[bool] = True

    # Initial states.

    def start(self, instance: Instance) -> State:
        """Return the initial state for an explicit instance."""
        terms = Terms(
            self.language,
            FrozenDict(instance.effort),
            instance.limit,
            self.strategic_reasoning,
            self.require_argument,
            self.patience,
            self.empty_turn_limit,
            self.turn_limit,
        )
        own = instance.importance
        return State(
            Public(terms, (), FrozenDict({"A": (), "B": ()}), "A"),
            {seat: Private(FrozenDict(own[seat]), self.patience) for seat in SEATS},
        )

    @override
    def deal(self, rng: random.Random) -> State:
        if self.instance is not None:
            return self.start(self.instance)
        if self.mode is None or self.correlation is None:
            raise ValueError("one seat's view of a game cannot be dealt: mode and correlation are hidden")
        drawn = draw_instance(
            rng,
            items=self.items,
            effort_range=self.effort_range,
            limit_ratio=self.limit_ratio,
            correlation=self.correlation,
            mode=self.mode,
            importance_seed=self.importance_seed,
            in_item_order=self.rules == "stated",
        )
        return self.start(drawn)

    # Messages.

    @property
    def reader(self) -> Reader:
        """The reader for this game's texts."""
        return reader(self.rules, self.language, self.strategic_reasoning, self.require_argument)

    @override
    def turn(self, public: Public) -> tuple[Seat, ...]:
        return _TURNS[public.mover] if public.end is None else ()

    @override
    def parse(self, text: str, seen: Seen) -> Say | Invalid:
        said = self.reader.read(text)
        if self.reading == "fair" and self.rules == "stated" and not isinstance(said, Say):
            meant = fair_text(text, self.reader.tags)
            if meant is None:
                return Invalid(("reasoning_open",), REASONING_OPEN, "format")
            said = self.reader.read(meant)
        if not isinstance(said, Say):
            return self._fault(seen, (said.code,), said.tag)
        played = self._play(seen.public, seen.seat, said)
        if isinstance(played, effects.MoveResult):
            return self._fault(seen, ("agree_conditional",), self.reader.tags.agree) if self._is_tied(said) else said
        codes = played.codes[: seen.private.patience + 1]  # faults after the end are not charged
        relay = said.text if len(codes) > 1 else None
        return self._fault(seen, codes, played.tag, played.effort, relay)

    @override
    def say(self, action: Say) -> str:
        return self.reader.write(action)

    def _is_tied(self, say: Say) -> bool:
        """Return True if a message agrees but its argument attaches a condition."""
        is_heard = self.reading == "fair" and self.rules == "stated" and say.agree
        return bool(is_heard) and PHRASES.CONDITIONAL.search(self.reader.talk(say.text).lower()) is not None

    def _play(self, public: Public, seat: Seat, say: Say) -> effects.IllegalMove | effects.MoveResult:
        rule = effects.apply_stated if self.rules == "stated" else effects.apply_reference
        return rule(public, seat, say, self.reader.tags)

    def _fault(self, seen: Seen, codes: tuple[str, ...], tag: str, effort: int = 0, relay: str | None = None) -> Fault:
        tags = self.reader.tags
        allowed = [tags.propose, tags.refuse, tags.agree]
        if self.require_argument or self.rules == "stated":
            allowed.append(tags.argument)
        slots = {
            "tag": tag,
            "tags": ", ".join(allowed),
            "argument": tags.argument,
            "reasoning": tags.reasoning,
            "effort": effort,
            "limit": seen.public.terms.limit,
        }
        words = " ".join(fault_reason(self.language, code, slots) for code in codes)
        return Fault(codes, words, "format" if codes[0] in _FORMAT else "rule", relay)

    def message(self, seen: Seen, **parts: Unpack[effects.MessageParts]) -> Say:
        """Write a message from these moves and words, in the form of the published transcript; its legality is not
        checked."""
        return effects.write_message(self.rules, seen.public.terms, **parts)

    def compose(self, seen: Seen, **parts: Unpack[effects.MessageParts]) -> str:
        """Return the text of `message(seen, **parts)`."""
        return self.say(self.message(seen, **parts))

    @override
    def options(self, seen: Seen) -> tuple[Say, ...]:
        return effects.message_options(self.rules, seen) if seen.seat in self.turn(seen.public) else ()

    @override
    def moves(self, seen: Seen, talk: int = ANY_LENGTH) -> Moves:
        from negolab.games.balloon import moves

        return moves.moves(self, seen, talk)

    @override
    def own_facts(self, seen: Seen) -> Mapping[str, float]:
        return seen.private.importance

    @override
    def spoken(self, action: Say) -> str:
        return self.reader.talk(action.text)

    @override
    def same(self, seen: Seen, decided: Say, said: Say) -> bool:
        sets = ((set(say.propose), set(say.refuse), set(say.agree)) for say in (decided, said))
        return next(sets) == next(sets)

    @override
    def prompt(self, seen: Seen, since: Seen | None) -> str:
        messages = seen.public.messages
        if since is not None:
            new = messages[len(since.public.messages) :]
            return "\n\n".join(message.text for message in new if message.seat != seen.seat)
        second = seen.seat == "B"
        rules = full_prompt(seen.public.terms, seen.private.importance, second=second)
        if second and len(messages) == 1:
            return f"{rules}\n\n{messages[0].text}"
        return "\n\n".join((rules, *(f"{message.seat}: {message.text}" for message in messages)))

    # Playing.

    @override
    def step(self, state: State, actions: Mapping[Seat, Say]) -> State:
        ((seat, say),) = actions.items()
        public = state.public
        if seat != public.mover or public.end is not None:
            raise ValueError(f"it is not seat {seat}'s turn")
        if not self._reads_back(say):
            raise ValueError(f"not a message in this game: {say!r:.200}")
        played = self._play(public, seat, say)
        if isinstance(played, effects.IllegalMove):
            raise ValueError(f"not legal ({', '.join(played.codes)}): {say!r:.200}")
        mine, theirs, deal, lost = played
        empty = 0 if say.propose else public.empty + 1
        away = other(seat)
        after = Public(
            public.terms,
            public.messages + (Message(seat, say.text),),  # noqa: RUF005 - the fast way for a long tuple
            FrozenDict({"A": mine, "B": theirs} if seat == "A" else {"A": theirs, "B": mine}),
            away,
            public.turn + 1,
            empty,
            "FORFEIT" if lost else "AGREED" if deal is not None else self._out(public.turn + 1, empty),
            deal,
            seat if lost else None,
            lost,
        )
        return State(after, state.private if say.reasoning is None else _with_reasoning(state, seat, say.reasoning))

    def _reads_back(self, action: Any) -> bool:
        if not isinstance(action, Say) or not isinstance(action.text, str):
            return False
        read = self.reader.read(self.reader.write(action))
        return read is action or read == action

    def _out(self, turn: int, empty: int) -> End | None:
        """Return the end that a limit causes, if one is reached."""
        if self.empty_turn_limit is not None and empty > self.empty_turn_limit:
            return "NO_DEAL"
        return "OUT_OF_TIME" if self.turn_limit is not None and turn >= self.turn_limit else None

    @override
    def retries(self, seat: Seat) -> int:
        return 0

    @override
    def forfeit(self, state: State, seat: Seat, invalid: Invalid) -> State:
        codes = invalid.codes if isinstance(invalid, Fault) else (*invalid.codes, invalid.kind)[:1]
        own = state.private[seat]
        public = state.public
        left = own.patience - len(codes)
        if left < 0:
            end: End = "FORFEIT" if invalid.kind == "rule" else "ABORTED"
            after = msgspec.structs.replace(public, end=end, ended_by=seat, code=codes[own.patience])
            return State(after, {**state.private, seat: msgspec.structs.replace(own, patience=0)})
        if isinstance(invalid, Fault) and invalid.relay is not None:
            heard = Message(seat, invalid.relay, accepted=False)
            public = msgspec.structs.replace(public, messages=(*public.messages, heard), mover=other(seat))
        return State(public, {**state.private, seat: msgspec.structs.replace(own, patience=left)})

    # Results. `measures` is imported when called, because a participant's process needs only the rules.

    @override
    def outcome(self, state: State) -> Outcome:
        public = state.public
        if public.end is None:
            return Outcome("ABORTED", {"A": None, "B": None})
        if public.deal is None:
            return Outcome(public.end, {"A": 0, "B": 0})
        return Outcome(public.end, {**effects.deal_payoffs(state, public.deal)})

    @override
    def stakes(self, state: State, seat: Seat, action: Say) -> tuple[dict[Seat, int | float], ...]:
        return tuple(effects.deal_payoffs(state, names) for names in action.propose)

    @override
    def terms(self, action: Say) -> tuple[dict[str, Any], ...]:
        return tuple({"package": sorted(names)} for names in action.propose)

    @override
    def describe(self, action: Say) -> str:
        moves_made = {"agrees to": action.agree, "proposes": action.propose, "refuses": action.refuse}
        named = [f"{verb} {' or '.join(map(_count_items, sets))}" for verb, sets in moves_made.items() if sets]
        return " and ".join(named) or f"argues {format_quote(action.text)}"

    @override
    def frontier(self, state: State) -> tuple[tuple[float, float], ...]:
        from negolab.games.balloon.measures import listed_frontier

        found = listed_frontier(state)
        return () if found is None else found.points

    @override
    def own_value(self, state: State, seat: Seat) -> Any:
        return state.private[seat].importance

    @override
    def details(self, state: State) -> dict[str, Any]:
        from negolab.games.balloon.measures import scores

        public = state.public
        deal = public.deal
        effort = None if deal is None else effects.total(public.terms.effort, deal)
        return {
            "deal": None if deal is None else sorted(deal),
            "effort": effort,
            "limit": public.terms.limit,
            "ended_by": public.ended_by,
            "code": public.code,
            **msgspec.to_builtins(scores(state, self.rules)),
        }

    @override
    def describe_forfeit(self, seen: Seen) -> str:
        left = seen.private.patience
        return f"it costs one of the {left} invalid messages you may still send" if left else "the match ends"

    @override
    def facts(self, seen: Seen) -> dict[str, Any]:
        terms, own = seen.public.terms, seen.private
        return {
            "LIMIT on total effort": terms.limit,
            "messages so far": f"{seen.public.turn} of {terms.turn_limit or 'any number'}",
            "invalid messages you may still send": own.patience,
            "items": {
                name: {"effort": effort, "importance to you": own.importance[name]}
                for name, effort in terms.effort.items()
            },
        }

    # Information.

    @override
    def secrets(self, seat: Seat) -> tuple[str, ...]:
        return ("instance", "mode", "correlation", "importance_seed")

    @override
    def bound(self) -> int | None:
        return self.turn_limit

    @override
    def vary(self, state: State, seat: Seat, rng: random.Random) -> State:
        own = state.private[seat]
        top = max(state.public.terms.effort.values())
        drawn = {name: draw_importance(0, top, "uncorrelated", rng) for name in own.importance}
        return State(state.public, {**state.private, seat: msgspec.structs.replace(own, importance=FrozenDict(drawn))})


def _with_reasoning(state: State, seat: Seat, reasoning: str) -> dict[Seat, Private]:
    own = state.private[seat]
    return {**state.private, seat: Private(own.importance, own.patience, (*own.reasoning, reasoning))}


def _count_items(names: Names) -> str:
    return f"{len(names)} item{'' if len(names) == 1 else 's'}"
