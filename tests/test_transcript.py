"""Transcripts of any game, and published episodes read in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from negolab import laws
from negolab.catalog import games, load
from negolab.formats import clembench, transcript
from negolab.game import Invalid, Seat
from negolab.games.balloon import Instance
from negolab.match import Match
from negolab.record import Record, from_line

SMALL = Instance(
    {"A01": 10, "B02": 20, "<b>|`": 30},
    40,
    {"A": {"A01": 7, "B02": 3, "<b>|`": 9}, "B": {"B02": 12, "A01": 9, "<b>|`": 5}},
)
PROPOSE = "PROPOSAL: {'A01', 'B02'}\nARGUMENT: {'so'}"
AGREE = "AGREE: {'A01', 'B02'}\nARGUMENT: {'fine'}"
NASTY = "ARGUMENT: {'</pre><script>alert(1)</script> ````` \\end{document}'}\r\n\0"


def balloon(*texts: str, preset: str = "seed", **changes: Any) -> Record:
    """The record of a match in which whoever is asked said these texts."""
    match = Match(load("balloon", preset, **{"instance": SMALL, **changes}), seed=0, players={"A": "x", "B": "<y>"})
    for text in texts:
        match.submit(match.state.public.mover, text)
    return match.record()


def cells(record: Record) -> list[str]:
    return [row.cell for row in transcript.rows(record)]


# Rows.


def test_every_reply_follows_what_its_author_was_told() -> None:
    record = balloon(PROPOSE, "oh no", AGREE)
    told = ["GM>A", "A>GM", "GM>B", "B>GM", "GM>B", "B>GM", "GM|GM", "GM|GM"]
    assert cells(record) == told and transcript.rows(from_line(record.to_line())) == transcript.rows(record)
    texts = [row.text for row in transcript.rows(record)]
    assert texts[2].endswith(f"\n\n{PROPOSE}") and texts[3:6:2] == ["oh no", AGREE]
    assert "ARGUMENT" in texts[4] and texts[6:] == ["game successful", "end game"]


def test_words_that_are_passed_on_are_no_rejection_for_the_other() -> None:
    twice = "AGREE: {'A01'}\nAGREE: {'B02'}\nARGUMENT: {'so'}"
    rows = transcript.rows(balloon(PROPOSE, twice, "ARGUMENT: {'eh'}", AGREE, preset="clembench"))
    assert [row.text for row in rows[4:8]] == [twice, "ARGUMENT: {'eh'}", "ARGUMENT: {'eh'}", AGREE]


@pytest.mark.parametrize(
    ("changes", "closing"), [({"turn_limit": 1}, "out of time"), ({"empty_turn_limit": 0}, "no deal"), ({}, None)]
)
def test_the_master_notes_how_it_ended(changes: dict[str, Any], closing: str | None) -> None:
    rows = transcript.rows(balloon("ARGUMENT: {'so'}", **changes))
    assert [row.text for row in rows if row.cell == "GM|GM"] == ([closing, "end game"] if closing else [])


def test_an_answer_without_words_is_a_row() -> None:
    match = Match(load("balloon", instance=SMALL), seed=0)
    match.reject("A", Invalid(("late",), "Too late; answer sooner.", "time"))
    match.submit("A", PROPOSE)
    assert [row.text for row in transcript.rows(match.record())][1:] == [
        "(no words: late)",
        "Too late; answer sooner.",
        PROPOSE,
    ]


def test_a_seat_reads_its_own_transcript() -> None:
    record = balloon(PROPOSE, "a secret slip", AGREE)
    rows = transcript.rows(record.seen_by("A"))
    assert [row.cell for row in rows] == ["GM>A", "A>GM", "GM|GM", "GM|GM"]
    whole = [row for row in transcript.rows(record) if "A" in row.cell or row.cell == "GM|GM"]
    assert rows == whole
    for style in transcript.STYLES:
        assert "a secret slip" not in transcript.export(record.seen_by("A"), style)
        assert "a secret slip" in transcript.export(record, style)


@pytest.mark.parametrize("seat", ["A", "B"])
@pytest.mark.parametrize("game", [*games(), "tests.games.ultimatum"])
def test_any_game_has_a_transcript(game: str, seat: Seat) -> None:
    loaded = load(game)
    for seed in range(5):
        record = laws.playout(loaded, seed, most=30).record()
        rows = transcript.rows(record)
        replies = [event for event in record.events if type(event).__name__ == "Replied"]
        assert sum(row.sender in ("A", "B") for row in rows) == len(replies)
        own = [row.text for row in transcript.rows(record.seen_by(seat)) if row.sender == seat]
        assert own == [row.text for row in rows if row.sender == seat]
        for style in transcript.STYLES:
            assert transcript.export(record, style) and transcript.export(record.seen_by(seat), style)


# Styles.


def test_the_published_layout_escapes_nothing() -> None:
    text = transcript.clembench(balloon("PROPOSAL: {'A01'}\nARGUMENT: {'50 % of \\it'}"))
    assert text.startswith("\n\\documentclass{article}\n") and text.endswith("\n}\n\n\\end{document}\n")
    assert r"\tt {\tiny [A$\rangle$GM]}" in text
    assert "\t PROPOSAL: {'A01'}\\\\ \\tt ARGUMENT: {'50 % of \\it'} \n" in text


def test_a_page_runs_nothing_and_asks_nobody() -> None:
    page = transcript.html(balloon(NASTY, PROPOSE, AGREE))
    assert page.count("<script") == 0 and "&lt;script&gt;alert(1)" in page and "</pre>&lt;" not in page
    assert not re.search(r"src=|href=|url\(|@import|https?:|\son\w+=", page)
    assert "\0" not in page and "&lt;y&gt;" in page and "<b>" not in page
    assert page.count("<pre") == page.count("</pre>") == len(cells(balloon(NASTY, PROPOSE, AGREE)))


def test_a_page_tells_the_instance_and_the_scores() -> None:
    page = transcript.html(balloon(PROPOSE, AGREE))
    assert "<tr><th>A01</th><td>10</td><td>7</td><td>9</td></tr>" in page
    assert "<tr><th>main</th><td>96.1538</td></tr>" in page and "<tr><th>payoff B</th><td>21</td></tr>" in page
    own = transcript.html(balloon(PROPOSE, AGREE).seen_by("A"))
    assert "<tr><th>A01</th><td>10</td><td>7</td></tr>" in own


def test_nothing_in_a_fence_closes_it() -> None:
    lines = transcript.markdown(balloon(NASTY, PROPOSE, AGREE)).split("\n")
    fences = [line.removesuffix("text") for line in lines if re.fullmatch("`+(text)?", line)]
    assert len(fences) == 2 * len(cells(balloon(NASTY, PROPOSE, AGREE)))
    assert all(opened == closed for opened, closed in zip(fences[::2], fences[1::2], strict=True))
    assert max(map(len, fences)) == 6


def test_an_unknown_style_is_named() -> None:
    with pytest.raises(ValueError, match="'word'"):
        transcript.export(balloon(), "word")


# Published episodes.

PLAYERS = ("Player 1", "Player 2 (second)")


def instance(**changes: Any) -> dict[str, Any]:
    """An instance object with what an importer reads."""
    return {
        "game_id": 7,
        "negotiation_mode": "independent",
        "item_weights": SMALL.effort,
        "player1_preferences": SMALL.importance["A"],
        "player2_preferences": SMALL.importance["B"],
        "max_weight": SMALL.limit,
        "empty_turn_limit": 8,
        "patience": 2,
        "strategic_reasoning": False,
        "require_argument": True,
        "untagged_sequence_prompt": "No loose text.",
        "player1_initial_prompt": "first",
        "player2_initial_prompt": "second",
        "agree_tag": "AGREE:\\s*\\{.*?\\}",
        **changes,
    }


def interactions(*spoken: tuple[int, str], **results: Any) -> dict[str, Any]:
    """An episode in which these players said these texts, two seconds after each was asked."""

    def event(sender: str, receiver: str, kind: str, second: int, text: str) -> dict[str, Any]:
        stamp = f"2026-01-05T10:{second // 60:02}:{second % 60:02}.000000"
        action = {"type": kind, "content": text, "label": "context"}
        return {"from": sender, "to": receiver, "timestamp": stamp, "action": action}

    turns = [
        [
            event("GM", PLAYERS[who], "send message", 10 * i, "told"),
            event(PLAYERS[who], "GM", "get message", 10 * i + 2, text),
        ]
        for i, (who, text) in enumerate(spoken)
    ]
    players = {"GM": {"model_name": "programmatic"}, **{name: {"model_name": f"m{name[7]}"} for name in PLAYERS}}
    return {"meta": {"experiment_name": "balloon_en", "game_id": 7}, "players": players, "turns": turns, **results}


def folder(path: Path, played: dict[str, Any] | None, **changes: Any) -> Path:
    path.mkdir(parents=True)
    (path / "instance.json").write_text(json.dumps(instance(**changes)), "utf-8")
    if played is not None:
        (path / "interactions.json").write_text(json.dumps(played), "utf-8")
    return path


DEAL = ((0, PROPOSE), (1, f"{PROPOSE} x"), (1, AGREE))


def test_an_episode_becomes_a_record(tmp_path: Path) -> None:
    played = interactions(*DEAL, **{"Success": 1, "final deal": ["B02", "A01"], "Total weight deal": 30})
    record, differences = clembench.episode(folder(tmp_path / "x", played))
    assert differences == () and record.end == "AGREED" and record.payoffs == {"A": 10, "B": 21}
    assert record.header.players == {"A": "m1", "B": "m2"} and record.header.created == "2026-01-05T10:00:00+00:00"
    reply = record.events[1].reply  # type: ignore[union-attr]
    assert reply.answered_at - reply.asked_at == 2
    assert from_line(record.to_line()).game == record.game


def test_an_episode_keeps_the_words_of_its_master(tmp_path: Path) -> None:
    record, _ = clembench.episode(folder(tmp_path / "x", interactions(*DEAL)))
    assert [row.text for row in clembench.rows(record)][::2] == [
        "first",
        f"second\n\n{PROPOSE}",
        "No loose text.",
        "game successful",
    ]
    assert transcript.rows(record)[0].text.startswith("You are participating")


@pytest.mark.parametrize(
    ("played", "told"),
    [
        (interactions((0, PROPOSE), (0, AGREE)), ["reply 2 of 2: the file has seat A speak, the rules ask seat B"]),
        (interactions(*DEAL, (0, PROPOSE)), ["reply 4 of 4: the file has seat A speak, the match is over (AGREED)"]),
        (interactions(*DEAL, Lose=1, Success=0), ["reply 3, the last: the file says FORFEIT, the rules AGREED"]),
        (
            interactions(*DEAL[:2], Aborted=1, **{"final deal": None}),
            ["reply 2, the last: the file says ABORTED, the rules that it goes on"],
        ),
        (
            interactions(*DEAL, **{"final deal": ["A01"], "Normalized harmonic mean": float("nan")}),
            [
                "reply 3, the last: final deal is ['A01'] in the file, ['A01', 'B02'] by the rules",
                "reply 3, the last: Normalized harmonic mean is nan in the file, 96.15384615384616 by the rules",
            ],
        ),
    ],
)
def test_a_difference_is_reported_with_the_reply(tmp_path: Path, played: dict[str, Any], told: list[str]) -> None:
    record, differences = clembench.episode(folder(tmp_path / "x", played))
    assert list(differences) == told == record.header.notes["differences"]


def test_a_tree_lists_what_crashed_and_goes_on(tmp_path: Path) -> None:
    folder(tmp_path / "a" / "instance_00001", None)
    folder(tmp_path / "a" / "instance_00002", interactions(*DEAL))
    folder(tmp_path / "b" / "instance_00001", interactions(*DEAL), agree_tag="TAK: x")
    (tmp_path / "b" / "instance_00001" / "transcript.html").write_text("")
    crashed, imported, unknown = (found for _, found in clembench.tree(tmp_path))
    assert isinstance(crashed, str) and "no interactions.json" in crashed
    assert isinstance(imported, clembench.Imported) and imported.record.end == "AGREED"
    assert isinstance(unknown, str) and "'TAK'" in unknown


def test_a_malformed_event_is_an_error_that_tells_where(tmp_path: Path) -> None:
    played = interactions(*DEAL)
    played["turns"][1][1]["action"] = {}
    with pytest.raises(ValueError, match="event 4 is malformed"):
        clembench.episode(folder(tmp_path / "x", played))


def test_an_instance_file_is_a_list_of_games(tmp_path: Path) -> None:
    file = tmp_path / "instances.json"
    experiments = [{"name": "one", "game_instances": [instance(), instance(agree_tag="ACCORDO:", game_id=8)]}]
    file.write_text(json.dumps({"experiments": experiments}), "utf-8")
    found = clembench.instances(file)
    assert [(p.experiment, p.game_id, p.game.language) for p in found] == [("one", 7, "en"), ("one", 8, "it")]
    assert found[0].game.instance == SMALL and found[0].game.turn_limit is None
    experiments[0]["game_instances"][0].pop("max_weight")  # type: ignore[attr-defined]
    file.write_text(json.dumps({"experiments": experiments}), "utf-8")
    with pytest.raises(ValueError, match="max_weight"):
        clembench.instances(file)
