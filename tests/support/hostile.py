"""Twenty ways to smuggle markup and script onto a page, put into every place where another player or a model writes."""

from __future__ import annotations

from typing import Any

import ipywidgets as w
from IPython.display import display
from negolab_widgets import HumanSeat, Replay

import negolab as nl
from negolab.game import SEATS, Reply, Seat
from negolab.games.balloon import Instance
from negolab.match import Match

FIRE = "window.pwned=1"
TRICKS = (
    f"<script>{FIRE}</script>",
    f"<img src=x onerror={FIRE}>",
    f"<svg onload={FIRE}>",
    f"<svg><animate onbegin={FIRE} attributeName=x dur=1s>",
    f"<iframe srcdoc='<script>parent.{FIRE}</script>'></iframe>",
    f"<body onload={FIRE}>",
    f"<details open ontoggle={FIRE}>",
    f"<input autofocus onfocus={FIRE}>",
    f"<video><source onerror={FIRE}></video>",
    f'" autofocus onfocus="{FIRE}" x="',
    f"' onmouseover='{FIRE}' x='",
    f"</div></textarea></title></style><img src=x onerror={FIRE}>",
    f"</select></option><img src=x onerror={FIRE}>",
    f"<a href='javascript:{FIRE}'>click</a>",
    f"<math><mtext></p><img src=x onerror={FIRE}>",
    f"<scr<script>ipt>{FIRE}</scr</script>ipt>",
    f"&lt;img src=x onerror={FIRE}&gt;",
    f"<IMG SRC=x ONERROR={FIRE}>",
    f"<style onload={FIRE}>*{{color:red}}</style>",
    f"<object data='javascript:{FIRE}'></object>",
    f"$\\href{{javascript:{FIRE}}}{{x}}$ [x](javascript:{FIRE}) `<b>`",
)


class Says:
    """Says these words, one after the other."""

    def __init__(self, *words: str) -> None:
        self._words = list(words)

    def reply(self, told: Any, ask: Any) -> str:
        return self._words.pop(0) if self._words else told.say(told.options(ask.seen)[0])


def matches() -> list[tuple[Match, Seat, Says]]:
    """For each game a match that has just been dealt, a person's seat, and an opponent full of tricks."""
    names: Any = dict(zip(SEATS, TRICKS[:2], strict=True))
    items = dict.fromkeys((trick.replace("{", "(").replace("}", ")") for trick in TRICKS), 10)
    worth = {name: 5 + at for at, name in enumerate(items)}
    balloon = nl.load("balloon", instance=Instance(items, 100, {"A": worth, "B": worth}))
    set_of = "{" + ", ".join(map(repr, list(items)[:5])) + "}"
    argument = repr(" ".join(TRICKS).replace("{", "(").replace("}", ")"))
    talk = nl.load("bargaining", preset="cheap-talk")
    split = nl.load("split", preset="trust-and-split")
    words = " ".join(TRICKS).replace("[", "(").replace("]", ")")
    return [
        (Match(balloon, seed=1, players=names), "B", Says(f"PROPOSAL: {set_of}\nARGUMENT: {{{argument}}}")),
        (Match(talk, seed=1, players=names), "B", Says(f"9.50 {TRICKS[1]}")),
        (Match(split, seed=1, players=names), "B", Says(*(f"<message>{trick}</message>" for trick in TRICKS))),
        (Match(nl.load("trading"), seed=1, players=names), "B", Says(f"{words} [Offer: 1 Wheat -> 1 Ore]")),
    ]


def show() -> None:
    """Put all of it on the page: tables, replays as each sees it, and what notebooks show by themselves."""
    records = []
    for match, seat, opponent in matches():
        display(HumanSeat(match, seat, {"A" if seat == "B" else "B": opponent}, title=TRICKS[1]))
        asked = next(iter(match.pending()), None)
        if asked is not None:
            match.submit(asked, Reply(" ".join(TRICKS), model=TRICKS[1], via=TRICKS[2], usage={TRICKS[3]: 5}))
        record = match.record()
        records.append(record)
        for source in (record, record.seen_by("A"), record.seen_by("B")):
            replay = Replay(source)
            replay._scrubber.slider.value = min(2, replay._scrubber.slider.max)
            display(replay)
        display(match, record, match.seen("B"), match.game)
    display(Replay(records), records)


def show_raw() -> None:
    """The same tricks where nothing escapes them: they must work, or the other test shows nothing."""
    display(w.HTML("".join(TRICKS)))
