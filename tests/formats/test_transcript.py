"""Transcripts of any game, and imported episodes."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from negolab_widgets.replay.steps import record_steps

from negolab import laws
from negolab.catalog import game_names, load
from negolab.formats import clembench, transcript
from negolab.formats.transcript.header import make_header
from negolab.formats.transcript.rows import Row, _with_rules_once, messages, rows
from negolab.game import SEATS, Invalid, Reply, Seat
from negolab.games.balloon import Instance
from negolab.match import Match
from negolab.record import Record, parse_record
from negolab.store import read
from tests.support.browser import accessibility_violations
from tests.support.matches import said

ROOT = Path(__file__).parents[2]
SMALL = Instance(
    {"A01": 10, "B02": 20, "<b>|`": 30},
    40,
    {"A": {"A01": 7, "B02": 3, "<b>|`": 9}, "B": {"B02": 12, "A01": 9, "<b>|`": 5}},
)
PROPOSE = "PROPOSAL: {'A01', 'B02'}\nARGUMENT: {'so'}"
AGREE = "AGREE: {'A01', 'B02'}\nARGUMENT: {'fine'}"
NASTY = "ARGUMENT: {'</pre><script>alert(1)</script> ````` \\end{document}'}\r\n\0"


def balloon(*texts: str, preset: str = "seed", **changes: Any) -> Record:
    """Play these texts in turn and return the record."""
    match = said(load("balloon", preset, **{"instance": SMALL, **changes}), *texts, seed=0)
    match.players = {"A": "x", "B": "<y>"}
    return match.record()


def cells(record: Record) -> list[str]:
    return [row.cell for row in transcript.rows(record)]


def golden(game: str) -> Record:
    (record,) = read(ROOT / "data" / "replays" / f"{game}.jsonl")
    return record


def part(record: Record, name: str) -> Any:
    """The part of a record's head that has this name."""
    head = make_header(record)
    return next(one for one in (*head.parts, *head.after) if one.name.startswith(name))


# Rows.


def test_every_reply_follows_what_its_author_was_told() -> None:
    record = balloon(PROPOSE, "oh no", AGREE)
    told = ["GM>A", "A>GM", "GM>B", "B>GM", "GM>B", "B>GM", "GM|GM", "GM|GM"]
    assert cells(record) == told and transcript.rows(parse_record(record.to_line())) == transcript.rows(record)
    texts = [row.text for row in transcript.rows(record)]
    assert texts[2].endswith(f"\n\n{PROPOSE}") and texts[3:6:2] == ["oh no", AGREE]
    assert "ARGUMENT" in texts[4] and texts[6:] == ["game successful", "end game"]


def test_words_that_are_passed_on_are_no_rejection_for_the_other_and_carry_their_reason() -> None:
    twice = "AGREE: {'A01'}\nAGREE: {'B02'}\nARGUMENT: {'so'}"
    rows = transcript.rows(balloon(PROPOSE, twice, "ARGUMENT: {'eh'}", AGREE, preset="clembench"))
    assert [row.text for row in rows[4:8]] == [twice, "ARGUMENT: {'eh'}", "ARGUMENT: {'eh'}", AGREE]
    (refused,) = (row for row in rows if row.codes)
    assert refused.text == twice and refused.reason


@pytest.mark.parametrize(
    ("changes", "closing"), [({"turn_limit": 1}, "out of time"), ({"empty_turn_limit": 0}, "no deal"), ({}, None)]
)
def test_the_master_notes_how_it_ended(changes: dict[str, Any], closing: str | None) -> None:
    rows = transcript.rows(balloon("ARGUMENT: {'so'}", **changes))
    assert [row.text for row in rows if row.cell == "GM|GM"] == ([closing, "end game"] if closing else [])


@pytest.mark.parametrize("style", ["html", "markdown", "latex"])
def test_readers_are_told_the_end_and_the_master_in_plain_words(style: str) -> None:
    lost = balloon(PROPOSE, "oh no", "again", "and again")
    for source in (lost, lost.seen_by("A")):
        assert transcript.rows(source)[-2].text == "abort"
        text = " ".join(transcript.export(source, style).split())
        assert text.count("The match is over: stopped.") == text.count("The master is the game") == 1
        assert "end game" not in text and "The match is over" not in transcript.export(source, "clembench")
    assert all(row.sender != row.receiver for row in transcript.messages(balloon(PROPOSE)))


def test_the_published_layout_is_of_one_game() -> None:
    for source in (golden("split"), golden("split").seen_by("A")):
        with pytest.raises(ValueError, match="for balloon only, not split: use latex"):
            transcript.export(source, "clembench")
    with pytest.raises(ValueError, match="'word'"):
        transcript.export(balloon(), "word")


def test_money_in_a_head_is_marked_as_cents_and_rows_name_seats() -> None:
    record = golden("bargaining")
    top = make_header(record)
    assert [one.name for one in top.parts] == ["Match", "Start", "Measures"]
    assert top.after[0].name == "Parameters (money in cents)", "behind what was said"
    assert make_header(record.seen_by("A")).after[0].name == "Parameters (money in cents)"
    assert ("price", "$56.81") in part(record, "Measures").facts
    (offers,) = part(record, "Histories").tables
    assert {row[offers.columns.index("offerer")] for row in offers.rows} == {"A (seller)", "B (buyer)"}


@pytest.mark.parametrize(
    ("game", "measured"),
    [
        ("balloon", ("norm A (%)", "main (%)")),
        ("split", ("joint (points)", "best (points)", "efficiency")),
        ("trading", ("gain A (own worth)", "joint (own worth)", "share")),
    ],
)
def test_a_measure_that_has_a_unit_names_it(game: str, measured: tuple[str, ...]) -> None:
    assert set(measured) <= dict(part(golden(game), "Measures").facts).keys()


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
@pytest.mark.parametrize("game", [*game_names(), "negolab.scaffolds.ultimatum"])
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
            if style != "clembench" or game == "balloon":
                assert transcript.export(record, style) and transcript.export(record.seen_by(seat), style)


# Styles.


def plain(page: str) -> str:
    """The text of a page on one line."""
    return " ".join(unescape(re.sub("<[^>]*>", " ", page.split("</head>")[1])).split())


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
    assert page.count("<pre") == page.count("</pre>") == len(transcript.messages(balloon(NASTY, PROPOSE, AGREE)))


def test_a_page_tells_the_instance_and_the_scores() -> None:
    page = transcript.html(balloon(PROPOSE, AGREE))
    assert plain(page).count("A01 10 7 9") == 1 and "main (%) 96.1538" in plain(page)
    assert "Outcome Agreed" in plain(page) and "B · <y> 21 points of own importance" in plain(page)
    own = plain(transcript.html(balloon(PROPOSE, AGREE).seen_by("A")))
    assert "A01 10 7 B02 20 3" in own and "Outcome Agreed A 10 points of own importance Start" in own


def test_a_refusal_is_shown_with_its_reason_where_it_was_told() -> None:
    record = balloon(PROPOSE, "oh no", "again", "and again")
    rows = transcript.rows(record)
    assert [row.codes for row in rows if row.sender == "B"] == [("no_argument",)] * 3
    assert [row.refusal for row in rows] == [False] * 4 + [True, False, True, False, False, False]
    assert [bool(row.reason) for row in rows] == [False] * 7 + [True, False, False]
    assert rows[7].reason == rows[6].text and rows[7].forfeit
    for style in ("html", "markdown", "latex"):
        text = transcript.export(record, style)
        assert text.count("not accepted") >= 3 and "forfeit" in text


def test_a_reply_says_how_long_it_took() -> None:
    match = Match(load("balloon", instance=SMALL), seed=0)
    usage = {"prompt_tokens": 812, "completion_tokens": 96, "total_tokens": 908}
    match.submit("A", Reply(PROPOSE, asked_at=3.0, answered_at=5.14, usage=usage))
    match.submit("B", Reply(AGREE, usage={"total_tokens": 7}))
    assert [row.taken for row in transcript.rows(match.record())][1:4:2] == ["2.1 s, 812 + 96 tokens", "7 tokens"]
    for style in ("html", "markdown"):
        assert "2.1 s, 812 + 96 tokens" in transcript.export(match.record(), style)


def test_an_unfinished_match_has_no_payoffs() -> None:
    top = make_header(balloon(PROPOSE))
    assert top.end == "Not over" and top.outcome == [("end", "Not over")]
    assert "points of own importance" not in transcript.html(balloon(PROPOSE))


def test_what_both_seats_know_stands_once() -> None:
    start = part(golden("trading"), "Start")
    assert start.facts == [("gain so far", "0"), ("worth now (A)", "1,102"), ("worth now (B)", "1,507")]
    (goods,) = start.tables
    assert goods.columns[:3] == ("goods", "you hold (A)", "worth each (A)") and len(goods.columns) == 7
    stock = part(golden("split"), "Start").tables[0]
    assert stock.columns == ("stock", "to be divided", "worth each to you (A)", "worth each to you (B)")
    points = part(golden("agenda"), "Start").tables[0]
    assert points.columns == ("your points", "each (A)", "each (B)"), "unlike issues have no options in common"
    assert points.rows[6][1] == "billing: 0; search: 9; mobile app: 18"


def test_a_seat_is_not_told_what_was_hidden() -> None:
    record = golden("split")
    assert [one.name for one in make_header(record).after] == ["Parameters", "Hidden at the start", "Histories"]
    for seat in SEATS:
        own = make_header(record.seen_by(seat))
        assert ([one.name for one in own.after], [one.name for one in own.parts]) == (["Parameters"], ["Start"])


@pytest.mark.parametrize("game", sorted({*game_names()} - {"bargaining"}))  # which words its rules for each side
def test_rules_that_both_are_told_are_printed_once_and_what_only_one_is_told_stays(game: str) -> None:
    record = golden(game)
    plain, printed = (
        [row for row in listed if row.way.startswith("master →")] for listed in (rows(record), messages(record))
    )
    one, two = next(pair for pair in zip(plain, printed, strict=True) if pair[0] != pair[1])
    assert one.receiver != printed[0].receiver and "(The same words as to " in two.text
    assert [row for row in plain if row != one] == [row for row in printed if row != two]
    told = set(printed[0].text.splitlines()) | set(two.text.splitlines())
    assert {line for line in one.text.splitlines() if line.strip()} <= told, "nothing is lost"
    assert messages(record.seen_by("B"))[0].text == rows(record.seen_by("B"))[0].text


def test_a_few_words_that_both_are_told_stand_with_each() -> None:
    told = [Row("GM", seat, f"You are {seat}.\nGood luck.") for seat in SEATS]
    assert _with_rules_once(told) == told


# Colours.


@cache
def colours() -> dict[str, tuple[str, str]]:
    """Map each token to its colour on a light and on a dark page."""
    sheet = files("negolab.formats").joinpath("colours.css").read_text("utf-8")
    return {name: (a, b) for name, a, b in re.findall(r"(--nl-[\w-]+): light-dark\((#\w{6}), (#\w{6})\);", sheet)}


def contrast(one: str, other: str) -> float:
    """Contrast of two colours by WCAG 2.2, from 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("paper", ["paper", "panel", "own", "bad-paper", "a", "b", "master"])
def test_what_is_written_can_be_read(paper: str, scheme: int) -> None:
    for ink in ("ink", "soft", "bad"):
        assert contrast(colours()[f"--nl-{ink}"][scheme], colours()[f"--nl-{paper}"][scheme]) >= 4.5


def test_a_page_uses_the_colours_that_there_are() -> None:
    page = transcript.html(balloon(PROPOSE, AGREE))
    used = set(re.findall(r"var\((--nl-[\w-]+)\)", page))
    assert used <= {*colours(), "--nl-gap", "--nl-radius"} and {"--nl-a", "--nl-b", "--nl-master"} <= used
    sheet = files("negolab.formats.transcript").joinpath("page.css").read_text("utf-8")
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgb", sheet)


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_page_fits_the_screen_and_runs_nothing(chromium: Any, tmp_path: Path, width: int, scheme: str) -> None:
    small = Instance({"A01": 10, "Q" * 300: 1}, 40, {"A": {"A01": 1, "Q" * 300: 2}, "B": {"A01": 1, "Q" * 300: 2}})
    nasty = "Q" * 2000 + " \u202e " + NASTY
    record = balloon("PROPOSAL: {'A01'}\nARGUMENT: {'so'}", nasty, instance=small)
    (tmp_path / "it.html").write_text(transcript.html(record), "utf-8")
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "it.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert asked == [(tmp_path / "it.html").as_uri()] and page.locator("script").count() == 0
    assert accessibility_violations(page) == []
    left = [page.locator(f"li > .{cls}").first.bounding_box()["x"] for cls in ("a.to-gm", "gm.to-b", "b.to-gm")]
    assert left == sorted(left) if width > 800 else max(left) < 50
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb({}, {}, {})".format(*bytes.fromhex(colours()["--nl-paper"][scheme == "dark"][1:]))
    page.close()


def test_nothing_in_a_fence_closes_it() -> None:
    lines = transcript.markdown(balloon(NASTY, PROPOSE, AGREE)).split("\n")
    fences = [line.removesuffix("text") for line in lines if re.fullmatch("`+(text)?", line)]
    assert len(fences) == 2 * len(transcript.messages(balloon(NASTY, PROPOSE, AGREE)))
    assert all(opened == closed for opened, closed in zip(fences[::2], fences[1::2], strict=True))
    assert max(map(len, fences)) == 6


# Published episodes.

PLAYERS = ("Player 1", "Player 2 (second)")


def instance(**changes: Any) -> dict[str, Any]:
    """An instance object with the fields that the importer reads."""
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
    """An episode with these texts, each two seconds after its prompt."""

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
    record = clembench.read_episode(folder(tmp_path / "x", played))
    assert (
        clembench.DIFFERENCES not in record.header.notes
        and record.end == "AGREED"
        and record.payoffs == {"A": 10, "B": 21}
    )
    assert record.header.players == {"A": "m1", "B": "m2"} and record.header.created == "2026-01-05T10:00:00+00:00"
    reply = record.events[1].reply  # type: ignore[union-attr]
    assert reply.answered_at - reply.asked_at == 2
    assert parse_record(record.to_line()).game == record.game


@pytest.mark.parametrize(
    ("played", "told"),
    [
        (interactions((0, PROPOSE), (0, AGREE)), ["reply 2 of 2: the file has seat A speak, the rules ask seat B"]),
        (interactions(*DEAL, (0, PROPOSE)), ["reply 4 of 4: the file has seat A speak, the match is over (AGREED)"]),
        (interactions(*DEAL, Lose=1, Success=0), ["reply 3, the last: the file says FORFEIT, the rules AGREED"]),
        (
            interactions(*DEAL[:2], Aborted=1, **{"final deal": None}),
            ["reply 2, the last: the file says ABORTED, the rules that the match continues"],
        ),
        (
            interactions(*DEAL, **{"final deal": ["A01"], "Normalized harmonic mean": float("nan")}),
            [
                "reply 3, the last: final deal is ['A01'] in the file, ['A01', 'B02'] by the rules",
                "reply 3, the last: Normalized harmonic mean is undefined in the file, 96.15384615384616 by the rules",
            ],
        ),
    ],
)
def test_a_difference_is_reported_with_the_reply(tmp_path: Path, played: dict[str, Any], told: list[str]) -> None:
    record = clembench.read_episode(folder(tmp_path / "x", played))
    assert record.header.notes["differences"] == told
    assert {difference.text for difference in clembench.episode_differences(record)} <= set(told)


def test_a_tree_lists_what_crashed_and_goes_on(tmp_path: Path) -> None:
    folder(tmp_path / "a" / "instance_00001", None)
    folder(tmp_path / "a" / "instance_00002", interactions(*DEAL))
    folder(tmp_path / "b" / "instance_00001", interactions(*DEAL), agree_tag="TAK: x")
    (tmp_path / "b" / "instance_00001" / "transcript.html").write_text("")
    crashed, imported, unknown = clembench.read_tree(tmp_path)
    assert isinstance(crashed, clembench.LeftOut) and crashed.kind == "crashed"
    assert isinstance(imported, Record) and imported.end == "AGREED"
    assert isinstance(unknown, clembench.LeftOut) and "'TAK'" in unknown.what


def test_a_malformed_event_is_an_error_that_tells_where(tmp_path: Path) -> None:
    played = interactions(*DEAL)
    played["turns"][1][1]["action"] = {}
    with pytest.raises(ValueError, match="event 4 is malformed"):
        clembench.read_episode(folder(tmp_path / "x", played))


def test_an_instance_is_a_game_and_a_missing_number_is_named() -> None:
    published = [clembench.import_published(one, "one") for one in (instance(), instance(agree_tag="ACCORDO:"))]
    assert [p.game.language for p in published] == ["en", "it"]
    assert published[0].game.instance == SMALL and published[0].game.turn_limit is None
    lacking = {name: value for name, value in instance().items() if name != "max_weight"}
    with pytest.raises(ValueError, match="max_weight"):
        clembench.import_published(lacking, "one")


def test_a_refused_offer_that_is_taken_up_all_the_same_is_marked() -> None:
    texts = ("[Offer: 2 Wheat -> 1 Ore]", "no thanks", "hm", "[Accept]")
    match = said(load("trading", preset="textarena-0.7.4"), *texts)
    accepted = [row for row in rows(match.record()) if row.text == "[Accept]"]
    assert [row.flags for row in accepted] == [("an offer that had been refused",)]
    assert record_steps(match.record())[-1].words == "B accepts (an offer that had been refused)"
