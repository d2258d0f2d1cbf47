"""Negotiation domains of GENIUS (XML) and NegMAS (YAML) as scenarios of the game `agenda`, and back.

A folder holds a domain, which names issues and options, and a utility profile for each side. GENIUS divides the
evaluations of an issue by their maximum, then weighs them (Lin et al. 2014). Files come from strangers: they are
bounded in size, and XML with a document type, which entities need, is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import yaml
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from negolab._internal.files import read_text
from negolab._internal.validation import convert_table
from negolab.game import SEATS, Seat
from negolab.games.agenda.rules import Agenda
from negolab.games.agenda.scenario import MAX_OPTIONS, Issue, PointsTable, points_table

TURNS = 20
"""Messages of a scenario that is read: domains have a deadline of their own, or none."""
MAX_BYTES = 4 * 2**20
MAX_POINTS, ROUNDED_POINTS = 10**9, 10**6
"""Largest points of an agenda, and the scale to which others are rounded."""
LOST = (
    "not carried: turns, roles, briefs, talk, who opens, what is shown, how offers are answered, walking away, source"
)

Issues = list[tuple[str, list[str]]]
Rows = list[list[Fraction]]


class Profile(NamedTuple):
    """The utility of one side: utilities per issue, what no deal is worth (None: less than any), a discount."""

    name: str
    rows: Rows
    reservation: Fraction | None
    discount: Fraction


class Carried(NamedTuple):
    """The text of a scenario, and sentences on what was rounded or left out."""

    text: str
    said: list[str]


def read_folder(folder: Path) -> Carried:
    """Read a domain and its first two profiles, by name, as a scenario.

    Raises:
        ValueError: There is no such domain, or something in it cannot be carried; the message names the file.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder: name one with a domain and two profiles")
    for endings, parse, kinds in ((("xml",), _parse_xml, _GENIUS), (("yml", "yaml"), _parse_yaml, _NEGMAS)):
        paths = sorted(path for ending in endings for path in folder.glob(f"*.{ending}"))
        found = [(path, parse(path)) for path in paths]
        domains = [(path, root) for path, root in found if kinds.is_domain(root)]
        profiles = [(path, root) for path, root in found if kinds.is_profile(root)]
        if domains and len(profiles) >= 2:
            issues: Issues = _in_file(domains[0][0], kinds.issues, domains[0][1])
            read = [_in_file(path, kinds.profile, path.stem, root, issues) for path, root in profiles[:2]]
            extra = [path.name for path, _ in [*domains[1:], *profiles[2:]]]
            said = [f"left out: {', '.join(extra)}"] if extra else []
            return _scenario(folder, kinds.name, issues, read, said)
    raise ValueError(f"{folder}: no domain with two profiles, neither XML of GENIUS nor YAML of NegMAS")


def _in_file(path: Path, read: Callable[..., Any], *args: Any) -> Any:
    try:
        return read(*args)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: not as its program writes it ({type(error).__name__}: {error})") from None


def _number(text: Any) -> Fraction:
    try:
        exact = Fraction(str(text).strip())
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{str(text)[:40]!r} is not a number") from None
    return exact.limit_denominator(MAX_POINTS)  # a third is written with as many digits as a float has


def _range(low: Any, high: Any) -> list[str]:
    first, last = _number(low), _number(high)
    if first.denominator != 1 or last.denominator != 1 or not 0 < last - first < MAX_OPTIONS:
        raise ValueError(f"a range from {low} to {high} cannot be carried: whole numbers, at most {MAX_OPTIONS:,}")
    return [str(number) for number in range(int(first), int(last) + 1)]


# GENIUS.


def _parse_xml(path: Path) -> ET.Element:
    text = _bounded(path)
    try:
        root: ET.Element = fromstring(text, forbid_dtd=True)
    except (ET.ParseError, ValueError, DefusedXmlException) as error:
        why = "a document type is refused" if isinstance(error, DefusedXmlException) else str(error)
        raise ValueError(f"{path}: cannot be read as XML: {why}") from None
    return root


def _bounded(path: Path) -> str:
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path}: more than {MAX_BYTES // 2**20} MB")
    return read_text(path)


def _genius_issues(root: ET.Element) -> Issues:
    return [(_attribute(issue, "name"), _genius_options(issue)) for issue in root.iter("issue")]


def _genius_options(issue: ET.Element) -> list[str]:
    kind = issue.get("type") or issue.get("etype") or "discrete"
    if kind == "integer":
        bounds = issue.find("range")
        source = issue if bounds is None else bounds
        return _range(source.get("lowerbound"), source.get("upperbound"))
    if kind != "discrete":
        raise ValueError(
            f"issue {issue.get('name')!r}: {kind} values cannot be carried, only options and whole numbers"
        )
    return [_attribute(item, "value") for item in issue.findall("item")]


def _attribute(element: ET.Element, name: str) -> str:
    if (value := element.get(name)) is None:
        raise ValueError(f"<{element.tag}> has no {name}")
    return value


def _genius_profile(name: str, root: ET.Element, issues: Issues) -> Profile:
    if any(next(root.iter(tag), None) is not None for tag in ("ufun", "hyperRectangle")):
        raise ValueError("a nonlinear utility cannot be carried")
    places = {_attribute(issue, "name"): issue for issue in root.iter("issue")}
    weights = {weight.get("index"): _number(weight.get("value")) for weight in root.iter("weight")}
    rows = []
    for issue, options in issues:
        if issue not in places:
            raise ValueError(f"issue {issue!r} has no utilities")
        weight = weights.get(places[issue].get("index"), Fraction(1))
        rows.append([weight * value for value in _genius_values(places[issue], options)])
    return Profile(
        name, rows, _stated(root, "reservation") or Fraction(0), _stated(root, "discount_factor") or Fraction(1)
    )


def _genius_values(issue: ET.Element, options: list[str]) -> list[Fraction]:
    evaluator = issue.find("evaluator")
    if evaluator is not None and (kind := evaluator.get("ftype")):
        if kind != "linear":
            raise ValueError(f"issue {issue.get('name')!r}: an evaluator of type {kind} cannot be carried")
        offset, slope = (
            _number(evaluator.get(name, evaluator.get(old, default)))
            for name, old, default in (("offset", "parameter0", "0"), ("slope", "parameter1", "1"))
        )
        return [offset + slope * int(option) for option in options]
    stated = {item.get("value"): _number(item.get("evaluation")) for item in issue.findall("item")}
    if missing := [option for option in options if option not in stated]:
        raise ValueError(f"issue {issue.get('name')!r}: option {missing[0]!r} has no evaluation")
    most = max(stated.values())
    return [stated[option] / (most or 1) for option in options]


def _stated(root: ET.Element, tag: str) -> Fraction | None:
    found = root.find(tag)
    return None if found is None else _number(found.get("value"))


# NegMAS.


def _parse_yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(_bounded(path))
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())[:200]}") from None


def _negmas_issues(root: Mapping[str, Any]) -> Issues:
    return [(str(issue["name"]), _negmas_options(issue)) for issue in root["issues"]]


def _negmas_options(issue: Mapping[str, Any]) -> list[str]:
    kind, values = _short(issue.get("type", "CategoricalIssue")), issue["values"]
    if kind == "ContiguousIssue":
        return _range(*values)
    if kind not in ("CategoricalIssue", "OrdinalIssue", "CardinalIssue", "DiscreteOrdinalIssue"):
        raise ValueError(f"issue {issue['name']!r}: a {kind} cannot be carried")
    if not isinstance(values, list) or any(isinstance(value, list | dict) for value in values):
        raise ValueError(f"issue {issue['name']!r}: its values must be a list of texts or numbers")
    return list(map(str, values))


def _short(type_name: Any) -> str:
    return str(type_name).rpartition(".")[2]


def _negmas_profile(name: str, root: Mapping[str, Any], issues: Issues) -> Profile:
    if (kind := _short(root["type"])) not in ("LinearAdditiveUtilityFunction", "LinearUtilityAggregationFunction"):
        raise ValueError(f"a {kind} cannot be carried, only a LinearAdditiveUtilityFunction")
    if root.get("reserved_outcome") is not None:
        raise ValueError("a reserved outcome cannot be carried")
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
        raise ValueError(f"a {kind} cannot be carried")
    slope, bias = _number(function.get("slope", 1)), _number(function.get("bias", 0))
    return [slope * _number(option) + bias for option in options]


class _Kind(NamedTuple):
    """How one program writes domains and profiles."""

    name: str
    is_domain: Callable[[Any], bool]
    is_profile: Callable[[Any], bool]
    issues: Callable[[Any], Issues]
    profile: Callable[[str, Any, Issues], Profile]


_GENIUS = _Kind(
    "GENIUS",
    lambda root: root.tag == "negotiation_template" and root.find("utility_space") is not None,
    lambda root: root.tag == "utility_space",
    _genius_issues,
    _genius_profile,
)
_NEGMAS = _Kind(
    "NegMAS",
    lambda root: isinstance(root, dict) and "issues" in root,
    lambda root: isinstance(root, dict) and "type" in root and "issues" not in root,
    _negmas_issues,
    _negmas_profile,
)


# Scenarios.


def _scenario(folder: Path, program: str, issues: Issues, sides: Sequence[Profile], said: list[str]) -> Carried:
    one, two = (side.discount for side in sides)
    if one != two:
        raise ValueError(
            f"{folder}: two discounts, {float(one):g} and {float(two):g}, cannot be carried: an agenda has one"
        )
    names = " and ".join(f"{seat} is {side.name}" for seat, side in zip(SEATS, sides, strict=True))
    title = " ".join(folder.resolve().name.split()) or program
    found: dict[str, Any] = {"title": title, "turns": TURNS, "source": f"{program}: {names}", "reservation": {}}
    found["issues"] = [
        {"name": " ".join(issue.split()), "options": [" ".join(option.split()) for option in options]}
        for issue, options in issues
    ]
    if one not in (0, 1):
        found["discount"] = str(round(float(one) ** (1 / TURNS), 12))
        said.append(f"rounded: the discount {float(one):g} of the whole time is {found['discount']} for each message")
    for seat, side in zip(SEATS, sides, strict=True):
        reservation = sum(map(min, side.rows), Fraction(0)) if side.reservation is None else side.reservation
        if side.reservation is None:
            said.append(f"{side.name}: no deal, less than any agreement there, has the points of the worst agreement")
        scale, is_exact = _scale([*(value for row in side.rows for value in row), reservation], side.rows)
        if not is_exact:
            said.append(f"rounded: a utility of 1 in {side.name} is {scale:,} points")
        found["reservation"][seat] = round(reservation * scale)
        for issue, row in zip(found["issues"], side.rows, strict=True):
            issue[seat] = [round(value * scale) for value in row]
    try:
        convert_table(found, Agenda)
    except ValueError as error:
        raise ValueError(f"{folder}: cannot be carried: {error}") from None
    return Carried(_toml(found), [f"{names}", *said])


def _scale(values: Sequence[Fraction], rows: Rows) -> tuple[int, bool]:
    """Return the points of a utility of 1, and True if all utilities are whole points then."""
    scale = math.lcm(*(value.denominator for value in values))
    most = max(*map(abs, values), sum((max(map(abs, row)) for row in rows), Fraction(0)))
    if scale * most <= MAX_POINTS:
        return scale, True
    return max(1, round(ROUNDED_POINTS / most)), False


def _toml(scenario: Mapping[str, Any]) -> str:
    tables = [f"[reservation]\n{_pairs(scenario['reservation'])}"]
    tables += [f"[[issues]]\n{_pairs(issue)}" for issue in scenario["issues"]]
    return "\n".join([_pairs({k: v for k, v in scenario.items() if k not in ("reservation", "issues")}), *tables])


def _pairs(table: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in table.items())


def domain_files(game: Agenda, program: str) -> dict[str, str]:
    """Return the texts of a scenario's domain and profiles by file name.

    Args:
        game: An agenda.
        program: "genius" or "negmas".

    Raises:
        ValueError: The scenario has what the program has not.
    """
    if isinstance(game.issues, int) or game.draw.permute:
        raise ValueError("points that are drawn at the deal cannot be carried: give each issue its points")
    issues = game.issues
    write = {"genius": _genius_files, "negmas": _negmas_files}[program]
    return write(game, {seat: points_table(issues, [i.points(seat) for i in issues], seat) for seat in SEATS})


def _options(issue: Issue) -> Iterable[str]:
    return issue.options if issue.options is not None else map(str, range(issue.size))


def _genius_files(game: Agenda, tables: Mapping[Seat, PointsTable]) -> dict[str, str]:
    if any(points < 0 for table in tables.values() for row in table for points in row):
        raise ValueError("negative points cannot be carried to GENIUS")
    template = ET.Element("negotiation_template")
    _genius_space(template, game, None)
    files = {"domain.xml": template}
    for seat, table in tables.items():
        total = sum(map(max, table)) or 1
        space = files[f"profile-{seat}.xml"] = _genius_space(None, game, table)
        for number, row in enumerate(table, 1):
            ET.SubElement(space[0], "weight", index=str(number), value=repr(max(row) / total))
        discount = float(Fraction(game.discount)) ** game.turns
        ET.SubElement(space, "discount_factor", value=repr(discount))
        ET.SubElement(space, "reservation", value=repr(getattr(game.reservation, seat) / total))
    for root in files.values():
        ET.indent(root)
    return {name: ET.tostring(root, "unicode") + "\n" for name, root in files.items()}


def _genius_space(parent: ET.Element | None, game: Agenda, table: PointsTable | None) -> ET.Element:
    attributes = {"number_of_issues": str(len(game.agenda))}
    space = (
        ET.Element("utility_space", attributes)
        if parent is None
        else ET.SubElement(parent, "utility_space", attributes)
    )
    objective = ET.SubElement(space, "objective", index="0", etype="objective", type="objective", name="root")
    for number, issue in enumerate(game.agenda):
        kind = dict.fromkeys(("etype", "type", "vtype"), "discrete")
        element = ET.SubElement(objective, "issue", {"index": str(number + 1), "name": issue.name, **kind})
        for k, option in enumerate(_options(issue)):
            worth = {} if table is None else {"evaluation": str(table[number][k])}
            ET.SubElement(element, "item", {"index": str(k + 1), "value": option, **worth})
    return space


def _negmas_files(game: Agenda, tables: Mapping[Seat, PointsTable]) -> dict[str, str]:
    if Fraction(game.discount) != 1:
        raise ValueError(f"the discount {game.discount} cannot be carried to NegMAS' files: set discount = 1")
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
