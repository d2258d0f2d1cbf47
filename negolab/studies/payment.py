"""Payment of a study: the table `[payment]` of its file, and how a participant's amount is computed.

Arithmetic is exact, and amounts are integers in the smallest unit of the currency. The amounts of all matches that
count are added up, and only the sum is rounded, to the nearest multiple of `rounding`, ties up. The amount from a
single match is rounded for display; the part `rounding` makes the parts add up to the total.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import floor
from typing import Literal

import msgspec

from negolab._internal.validation import TomlTable
from negolab.formatting import MINUS, display_unit
from negolab.studies.endings import Ending
from negolab.studies.texts import table_texts

Payoff = int | float | Fraction | None
"""Payoff of a match in the game's unit; None: nothing was paid."""

_RATE = re.compile(r"[0-9]{1,12}([.][0-9]{1,12})?|[0-9]{1,12}/[1-9][0-9]{0,11}")

_FINEST = 10**6
"""Largest denominator of a payoff: a game's fractions arrive as floats, and 1/3 must be 1/3 again."""


class Currency(msgspec.Struct, frozen=True):
    """A currency: its ISO 4217 code, the digits of its smallest unit, and its symbol."""

    code: str
    digits: int
    symbol: str

    def units(self, amount: int) -> Decimal:
        """Convert an amount from smallest units to whole units."""
        return Decimal(amount).scaleb(-self.digits)

    def plain(self, amount: int) -> str:
        """Write an amount with a decimal point and nothing else, for files.

        >>> Currency("GBP", 2, "£").plain(450)
        '4.50'
        """
        return f"{self.units(amount):.{self.digits}f}"

    def text(self, amount: int) -> str:
        """Write an amount for people.

        >>> Currency("GBP", 2, "£").text(-123450), Currency("CHF", 2, "CHF").text(450)
        ('−£1,234.50', 'CHF 4.50')
        """
        space = " " if self.symbol.isalpha() else ""
        return f"{MINUS if amount < 0 else ''}{self.symbol}{space}{abs(self.units(amount)):,.{self.digits}f}"


@cache
def currency(code: str) -> Currency:
    """Return the currency with an ISO 4217 code, such as "GBP"; `ValueError` if there is none."""
    # Imported late: participants' kernels get amounts with their currency and do not need a table of all currencies.
    from babel.numbers import get_currency_precision, get_currency_symbol, is_currency

    if not is_currency(code):
        raise ValueError(f'currency must be a three-letter code, such as "GBP", "EUR" or "USD", not {code!r}')
    return Currency(code, get_currency_precision(code), get_currency_symbol(code, locale="en"))


class Payment(TomlTable, frozen=True):
    """Payment of the participants, in units of the currency, such as 2.50."""

    currency: str
    """ISO 4217 code."""
    rate: float | str
    """Amount for one unit of payoff, as the game counts it (`Game.unit`; money in cents): a number, or a fraction in
    quotes, such as "1/300"."""
    show_up: float = 0
    """Fee for everybody who completes the study."""
    counts: Literal["all", "one"] = "all"
    """Matches that are paid: all, or one drawn for each participant from the study's seed."""
    rounding: float | None = None
    """Smallest amount paid, such as 0.10; None: the currency's smallest unit."""
    floor: float = 0
    """Smallest total for anybody who completes the study."""
    cap: float | None = None
    """Largest total for anybody who completes the study; None: no limit."""
    endings: dict[Ending, float] = {}
    """Fixed amount for each way of ending. "complete" pays it in addition to the fee and matches; any other way,
    instead of them. If left out, "error" pays `show_up`, and the others pay nothing."""

    def __post_init__(self) -> None:
        _ = self.money, self.exact_rate
        for name in ("show_up", "floor", "cap", "rounding"):
            if (value := getattr(self, name)) is not None:
                self._smallest(value, name)
        for ending, value in self.endings.items():
            self._smallest(value, f"endings.{ending}")
        if self.rounding is not None and self.rounding <= 0:
            raise ValueError(f"rounding must be above 0, not {self.rounding:g}")
        if self.cap is not None and self.cap < max(self.floor, self.show_up):
            raise ValueError(f"cap must be at least floor and show_up, not {self.cap:g}")

    @property
    def money(self) -> Currency:
        """The currency."""
        return currency(self.currency)

    @property
    def exact_rate(self) -> Fraction:
        """The rate as an exact fraction, as given in the file."""
        if isinstance(self.rate, str):
            valid = _RATE.fullmatch(self.rate) is not None
        else:
            valid = 0 <= self.rate < 1e12
        if not valid:
            raise ValueError(f'rate must be a number of 0 or more, or a fraction such as "1/300", not {self.rate!r}')
        return Fraction(self.rate if isinstance(self.rate, str) else repr(self.rate))

    def _smallest(self, value: float, name: str) -> int:
        """Convert an amount in the file to smallest units; `ValueError` unless that is a nonnegative whole number."""
        amount = Decimal(repr(value)).scaleb(self.money.digits) if 0 <= value < 1e12 else Decimal("0.5")
        if amount != int(amount):
            finest = f"{self.money.plain(1)} {self.currency}"
            raise ValueError(f"{name} must be 0 or a positive multiple of {finest}, not {value!r}")
        return int(amount)

    def amount(self, name: Literal["show_up", "floor", "cap", "rounding"]) -> int | None:
        """Return an option in smallest units; None if it is not set."""
        value = getattr(self, name)
        return None if value is None else self._smallest(value, name)

    def for_ending(self, ending: Ending) -> int:
        """Return the fixed amount for a way of ending, in smallest units."""
        default = self.show_up if ending == "error" else 0  # an error is nobody's fault, and costs nobody the fee
        return self._smallest(self.endings.get(ending, default), f"endings.{ending}")

    def worth(self, payoff: Payoff) -> Fraction:
        """Return the exact worth of a payoff, in smallest units."""
        if payoff is None:
            return Fraction(0)
        exact = Fraction(payoff).limit_denominator(_FINEST) if isinstance(payoff, float) else Fraction(payoff)
        return exact * self.exact_rate * Fraction(10**self.money.digits)


class MatchEarnings(msgspec.Struct, frozen=True):
    """A finished match in a participant's earnings."""

    payoff: int | float | None
    """Payoff in the game's unit; None: nothing was paid."""
    counts: bool
    """True if it is paid; False if another one was drawn."""
    amount: int
    """Amount earned, rounded to smallest units, ties up; 0 if it does not count."""
    text: str = ""
    """The payoff in the game's own words; "" if the game has none, and the payoff is written with its unit."""


class Earnings(msgspec.Struct, frozen=True, kw_only=True):
    """Earnings of a participant in smallest units of the currency, in parts that add up to `total`."""

    currency: Currency
    ending: Ending
    unit: str
    """Unit of payoffs; "" if the game has its own words for them."""
    rate: str
    """Amount in units of the currency for one unit of payoff, as a fraction."""
    fee: int = 0
    matches: tuple[MatchEarnings, ...] = ()
    """Finished matches in the order played, without practice; () unless the participant completed the study."""
    extra: int = 0
    """Fixed amount for the way of ending."""
    rounding: int = 0
    """Change due to rounding."""
    limit: int = 0
    """Change due to the floor (positive) or the cap (negative)."""
    total: int

    @property
    def bonus(self) -> int:
        """Amount beyond the fee, which the panel itself pays; 0 if losses ate into the fee."""
        return max(0, self.total - self.fee)

    @property
    def from_matches(self) -> int:
        """Total amount earned in the matches."""
        return sum(match.amount for match in self.matches)

    def text(self, amount: int) -> str:
        """Write an amount with its currency."""
        return self.currency.text(amount)

    def exchange(self) -> tuple[str, str]:
        """Return two amounts of equal worth, without fractions: one in the game, with its unit, and one of money.

        >>> earnings(Payment("GBP", 0.01), "complete", [], unit="points", seed=0).exchange()
        ('100 points', '£1.00')
        """
        name, size = display_unit(self.unit)
        worth = Fraction(self.rate) * size
        count = worth.denominator if worth.denominator > 1 or not worth else 10
        points = table_texts.AMOUNT.format(amount=f"{count:,}", unit=table_texts["units"].get(name, name))
        return points, self.text(int(worth * count) * 10**self.currency.digits)


def earnings(
    payment: Payment,
    ending: Ending,
    payoffs: Sequence[Payoff],
    *,
    unit: str,
    seed: int,
    write: Callable[[int | float | None], str] | None = None,
) -> Earnings:
    """Compute what a participant earned.

    Args:
        payment: The study's payment.
        ending: Way in which the study ended for them.
        payoffs: Their payoffs from all finished matches in order, without practice.
        unit: Unit of payoffs; "" if the game has its own words for them.
        seed: Seed with which the match is drawn; the participant's own.
        write: Writes a payoff in the game's own words; None: it has none.
    """
    extra = payment.for_ending(ending)
    alone = Earnings(
        currency=payment.money, ending=ending, unit=unit, rate=str(payment.exact_rate), extra=extra, total=extra
    )
    if ending != "complete":
        return alone
    drawn = random.Random(seed).randrange(len(payoffs)) if payoffs and payment.counts == "one" else None
    counts = [drawn in (None, at) for at in range(len(payoffs))]
    worth = [payment.worth(payoff) if paid else Fraction(0) for payoff, paid in zip(payoffs, counts, strict=True)]
    plain = [float(payoff) if isinstance(payoff, Fraction) else payoff for payoff in payoffs]
    words = ["" if write is None else write(payoff) for payoff in plain]
    parts = zip(plain, counts, map(_nearest, worth), words, strict=True)
    matches = tuple(MatchEarnings(*part) for part in parts)
    fee, step = payment.amount("show_up") or 0, payment.amount("rounding") or 1
    rounded = _nearest(Fraction(fee + extra + sum(worth), step)) * step
    least, most = payment.amount("floor") or 0, payment.amount("cap")
    total = max(rounded, least) if most is None else min(max(rounded, least), most)
    rounding = rounded - fee - extra - sum(match.amount for match in matches)
    return msgspec.structs.replace(
        alone, fee=fee, matches=matches, rounding=rounding, limit=total - rounded, total=total
    )


def _nearest(amount: Fraction) -> int:
    """Round to the nearest integer, ties up (in the participant's favor, even for losses)."""
    return floor(amount + Fraction(1, 2))
