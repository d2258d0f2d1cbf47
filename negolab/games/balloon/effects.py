"""Effects of messages on the open proposals, as the prompt states them and as the reference implements them, and
messages written for a seat. Both sets of rules use only what the author can see."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple, TypedDict

from negolab.game import Seat, other
from negolab.games.balloon.prompt import Tags, language
from negolab.games.balloon.reading import NO_SET
from negolab.games.balloon.state import Names, Public, Rules, Say, Seen, State, Terms
from negolab.theory.frontier import best_set


class IllegalMove(NamedTuple):
    """A fault's codes, the tag word concerned, and the effort of a set over the LIMIT."""

    codes: tuple[str, ...]
    tag: str
    effort: int = 0


class MoveResult(NamedTuple):
    """The open proposals after a message, its author's first; the set agreed on; the reason if the match is lost
    immediately."""

    mine: tuple[Names, ...]
    theirs: tuple[Names, ...]
    deal: Names | None = None
    lost: str | None = None


def total(numbers: Mapping[str, int], names: Collection[str]) -> int:
    """Sum numbers over a set of items; raise `KeyError` for an unknown item."""
    return sum(map(numbers.__getitem__, names))


def apply_stated(public: Public, seat: Seat, say: Say, tags: Tags) -> IllegalMove | MoveResult:
    """Apply the rules in the prompt: one fault at a time, no set over the LIMIT, and a set is open once or not at
    all."""
    effort, limit = public.terms.effort, public.terms.limit
    for names in say.propose:
        try:
            weight = total(effort, names)
        except KeyError:
            return IllegalMove(("unknown_item",), tags.propose)
        if weight > limit:
            return IllegalMove(("over_limit",), tags.propose, weight)
    theirs = public.active[other(seat)]
    if say.refuse:
        left = dict.fromkeys(theirs)
        for names in say.refuse:
            if names not in left:
                return IllegalMove(("refuse_inactive",), tags.refuse)
            del left[names]
        theirs = tuple(left)
    mine = public.active[seat]
    if say.propose:
        mine = tuple(dict.fromkeys(mine + say.propose))
    return _agree_stated(public, say, tags, mine, theirs) if say.agree else MoveResult(mine, theirs)


def _agree_stated(
    public: Public, say: Say, tags: Tags, mine: tuple[Names, ...], theirs: tuple[Names, ...]
) -> IllegalMove | MoveResult:
    if len(say.agree) > 1:
        return IllegalMove(("agree_ambiguous",), tags.agree)
    names = say.agree[0]
    effort = public.terms.effort
    weight = total(effort, names) if names <= effort.keys() else 0
    if weight > public.terms.limit:
        return IllegalMove(("over_limit",), tags.agree, weight)
    if names not in theirs:
        return IllegalMove(("agree_inactive",), tags.agree)
    return MoveResult(mine, theirs, deal=names)


def apply_reference(public: Public, seat: Seat, say: Say, tags: Tags) -> IllegalMove | MoveResult:
    """Apply clembench's rules: all moves are checked against the proposals as they were, then applied in turn."""
    items = public.terms.effort.keys()
    for names in say.propose:
        if names == NO_SET:
            return IllegalMove(("bad_set",), tags.propose)
        if not names <= items:
            return IllegalMove(("unknown_item",), tags.propose)
    mine, theirs = public.active[seat], public.active[other(seat)]
    if not set(say.refuse) <= set(theirs):  # a set refused twice needs to be open only once
        return IllegalMove(("refuse_inactive",), tags.refuse)
    if say.agree:
        codes: tuple[str, ...] = ("agree_ambiguous",) if len(say.agree) > 1 else ()
        if say.agree[0] not in theirs:
            codes += ("agree_inactive",)
        if codes:
            return IllegalMove(codes, tags.agree)
    return _apply_in_turn(public, say, mine, theirs)


def _apply_in_turn(public: Public, say: Say, mine: tuple[Names, ...], theirs: tuple[Names, ...]) -> MoveResult:
    limit = public.terms.empty_turn_limit
    if not say.propose and limit is not None and public.empty >= limit:
        return MoveResult(mine, theirs, lost="empty_turns")
    mine += say.propose
    left = _remove_refused(theirs, say.refuse) if say.refuse else theirs
    if left is None:
        return MoveResult(mine, theirs, lost="refused_twice")
    if not say.agree:
        return MoveResult(mine, left)
    names = say.agree[0]
    return MoveResult(mine, left, deal=names) if names in left else MoveResult(mine, left, lost="agree_refused")


def _remove_refused(theirs: tuple[Names, ...], refused: tuple[Names, ...]) -> tuple[Names, ...] | None:
    """Remove one entry per refusal; None if an entry is missing."""
    due = Counter(refused)
    left = []
    for names in theirs:
        if due[names] > 0:
            due[names] -= 1
        else:
            left.append(names)
    return None if any(due.values()) else tuple(left)


def deal_payoffs(state: State, names: Names) -> dict[Seat, int | float]:
    """Return the payoffs for a deal on this set; 0 if it is over the LIMIT."""
    terms, own = state.public.terms, state.private
    if total(terms.effort, names) > terms.limit:
        return {"A": 0, "B": 0}
    return {"A": total(own["A"].importance, names), "B": total(own["B"].importance, names)}


# Writing messages.

MAX_OPTIONS = 64
"""Largest number of options."""

_MAX_ANSWERED = 16
_TRIES = 200


class MessageParts(TypedDict, total=False):
    """Keyword arguments of `write_message`."""

    refuse: Iterable[Collection[str]]
    propose: Iterable[Collection[str]]
    agree: Iterable[Collection[str]]
    argument: str | None
    reasoning: str | None


def write_message(
    rules: Rules,
    terms: Terms,
    *,
    refuse: Iterable[Collection[str]] = (),
    propose: Iterable[Collection[str]] = (),
    agree: Iterable[Collection[str]] = (),
    argument: str | None = None,
    reasoning: str | None = None,
) -> Say:
    """Write a message in the form of the published transcript: a line per move (REFUSE, PROPOSAL, AGREE), then
    ARGUMENT.

    Braces in free text become parentheses. A required block that is not given gets a stock phrase; one that the rules
    do not allow is left out.
    """
    spoken = language(terms.language)
    tags, phrases = spoken.tags, spoken.phrases
    sets = {
        tag: tuple(map(frozenset, names))
        for tag, names in zip((tags.refuse, tags.propose, tags.agree), (refuse, propose, agree), strict=True)
    }
    lines = [f"{tag}: {_set_literal(names, terms.effort)}" for tag, several in sets.items() for names in several]
    if terms.require_argument or (argument is not None and rules == "stated"):
        lines.append(f"{tags.argument}: {_quoted(phrases.argument if argument is None else argument)}")
    thought = None
    if terms.strategic_reasoning:
        thought = _quoted(phrases.reasoning if reasoning is None else reasoning)[1:-1]
    return Say("\n".join(lines), thought, sets[tags.propose], sets[tags.refuse], sets[tags.agree])


def _set_literal(names: Collection[str], items: Iterable[str]) -> str:
    """Write a Python set in item order; names that are not items follow, sorted."""
    known = [name for name in items if name in names]
    return "{" + ", ".join(map(repr, [*known, *sorted(set(names) - set(known))])) + "}"


def _quoted(text: str) -> str:
    return "{" + repr(text.replace("{", "(").replace("}", ")")) + "}"


def open_proposals(seen: Seen) -> tuple[Names, ...]:
    """Return the other seat's open proposals, each once, in the order they were made: number 1 is the first."""
    return tuple(dict.fromkeys(seen.public.active[other(seen.seat)]))


def message_options(rules: Rules, seen: Seen) -> tuple[Say, ...]:
    """Return a fair sample of legal messages, at most `MAX_OPTIONS`.

    First come AGREE and REFUSE for the other's latest open sets, then proposals: the seat's optimum, open sets improved
    by an exchange, and maximal sets.
    """
    terms = seen.public.terms
    phrases = language(terms.language).phrases
    theirs = tuple(dict.fromkeys(reversed(seen.public.active[other(seen.seat)])))[:_MAX_ANSWERED]
    may_agree = [names for names in theirs if rules == "reference" or total(terms.effort, names) <= terms.limit]
    says = [write_message(rules, terms, agree=(names,), argument=phrases.agree) for names in may_agree]
    says += [write_message(rules, terms, refuse=(names,), argument=phrases.refuse) for names in theirs]
    proposals: dict[Names, None] = {}
    for names in _proposals(seen, theirs):
        if names or rules == "stated":
            proposals[names] = None
        if len(proposals) == MAX_OPTIONS - len(says):
            break
    if not proposals and not says:
        # The reference has no empty set; there, a set over the LIMIT is a move.
        proposals[frozenset(list(terms.effort)[:1])] = None
    return (*says, *(write_message(rules, terms, propose=(names,), argument=phrases.propose) for names in proposals))


def _proposals(seen: Seen, theirs: tuple[Names, ...]) -> Iterator[Names]:
    terms, own = seen.public.terms, seen.private.importance
    yield best_set(terms.effort, own, terms.limit)
    for names in theirs:
        swapped = improve_by_exchange(names, terms, own)
        if swapped is not None:
            yield swapped
    # Seeded with public information only: the order is fixed and reveals nothing.
    rng = random.Random(f"{seen.seat}{seen.public.turn}")
    items = list(terms.effort)
    for _ in range(_TRIES):
        rng.shuffle(items)
        yield fill_up(frozenset(), items, terms)


def improve_by_exchange(names: Names, terms: Terms, own: Mapping[str, int]) -> Names | None:
    """Exchange one item in a set for another, within the LIMIT, so that its worth under `own` rises most; None if no
    exchange raises it."""
    room = terms.limit - total(terms.effort, names)
    outside = sorted((item for item in own if item not in names), key=lambda item: -own[item])
    swaps = []
    for mine in sorted(names):
        free = room + terms.effort[mine]
        better = next((item for item in outside if terms.effort[item] <= free), None)
        if better is not None and own[better] > own[mine]:
            swaps.append((own[mine] - own[better], mine, better))
    if not swaps:
        return None
    _, mine, better = min(swaps)
    return (names - {mine}) | {better}


def fill_up(names: Names, items: Iterable[str], terms: Terms) -> Names:
    """Add each further item that still fits, in the given order."""
    effort = terms.effort
    room = terms.limit - total(effort, names)
    added = []
    for item in items:
        if effort[item] <= room and item not in names:
            added.append(item)
            room -= effort[item]
    return names.union(added)
