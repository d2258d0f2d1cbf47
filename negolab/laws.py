"""Laws that every game must obey, as functions of a game and a seed that raise `AssertionError`.

For tests and for authors of new games: run each over many seeds and all presets, for example with hypothesis.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from negolab.catalog import AnyGame
from negolab.game import SEATS, FrozenDict, Invalid, Observation, Seat, State, other
from negolab.match import Match
from negolab.record import final_state, parse_record
from negolab.verification import replay_differences

MAX_REPLIES = 400
"""Number of replies after which a playout of a game without a bound stops."""

_JUNK = (
    "",
    " ",
    "?",
    "yes",
    "no",
    "[",
    "{",
    "}",
    "->",
    "1",
    "999999999999",
    "-5",
    "0.5",
    "\ud800",
    "\u0663",
    "\0",
    "a" * 300,
)


def playout(game: AnyGame, seed: int, *, junk: float = 0.1, most: int = MAX_REPLIES) -> Match:
    """Play a match of random options, as actions or text, with a share of `junk` replies."""
    rng, match = random.Random(seed), Match(game, seed=seed)
    for seat in _on_turn(match, rng, most):
        if rng.random() < junk:
            match.submit(seat, junk_text(rng))
        else:
            _move(match, seat, rng)
    return match


def _on_turn(match: Match, rng: random.Random, most: int = MAX_REPLIES) -> Iterator[Seat]:
    """Yield a random seat among those asked, until the match is over or for `most` replies."""
    for _ in range(most):
        if not (asks := match.pending()):
            return
        yield rng.choice(sorted(asks))


def junk_text(rng: random.Random) -> str:
    """Draw text that means little to any game."""
    return "".join(rng.choice(_JUNK) for _ in range(rng.randint(0, 3)))


def _move(match: Match, seat: Seat, rng: random.Random) -> None:
    options = match.told(seat).options(match.seen(seat))
    assert options, f"seat {seat} is asked but has no options"
    action = rng.choice(options)
    if rng.random() < 0.5:
        match.act(seat, action)
    else:
        match.submit(seat, match.told(seat).say(action))


def positions(game: AnyGame, seed: int) -> Iterator[tuple[Match, Seat]]:
    """Yield a playout before each reply, with the seat that replies next."""
    rng, match = random.Random(seed), Match(game, seed=seed)
    for seat in _on_turn(match, rng):
        yield match, seat
        if match.asks(seat):
            _move(match, seat, rng)


def same_seed_same_deal(game: AnyGame, seed: int) -> None:
    """All chance comes from the generator passed in."""
    assert game.deal(random.Random(seed)) == game.deal(random.Random(seed)), "two deals with the same seed differ"


def replay_equals_play(game: AnyGame, seed: int) -> None:
    """A record that is written and read back replays to the same match."""
    match = playout(game, seed)
    record = parse_record(match.record().to_line())
    assert record.game == game, "the record has a different game"
    assert not (differences := replay_differences(record)), differences[0]
    assert final_state(record) == match.state, "folding the events gives a different state"
    assert repr(record.outcome) == repr(match.outcome), "the record has a different outcome"


def words_and_actions_agree(game: AnyGame, seed: int) -> None:
    """`parse(say(a), seen) == a` for every option, and playing the words does what playing the action does."""
    rng = random.Random(seed)
    for match, seat in positions(game, seed):
        told, seen = match.told(seat), match.seen(seat)
        options = told.options(seen)
        assert options == told.options(seen), "options differ when asked twice"
        for action in options if len(options) < 60 else rng.sample(options, 20):
            read = told.parse(told.say(action), seen)
            assert read == action, f"parse(say(a)) is {read!r:.200}, not {action!r:.200}"
        action = rng.choice(options)
        said, typed = Match(game, start=match.state), Match(game, start=match.state)
        said.submit(seat, told.say(action))
        typed.act(seat, action)
        assert said.events[1:] == typed.events[1:], f"the words of {action!r:.100} do something other than the action"
        assert said.state == typed.state, f"the words of {action!r:.100} lead to a different state"


def nobody_else_has_options(game: AnyGame, seed: int) -> None:
    """A seat that is not on turn has no options."""
    for match, _ in positions(game, seed):
        for seat in SEATS:
            if seat not in game.turn(match.state.public):
                assert match.told(seat).options(match.seen(seat)) == (), f"seat {seat} has options out of turn"


def rules_change_nothing_in_place(game: AnyGame, seed: int) -> None:
    """No method of a game changes a state it was given."""
    rng = random.Random(seed)
    for match, seat in positions(game, seed):
        state = match.state
        before = _fingerprint(state)
        told, seen = match.told(seat), match.seen(seat)
        options = told.options(seen)
        told.prompt(seen, None)
        told.parse(junk_text(rng), seen)
        game.outcome(state)
        game.details(state)
        game.forfeit(state, seat, Invalid(("law",), "A law asks what a forfeit does.", "format"))
        Match(game, start=state).submit(seat, told.say(rng.choice(options)))
        if len(match.pending()) == 1 and len(game.turn(state.public)) == 1:
            game.step(state, {seat: rng.choice(options)})
        assert _fingerprint(state) == before, "a state was changed in place"


def nothing_shown_can_be_changed(game: AnyGame, seed: int) -> None:
    """Nothing that a player is given offers a way to change the state: mappings are `FrozenDict`, sequences are
    tuples."""
    for match, _ in positions(game, seed):
        for seat in SEATS:
            mutable = _find_mutable(match.seen(seat)) or _find_mutable(match.told(seat))
            assert mutable is None, f"seat {seat} is shown something it could change: {mutable!r:.200}"


def _find_mutable(value: Any) -> Any:
    """Find the first part of a value that could be changed in place; None if there is none."""
    if isinstance(value, msgspec.Struct):
        if not value.__struct_config__.frozen:
            return value
        parts: Iterable[Any] = (getattr(value, name) for name in value.__struct_fields__)
    elif isinstance(value, FrozenDict):
        parts = value.values()
    elif isinstance(value, tuple | frozenset):
        parts = value
    else:
        return value if isinstance(value, dict | list | set | bytearray) else None
    return next((mutable for part in parts if (mutable := _find_mutable(part)) is not None), None)


def ends_within_bound(game: AnyGame, seed: int) -> None:
    """A match of legal replies ends within `bound()`. A game without a bound must be given a limit first."""
    bound = game.bound()
    assert bound is not None, "no bound: test this law with the game's limit set"
    match = playout(game, seed, junk=0, most=bound + 1)
    accepted = sum(type(event).__name__ == "Replied" for event in match.events)
    assert match.ended is not None, f"not over after {accepted} replies; bound() is {bound}"
    assert accepted <= bound, f"{accepted} replies; bound() is {bound}"
    assert match.ended.end != "ABORTED", "a match of legal replies was aborted"


def unfinished_pays_only_as_it_goes(game: AnyGame, seed: int) -> None:
    """A state that is not over gives ABORTED, and payoffs only in games that pay as they go."""
    for match, _ in positions(game, seed):
        outcome = game.outcome(match.state)
        assert outcome.end == "ABORTED", f"a running match has the outcome {outcome.end}"
        paid = [payoff for payoff in outcome.payoffs.values() if payoff is not None]
        assert game.pays_as_it_goes or not paid, f"a running match pays {outcome.payoffs}"


def any_text_is_read(game: AnyGame, seed: int, text: str) -> None:
    """Any text is an action or an `Invalid` with a reason, in every phase of the game."""
    for match, seat in positions(game, seed):
        read = match.told(seat).parse(text, match.seen(seat))
        if isinstance(read, Invalid):
            assert read.codes and read.reason.strip(), f"rejected without code or reason: {read!r:.200}"
        else:
            again = match.told(seat).parse(match.told(seat).say(read), match.seen(seat))
            assert again == read, f"said and read again, {read!r:.100} is {again!r:.100}"


def a_seat_is_blind(game: AnyGame, seed: int, twin: AnyGame | None = None, seat: Seat | None = None) -> None:
    """Nothing that a seat is given depends on what only the other seat knows.

    The same texts are played from two initial states that differ only in the other seat's secret: a state and its
    `vary`, or, with a `twin`, the deals of two games. Until the game's reveal, the law compares observations, prompts,
    options and their order, reasons, `repr`, and `seen_by`.
    """
    rng = random.Random(seed)
    for watcher in SEATS if seat is None else (seat,):
        start = game.deal(random.Random(seed))
        changed = game.vary(start, other(watcher), rng) if twin is None else twin.deal(random.Random(seed))
        if changed is not None:
            _unchanged_outside(start, changed, watcher)
            _compare_matches(Match(game, start=start), Match(twin or game, start=changed), watcher, rng)


def _unchanged_outside(start: State[Any, Any], changed: State[Any, Any], watcher: Seat) -> None:
    assert changed.public == start.public, "vary changed what both see"
    assert changed.private[watcher] == start.private[watcher], f"vary changed what seat {watcher} sees"


def _compare_matches(left: Match, right: Match, watcher: Seat, rng: random.Random) -> None:
    pair = (left, right)
    last: tuple[Any, ...] | None = None
    since: tuple[Observation[Any, Any] | None, ...] = (None, None)
    for _ in range(60):
        if left.game.revealed(left.state.public) or right.game.revealed(right.state.public):
            break
        _assert_equal(*(_everything_shown(match, watcher, before) for match, before in zip(pair, since, strict=True)))
        since = (left.seen(watcher), right.seen(watcher))
        last = (left.record(), right.record())
        if not _submit_to_both(left, right, watcher, rng):
            break
    if last is not None:
        a, b = (record.seen_by(watcher) for record in last)
        assert a == b, f"seen_by({watcher}) differs"
        assert repr(a) == repr(b), f"repr of seen_by({watcher}) differs"


def _everything_shown(match: Match, seat: Seat, since: Observation[Any, Any] | None) -> dict[str, Any]:
    """Collect everything that a seat is given now, by name."""
    told, seen, ask = match.told(seat), match.seen(seat), match.pending().get(seat)
    options = told.options(seen)
    return {
        "the prompt": told.prompt(seen, None),
        "the text about a forfeit": told.describe_forfeit(seen),
        "the short prompt": told.prompt(seen, since) if since is not None else "",
        "the order of options": options,
        "the words of the options": [told.say(action) for action in options],
        "what is asked": ask,
        "the observation": seen,
        "the observation on the wire": msgspec.json.encode(seen, enc_hook=sorted),
        "the repr of the observation": repr(seen),
        "the repr of what is asked": repr(ask),
        "the game as told": told,
        "the repr of the game": repr(told),
    }


def _assert_equal(left: dict[str, Any], right: dict[str, Any]) -> None:
    for name, value in left.items():
        assert value == right[name], f"{name} tells the other's secret: {value!r:.300} against {right[name]!r:.300}"


def _submit_to_both(left: Match, right: Match, watcher: Seat, rng: random.Random) -> bool:
    """Submit the same text for one seat in both matches; False if no text means the same in both."""
    asked = sorted(left.pending())
    assert asked == sorted(right.pending()), "who is asked tells the other's secret"
    if not asked:
        return False
    seat = rng.choice(asked)
    text = junk_text(rng) if rng.random() < 0.25 else _common_option(left, right, seat, rng)
    if text is None:
        return False
    read = [match.told(seat).parse(text, match.seen(seat)) for match in (left, right)]
    if seat == watcher:
        a, b = read
        assert a == b, f"what {text!r:.80} means tells the other's secret: {a!r:.200} against {b!r:.200}"
        assert repr(a) == repr(b), "the repr of a reading tells the other's secret"
    elif isinstance(read[0], Invalid) != isinstance(read[1], Invalid):
        return False
    left.submit(seat, text)
    right.submit(seat, text)
    return True


def _common_option(left: Match, right: Match, seat: Seat, rng: random.Random) -> str | None:
    """Choose a text that is legal in both; one that is legal for only one secret would give it away."""
    said, also = ({m.told(seat).say(a): a for a in m.told(seat).options(m.seen(seat))} for m in (left, right))
    common = [text for text in said if text in also]
    return rng.choice(common) if common else None


def _fingerprint(state: State[Any, Any]) -> tuple[bytes, str]:
    return msgspec.json.encode(state, enc_hook=sorted), repr(state)


Law = Callable[[AnyGame, int], None]

LAWS: tuple[Law, ...] = (
    same_seed_same_deal,
    replay_equals_play,
    words_and_actions_agree,
    nobody_else_has_options,
    rules_change_nothing_in_place,
    nothing_shown_can_be_changed,
    ends_within_bound,
    unfinished_pays_only_as_it_goes,
    a_seat_is_blind,
)
"""The laws that take a game and a seed; `any_text_is_read` also takes a text."""
