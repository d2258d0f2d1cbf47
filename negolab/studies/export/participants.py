"""The tables `participants` (one row per person invited), `answers` and `consents`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from math import isfinite
from typing import Any

from negolab.analysis.columns import Column
from negolab.events import Rejected, Replied
from negolab.studies.database import Participant
from negolab.studies.export import payments
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
        *payments.columns(source),
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
        **payments.row(source, p, mine),
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


def consent_columns(source: Source) -> list[Column]:
    """Return the columns of `consents`."""
    return [
        Column("study", "text", "the study's name"),
        Column("consent", "text", "version of the text: the first 12 digits of its SHA-256"),
        Column("since", "time", "when the study was first served with it", "UTC"),
        Column("text", "text", "what people were asked to agree to"),
    ]


def consent_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `consents`, oldest text first."""
    for note in source.consents:
        about = {"study": source.study.name, "consent": version_hash(note.detail)}
        yield {**about, "since": note.at, "text": note.detail}


def answer_columns(source: Source) -> list[Column]:
    """Return the columns of `answers`."""
    return [
        Column("study", "text", "the study's name"),
        Column("participant", "integer", "number of the participant in the study"),
        Column("question", "text", "name of the question in study.toml"),
        Column("value", "text", "the answer, as it was given"),
        Column("number", "number", 'the answer to a question of kind "number"'),
    ]


def answer_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `answers`, by participant and question."""
    numeric = {question.name for question in source.study.asked() if question.kind == "number"}
    for participant, answers in source.answers.items():
        for name, value in sorted(answers.items()):
            own = {"question": name, "value": value, "number": _number(value) if name in numeric else None}
            yield {"study": source.study.name, "participant": participant, **own}


def page_columns() -> list[Column]:
    """Return the columns of `pages`."""
    return [
        Column("study", "text", "the study's name"),
        Column("participant", "integer", "number of the participant in the study"),
        Column("page", "integer", "number of the page among those of their treatment, from 1"),
        Column("step", "text", "kind of its step, as in study.toml"),
        Column("reached", "time", "when they reached it", "UTC"),
        Column("seconds", "number", "time until they reached the next page; empty: they did not", "s"),
    ]


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


def quiz_columns() -> list[Column]:
    """Return the columns of `quiz`."""
    return [
        Column("study", "text", "the study's name"),
        Column("participant", "integer", "number of the participant in the study"),
        Column("question", "text", "name of the comprehension question in study.toml"),
        Column("attempt", "integer", "number of the attempt, from 1"),
        Column("value", "text", "the answer, as it was given"),
        Column("right", "boolean", "true: it was the right one"),
        Column("time", "time", "when it was given", "UTC"),
    ]


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
