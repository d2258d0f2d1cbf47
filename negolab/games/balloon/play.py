"""What a message does to the open proposals, and what is wrong with one: as the prompt states it, and as the reference
has it. Both use only what the author can see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from negolab.game import Seat, other
from negolab.games.balloon.language import Tags
from negolab.games.balloon.reading import NO_SET
from negolab.games.balloon.state import Names, Public, Say


class Wrong(NamedTuple):
    """The codes of a fault, the tag word concerned, and the effort of a set over the LIMIT."""

    codes: tuple[str, ...]
    tag: str
    effort: int = 0


class Played(NamedTuple):
    """The open proposals afterwards, the author's own first; the set agreed on; why the match is lost at once."""

    mine: tuple[Names, ...]
    theirs: tuple[Names, ...]
    deal: Names | None = None
    lost: str | None = None


def total(numbers: Mapping[str, int], names: Collection[str]) -> int:
    """The sum over a set of items; `KeyError` for what is no item."""
    return sum(map(numbers.__getitem__, names))


def stated(public: Public, seat: Seat, say: Say, tags: Tags) -> Wrong | Played:
    """The rules of the prompt: one fault at a time, no set over the LIMIT, a set is open once or not at all."""
    effort, limit = public.terms.effort, public.terms.limit
    for names in say.propose:
        try:
            weight = total(effort, names)
        except KeyError:
            return Wrong(("unknown_item",), tags.propose)
        if weight > limit:
            return Wrong(("over_limit",), tags.propose, weight)
    theirs = public.active[other(seat)]
    if say.refuse:
        left = dict.fromkeys(theirs)
        for names in say.refuse:
            if names not in left:
                return Wrong(("refuse_inactive",), tags.refuse)
            del left[names]
        theirs = tuple(left)
    mine = public.active[seat]
    if say.propose:
        mine = tuple(dict.fromkeys(mine + say.propose))
    return _agreed(public, say, tags, mine, theirs) if say.agree else Played(mine, theirs)


def _agreed(public: Public, say: Say, tags: Tags, mine: tuple[Names, ...], theirs: tuple[Names, ...]) -> Wrong | Played:
    if len(say.agree) > 1:
        return Wrong(("agree_ambiguous",), tags.agree)
    names = say.agree[0]
    effort = public.terms.effort
    weight = total(effort, names) if names <= effort.keys() else 0
    if weight > public.terms.limit:
        return Wrong(("over_limit",), tags.agree, weight)
    if names not in theirs:
        return Wrong(("agree_inactive",), tags.agree)
    return Played(mine, theirs, deal=names)


def reference(public: Public, seat: Seat, say: Say, tags: Tags) -> Wrong | Played:
    """The rules of clembench: everything is compared with the proposals as they stood, then applied in turn."""
    items = public.terms.effort.keys()
    for names in say.propose:
        if names == NO_SET:
            return Wrong(("bad_set",), tags.propose)
        if not names <= items:
            return Wrong(("unknown_item",), tags.propose)
    mine, theirs = public.active[seat], public.active[other(seat)]
    if say.refuse and not _all_open(theirs, say.refuse):
        return Wrong(("refuse_inactive",), tags.refuse)
    if say.agree:
        codes: tuple[str, ...] = ("agree_ambiguous",) if len(say.agree) > 1 else ()
        if say.agree[0] not in theirs:
            codes += ("agree_inactive",)
        if codes:
            return Wrong(codes, tags.agree)
    return _applied(public, say, mine, theirs)


def _all_open(theirs: tuple[Names, ...], refused: tuple[Names, ...]) -> bool:
    """Whether every refused set is open; one that is refused twice needs to be open but once."""
    return refused[0] in theirs if len(refused) == 1 else set(refused) <= set(theirs)


def _applied(public: Public, say: Say, mine: tuple[Names, ...], theirs: tuple[Names, ...]) -> Played:
    limit = public.terms.empty_turn_limit
    if not say.propose and limit is not None and public.empty >= limit:
        return Played(mine, theirs, lost="empty_turns")
    mine += say.propose
    left = _without(theirs, say.refuse) if say.refuse else theirs
    if left is None:
        return Played(mine, theirs, lost="refused_twice")
    if not say.agree:
        return Played(mine, left)
    names = say.agree[0]
    return Played(mine, left, deal=names) if names in left else Played(mine, left, lost="agree_refused")


def _without(theirs: tuple[Names, ...], refused: tuple[Names, ...]) -> tuple[Names, ...] | None:
    """What stays open when each refusal takes out one entry; None if an entry is missing."""
    if len(refused) == 1:
        at = theirs.index(refused[0])
        return theirs[:at] + theirs[at + 1 :]
    due = Counter(refused)
    left = []
    for names in theirs:
        if due[names] > 0:
            due[names] -= 1
        else:
            left.append(names)
    return None if any(due.values()) else tuple(left)
