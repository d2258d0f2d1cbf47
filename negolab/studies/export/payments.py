"""Columns of `participants` on payment; what was earned stands in units of the currency."""

from __future__ import annotations

from typing import Any

from negolab.analysis.columns import Column
from negolab.studies.database import Participant
from negolab.studies.export.source import Played, Source


def columns(source: Source) -> list[Column]:
    """Return the columns; none if the study does not pay."""
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


def row(source: Source, person: Participant, mine: list[Played]) -> dict[str, Any]:
    """Return the values of the columns for one participant.

    Args:
        source: The data of the study.
        person: The participant.
        mine: Their matches.
    """
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
