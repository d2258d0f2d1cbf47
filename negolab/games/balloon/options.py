"""Messages written for a seat, and a fair sample of those it may send."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypedDict

from negolab.game import other
from negolab.games.balloon.language import language
from negolab.games.balloon.play import total
from negolab.games.balloon.state import Names, Rules, Say, Seen, Terms
from negolab.theory.frontier import best

MOST = 64
"""Options at most."""

_LATEST = 16
_TRIES = 200


class Parts(TypedDict, total=False):
    """What a message may be made of, besides the terms."""

    refuse: Iterable[Collection[str]]
    propose: Iterable[Collection[str]]
    agree: Iterable[Collection[str]]
    argument: str | None
    reasoning: str | None


def message(
    rules: Rules,
    terms: Terms,
    *,
    refuse: Iterable[Collection[str]] = (),
    propose: Iterable[Collection[str]] = (),
    agree: Iterable[Collection[str]] = (),
    argument: str | None = None,
    reasoning: str | None = None,
) -> Say:
    """A message in the form of the published transcript: a move a line, REFUSE, PROPOSAL, AGREE, then the ARGUMENT.

    Braces in free text become parentheses. Where a block is required and not given, a stock phrase stands in it; one
    that the rules do not allow is left out.
    """
    spoken = language(terms.language)
    tags, phrases = spoken.tags, spoken.phrases
    sets = {
        tag: tuple(map(frozenset, names))
        for tag, names in zip((tags.refuse, tags.propose, tags.agree), (refuse, propose, agree), strict=True)
    }
    lines = [f"{tag}: {_display(names, terms.effort)}" for tag, several in sets.items() for names in several]
    if terms.require_argument or (argument is not None and rules == "stated"):
        lines.append(f"{tags.argument}: {_quoted(phrases.argument if argument is None else argument)}")
    thought = None
    if terms.strategic_reasoning:
        thought = _quoted(phrases.reasoning if reasoning is None else reasoning)[1:-1]
    return Say("\n".join(lines), thought, sets[tags.propose], sets[tags.refuse], sets[tags.agree])


def _display(names: Collection[str], items: Iterable[str]) -> str:
    """A Python set display in item order, then what is no item by name."""
    known = [name for name in items if name in names]
    return "{" + ", ".join(map(repr, [*known, *sorted(set(names) - set(known))])) + "}"


def _quoted(text: str) -> str:
    return "{" + repr(text.replace("{", "(").replace("}", ")")) + "}"


def options(rules: Rules, seen: Seen) -> tuple[Say, ...]:
    """AGREE to and REFUSE of what the other seat has open (the latest, if it is much), then sets to propose: the own
    optimum, open ones with an item exchanged for one's own benefit, and maximal ones; at most `MOST`."""
    terms = seen.public.terms
    phrases = language(terms.language).phrases
    theirs = tuple(dict.fromkeys(reversed(seen.public.active[other(seen.seat)])))[:_LATEST]
    may_agree = [names for names in theirs if rules == "reference" or total(terms.effort, names) <= terms.limit]
    says = [message(rules, terms, agree=(names,), argument=phrases.agree) for names in may_agree]
    says += [message(rules, terms, refuse=(names,), argument=phrases.refuse) for names in theirs]
    proposals: dict[Names, None] = {}
    for names in _proposals(seen, theirs):
        if names or rules == "stated":
            proposals[names] = None
        if len(proposals) == MOST - len(says):
            break
    if not proposals and not says:
        # The reference knows no empty set; there a set over the LIMIT is a move.
        proposals[frozenset(list(terms.effort)[:1])] = None
    return (*says, *(message(rules, terms, propose=(names,), argument=phrases.propose) for names in proposals))


def _proposals(seen: Seen, theirs: tuple[Names, ...]) -> Iterator[Names]:
    terms, own = seen.public.terms, seen.private.importance
    yield best(terms.effort, own, terms.limit)
    for names in theirs:
        swapped = exchange(names, terms, own)
        if swapped is not None:
            yield swapped
    # Seeded by what is public: the order is fixed and tells nothing.
    rng = random.Random(f"{seen.seat}{seen.public.turn}")
    items = list(terms.effort)
    for _ in range(_TRIES):
        rng.shuffle(items)
        yield fill(frozenset(), items, terms)


def exchange(names: Names, terms: Terms, own: Mapping[str, int]) -> Names | None:
    """The set with one item exchanged for another that is worth more to `own`, as much more as the LIMIT allows."""
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


def fill(names: Names, items: Iterable[str], terms: Terms) -> Names:
    """The set with every further item, in their order, that still fits."""
    effort = terms.effort
    room = terms.limit - total(effort, names)
    added = []
    for item in items:
        if effort[item] <= room and item not in names:
            added.append(item)
            room -= effort[item]
    return names.union(added)
