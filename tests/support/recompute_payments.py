"""Recompute the payments of a study from its exported CSV files, with nothing of negolab: `python FILE FOLDER`."""

from __future__ import annotations

import csv
import sys
import tomllib
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

HALF = Decimal("0.5")


def nearest(amount: Decimal, step: Decimal) -> Decimal:
    """Round to a multiple of `step`, ties up."""
    return (amount / step + HALF).to_integral_value(ROUND_FLOOR) * step


def amount(text: str) -> Decimal:
    return Decimal(text or "0")


def read(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def differences(folder: Path) -> list[str]:
    """Return every participant whose payment is not what the study file and the matches say."""
    study: dict[str, Any] = tomllib.loads((folder / "study.toml").read_text("utf-8"), parse_float=Decimal)
    payment = study["payment"]
    over, _, under = str(payment["rate"]).partition("/")
    cent, under = Decimal("0.01"), under or "1"
    matches = {match["match"]: match for match in read(folder, "matches")}
    wrong = []
    for person in read(folder, "participants"):
        left_out = payment.get("show_up", 0) if person["status"] == "error" else 0
        fixed = Decimal(payment.get("endings", {}).get(person["status"], left_out))
        if not person["ended"] or person["status"] in ("waiting", "playing"):
            expected = Decimal(0)
        elif person["status"] == "complete":
            paid = [matches[id] for id in person["paid_matches"].split()]
            assert all(match["practice"] == "0" for match in paid)
            number = person["participant"]
            seats = ["a" if match["participant_a"].split(".")[0] == number else "b" for match in paid]
            payoffs = [amount(match[f"payoff_{seat}"]) for match, seat in zip(paid, seats, strict=True)]
            worth = [payoff * Decimal(over) / Decimal(under) for payoff in payoffs]
            exact = Decimal(payment.get("show_up", 0)) + fixed + sum(worth)
            expected = nearest(exact, Decimal(payment.get("rounding", cent)))
            expected = max(expected, Decimal(payment.get("floor", 0)))
            expected = min(expected, Decimal(payment.get("cap", expected)))
            if sum(nearest(one, cent) for one in worth) != amount(person["pay_matches"]):
                wrong.append(f"participant {number}: matches brought {person['pay_matches']}")
        else:
            expected = fixed
        parts = sum(amount(person[f"pay_{name}"]) for name in ("fee", "matches", "extra", "rounding", "limit"))
        if not expected == parts == amount(person["pay_total"]):
            wrong.append(f"participant {person['participant']}: {person['pay_total']}, parts {parts}, not {expected}")
        fee = amount(person["pay_fee"])
        if person["bonus"] and amount(person["bonus"]) != max(Decimal(0), expected - fee):
            wrong.append(f"participant {person['participant']}: bonus {person['bonus']}")
    return wrong


if __name__ == "__main__":
    print("\n".join(differences(Path(sys.argv[1]))))
