"""Payment of a study: how an amount comes about, and the table of the study file."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab.studies.endings import ENDINGS, Ending, completion_link
from negolab.studies.payment import Currency, Earnings, Payment, Payoff, currency, earnings
from tests.studies.test_study_file import BASE, study

POUNDS = Payment("GBP", 0.01)

Payoffs = list[Payoff]


def amounts(most: int = 5000) -> st.SearchStrategy[float]:
    """Amounts of the file in pounds."""
    return st.integers(0, most).map(lambda pence: pence / 100)


@st.composite
def payments(draw: st.DrawFn) -> Payment:
    least, fee = draw(amounts(500)), draw(amounts())
    return Payment(
        "GBP",
        draw(st.sampled_from([0, 0.01, 0.1, 1, 0.015, "1/300", "2/7", "0.001"])),
        show_up=fee,
        counts=draw(st.sampled_from(["all", "one"])),
        rounding=draw(st.sampled_from([None, 0.01, 0.05, 0.1, 1, 0.07])),
        floor=least,
        cap=draw(st.none() | amounts().map(lambda more: round(max(least, fee) + more, 2))),
        endings=draw(st.dictionaries(st.sampled_from(ENDINGS), amounts())),
    )


PAYOFFS = st.lists(
    st.none() | st.integers(-10_000, 10_000) | st.fractions(-100, 100, max_denominator=60) | st.floats(-1e4, 1e4),
    max_size=6,
)


def earned(payment: Payment, payoffs: Payoffs, ending: Ending = "complete", seed: int = 0) -> Earnings:
    return earnings(payment, ending, payoffs, unit="points", seed=seed)


@given(payments(), PAYOFFS, st.sampled_from(get_args(Ending)), st.integers(0, 99))
def test_the_parts_add_up_to_the_total_to_the_penny(p: Payment, payoffs: Payoffs, ending: Ending, seed: int) -> None:
    e = earned(p, payoffs, ending, seed)
    assert e.fee + sum(match.amount for match in e.matches) + e.extra + e.rounding + e.limit == e.total
    assert all(type(part) is int for part in (e.fee, e.extra, e.rounding, e.limit, e.total))


@given(payments(), PAYOFFS)
def test_whoever_completes_gets_no_less_than_the_floor_and_no_more_than_the_cap(p: Payment, payoffs: Payoffs) -> None:
    total = Fraction(earned(p, payoffs).total, 100)
    assert total >= Fraction(str(p.floor))
    assert p.cap is None or total <= Fraction(str(p.cap))


@given(payments(), PAYOFFS, st.data())
def test_a_higher_payoff_never_pays_less(p: Payment, payoffs: Payoffs, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, 5))
    more = [(payoff or 0) + data.draw(st.integers(0, 50)) if i == at else payoff for i, payoff in enumerate(payoffs)]
    assert earned(p, more).total >= earned(p, payoffs).total


@given(payments(), PAYOFFS)
def test_an_amount_is_nearer_to_the_exact_one_than_any_other_that_may_be_paid(p: Payment, payoffs: Payoffs) -> None:
    e = earned(p, payoffs)
    paid = [payoff for payoff, match in zip(payoffs, e.matches, strict=True) if match.counts]
    exact = Fraction(e.fee + e.extra) + sum(map(p.worth, paid))
    step = p.amount("rounding") or 1
    before = e.total - e.limit
    assert before % step == 0
    assert -Fraction(step, 2) < before - exact <= Fraction(step, 2)  # ties go up


@given(payments(), PAYOFFS, st.integers(0, 99))
def test_one_drawn_match_is_paid_alone(p: Payment, payoffs: Payoffs, seed: int) -> None:
    e = earned(msgspec.structs.replace(p, counts="one"), payoffs, seed=seed)
    assert sum(match.counts for match in e.matches) == min(1, len(payoffs))
    assert all(match.amount == 0 for match in e.matches if not match.counts)
    (single,) = [[payoffs[i]] for i, match in enumerate(e.matches) if match.counts] or [[]]
    assert e.total == earned(msgspec.structs.replace(p, counts="all"), single).total


def test_each_match_is_drawn_about_as_often() -> None:
    payment = Payment("GBP", 1, counts="one")
    drawn = [earned(payment, [1, 2, 3, 4], seed=seed).total for seed in range(4000)]
    assert all(900 < drawn.count(100 * pounds) < 1100 for pounds in (1, 2, 3, 4))


@given(payments(), PAYOFFS, st.sampled_from([e for e in ENDINGS if e != "complete"]))
def test_any_other_ending_pays_its_fixed_amount_and_tells_of_no_match(
    p: Payment, payoffs: Payoffs, ending: Ending
) -> None:
    e = earned(p, payoffs, ending)
    left_out = p.show_up if ending == "error" else 0
    assert (e.fee, e.matches, e.total) == (0, (), round(p.endings.get(ending, left_out) * 100))


@given(payments(), PAYOFFS)
def test_earnings_survive_being_stored(p: Payment, payoffs: Payoffs) -> None:
    e = earned(p, payoffs)
    assert msgspec.json.decode(msgspec.json.encode(e), type=Earnings) == e


def test_an_amount_comes_about_in_parts() -> None:
    payment = Payment("GBP", "1/300", show_up=2.0, rounding=0.10, cap=3.5, endings={"complete": 0.25})
    e = earned(payment, [100, 200, None])
    assert [match.amount for match in e.matches] == [33, 67, 0]
    assert (e.fee, e.extra, e.rounding, e.limit, e.total, e.bonus) == (200, 25, 5, 0, 330, 130)
    assert earned(payment, [900]).limit == 530 - 350 - 360
    assert e.exchange() == ("300 points", "£1.00")


def test_many_small_amounts_are_added_before_they_are_rounded() -> None:
    assert earned(Payment("GBP", 0.001), [4] * 10).total == 4


def test_thirds_of_a_stock_make_a_whole_one() -> None:
    assert earned(Payment("GBP", 1, rounding=1), [Fraction(1, 3), 2 / 3, 0.1 + 0.2, 0.2]).total == 200


def test_losses_eat_into_the_fee_down_to_the_floor() -> None:
    e = earned(Payment("GBP", 0.01, show_up=2), [-150])
    assert (e.total, e.bonus) == (50, 0)
    e = earned(Payment("GBP", 0.01, show_up=2), [-350])
    assert (e.limit, e.total) == (150, 0)


def test_money_of_a_game_is_exchanged_in_dollars() -> None:
    e = earnings(Payment("EUR", 0.001), "complete", [5250], unit="cents", seed=0)
    assert (e.total, e.exchange()) == (525, ("10 dollars", "€1.00"))


@pytest.mark.parametrize(
    ("code", "amount", "text", "plain"),
    [("GBP", 123450, "£1,234.50", "1234.50"), ("JPY", -1200, "−¥1,200", "-1200"), ("KWD", 5, "KWD 0.005", "0.005")],
)
def test_amounts_have_the_digits_of_their_currency(code: str, amount: int, text: str, plain: str) -> None:
    assert (currency(code).text(amount), currency(code).plain(amount)) == (text, plain)
    assert isinstance(currency(code), Currency)


PAYMENT = '[payment]\ncurrency = "GBP"\nrate = 0.01\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[payment]\nrate = 1\n", "payment: currency is missing: write currency = ..."),
        ('[payment]\ncurrency = "GBP"\n', "payment: rate is missing: write rate = ..."),
        ('[payment]\ncurrency = "Pound"\nrate = 1\n', "payment: currency must be a three-letter code.*not 'Pound'"),
        ('[payment]\ncurrency = "GBP"\nrate = -1\n', "payment: rate must be a number of 0 or more, or a fraction"),
        ('[payment]\ncurrency = "GBP"\nrate = "1/0"\n', "payment: rate must be a number of 0 or more, .*not '1/0'"),
        ('[payment]\ncurrency = "GBP"\nrate = nan\n', "payment: rate must be"),
        ('[payment]\ncurrency = "GBP"\nrate = true\n', "payment: rate must be a number or text, not True"),
        (PAYMENT + "show_up = 1.005\n", "payment: show_up must be 0 or a positive multiple of 0.01 GBP, not 1.005"),
        (PAYMENT + "floor = -1\n", "payment: floor must be 0 or a positive multiple of 0.01 GBP"),
        (PAYMENT + "cap = inf\n", "payment: cap must be 0 or a positive multiple"),
        (PAYMENT + "rounding = 0\n", "payment: rounding must be above 0, not 0"),
        (PAYMENT + "show_up = 2\ncap = 1\n", "payment: cap must be at least floor and show_up, not 1"),
        (PAYMENT + 'counts = "two"\n', "payment: counts must be one of all, one, not 'two'"),
        (PAYMENT + "fee = 2\n", "payment: unknown key 'fee'"),
        (
            PAYMENT + "[payment.endings]\npartners = 2\n",
            "payment: endings: unknown word 'partners': did you mean",
        ),
        (PAYMENT + "[payment.endings]\npartner = 0.001\n", "payment: endings.partner must be 0 or a positive multiple"),
        ('[links]\ncomplete = "http://a.example/"\n', 'links.complete must be an address that begins with "https://"'),
        ('[links]\ncomplete = "https://a.example/{code}"\n', "links.complete needs a code: write complete ="),
        (
            '[links]\ncomplete = "https://a.example/{id}"\n',
            r"links.complete: the only word allowed in braces is \{code\}",
        ),
        ('[links]\nfinished = "https://a.example/"\n', "links: unknown word 'finished'"),
    ],
)
def test_a_mistake_in_the_table_is_named_in_a_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as found:
        study(tmp_path, BASE + text)
    assert "\n" not in str(found.value)
    assert str(found.value).startswith(f"{tmp_path / 'prices.toml'}: ")


@pytest.mark.parametrize(
    "link",
    [
        "https://a.example\\@b.example/",
        "https://a.example@b.example/",
        "https://",
        "https:///path",
        "javascript:alert(1)",
        'https://a.example/"onclick=',
        "https://a.example/ x",
        "https://a.example/\u202e",
        "HTTPS://a.example/",
    ],
)
def test_a_link_that_is_no_plain_https_address_is_refused(tmp_path: Path, link: str) -> None:
    with pytest.raises(ValueError, match=r"links.complete must be an address"):
        study(tmp_path, BASE + f"[links]\ncomplete = '{link}'\n")


def test_a_link_carries_the_code_as_it_must_be_written_there(tmp_path: Path) -> None:
    link = "https://app.prolific.com/submissions/complete?cc={code}"
    found = study(tmp_path, BASE + f'[codes]\ncomplete = "A&B"\n[links]\ncomplete = "{link}"\n')
    assert completion_link(found.links["complete"], found.codes["complete"]).endswith("?cc=A%26B")
    assert completion_link("", "A") == ""


def test_a_study_without_payment_is_as_before(tmp_path: Path) -> None:
    found: Any = study(tmp_path, BASE)
    assert (found.payment, found.links) == (None, {})
