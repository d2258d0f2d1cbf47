"""Markup and script injections in every text that another player or a model writes."""

from __future__ import annotations

from typing import Any

import ipywidgets as w
from IPython.display import display
from negolab_widgets import HumanSeat, Replay

import negolab as nl
from negolab.game import SEATS, Reply, Seat
from negolab.games.balloon import Instance
from negolab.match import Match

PAYLOAD = "window.pwned=1"
INJECTIONS = (
    f"<script>{PAYLOAD}</script>",
    f"<img src=x onerror={PAYLOAD}>",
    f"<svg onload={PAYLOAD}>",
    f"<svg><animate onbegin={PAYLOAD} attributeName=x dur=1s>",
    f"<iframe srcdoc='<script>parent.{PAYLOAD}</script>'></iframe>",
    f"<body onload={PAYLOAD}>",
    f"<details open ontoggle={PAYLOAD}>",
    f"<input autofocus onfocus={PAYLOAD}>",
    f"<video><source onerror={PAYLOAD}></video>",
    f'" autofocus onfocus="{PAYLOAD}" x="',
    f"' onmouseover='{PAYLOAD}' x='",
    f"</div></textarea></title></style><img src=x onerror={PAYLOAD}>",
    f"</select></option><img src=x onerror={PAYLOAD}>",
    f"<a href='javascript:{PAYLOAD}'>click</a>",
    f"<math><mtext></p><img src=x onerror={PAYLOAD}>",
    f"<scr<script>ipt>{PAYLOAD}</scr</script>ipt>",
    f"&lt;img src=x onerror={PAYLOAD}&gt;",
    f"<IMG SRC=x ONERROR={PAYLOAD}>",
    f"<style onload={PAYLOAD}>*{{color:red}}</style>",
    f"<object data='javascript:{PAYLOAD}'></object>",
    f"$\\href{{javascript:{PAYLOAD}}}{{x}}$ [x](javascript:{PAYLOAD}) `<b>`",
)


class FixedReplies:
    """Replies with fixed texts in order, then with the first legal option."""

    def __init__(self, *words: str) -> None:
        self._words = list(words)

    def reply(self, told: Any, ask: Any) -> str:
        return self._words.pop(0) if self._words else told.say(told.options(ask.seen)[0])


def matches() -> list[tuple[Match, Seat, FixedReplies]]:
    """For each game a new match, a person's seat, and an opponent that replies with injections."""
    names: Any = dict(zip(SEATS, INJECTIONS[:2], strict=True))
    items = dict.fromkeys((trick.replace("{", "(").replace("}", ")") for trick in INJECTIONS), 10)
    worth = {name: 5 + at for at, name in enumerate(items)}
    balloon = nl.load("balloon", instance=Instance(items, 100, {"A": worth, "B": worth}))
    set_of = "{" + ", ".join(map(repr, list(items)[:5])) + "}"
    argument = repr(" ".join(INJECTIONS).replace("{", "(").replace("}", ")"))
    talk = nl.load("bargaining", preset="cheap-talk")
    split = nl.load("split", preset="trust-and-split")
    words = " ".join(INJECTIONS).replace("[", "(").replace("]", ")")
    return [
        (Match(balloon, seed=1, players=names), "B", FixedReplies(f"PROPOSAL: {set_of}\nARGUMENT: {{{argument}}}")),
        (Match(talk, seed=1, players=names), "B", FixedReplies(f"9.50 {INJECTIONS[1]}")),
        (
            Match(split, seed=1, players=names),
            "B",
            FixedReplies(*(f"<message>{trick}</message>" for trick in INJECTIONS)),
        ),
        (Match(nl.load("trading"), seed=1, players=names), "B", FixedReplies(f"{words} [Offer: 1 Wheat -> 1 Ore]")),
    ]


def display_escaped(at: int) -> None:
    """Display one of the matches: its table, replays as each seat sees them, and the notebook reprs."""
    match, seat, opponent = matches()[at]
    display(HumanSeat(match, seat, {"A" if seat == "B" else "B": opponent}, title=INJECTIONS[1]))
    asked = next(iter(match.pending()), None)
    if asked is not None:
        match.submit(
            asked, Reply(" ".join(INJECTIONS), model=INJECTIONS[1], via=INJECTIONS[2], usage={INJECTIONS[3]: 5})
        )
    record = match.record()
    for source in (record, record.seen_by("A"), record.seen_by("B")):
        replay = Replay(source)
        replay._cockpit.step = 2
        display(replay)
    display(match, record, match.seen("B"), match.game)
    display(Replay([record]), [record])


def display_raw() -> None:
    """Display the injections without escaping: they must fire, or the escaped test would prove nothing."""
    display(w.HTML("".join(INJECTIONS)))
