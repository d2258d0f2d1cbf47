"""Messages about invalid values name the place and what would be valid."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
import pytest

import negolab as nl
from negolab._internal.validation import TomlTable, convert_value, explain_validation_error, parse_toml, suggest
from negolab.game import Game


class Place(msgspec.Struct):
    """A recursive struct."""

    at: int
    near: Place | None = None
    names: dict[str, int] = {}

    def __post_init__(self) -> None:
        if self.at < 0:
            raise ValueError("at must not be below 0")


class Crust(Enum):
    """A type of which Python holds members, and data their values."""

    THIN = "thin"
    THICK = "thick"


@pytest.mark.parametrize(
    ("kind", "value", "must"),
    [
        (int, "x", "a whole number, not 'x'"),
        (int, 2.5, "a whole number, not 2.5"),
        (float | None, "x", "a number, not 'x'"),
        (bool, 1, "true or false, not 1"),
        (str, 3, "text, not 3"),
        (Literal["a", "b"], "c", "one of a, b, not 'c'"),
        (int | Literal["fair"], "odd", "a whole number or fair, not 'odd'"),
        (tuple[int, ...], "x", "a list of whole numbers, not 'x'"),
        (tuple[tuple[int, ...], ...], 1, "a list of lists of whole numbers, not 1"),
        (tuple[int, int], [1], "a list of 2 whole numbers, not [1]"),
        (tuple[str | int, ...], 4, "a list of strings or whole numbers, not 4"),
        (frozenset[str], 4, "a list of strings, not 4"),
        (
            dict[Literal["A", "B"], int] | None,
            4,
            "a table in which every key is one of A, B and every value is a whole number, not 4",
        ),
        (int, "x" * 10_000, "a whole number, not 'xxxxxxxxxxxx...xxxxxxxxxxxxx'"),
        (dict[str, Place], {"a": 3}, "a table in which every key is text and every value is a table, not {'a': 3}"),
        (list[Place], 4, "a list of tables, not 4"),
        (Crust, "burnt", "one of thin, thick, not 'burnt'"),
    ],
)
def test_what_fits_is_said(kind: Any, value: Any, must: str) -> None:
    with pytest.raises(ValueError, match="must be") as told:
        convert_value(value, kind, "it")
    assert str(told.value) == f"it must be {must}"


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (tuple[int, ...], [1, "x"], "it[1] must be a whole number, not 'x'"),
        (tuple[tuple[int, int], ...], [[1, 2], [3, None]], "it[1][1] must be a whole number, not None"),
        (list[Place], [{"at": 1}, {"at": "x"}], "it[1].at must be a whole number, not 'x'"),
        (list[Place], [{}], "it[0].at is missing"),
        (Place | None, {"at": 1, "near": {"at": "x"}}, "it.near.at must be a whole number, not 'x'"),
        (Place, {"at": 1, "near": 3}, "it.near must be a table, not 3"),
        (Place, {"at": -1}, "it: at must not be below 0"),
        (
            dict[str, Place],
            {"a": {"at": "x"}},
            "it cannot be {'a': {'at': 'x'}}: Expected `int`, got `str` - at `$[...].at`",
        ),
        (
            Place,
            {"at": 1, "names": {3: 4}},
            "it.names must be a table in which every key is text and every value is a whole number, not {3: 4}",
        ),
    ],
)
def test_the_first_place_that_does_not_fit_is_named(kind: Any, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match="it") as told:
        convert_value(value, kind, "it")
    assert str(told.value) == said


def test_a_field_that_is_missing_is_named_where_nothing_is_around_it() -> None:
    with pytest.raises(msgspec.ValidationError) as told:
        msgspec.convert({}, Place)
    assert explain_validation_error(told.value, Place, {}, "field {} of a place") == "field at of a place is missing"


def test_a_bound_that_is_broken_is_said() -> None:
    with pytest.raises(ValueError, match=r"^it must be a whole number from 1 up, not 0$"):
        convert_value(0, Annotated[int, msgspec.Meta(ge=1)], "it")


def test_what_fits_is_returned_as_its_type() -> None:
    assert convert_value([1, 2], tuple[int, ...], "it") == (1, 2)


@pytest.mark.parametrize(
    ("game", "params", "said"),
    [
        ("bargaining", {"buyer_values": [1, "x"]}, r"^buyer_values\[1\] must be a whole number, not 'x'$"),
        ("bargaining", {"rounds": 0}, "^rounds must be a whole number from 1 to 100,000, not 0$"),
        (
            "balloon",
            {"correlation": {"C": "subset-sum"}},
            "correlation must be a table in which every key is one of A, B and every value is",
        ),
        (
            "balloon",
            {"correlation": {"A": 3}},
            "correlation must be a table in which every key is one of A, B and every value is one of",
        ),
        ("balloon", {"instance": {}}, "^instance.effort is missing$"),
    ],
)
def test_a_parameter_of_a_game_says_what_fits(game: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        nl.load(game, **params)


class Pie(Game[None, None, None], frozen=True, kw_only=True):
    """A game of one's own with bounds beside its parameters."""

    slices: Annotated[int, msgspec.Meta(ge=2, le=12)] = 8
    shares: tuple[Annotated[float, msgspec.Meta(gt=0, lt=1)], ...] = ()
    name: Annotated[str, msgspec.Meta(min_length=1, description="What people read.")] = "pie"
    named: Annotated[dict[str, int], msgspec.Meta(min_length=1)] | None = msgspec.field(default=None, name="names")
    prize: int = 3
    crust: Crust = Crust.THIN


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"slices": 1}, "slices must be a whole number from 2 to 12, not 1"),
        ({"slices": True}, "slices must be a whole number from 2 to 12, not True"),
        ({"shares": (0.5, 1)}, "shares[1] must be a number above 0 and below 1, not 1"),
        ({"name": ""}, "name must be text of one or more characters, not ''"),
        (
            {"named": {}},
            "names must be a table of one or more entries in which every key is text and every value is a whole "
            "number, not {}",
        ),
        ({"prize": "3"}, "prize must be a whole number, not '3'"),
    ],
)
def test_a_game_that_python_constructs_is_held_to_what_its_fields_declare(params: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as told:
        Pie(**params)
    assert str(told.value) == said


def test_what_a_seat_is_not_told_fits_whatever_its_type() -> None:
    assert msgspec.structs.replace(Pie(), prize=None).prize is None


class Plan(TomlTable, frozen=True):
    title: str = ""


@pytest.mark.parametrize("text", ['title = "x\n', "title = 'x\n", 'title = "x', 'title = """x\n', "title = '''x\n"])
def test_a_quote_that_is_not_closed_is_called_that(text: str) -> None:
    with pytest.raises(ValueError, match="a quote is not closed"):
        parse_toml(text, Plan)


def test_a_name_is_suggested_only_where_it_is_alike() -> None:
    assert suggest("roundz", ["rounds", "price"]) == "did you mean rounds?"
    assert suggest("ronnd", ["price_lo", "rounding_of_x"]) == "choose from price_lo, rounding_of_x."
