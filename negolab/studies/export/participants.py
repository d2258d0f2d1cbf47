"""The tables `participants` (one row per person invited), `answers` and `consents`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from math import isfinite
from typing import Any

from negolab.analysis.columns import Column
from negolab.events import Rejected, Replied
from negolab.studies.database import Participant
from negolab.studies.export.source import Played, Source
from negolab.studies.study_config import version_hash


def columns(source: Source) -> list[Column]:
    """Return the columns of `participants`."""
    return [
        Column("study", "text", "the study's name"),
        Column("participant", "integer", "number of the participant in the study, from 1"),
        Column("link", "text", "one: a link of their own; open: they came by the open link; test: by one for tests"),
        Column("treatment", "text", "treatment they were assigned to; empty: they have not started"),
        Column("status", "text", "invited, waiting, playing, or how it ended for them"),
        Column("begun", "boolean", "true: they pressed Start; the others took no place in a treatment"),
        Column("acted", "boolean", "true: they replied in the real match; the others are no data"),
        Column("invited", "time", "when their link was made", "UTC"),
        Column("opened", "time", "when they first opened the study", "UTC"),
        Column("consented", "time", "when they gave their consent", "UTC"),
        Column("consent", "text", "version of the text they agreed to, as in consents"),
        Column("started", "time", "when they pressed Start", "UTC"),
        Column("ended", "time", "when it ended for them", "UTC"),
        Column("practice", "integer", "practice matches they played to their end by the rules"),
        Column("match", "text", "their real match; empty: they had none"),
        Column("seat", "text", "where they sat in it: A or B"),
        Column("replies", "integer", "their replies in it, refused ones included"),
        Column("rejected", "integer", "their refusals in it: replies that were no legal action"),
        Column("payoff", "number", "what it paid them; empty: it paid nothing", source.unit),
        Column("code", "text", "the completion code they were shown"),
        Column("external", "text", "salted hash of the id an outside panel gave them"),
        *_payment_columns(source),
    ]


def rows(source: Source) -> Iterator[dict[str, Any]]:
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
    """Return the columns on payment; none if the study does not pay."""
    if source.study.payment is None:
        return []
    unit = source.study.payment.currency
    return [
        Column("returned", "boolean", "true: their panel took them out; they hold no place in a treatment"),
        Column("pay_currency", "text", "currency of the amounts, by ISO 4217"),
        Column("pay_fee", "number", "fee for taking part; empty here and below: the study is not over for them", unit),
        Column("pay_matches", "number", "what the matches that count brought, each rounded by itself", unit),
        Column("paid_matches", "text", "the matches that count, by spaces"),
        Column("pay_extra", "number", "fixed amount for how it ended for them", unit),
        Column("pay_rounding", "number", "change by rounding", unit),
        Column("pay_limit", "number", "change by the floor or the cap", unit),
        Column("pay_total", "number", "what they earned: the sum of the amounts before", unit),
        Column("bonus", "number", "amount for them in a file of bonuses; empty: none was written", unit),
        Column("bonus_written", "time", "when that file was made", "UTC"),
    ]


def _payment(source: Source, person: Participant, mine: list[Played]) -> dict[str, Any]:
    """Return the values of the columns on payment; what was earned stands in units of the currency."""
    if source.study.payment is None:
        return {}
    earned, bonus = source.earnings.get(person.id), source.bonuses.get(person.id)
    about = {"returned": person.id in source.returned, "pay_currency": source.study.payment.currency}
    if bonus is not None:
        about |= {"bonus": _units(source, bonus.amount), "bonus_written": bonus.at}
    if earned is None:
        return about
    played = [match.stored.id for match in mine if not match.stored.practice and match.finished]
    counted = [id for id, match in zip(played, earned.matches, strict=False) if match.counts]
    return about | {
        "pay_fee": _units(source, earned.fee),
        "pay_matches": _units(source, earned.from_matches),
        "paid_matches": " ".join(counted) or None,
        "pay_extra": _units(source, earned.extra),
        "pay_rounding": _units(source, earned.rounding),
        "pay_limit": _units(source, earned.limit),
        "pay_total": _units(source, earned.total),
    }


def _units(source: Source, amount: int) -> float:
    assert source.study.payment is not None
    return float(source.study.payment.money.units(amount))


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
        about = {"study": source.study.name, "consent": version_hash(note.detail)}
        yield {**about, "since": note.at, "text": note.detail}


ANSWER_COLUMNS = [
    Column("study", "text", "the study's name"),
    Column("participant", "integer", "number of the participant in the study"),
    Column("question", "text", "name of the question in study.toml"),
    Column("value", "text", "the answer, as it was given"),
    Column("number", "number", 'the answer to a question of kind "number"'),
]
"""Columns of `answers`."""


def answer_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `answers`, by participant and question."""
    numeric = {question.name for question in source.study.asked() if question.kind == "number"}
    for participant, answers in source.answers.items():
        for name, value in sorted(answers.items()):
            own = {"question": name, "value": value, "number": _number(value) if name in numeric else None}
            yield {"study": source.study.name, "participant": participant, **own}


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
    Column("value", "text", "the answer, as it was given"),
    Column("right", "boolean", "true: it was the right one"),
    Column("time", "time", "when it was given", "UTC"),
]
"""Columns of `quiz`."""


def quiz_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `quiz`, by participant and time."""
    for participant, attempts in source.attempts.items():
        for one in attempts:
            answer = {"question": one.name, "attempt": one.attempt, "value": one.value, "right": one.is_right}
            yield {"study": source.study.name, "participant": participant, **answer, "time": one.at}


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None
