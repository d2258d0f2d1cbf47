"""Columns of the tables of records: names, types, units and meanings, as in the data dictionary."""

from __future__ import annotations

from typing import Any

from negolab.analysis.columns import Column, Columns
from negolab.analysis.summary import KINDS
from negolab.game import SEATS
from negolab.ledger import TOKENS


def _by_seat(name: str, type: Any, meaning: str, unit: str = "") -> list[Column]:
    return [Column(f"{name}_{seat.lower()}", type, meaning.format(seat), unit) for seat in SEATS]


UNIT = "unit of the game"
"""Unit of payoffs in the dictionary, replaced by the game's own unit if all matches are of one game."""
STAKES = "unit of the game's proposals"
"""Unit of what proposals bring, replaced in the same way."""
DOLLARS = "US dollars"
OWN_VALUE = "value, cost or points as drawn (bargaining: in cents; JSON where there are several)"
CONCEDED = (
    "by how much it lowers its author's claim since its last proposal, both worth what they would be in the first "
    "turn; empty where proposals are for one round each, or for different goods"
)

MATCH = Column("match", "text", "id of the match; in a sweep unique within its cell")

MATCHES: Columns = [
    MATCH,
    Column("game", "text", "the game"),
    Column("preset", "text", "preset that the parameters came from; those that it leaves free may differ; empty: none"),
    Column("treatment", "text", "treatment of a study's match, or an imported one; empty: none"),
    Column("seed", "integer", "random seed of the match; empty: the start was given"),
    Column("deal", "text", "the deal: a hash of game, parameters and start"),
    Column("draw", "text", "the random part of the deal, for pairing treatments"),
    Column("deterministic", "boolean", "true: neither player uses chance, so copies of a draw are identical"),
    Column("chance", "boolean", "true: the game drew its start; false: it was given, or there is nothing to draw"),
    *_by_seat("player", "text", "player in seat {}"),
    *_by_seat("settings", "text", "label, persona and settings of the model at seat {}, as they were used"),
    Column("end", "text", "AGREED, NO_DEAL, OUT_OF_TIME, FORFEIT or ABORTED; empty: it is not over"),
    Column("stopped", "text", "failed or timed out: the run stopped the match"),
    Column("reason", "text", "why it was stopped, if the rules did not end it"),
    *_by_seat("payoff", "amount", "payoff of seat {}; empty: no payoff", UNIT),
    *_by_seat("replies", "integer", "replies of seat {}, including rejected ones"),
    *_by_seat("rejected", "integer", "rejections of seat {}: replies that were not a legal action"),
    *_by_seat("forfeits", "integer", "how often seat {} used up its retries"),
    *_by_seat("moves", "integer", "moves of seat {}, including those that a rule made for it (fallbacks)"),
    *_by_seat("fallbacks", "integer", "moves of seat {} that a rule made, because no reply was usable"),
    *_by_seat("fallback_codes", "text", "why: the code of the last rejection before each fallback of seat {}"),
    *_by_seat("cost", "number", "list price of the answers of the model at seat {}, cached ones included", DOLLARS),
    *_by_seat("own_value", "value", f"{OWN_VALUE} of seat {{}}"),
    Column(
        "accepted_by",
        "text",
        "seat whose reply accepted; empty: both at once, a rule, several deals, or none",
    ),
    Column("accepted_turn", "integer", "number of that reply, as in turns"),
    Column("accepted_at", "time", "time of that reply; empty: scripted players have no times", "UTC"),
    Column("decided_by_fallback", "boolean", "true: a fallback was the end, the accepted offer or a division"),
]


def _alike(*names: str) -> Columns:
    """Return columns that matches also have."""
    return [column for column in MATCHES if column.name in names]


COUNTED = ("input", "output", "reasoning")
"""Kinds of tokens that an endpoint counts; `reasoning` tokens are part of `output`."""

SEAT_COLUMNS: Columns = [
    *_alike("match", "game", "preset", "treatment", "deal", "draw", "deterministic", "chance"),
    Column("seat", "text", "the seat: A or B"),
    Column("role", "text", "role of the seat, such as buyer"),
    Column("player", "text", "player in that seat"),
    Column("label", "text", "short name of the player: the label of a model where it has one"),
    Column("opponent", "text", "player in the other seat"),
    Column("opponent_label", "text", "short name of the player in the other seat"),
    Column("own_value", "value", OWN_VALUE),
    Column("payoff", "amount", "payoff of the seat; empty: no payoff", UNIT),
    Column("gain", "amount", "gain of the seat above no deal", STAKES, "payoff - payoff without a deal"),
    Column(
        "surplus_share",
        "number",
        "share of the joint gain that went to the seat",
        "",
        "gain / (gain + gain of the other)",
    ),
    Column("joint", "amount", "surplus of both seats above no deal", STAKES, "gain of A + gain of B"),
    Column("possible", "amount", "largest joint surplus that the start allowed", STAKES),
    Column("first_offer", "value", "the seat's first proposal: a price in cents, or who gets what as JSON"),
    Column("first_offer_payoff", "amount", "what that proposal would have paid the seat by itself", STAKES),
    Column("agreed", "boolean", "true: the match ended in agreement; empty: it was stopped, or is not over"),
    *_alike("end", "stopped"),
    Column("replies", "integer", "replies of the seat, including rejected ones"),
    *(Column(f"{kind}_faults", "integer", f"rejected replies of the seat, of kind {kind}") for kind in KINDS),
    Column("forfeits", "integer", "how often the seat used up its retries"),
    Column("lost_by", "text", "kind of the fault by which the seat ended the match: format, rule or time"),
    Column("moves", "integer", "moves of the seat, including those that a rule made for it (fallbacks)"),
    Column("fallbacks", "integer", "moves of the seat that a rule made, because no reply was usable"),
    Column("has_fallback", "boolean", "true: a rule made a move of either seat"),
    *_alike("decided_by_fallback"),
    Column("answers", "integer", "answers of the seat's model"),
    *(Column(f"tokens_{name}", "number", f"tokens of its answers: {name}", "tokens") for name in COUNTED),
    Column("cost", "number", "cost of its answers at list price, cached ones included", DOLLARS),
    Column("seconds", "number", "time of its answers at the endpoint", "s"),
    Column("started", "time", "when the match started", "UTC"),
    Column("version", "text", "version of negolab that played it"),
]

TURNS: Columns = [
    MATCH,
    Column("turn", "integer", "number of the reply in its match, from 0"),
    Column("seat", "text", "seat of the reply: A or B"),
    Column("player", "text", "player in that seat"),
    Column("text", "text", "the text as received; empty: no answer"),
    Column("legal", "boolean", "true: it was a legal action"),
    Column("codes", "text", "codes of the rejection, separated by spaces"),
    Column("kind", "text", "kind of the rejection: format, rule or time"),
    Column("reason", "text", "reason for the rejection, as given to its author"),
    Column("via", "text", "channel of the text"),
    Column("model", "text", "the model that answered, as its endpoint names it"),
    Column("latency", "number", "time from the question to the answer", "s"),
    Column("cost", "number", "cost of the answer at list price", DOLLARS),
    *(Column(f"tokens_{name}", "integer", f"tokens of the answer: {name}", "tokens") for name in TOKENS),
]

REPLIES: Columns = [
    *TURNS,
    Column("finish", "text", "why the model stopped"),
    Column("queued", "number", "time of waiting for admission", "s"),
    Column("attempts", "integer", "number of times it was sent"),
    Column("fingerprint", "text", "the endpoint's name for its build of the model"),
    Column("replayed", "boolean", "true: from another run's cache, so not paid for again"),
    Column("request_id", "text", "the endpoint's id of the request"),
]

PROPOSALS: Columns = [
    MATCH,
    Column("turn", "integer", "the reply that made it, as in turns"),
    Column("seat", "text", "seat that made it: A or B"),
    Column("player", "text", "player in that seat"),
    Column("number", "integer", "number of the proposal among those of its seat, from 1"),
    Column("first", "boolean", "true: the first proposal of the match"),
    Column("own_payoff", "amount", "what it would have paid its author by itself, if accepted", STAKES),
    Column("other_payoff", "amount", "what it would have paid the other seat by itself", STAKES),
    Column("own_total", "amount", "its author's payoff or gain then, earlier rounds or trades included", STAKES),
    Column("other_total", "amount", "the same for the other seat", STAKES),
    Column("covered", "boolean", "false: the other seat did not have what it asks for, so it could not be accepted"),
    Column("concession", "amount", CONCEDED, STAKES),
    Column("price_cents", "integer", "the price that it names", "cents"),
    Column("package", "json", "who would get what, in games without a price"),
]

ROUNDS: Columns = [
    *_alike("match", "draw"),
    Column("round", "integer", "number of the round, from 1"),
    Column("first", "text", "seat that spoke first in it"),
    Column("agreed", "boolean", "true: its division was agreed"),
    Column("stock", "json", "units of each item to divide"),
    Column("best", "amount", "largest sum of both seats' points in it", UNIT),
    Column("efficiency", "amount", "sum of both seats' points / best"),
    *_by_seat("values", "json", "value of a unit of each item to seat {}, as drawn"),
    *_by_seat("asks", "json", "units that seat {} proposed to keep; empty: none"),
    *_by_seat("shares", "json", "units that seat {} got"),
    *_by_seat("points", "amount", "points of seat {} in it", UNIT),
    *_by_seat("honest", "boolean", "true: the last statement of seat {} about its hand or values was true"),
]

UTTERANCES: Columns = [
    *_alike("match", "draw"),
    Column("turn", "integer", "the reply that says it, as in turns"),
    Column("seat", "text", "seat of the speaker: A or B"),
    Column("role", "text", "role of the seat, such as buyer"),
    Column("player", "text", "player in that seat"),
    Column("text", "text", "talk of an accepted reply, without the parts that the rules interpret"),
    Column("offer", "json", "the offer that it came with: a price, or who gets what"),
    Column("own_value", "value", f"what its author knew: {OWN_VALUE}"),
    Column("own_offer_payoff", "amount", "what the author's previous offer would have paid the author", STAKES),
    Column("other_offer_payoff", "amount", "what the other seat's last offer would have paid the author", STAKES),
    Column("claim", "text", "truth of its claim about its author's values, computed; empty: no claim"),
    Column("leak", "boolean", "true: it reveals a value of its author that the rules keep secret, computed"),
    *_alike("end"),
    Column("payoff", "amount", "final payoff of its author; empty: no payoff", UNIT),
]

FORMULAS: dict[str, tuple[str, str]] = {
    "joint": ("gain of A + gain of B", ""),
    "possible": ("largest joint payoff - both seats' payoffs without a deal; at least 0", ""),
    "efficiency": ("joint / possible; 0 without a deal", ""),
    "frontier_distance": ("Euclidean distance of (payoff of A, payoff of B) to the nearest point of the frontier", ""),
    "nash_distance": ("Euclidean distance to the point with the largest product of gains", "Nash 1950"),
    "kalai_smorodinsky_distance": (
        "Euclidean distance to the frontier's point on the line to both ideal gains",
        "Kalai and Smorodinsky 1975",
    ),
    "seconds_to_deal": ("time of the last answer - time of the first question", ""),
    "loss_no_deal": ("possible, without a deal; else 0", ""),
    "loss_bad_deal": ("possible - joint gain of the agreed deal in the first turn", ""),
    "loss_delay": ("joint gain of the agreed deal in the first turn - joint", ""),
    "gain": ("payoff - payoff without a deal", ""),
    "surplus_share": ("gain / joint, where joint is above 0", ""),
    "first_offer_share": ("gain of the first proposal / largest gain in the zone", "Galinsky and Mussweiler 2001"),
    "concession": ("(first claim - last claim) / (number of claims - 1)", ""),
}
"""Formula and source of the general measures that words alone do not define."""
