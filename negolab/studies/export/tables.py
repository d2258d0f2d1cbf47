"""The tables that only studies have, such as `participants` (one row per person invited) and `events` (one row per
event), and what a study knows about a match beyond its record."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any

from negolab.analysis.columns import Column
from negolab.analysis.table_columns import MATCH
from negolab.events import Ended, Event, Rejected, Replied, Stepped
from negolab.formatting import parse_number
from negolab.game import SEATS
from negolab.record import encode_event
from negolab.studies.database import Participant
from negolab.studies.export.source import Played, Source
from negolab.studies.study_config import version_hash


def participant_columns(source: Source) -> list[Column]:
    """Return the columns of `participants`."""
    return [
        Column("study", "text", "the study's name"),
        Column("participant", "integer", "number of the participant in the study, from 1"),
        Column("link", "text", "one: a personal link; open: the open link; test: a test link"),
        Column("treatment", "text", "treatment they were assigned to; empty: they have not started"),
        Column("status", "text", "invited, waiting, playing, or how it ended for them"),
        Column("begun", "boolean", "true: they pressed Start; the others took no place in a treatment"),
        Column("acted", "boolean", "true: they replied in the real match; the others provide no data"),
        Column("invited", "time", "when their link was made", "UTC"),
        Column("opened", "time", "when they first opened the study", "UTC"),
        Column("consented", "time", "when they gave their consent", "UTC"),
        Column("consent", "text", "version of the text they agreed to, as in consents"),
        Column("started", "time", "when they pressed Start", "UTC"),
        Column("ended", "time", "when it ended for them", "UTC"),
        Column("practice", "integer", "practice matches they played to their end by the rules"),
        Column("match", "text", "their real match; empty: they had none"),
        Column("seat", "text", "their seat in it: A or B"),
        Column("replies", "integer", "their replies in it, including refused ones"),
        Column("rejected", "integer", "their refusals in it: replies that were not a legal action"),
        Column("payoff", "number", "their payoff; empty: no payoff", source.game.unit),
        Column("code", "text", "the completion code they were shown"),
        Column("external", "text", "salted hash of the id an outside panel gave them"),
        *_payment_columns(source),
    ]


def participant_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `participants`, by number."""
    for person in source.participants:
        mine = [played for played in source.matches if person.number in played.numbers.values()]
        yield _row(source, person, mine)


def _row(source: Source, p: Participant, mine: list[Played]) -> dict[str, Any]:
    real = [played for played in mine if not played.stored.practice]
    match = _match(p.number, real[-1]) if real else {"replies": 0, "rejected": 0}
    return {
        "study": p.study,
        "participant": p.number,
        "link": p.link,
        "treatment": p.treatment,
        "status": p.status,
        "begun": p.started is not None,
        "acted": match["replies"] > 0,
        "invited": p.created,
        "opened": p.opened,
        "consented": p.consented,
        "consent": p.consent,
        "started": p.started,
        "ended": p.ended,
        "practice": sum(played.stored.practice > 0 and played.finished for played in mine),
        **match,
        "code": next((code for ending, code in source.study.codes.items() if ending == p.status), None),
        "external": p.external,
        **_payment(source, p, mine),
    }


def _match(number: int, played: Played) -> dict[str, Any]:
    """Return the columns about a participant's real match."""
    (seat,) = (seat for seat, who in played.numbers.items() if who == number)
    own = [event for event in played.record.events if isinstance(event, Replied | Rejected) and event.seat == seat]
    replies = sum(isinstance(event, Replied) for event in own)
    return {
        "match": played.stored.id,
        "seat": seat,
        "replies": replies,
        "rejected": len(own) - replies,
        "payoff": played.record.payoffs[seat],
    }


def _payment_columns(source: Source) -> list[Column]:
    """Return the columns about payment; none if the study does not pay."""
    if source.study.payment is None:
        return []
    unit = source.study.payment.currency
    return [
        Column("returned", "boolean", "true: their panel removed them; they have no place in a treatment"),
        Column("pay_currency", "text", "currency of the amounts, by ISO 4217"),
        Column("pay_fee", "number", "fee for taking part; empty here and below: the study is not over for them", unit),
        Column("pay_matches", "number", "pay for the matches that count, each rounded separately", unit),
        Column("paid_matches", "text", "the matches that count, separated by spaces"),
        Column("pay_extra", "number", "fixed amount for how it ended for them", unit),
        Column("pay_rounding", "number", "change by rounding", unit),
        Column("pay_limit", "number", "change by the floor or the cap", unit),
        Column("pay_total", "number", "what they earned: the sum of the amounts before", unit),
        Column("bonus", "number", "amount for them in a file of bonuses; empty: none was written", unit),
        Column("bonus_written", "time", "when that file was made", "UTC"),
    ]


def _payment(source: Source, person: Participant, mine: list[Played]) -> dict[str, Any]:
    """Return the values of the columns about payment; amounts earned are in units of the currency."""
    payment = source.study.payment
    if payment is None:
        return {}
    earned, bonus = source.earnings.get(person.id), source.bonuses.get(person.id)
    about: dict[str, Any] = {"returned": person.id in source.returned, "pay_currency": payment.currency}
    amounts: dict[str, int] = {}
    if bonus is not None:
        amounts["bonus"], about["bonus_written"] = bonus.amount, bonus.at
    if earned is not None:
        played = [match.stored.id for match in mine if not match.stored.practice and match.finished]
        counted = [id for id, match in zip(played, earned.matches, strict=False) if match.counts]
        about["paid_matches"] = " ".join(counted) or None
        amounts |= {
            "pay_fee": earned.fee,
            "pay_matches": earned.from_matches,
            "pay_extra": earned.extra,
            "pay_rounding": earned.rounding,
            "pay_limit": earned.limit,
            "pay_total": earned.total,
        }
    return about | {name: float(payment.money.units(amount)) for name, amount in amounts.items()}


CONSENT_COLUMNS = [
    Column("study", "text", "the study's name"),
    Column("consent", "text", "version of the text: the first 12 digits of its SHA-256"),
    Column("since", "time", "when the study was first served with it", "UTC"),
    Column("text", "text", "what people were asked to agree to"),
]
"""Columns of `consents`."""


def consent_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `consents`, oldest text first."""
    for note in source.consents:
        yield {
            "study": source.study.name,
            "consent": version_hash(note.detail),
            "since": note.at,
            "text": note.detail,
        }


ANSWER_COLUMNS = [
    Column("study", "text", "the study's name"),
    Column("participant", "integer", "number of the participant in the study"),
    Column("question", "text", "name of the question in study.toml"),
    Column("value", "text", "the answer as given"),
    Column("number", "number", 'the answer to a question of kind "number"'),
]
"""Columns of `answers`."""


def answer_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `answers`, by participant and question."""
    numeric = {question.name for question in source.study.asked() if question.kind == "number"}
    for participant, answers in source.answers.items():
        for name, value in sorted(answers.items()):
            yield {
                "study": source.study.name,
                "participant": participant,
                "question": name,
                "value": value,
                "number": parse_number(value) if name in numeric else None,
            }


PAGE_COLUMNS = [
    Column("study", "text", "the study's name"),
    Column("participant", "integer", "number of the participant in the study"),
    Column("page", "integer", "number of the page among those of their treatment, from 1"),
    Column("step", "text", "kind of its step, as in study.toml"),
    Column("reached", "time", "when they reached it", "UTC"),
    Column("seconds", "number", "time until they reached the next page; empty: they did not", "s"),
]
"""Columns of `pages`."""


def page_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `pages`, by participant."""
    for participant, reached in source.reached.items():
        for page, then in zip_longest(reached, reached[1:]):
            yield {
                "study": source.study.name,
                "participant": participant,
                "page": page.position + 1,
                "step": page.step,
                "reached": page.at,
                "seconds": None if then is None else round(then.at - page.at, 6),
            }


QUIZ_COLUMNS = [
    Column("study", "text", "the study's name"),
    Column("participant", "integer", "number of the participant in the study"),
    Column("question", "text", "name of the comprehension question in study.toml"),
    Column("attempt", "integer", "number of the attempt, from 1"),
    Column("value", "text", "the answer as given"),
    Column("right", "boolean", "true: it was the right one"),
    Column("time", "time", "when it was given", "UTC"),
]
"""Columns of `quiz`."""


def quiz_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `quiz`, by participant and time."""
    for participant, attempts in source.attempts.items():
        for one in attempts:
            yield {
                "study": source.study.name,
                "participant": participant,
                "question": one.name,
                "attempt": one.attempt,
                "value": one.value,
                "right": one.is_right,
                "time": one.at,
            }


_EXPERIMENT = [
    Column("study", "text", "the study's name"),
    Column("treatment", "text", "treatment of the match"),
    Column("practice", "integer", "practice round, from 1; 0: the real match"),
]

KEYS = [
    *_EXPERIMENT,
    *(Column(f"participant_{seat.lower()}", "integer", f"participant at seat {seat}; empty: none") for seat in SEATS),
    *(
        Column(
            f"round_{seat.lower()}",
            "integer",
            f"number of the match among those that count of participant_{seat.lower()}",
        )
        for seat in SEATS
    ),
    Column("began", "time", "when the match started", "UTC"),
    Column("ended", "time", "when it ended; empty: it is running", "UTC"),
    Column("seconds", "number", "from the start to the end", "s"),
    Column("events", "integer", "number of its events"),
    Column("disclosure", "text", "what participants were told about the other side; empty: nothing"),
    Column("fallback", "text", "the player that took over from a model that failed; end: the match was stopped"),
    Column("fallback_reason", "text", "why the model failed"),
    Column("withdrawn", "boolean", "true: text was deleted because a participant withdrew; not in records.jsonl"),
]
"""Columns of `matches` in addition to those of any export."""


def match_keys(played: Played) -> dict[str, Any]:
    """Return the values of `KEYS`."""
    stored = played.stored
    return {
        **_experiment(played),
        **{f"participant_{seat.lower()}": played.numbers.get(seat) for seat in SEATS},
        **{f"round_{seat.lower()}": played.rounds.get(seat) for seat in SEATS},
        "began": stored.created,
        "ended": stored.ended,
        "seconds": None if stored.ended is None else round(stored.ended - stored.created, 6),
        "events": len(played.record.events),
        "disclosure": played.disclosure or None,
        "fallback": None if played.fallback is None else played.fallback.player or "end",
        "fallback_reason": None if played.fallback is None else played.fallback.reason,
        "withdrawn": played.purged,
    }


def _experiment(played: Played) -> dict[str, Any]:
    stored = played.stored
    return {"study": stored.study, "treatment": stored.treatment, "practice": stored.practice}


def event_columns(source: Source) -> list[Column]:
    """Return the columns of `events`."""
    return [
        *_EXPERIMENT,
        MATCH,
        Column("seq", "integer", "number of the event in its match, from 0"),
        Column("time", "time", "when the event was saved", "UTC"),
        Column("seconds", "number", "time since the event before it in the match", "s"),
        Column("kind", "text", "dealt, replied, rejected, stepped, forfeited or ended"),
        Column("seat", "text", "seat of the event: A or B; AB: both seats' actions were played at once"),
        Column("participant", "integer", "number of the participant at that seat; empty: a scripted player, or nobody"),
        Column("text", "text", "replied: the text as received; [withdrawn] if a participant withdrew"),
        Column("via", "text", "replied: channel of the text"),
        Column("codes", "text", "rejected: codes, separated by spaces"),
        Column("fault", "text", "rejected: format, rule or time"),
        Column("reason", "text", "rejected: reason given to its author; ended: reason that the match was stopped"),
        Column("end", "text", "ended: AGREED, NO_DEAL, OUT_OF_TIME, FORFEIT or ABORTED"),
        Column("payoff_a", "number", "ended: payoff of seat A; empty: no payoff", source.game.unit),
        Column("payoff_b", "number", "ended: payoff of seat B; empty: no payoff", source.game.unit),
        Column("body", "json", "the whole event, as in records.jsonl"),
    ]


def event_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `events`, match by match."""
    return chain.from_iterable(map(_rows, source.matches))


def _rows(played: Played) -> Iterator[dict[str, Any]]:
    before = None
    for seq, (event, time) in enumerate(zip(played.record.events, played.times, strict=False)):
        seat = getattr(event, "seat", None)
        yield {
            **_experiment(played),
            "match": played.stored.id,
            "seq": seq,
            "time": time,
            "seconds": None if before is None else round(time - before, 6),
            "seat": seat,
            "participant": played.numbers.get(seat) if seat else None,
            "kind": event.__struct_config__.tag,
            **_told(event),
            "body": encode_event(event).decode(),
        }
        before = time


def _told(event: Event) -> dict[str, Any]:
    """Return the columns that are filled only for events of this kind."""
    match event:
        case Replied(_, reply):
            return {"text": reply.text, "via": reply.via}
        case Rejected(_, invalid):
            return {"codes": " ".join(invalid.codes), "fault": invalid.kind, "reason": invalid.reason}
        case Stepped(seats):
            return {"seat": "".join(seats)}
        case Ended(end, payoffs, reason):
            return {"end": end, "reason": reason, "payoff_a": payoffs["A"], "payoff_b": payoffs["B"]}
    return {}
