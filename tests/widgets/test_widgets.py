"""The lobby without a browser: what it offers and keeps, and seats that tell no secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from negolab_widgets import HumanSeat, Lobby
from negolab_widgets.html import element, escape, format_value
from negolab_widgets.play.lobby import _cards
from negolab_widgets.play.pictures import picture
from traitlets import TraitError

from negolab.catalog import game_module, game_names, load, replications
from negolab.game import Seat, other
from negolab.match import Match
from negolab.players.lookup import player
from negolab.scaffolds.ultimatum import Ultimatum
from negolab.store import read
from tests.support.tables import press, state


def first_option(table: HumanSeat) -> None:
    match, seat = table._match, table._seat
    table._submit(match.told(seat).say(match.told(seat).options(match.seen(seat))[0]))


@pytest.mark.parametrize(("seat", "secret"), [("A", ("61.73", "6173")), ("B", ("37.19", "3719"))])
def test_no_hidden_value_is_in_any_widgets_state(seat: Seat, secret: tuple[str, ...]) -> None:
    game = load("bargaining", preset="none", buyer_values=(6173,), seller_costs=(3719,), default_opening=5555)
    table = HumanSeat(Match(game, seed=1, players={seat: "person"}), seat, {other(seat): player("conceder", game)})
    for _ in range(3):
        if table._match.ended is None:
            table._submit("51.10")
        assert not [word for word in (*secret, "conceder") if re.search(rf"\b{re.escape(word)}\b", state(table))]


def test_a_failing_opponent_ends_the_match_without_a_word_of_what_it_knew(caplog: pytest.LogCaptureFixture) -> None:
    class Breaks:
        def reply(self, told: Any, ask: Any) -> str:
            raise RuntimeError("the secret is 37.19")

    kept: list[Match] = []
    table = HumanSeat(Match(Ultimatum(), seed=1), "B", {"A": Breaks()}, keep=lambda match: kept.append(match) or "")  # type: ignore[func-returns-value]
    assert "37.19" not in state(table)
    assert "The match was stopped." in state(table)
    assert "37.19" in caplog.text
    assert [match.record().end for match in kept] == ["ABORTED"]


def leave(lobby: Lobby) -> None:
    press(lobby, "Leave this match")
    press(lobby, "Leave")


def test_the_lobby_seats_a_person_and_keeps_the_record(tmp_path: Path) -> None:
    for game in game_names():
        lobby = Lobby(game, out=tmp_path)
        lobby._seed.value = "7"
        press(lobby, "Start the match")
        table = lobby._table.children[0]
        for _ in range(200):
            if table._match.ended is None:
                first_option(table)
        assert "Saved as record" in state(lobby)
    assert {record.header.game for record in read(tmp_path)} == set(game_names())
    assert {record.header.seed for record in read(tmp_path)} == {7}


def test_the_lobby_offers_only_opponents_that_can_sit_across() -> None:
    lobby = Lobby("bargaining")
    assert "anchored" in lobby._opponent.keys_offered
    lobby._seat.value = "A"
    assert "anchored" not in lobby._opponent.keys_offered


def test_another_seat_keeps_the_opponent_that_was_chosen_where_it_fits() -> None:
    lobby = Lobby("bargaining")
    lobby._opponent.value = "conceder"
    lobby._seat.value = "A"
    assert lobby._opponent.value == "conceder"
    lobby._preset.value = "none"
    assert lobby._opponent.value == "conceder"
    lobby._seat.value = "B"
    lobby._opponent.value = "anchored"
    lobby._seat.value = "A"
    assert lobby._opponent.value == lobby._opponent.keys_offered[0]


def test_the_seats_are_offered_by_what_the_game_calls_them() -> None:
    lobby = Lobby()
    assert [label for _, label, _ in lobby._seat.options] == ["Seat A", "Seat B"]
    lobby._seat.value = "B"
    lobby._preset.value = "hiring"
    assert [label for _, label, _ in lobby._seat.options] == ["Candidate", "Recruiter"]
    assert lobby._seat.value == "B"
    lobby._game.value = "bargaining"
    assert ("A", "Seller", "") in lobby._seat.options


def test_another_game_begins_with_its_own_first_opponent() -> None:
    lobby = Lobby()
    lobby._opponent.value = "random-legal"
    lobby._game.value = "split"
    assert lobby._opponent.value == lobby._opponent.keys_offered[0] != "random-legal"


def test_each_game_keeps_what_was_chosen_for_it(tmp_path: Path) -> None:
    lobby = Lobby(out=tmp_path)
    lobby._game.value = "trading"
    lobby._preset.value, lobby._seat.value, lobby._opponent.value = "tolerant", "B", "chat"
    lobby._game.value = "balloon"
    assert (lobby._preset.value, lobby._seat.value) == ("seed", "A")
    lobby._game.value = "trading"
    press(lobby, "Start the match")
    leave(lobby)
    assert (lobby._preset.value, lobby._seat.value, lobby._opponent.value) == ("tolerant", "B", "chat")


def test_games_of_one_title_are_told_apart() -> None:
    assert _cards(["split", "negolab.scaffolds.ultimatum"])[0][:3] == ("split", "Split", "Divide what is there")
    assert [title for _, title, *_ in _cards(["split", "split"])] == ["Split (split)"] * 2


def test_every_game_has_a_picture_and_one_of_somebodys_own_a_neutral_one() -> None:
    drawn = [picture(name) for name in game_names()]
    assert len({*drawn, picture("mine:Mine")}) == len(drawn) + 1
    assert picture("mine:Mine") == picture("own.game:Other")


def test_presets_and_opponents_are_offered_in_peoples_words_and_replications_apart() -> None:
    for game in game_names():
        lobby = Lobby(game)
        for key, title, group in lobby._preset.options:
            assert title != key, f"{game} has no title for {key}"
            assert group == ("Replications" if key in replications(game_module(game)) else "")
        for name, label, _ in lobby._opponent.options[:-1]:
            assert label.endswith(f" ({name})"), f"the docstring of {name} does not begin with what it does"
    groups = [group for *_, group in Lobby("bargaining")._preset.options]
    assert groups == sorted(groups)


def test_the_lobby_says_who_sits_where_and_what_the_opponent_does() -> None:
    lobby = Lobby("bargaining")
    lobby._opponent.value = "boulware"
    assert (lobby._opponent.about, lobby._preset.about) == (
        "Holds out until near the end, like time with beta 0.2.",
        "Each side knows what the item is worth to the other.",
    )
    assert "0 to 9 units" in Lobby("negolab.scaffolds.ultimatum", preset="rich")._preset.about
    words = re.sub("<[^>]+>", "|", lobby._sides.value)
    assert "You are the buyer" in words and "|The seller| concedes slowly." in words


def test_a_choice_that_is_not_offered_is_refused() -> None:
    lobby = Lobby()
    for field in (lobby._game, lobby._preset, lobby._opponent):
        with pytest.raises(TraitError, match=r"'os\.path' is not one of"):
            field.take("os.path")


SCENARIO = """
title = "Two things"
[[issues]]
name = "pay"
options = ["little", "much"]
A = [0, 10]
B = [10, 0]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "two.toml"
    file.write_text(SCENARIO)
    return file


def test_the_lobby_offers_scenario_files_first_and_plays_one(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEGOLAB_SCENARIOS", str(scenario))
    lobby = Lobby(out=tmp_path / "out")
    assert (lobby._game.value, lobby._preset.options[0][1]) == ("agenda", "Two things")
    assert lobby._preset.value == lobby._preset.keys_offered[0] == str(scenario)
    assert "casino" in lobby._preset.keys_offered
    press(lobby, "Start the match")
    assert "Two things" in state(lobby)
    leave(lobby)
    (record,) = read(tmp_path / "out")
    assert record.header.params["title"] == "Two things"
    assert str(tmp_path).encode() not in record.to_line(), "the record holds the scenario, never its path"


def test_the_lobby_says_what_is_wrong_in_a_scenario_file(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario.write_text(SCENARIO.replace("A = [0, 10]", "A = [0]"))
    monkeypatch.setenv("NEGOLAB_SCENARIOS", str(scenario))
    lobby = Lobby()
    assert "issues[0].A has 1 number for 2 options" in lobby._guard.notice.value
    assert lobby._game.value == "agenda" and lobby._preset.value == "casino"
    with pytest.raises(ValueError, match=r"issues\[0\]\.A"):
        Lobby("agenda", preset=str(scenario))


def test_a_scenario_file_is_a_preset_of_the_lobby_in_a_notebook(scenario: Path, tmp_path: Path) -> None:
    lobby = Lobby("agenda", preset=str(scenario), out=tmp_path / "out")
    assert lobby._preset.value == str(scenario)
    press(lobby, "Start the match")
    assert "Two things" in state(lobby)


@pytest.mark.parametrize("leave_by", [lambda lobby: lobby._start_button.click(), leave], ids=["Start", "Leave"])
def test_a_match_that_is_left_is_kept_as_aborted(tmp_path: Path, leave_by: Callable[[Lobby], None]) -> None:
    lobby = Lobby("trading", out=tmp_path)
    press(lobby, "Start the match")
    lobby._table.children[0]._submit("Pass.")
    leave_by(lobby)
    assert [record.end for record in read(tmp_path)] == ["ABORTED"]
    assert bool(lobby._table.children) is (leave_by is not leave)


def test_the_lobby_says_what_is_wrong_with_a_seed(tmp_path: Path) -> None:
    lobby = Lobby("trading", out=tmp_path)
    lobby._seed.value = "many"
    assert "whole number" in lobby._seed_fault.value
    press(lobby, "Start the match")
    assert not lobby._table.children
    lobby._seed.value = " 7 "
    assert lobby._seed_fault.value == ""


def test_html_is_escaped_once_and_values_are_written_as_one_would() -> None:
    assert element("p", escape("<&'\""), cls="x") == '<p class="x">&lt;&amp;&#39;&#34;</p>'
    values = (None, True, 2.5, 3.0, (1, 2), {"a_b": 1}, "x")
    assert [*map(format_value, values)] == ["–", "yes", "2.5", "3", "1, 2", "a b 1", "x"]


def test_a_record_that_cannot_be_written_is_said_and_tried_again(tmp_path: Path) -> None:
    lobby = Lobby("trading", out=tmp_path / "out")
    press(lobby, "Start the match")
    (tmp_path / "out").write_text("a file where the folder should be")
    table = lobby._table.children[0]
    while table._match.ended is None:
        first_option(table)
    assert "could not be saved yet" in state(table)
    leave(lobby)
    assert "is a file" in lobby._guard.notice.value
    assert lobby._table.children, "the match is still there"
    (tmp_path / "out").unlink()
    leave(lobby)
    assert len(read(tmp_path / "out")) == 1
