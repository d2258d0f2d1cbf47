"""Negotiation domains of GENIUS (XML) and NegMAS (YAML) as scenarios of the game `agenda`, and back.

A folder holds a domain, which names issues and options, and a utility profile for each side. GENIUS divides the
evaluations of an issue by their maximum, then weighs them (Lin et al. 2014). Files come from strangers: they are
bounded in size, and XML with a document type, which entities need, is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import yaml
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from negolab import catalog
from negolab._internal.files import read_text
from negolab._internal.validation import convert_table, located
from negolab.game import SEATS, Seat
from negolab.games.agenda.rules import Agenda
from negolab.games.agenda.scenario import MAX_OPTIONS, Issue, PointsTable, points_table

TURNS = 20
"""Messages of a scenario that is read: domains have a deadline of their own, or none."""
MAX_BYTES = 4 * 2**20
_MOST_NESTED = 20
MAX_POINTS, ROUNDED_POINTS = 10**9, 10**6
"""Largest points of an agenda, and the scale to which others are rounded."""

Issues = list[tuple[str, list[str]]]


class Profile(NamedTuple):
    """The utility of one side: utilities per issue, what no deal is worth (None: less than any), a discount."""

    name: str
    rows: list[list[Fraction]]
    reservation: Fraction | None
    discount: Fraction


def read_folder(folder: Path) -> tuple[str, list[str]]:
    """Read a domain and its first two profiles, by name, as a scenario.

    Returns:
        The text of the scenario, and sentences on what was rounded or left out.

    Raises:
        ValueError: There is no such domain, or something in it cannot be converted; the message names the file.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder: choose a folder with a domain and two profiles")
    for program, endings, parse, read_issues, read_profile in _PROGRAMS:
        found = [(path, *parse(path)) for path in sorted(folder.iterdir()) if path.suffix in endings]
        domains = [(path, root) for path, kind, root in found if kind == "domain"]
        profiles = [(path, root) for path, kind, root in found if kind == "profile"]
        if domains and len(profiles) >= 2:
            issues = _in_file(domains[0][0], read_issues, domains[0][1])
            read = [_in_file(path, read_profile, path.stem, root, issues) for path, root in profiles[:2]]
            extra = [path.name for path, _ in [*domains[1:], *profiles[2:]]]
            return _scenario(folder, program, issues, read, [f"left out: {', '.join(extra)}"] if extra else [])
    raise ValueError(f"{folder}: no domain with two profiles, neither GENIUS XML nor NegMAS YAML")


def _in_file(path: Path, read: Callable[..., Any], *args: Any) -> Any:
    try:
        return read(*args)
    except KeyError as error:
        raise ValueError(f"{path}: {error} is missing") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: {error}") from None


def _bounded(path: Path) -> str:
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path}: more than {MAX_BYTES // 2**20} MB")
    return read_text(path)


_DIGITS = re.compile(r"[-+]?[\d.]{1,40}([eE][-+]?\d{1,2})?")


def _number(text: Any) -> Fraction:
    """Return an exact number; a third is written with as many digits as a float has, and is one third again."""
    written = str(text).strip()
    if not _DIGITS.fullmatch(written):
        raise ValueError(f"{written[:40]!r} is not a number")
    return Fraction(written).limit_denominator(MAX_POINTS)


def _range(low: Any, high: Any) -> list[str]:
    first, last = _number(low), _number(high)
    if first.denominator != 1 or last.denominator != 1 or not 0 < last - first < MAX_OPTIONS:
        raise ValueError(
            f"a range from {low} to {high} cannot be converted: use whole numbers, at most {MAX_OPTIONS:,} of them"
        )
    return [str(number) for number in range(int(first), int(last) + 1)]


# GENIUS.


def _parse_xml(path: Path) -> tuple[str, ET.Element]:
    text = _bounded(path)
    try:
        root: ET.Element = fromstring(text, forbid_dtd=True)
    except (ET.ParseError, ValueError) as error:
        why = "a document type declaration is not allowed" if isinstance(error, DefusedXmlException) else str(error)
        raise ValueError(f"{path} cannot be read as XML: {why}") from None
    is_domain = root.tag == "negotiation_template" and root.find("utility_space") is not None
    return "domain" if is_domain else "profile" if root.tag == "utility_space" else "", root


def _genius_issues(root: ET.Element) -> Issues:
    return [(issue.attrib["name"], _genius_options(issue)) for issue in root.iter("issue")]


def _genius_options(issue: ET.Element) -> list[str]:
    kind = issue.get("type") or issue.get("etype") or "discrete"
    if kind == "integer":
        source = next(issue.iter("range"), issue)
        return _range(source.get("lowerbound"), source.get("upperbound"))
    if kind != "discrete":
        raise ValueError(
            f"issue {issue.get('name')!r}: {kind} values cannot be converted, only options and whole numbers"
        )
    return [item.attrib["value"] for item in issue.findall("item")]


def _genius_profile(name: str, root: ET.Element, issues: Issues) -> Profile:
    if any(next(root.iter(tag), None) is not None for tag in ("ufun", "hyperRectangle")):
        raise ValueError("a nonlinear utility cannot be converted")
    places = {issue.get("name"): issue for issue in root.iter("issue")}
    weights = {weight.get("index"): _number(weight.get("value")) for weight in root.iter("weight")}
    valued = [(places[issue], options) for issue, options in issues]
    rows = [
        [weights.get(issue.get("index"), Fraction(1)) * value for value in _genius_values(issue, options)]
        for issue, options in valued
    ]
    reservation, discount = (
        default if (found := root.find(tag)) is None else _number(found.get("value"))
        for tag, default in (("reservation", Fraction(0)), ("discount_factor", Fraction(1)))
    )
    return Profile(name, rows, reservation, discount)


def _genius_values(issue: ET.Element, options: list[str]) -> list[Fraction]:
    evaluator = issue.find("evaluator")
    if evaluator is not None and (kind := evaluator.get("ftype")):
        if kind != "linear":
            raise ValueError(f"issue {issue.get('name')!r}: an evaluator of type {kind} cannot be converted")
        offset, slope = (
            _number(evaluator.get(name, evaluator.get(old, default)))
            for name, old, default in (("offset", "parameter0", "0"), ("slope", "parameter1", "1"))
        )
        return [offset + slope * int(option) for option in options]
    stated = {item.get("value"): _number(item.get("evaluation")) for item in issue.findall("item")}
    most = max(stated.values())
    return [stated[option] / (most or 1) for option in options]


# NegMAS.


def _parse_yaml(path: Path) -> tuple[str, Any]:
    text = _bounded(path)
    try:
        depth = 0
        for event in yaml.parse(text, yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > _MOST_NESTED:
                raise yaml.YAMLError(f"YAML aliases and nesting deeper than {_MOST_NESTED} levels are not allowed")
        root = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as YAML: {' '.join(str(error).split())[:200]}") from None
    keys = root if isinstance(root, dict) else {}
    return "domain" if "issues" in keys else "profile" if "type" in keys else "", root


def _negmas_issues(root: Mapping[str, Any]) -> Issues:
    return [(str(issue["name"]), _negmas_options(issue)) for issue in root["issues"]]


def _negmas_options(issue: Mapping[str, Any]) -> list[str]:
    kind, values = _short(issue.get("type", "CategoricalIssue")), issue["values"]
    if kind == "ContiguousIssue":
        return _range(*values)
    if kind not in ("CategoricalIssue", "OrdinalIssue", "CardinalIssue", "DiscreteOrdinalIssue"):
        raise ValueError(f"issue {issue['name']!r}: a {kind} cannot be converted")
    return list(map(str, values))


def _short(type_name: Any) -> str:
    return str(type_name).rpartition(".")[2]


def _negmas_profile(name: str, root: Mapping[str, Any], issues: Issues) -> Profile:
    if (kind := _short(root["type"])) not in ("LinearAdditiveUtilityFunction", "LinearUtilityAggregationFunction"):
        raise ValueError(f"a {kind} cannot be converted, only a LinearAdditiveUtilityFunction")
    if root.get("reserved_outcome") is not None:
        raise ValueError("a reserved outcome cannot be converted")
    values, bias = root["values"], _number(root.get("bias") or 0)
    ordered = [values[issue] for issue, _ in issues] if isinstance(values, dict) else values
    weights = [_number(weight) for weight in root.get("weights") or [1] * len(issues)]
    rows = [
        [weight * value + (0 if number else bias) for value in _negmas_values(function, options)]
        for number, (weight, function, (_, options)) in enumerate(zip(weights, ordered, issues, strict=True))
    ]
    stated = root.get("reserved_value", -math.inf)
    return Profile(name, rows, None if stated in (None, -math.inf) else _number(stated), Fraction(1))


def _negmas_values(function: Mapping[str, Any], options: list[str]) -> list[Fraction]:
    kind = _short(function.get("type", "TableFun"))
    if kind == "TableFun":
        stated = {str(option): _number(value) for option, value in function["mapping"].items()}
        return [stated[option] for option in options]
    if kind not in ("AffineFun", "LinearFun", "IdentityFun"):
        raise ValueError(f"a {kind} cannot be converted")
    slope, bias = _number(function.get("slope", 1)), _number(function.get("bias", 0))
    return [slope * _number(option) + bias for option in options]


_PROGRAMS: tuple[
    tuple[str, tuple[str, ...], Callable[..., Any], Callable[..., Issues], Callable[..., Profile]], ...
] = (
    ("GENIUS", (".xml",), _parse_xml, _genius_issues, _genius_profile),
    ("NegMAS", (".yml", ".yaml"), _parse_yaml, _negmas_issues, _negmas_profile),
)
"""Ways in which programs write domains and profiles."""


# Scenarios.


def _scenario(
    folder: Path, program: str, issues: Issues, sides: Sequence[Profile], said: list[str]
) -> tuple[str, list[str]]:
    one, two = (side.discount for side in sides)
    if wrong := [each for each in (one, two) if not 0 <= each <= 1]:
        raise ValueError(f"{folder}: a discount of {float(wrong[0]):g} cannot be converted, only one from 0 to 1")
    if one != two:
        raise ValueError(
            f"{folder}: two discounts, {float(one):g} and {float(two):g}, cannot be converted: an agenda has only one"
        )
    names = " and ".join(f"{seat} is {side.name}" for seat, side in zip(SEATS, sides, strict=True))
    found: dict[str, Any] = {
        "title": " ".join(folder.resolve().name.split()) or program,
        "turns": TURNS,
        "source": f"{program}: {names}",
        "reservation": {},
        "issues": [
            {"name": " ".join(issue.split()), "options": [" ".join(option.split()) for option in options]}
            for issue, options in issues
        ],
    }
    if one not in (0, 1):
        found["discount"] = str(round(float(one) ** (1 / TURNS), 12))
        said.append(f"rounded: the discount {float(one):g} of the whole time is {found['discount']} for each message")
    for seat, side in zip(SEATS, sides, strict=True):
        reservation = sum(map(min, side.rows), Fraction(0)) if side.reservation is None else side.reservation
        if side.reservation is None:
            said.append(f"{side.name}: no deal, worth less than any agreement, gets the points of the worst agreement")
        scale = math.lcm(*(value.denominator for row in side.rows for value in row), reservation.denominator)
        most = max(abs(reservation), sum((max(map(abs, row)) for row in side.rows), Fraction(0)))
        if scale * most > MAX_POINTS:
            scale = max(1, round(ROUNDED_POINTS / most))
            said.append(f"rounded: a utility of 1 in {side.name} is {scale:,} points")
        found["reservation"][seat] = round(reservation * scale)
        for issue, row in zip(found["issues"], side.rows, strict=True):
            issue[seat] = [round(value * scale) for value in row]
    with located(f"{folder} cannot be converted"):
        convert_table(found, Agenda)
    return _toml(found), [names, *said]


def _toml(scenario: Mapping[str, Any]) -> str:
    plain = {name: value for name, value in scenario.items() if name not in ("reservation", "issues")}
    issues = (f"[[issues]]\n{_pairs(issue)}" for issue in scenario["issues"])
    return "\n".join([_pairs(plain), f"[reservation]\n{_pairs(scenario['reservation'])}", *issues])


def _pairs(table: Mapping[str, Any]) -> str:
    written = "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in table.items())
    return written.replace("\x7f", "\\u007f")  # which JSON writes as it is, and TOML does not


def domain_files(scenario: str, program: str) -> dict[str, str]:
    """Return the texts of a scenario's domain and profiles by file name.

    Args:
        scenario: A preset of the agenda, or a TOML file.
        program: "genius" or "negmas".

    Raises:
        ValueError: The scenario has what the program has not.
    """
    game = catalog.load("agenda", preset=scenario)
    assert isinstance(game, Agenda)
    if isinstance(game.issues, int) or game.draw.permute:
        raise ValueError("randomly drawn points cannot be converted: give each issue fixed points")
    issues = game.issues
    write = {"genius": _genius_files, "negmas": _negmas_files}[program]
    return write(game, {seat: points_table(issues, [i.points(seat) for i in issues], seat) for seat in SEATS})


def _options(issue: Issue) -> Iterable[str]:
    return issue.options if issue.options is not None else map(str, range(issue.size))


def _genius_files(game: Agenda, tables: Mapping[Seat, PointsTable]) -> dict[str, str]:
    if any(points < 0 for table in tables.values() for row in table for points in row):
        raise ValueError("negative points cannot be converted to GENIUS")
    files = {"domain.xml": ET.Element("negotiation_template")}
    files["domain.xml"].append(_genius_space(game, None))
    for seat, table in tables.items():
        total = sum(map(max, table)) or 1
        space = files[f"profile-{seat}.xml"] = _genius_space(game, table)
        for number, row in enumerate(table, 1):
            ET.SubElement(space[0], "weight", index=str(number), value=repr(max(row) / total))
        ET.SubElement(space, "discount_factor", value=repr(float(Fraction(game.discount)) ** game.turns))
        ET.SubElement(space, "reservation", value=repr(getattr(game.reservation, seat) / total))
    for root in files.values():
        ET.indent(root)
    return {name: ET.tostring(root, "unicode") + "\n" for name, root in files.items()}


def _genius_space(game: Agenda, table: PointsTable | None) -> ET.Element:
    space = ET.Element("utility_space", number_of_issues=str(len(game.agenda)))
    objective = ET.SubElement(space, "objective", index="0", etype="objective", type="objective", name="root")
    for number, issue in enumerate(game.agenda):
        attributes = dict.fromkeys(("etype", "type", "vtype"), "discrete")
        element = ET.SubElement(objective, "issue", attributes, index=str(number + 1), name=issue.name)
        for k, option in enumerate(_options(issue)):
            worth = {} if table is None else {"evaluation": repr(table[number][k] / (max(table[number]) or 1))}
            ET.SubElement(element, "item", {"index": str(k + 1), "value": option, **worth})
    return space


def _negmas_files(game: Agenda, tables: Mapping[Seat, PointsTable]) -> dict[str, str]:
    if Fraction(game.discount) != 1:
        raise ValueError(f"the discount {game.discount} cannot be represented in NegMAS files: set discount = 1")
    issues = [{"name": i.name, "type": "CategoricalIssue", "values": list(_options(i))} for i in game.agenda]
    files: dict[str, Any] = {
        "domain.yml": {"name": game.title, "type": "DiscreteCartesianOutcomeSpace", "issues": issues}
    }
    for seat, table in tables.items():
        files[f"profile-{seat}.yml"] = {
            "name": f"profile-{seat}",
            "type": "LinearAdditiveUtilityFunction",
            "reserved_value": float(getattr(game.reservation, seat)),
            "values": [
                {"type": "TableFun", "mapping": dict(zip(_options(issue), row, strict=True))}
                for issue, row in zip(game.agenda, table, strict=True)
            ],
            "weights": [1.0] * len(table),
        }
    return {name: yaml.safe_dump(value, allow_unicode=True, sort_keys=False) for name, value in files.items()}
