"""The moves of split: a message while the seats talk, then how many units of each type to keep."""

from __future__ import annotations

from negolab.game import Invalid
from negolab.games.split.parameters import Parameters
from negolab.games.split.reading import SELECTION
from negolab.games.split.state import Action, Message, Proposal, Seen
from negolab.games.split.words import WORDS
from negolab.moves import HEAD, Choice, Count, Either, Field, Group, Move, Moves, Words, as_json, shown

_NO_DEAL = "no deal"


def moves(told: Parameters, seen: Seen, talk: int) -> Moves:
    return _talk(told, seen, talk) if seen.public.phase == "talk" else _keep(told, seen)


def _talk(told: Parameters, seen: Seen, talk: int) -> Moves:
    def made(message: str) -> Action | Invalid:
        # Parsed as tagged text, so that it is read the same as when a model writes it freely.
        return told.parse(f"<message>{message}</message>", seen)

    ends = (Choice((SELECTION,), label=WORDS.END_TALK),) if told.is_free else ()
    # Without words: a pass, the truth about oneself, or the tag that ends free talk.
    stock = [said.text for said in told.options(seen) if isinstance(said, Message)]
    said: Field = Words(min(talk, told.max_chars)) if talk else Choice((*stock, *(SELECTION,) * told.is_free))
    move = Move("message", made, {"message": Either((said, *ends)) if talk else said})
    if not talk:
        given = " or ".join(as_json({"message": option}) for option in [*stock, *(SELECTION,) * told.is_free])
        return Moves((move,), tag="", bare=True, told=f"{HEAD}: {given}.")
    over = f" To end the talk: {as_json({'message': SELECTION})}." if told.is_free else ""
    words = f'{HEAD}: {{"message":"..."}} with what you say to the other player; empty is a pass.{over}'
    return Moves((move,), tag="", bare=True, told=words)


def _keep(told: Parameters, seen: Seen) -> Moves:
    def made(keep: dict[str, int] | str) -> Action | Invalid:
        return told.parse(told.say(Proposal(None if isinstance(keep, str) else tuple(keep.values()))), seen)

    stock = zip(told.items, seen.public.stock, strict=True)
    units = Group({item: Count(0, most, label=WORDS.KEEP.format(item=WORDS.item(item))) for item, most in stock})
    exact = told.rule == "exact"
    keep = Either((units, Choice((_NO_DEAL,), label=WORDS.PROPOSE_NO_DEAL))) if exact else units
    # Like the game's own request, this names no number that could be taken for advice.
    no_deal = f" If you want no deal: {as_json({'keep': _NO_DEAL})}." if exact else ""
    words = f'{HEAD}: {{"keep":{shown(units)}}} with a whole number for each n, what you keep for yourself.{no_deal}'
    return Moves((Move("keep", made, {"keep": keep}),), tag="", bare=True, told=words)
