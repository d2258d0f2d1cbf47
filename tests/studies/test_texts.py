"""A study's own texts (`[texts]`): what is accepted, what is refused in one line, and where they hold."""

from __future__ import annotations

import ast
import tomllib
from contextvars import copy_context
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from negolab import catalog
from negolab.catalog import game_names
from negolab.cli.study import app
from negolab.studies.client import HostClient
from negolab.studies.page_state import Closed, NotDelivered
from negolab.studies.study_config import Study
from negolab.studies.study_file import catalogue, needed_texts, parse_study, read_study
from negolab.studies.texts import gate_texts, rename, table_texts, texts
from negolab.texts import Texts, are_overridden, check, flatten, format_texts, install, placeholders, use
from tests.support.host_process import running_host, solo_treatment, study_toml

DATA = Path(__file__).parents[2] / "data/studies"
STUDIES = sorted(DATA.glob("*.toml"))


def with_texts(own: str) -> Study:
    path = DATA / "bargaining.toml"
    return parse_study(f"{path.read_text('utf-8')}\n{own}", path)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_all_texts_pasted_into_their_study_are_accepted_and_change_nothing(path: Path) -> None:
    study = read_study(path)
    for listed in (needed_texts(study), catalogue(study)):
        pasted = f"{path.read_text('utf-8')}\n{format_texts(listed, {})}\n"
        assert parse_study(pasted, path).texts == {}


def test_a_text_is_read_by_its_key_at_the_study_alone() -> None:
    study = with_texts('[texts.page]\nagree = "Einverstanden"\nendings.complete = "Danke."\n')
    assert study.texts == {"page.agree": "Einverstanden", "page.endings.complete": "Danke."}
    default = texts.AGREE

    def request() -> None:
        use(study.texts)
        assert (texts.AGREE, texts["endings"]["complete"], are_overridden()) == ("Einverstanden", "Danke.", True)
        assert texts.DECLINE == "I do not want to take part"

    copy_context().run(request)
    assert (texts.AGREE, are_overridden()) == (default, False)


def test_texts_of_a_process_can_be_taken_back() -> None:
    install({"page.agree": "Einverstanden"})
    try:
        assert texts.AGREE == "Einverstanden"
    finally:
        install({})
    assert texts.AGREE == "I agree to take part"


@pytest.mark.parametrize(
    ("own", "fault"),
    [
        ('page.agre = "Ja"', "texts: page.agre: there is no such text: did you mean page.agree"),
        ('pages.agree = "Ja"', "texts: pages.agree: there is no such text: did you mean page.agree"),
        ('page.agree = ""', "texts: page.agree is empty"),
        ("page.agree = 3", "texts: page.agree must be text"),
        (
            'page.practice = "Probe {runde}"',
            "texts: page.practice: there is no placeholder {runde}: did you mean {round}",
        ),
        ('page.practice = "Probe {round!r}"', "texts: page.practice: there is no placeholder {round!r}"),
        ('page.practice = "Probe {round.real}"', "texts: page.practice: there is no placeholder {round.real}"),
        ('page.agree = "Ja {name}"', "texts: page.agree: there is no placeholder {name}: this text has none."),
        ('page.agree = "Ja {"', "texts: page.agree: "),
    ],
)
def test_a_wrong_text_is_refused_in_one_line_that_names_its_key(own: str, fault: str) -> None:
    with pytest.raises(ValueError, match=r"^texts: ") as error:
        with_texts(f"[texts]\n{own}\n")
    assert str(error.value).startswith(fault)
    assert "\n" not in str(error.value)


def test_texts_by_the_keys_of_earlier_versions_are_read_and_their_new_keys_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    old = with_texts('[texts.bargaining]\nenter_one = "{low} bis {high}"\nsteps.dollar_less = "1 Dollar weniger"\n')
    assert old.texts == {"table.enter_price": "{low} bis {high}", "table.price_steps.dollar_less": "1 Dollar weniger"}
    assert "texts: bargaining.enter_one is now called table.enter_price" in caplog.messages
    assert rename({"agenda.option": "{option}: {points}"}) == {"table.option": "{option}: {note}"}


def test_texts_that_say_something_else_now_are_left_out_of_older_studies(caplog: pytest.LogCaptureFixture) -> None:
    older = {"split.says": "P{seat}: {what}", "bargaining.prices": "Preise", "trading.player": "Sie: {what}"}
    assert rename(older | {"table.round_axis": "Runde", "bargaining.head.by": "Von"}) == {
        "trading.player": "Sie: {what}"
    }
    assert "split.says has a new meaning" in caplog.text and "bargaining.prices has a new meaning" in caplog.text


def test_the_command_lists_the_texts_of_a_study_and_names_unknown_ones(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(
        (DATA / "bargaining.toml").read_text("utf-8") + '\n[texts.page]\nstart = "Los"\nstartt = "Los"\n', "utf-8"
    )
    result = CliRunner().invoke(app, ["texts", str(file)])
    assert result.exit_code == 1
    assert 'start = "Los"  # "Start"' in result.stdout
    assert "[texts.split]" not in result.stdout
    assert "prices.toml: texts: page.startt: there is no such text: did you mean page.start" in result.stderr


GROUPS: dict[str, Texts] = {
    "gate_texts": gate_texts,
    "texts": texts,
    "table_texts": table_texts,
    **{game: group for game in game_names() if isinstance(group := catalog.part(game, "WORDS"), Texts)},
}


@pytest.mark.parametrize("group", GROUPS)
def test_every_default_text_is_used_and_its_placeholders_are_names(group: str) -> None:
    name, folders = ("WORDS", (f"widgets/negolab_widgets/tables/{group}", f"negolab/games/{group}"))
    if group in ("gate_texts", "texts", "table_texts"):
        name, folders = group, ("negolab", "widgets/negolab_widgets")
    files = (file for folder in folders for file in Path(folder).rglob("*.py"))
    read = {key for file in files for called, key in keys_read(file) if called == name}
    own = {key.split(".")[1] for key in GROUPS[group].defaults()}
    assert read - own == set(), "these have no text"
    assert own - read - {"refusals", "payoffs"} == set(), "nobody reads these"
    for key, text in GROUPS[group].defaults().items():
        assert all(each.isidentifier() for each in placeholders(text)), key


@cache
def keys_read(file: Path) -> set[tuple[str, object]]:
    """The keys of groups that a file reads, each after the name by which it calls the group."""
    found: set[tuple[str, object]] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        match node:
            case ast.Attribute(ast.Name(name), key) if key.isupper():
                found.add((name, key.lower()))
            case ast.Subscript(ast.Name(name), ast.Constant(key)):
                found.add((name, key))
    return found


def test_the_german_texts_are_all_there_and_name_known_placeholders() -> None:
    own = flatten(tomllib.loads((Path(__file__).parents[1] / "support/german.toml").read_text("utf-8"))["texts"])
    defaults = {key: text for group in GROUPS.values() for key, text in group.defaults().items()}
    assert defaults.keys() - own.keys() == set(), "write these in German too"
    check(own, defaults)
    assert all(own.values())


OWN = """
[texts.page]
unknown_action = "So etwas gibt es nicht."
nothing_to_send = "Es gibt nichts zu senden."
link_not_valid = "Dieser Link gilt nicht."
endings.withdrawn = "Sie sind gegangen."
"""


def test_the_host_says_a_studys_own_texts_to_its_participants_alone(tmp_path: Path) -> None:
    with running_host(tmp_path, study_toml("trading", solo_treatment("greedy-honest"), OWN)) as host:
        seats, desk = HostClient(host.seats), HostClient(host.desk)
        with pytest.raises(NotDelivered, match="Dieser Link gilt nicht"):
            seats.ask("/admit", token="x.y.z")
        _, token = host.invite()
        page = host.page(token)
        with pytest.raises(NotDelivered, match="So etwas gibt es nicht"):
            page.act("dance")
        seat = desk.ask("/play", game="trading", opponent="greedy-honest", seat="A", seed=1)
        answer = desk.ask("/act", lease=seat["lease"], act={"kind": "reply", "text": " ", "turn": 0})
        assert answer["not_done"] == "There is nothing to send yet. Write a message or choose an option."
        page.act("leave")
        assert isinstance(page.state, Closed)
        assert page.state.text == "Sie sind gegangen."
