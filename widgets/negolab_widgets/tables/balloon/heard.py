"""What was said at a table of balloon, as one seat heard it: the words, and what each message proposed or refused."""

from __future__ import annotations

import re
from functools import lru_cache

from negolab.games.balloon import Balloon, Message, Say
from negolab.games.balloon.literal import display
from negolab.games.balloon.state import Names, Seen
from negolab_widgets.tables.balloon.worth import items, worth
from negolab_widgets.tables.talk import MOST, Said


def entries(game: Balloon, seen: Seen) -> list[Said]:
    """One entry per message, the latest ones in full."""
    messages = seen.public.messages
    early = max(0, len(messages) - MOST)
    # The early ones are only counted, so they need not be read.
    return [Said("", "")] * early + [_entry(game, seen, message) for message in messages[early:]]


def _entry(game: Balloon, seen: Seen, message: Message) -> Said:
    who, kind = ("you", "own") if message.seat == seen.seat else (f"player {message.seat}", "other")
    if not message.accepted:
        return Said(who, message.text, "against the rules: none of its moves counts", kind)
    note = "; ".join(_moves(seen, game.reader.heard(message.text)))
    return Said(who, argument(message.text, game.reader.tags.argument), note, kind)


def _moves(seen: Seen, say: Say) -> list[str]:
    done = [f"proposed {_set(seen, names)}" for names in say.propose]
    done += [f"refused {_set(seen, names)}" for names in say.refuse]
    return done + [f"agreed to {_set(seen, names)}" for names in say.agree]


def _set(seen: Seen, names: Names) -> str:
    sums = worth(seen, names)
    return f"{items(sums.count)} ({sums.points:,} for you, {sums.share}; effort {sums.effort:,})"


def argument(text: str, tag: str) -> str:
    """The words of a message's arguments, without tags, braces and quotes where they are a single string."""
    return "\n".join(filter(None, map(_words, _pattern(tag).findall(text))))


@lru_cache
def _pattern(tag: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(tag)}:\s*+\{{([^{{}}]*+(?:\{{[^{{}}]*+\}}[^{{}}]*+)*+)\}}")


def _words(body: str) -> str:
    try:
        found = display(body.strip())
    except ValueError:
        return body.strip()
    return next(iter(found.names)).strip() if found.kind == "strings" and len(found.names) == 1 else body.strip()
