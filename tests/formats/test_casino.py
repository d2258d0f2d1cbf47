"""Dialogues of CaSiNo as records: an invented one, what is refused, then the slice of the corpus, where it is there."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from negolab.analysis.measures import measure_match
from negolab.coding.units import all_readings, latest
from negolab.formats.casino import figures, read_file, to_record
from negolab.record import final_state, parse_record
from negolab.verification import replay_differences
from tests.conftest import ROOT, missing
from tests.support.command import negolab, succeeding

CORPUS = ROOT.parent / "shared" / "corpora" / "casino"
Dialogue = dict[str, Any]


def deal(food: int, water: int, firewood: int) -> Dialogue:
    """The data of an offer: what its author gets."""
    own = {"Food": food, "Water": water, "Firewood": firewood}
    return {
        "issue2youget": {good: str(units) for good, units in own.items()},
        "issue2theyget": {good: str(3 - units) for good, units in own.items()},
    }


def entry(worker: int, text: str, data: Dialogue | None = None) -> Dialogue:
    return {"text": text, "task_data": data or {}, "id": f"mturk_agent_{worker}"}


def participant(high: str, medium: str, low: str, points: int) -> Dialogue:
    return {
        "value2issue": {"High": high, "Medium": medium, "Low": low},
        "value2reason": {"High": "I am hungry."},
        "outcomes": {"points_scored": points, "satisfaction": "Slightly satisfied", "opponent_likeness": "Undecided"},
        "demographics": {"age": 41},
        "personality": {"svo": "prosocial"},
    }


def dialogue(*logs: Dialogue, points: tuple[int, int] = (24, 17)) -> Dialogue:
    """A dialogue in which the second worker writes first."""
    talk = [
        entry(2, "Hello  there!"),
        entry(1, "I need food."),
        entry(2, "Submit-Deal", deal(3, 3, 3)),
        entry(1, "Reject-Deal", {"data": "reject_deal"}),
        entry(1, "All of it? No."),
    ]
    ends = logs or (entry(2, "Submit-Deal", deal(1, 3, 0)), entry(1, "Accept-Deal", {"data": "accept_deal"}))
    return {
        "dialogue_id": 7,
        "chat_logs": [*talk, *ends],
        "participant_info": {
            "mturk_agent_1": participant("Firewood", "Food", "Water", points[0] - 1),
            "mturk_agent_2": participant("Water", "Firewood", "Food", points[1] + 1),
        },
        "annotations": [["Hello  there!", "small-talk"], ["I need food.", "self-need,no-need"]],
    }


def test_who_writes_first_is_a_and_what_follows_a_rejection_is_one_message() -> None:
    record = to_record(dialogue(), "invented.json")
    messages = final_state(record).public.messages
    assert [(message.seat, message.reply, message.talk) for message in messages] == [
        ("A", None, "Hello there!"),
        ("B", None, "I need food."),
        ("A", None, ""),
        ("B", "reject", "All of it? No."),
        ("A", None, ""),
        ("B", "accept", ""),
    ]
    assert (record.end, record.payoffs) == ("AGREED", {"A": 18, "B": 23})
    assert record.header.preset == "casino" and record.header.players == {"A": "person", "B": "person"}


def test_labels_and_what_was_asked_of_workers_are_notes() -> None:
    notes = to_record(dialogue(), "invented.json").header.notes
    assert notes["strategies"] == [[1, ["small-talk"]], [2, ["self-need", "no-need"]]]
    assert notes["workers"] == {"A": "mturk_agent_2", "B": "mturk_agent_1"}
    assert notes["participants"]["A"]["outcomes"]["points_scored"] == 18
    assert notes["participants"]["B"]["demographics"] == {"age": 41}


def test_walking_away_needs_no_standing_offer_and_pays_five_each() -> None:
    walked = dialogue(entry(2, "Walk-Away", {"data": "walk_away"}), points=(6, 4))
    record = to_record(walked, "invented.json")
    assert (record.end, record.payoffs) == ("NO_DEAL", {"A": 5, "B": 5})


def test_a_record_replays_and_is_measured() -> None:
    record = parse_record(to_record(dialogue(), "invented.json").to_line())
    assert replay_differences(record) == []
    measured = measure_match(record)
    assert (measured["joint_points"], measured["offers_a"], measured["rejections_b"]) == (41, 2, 1)
    assert figures([record]) == (1, 1, 2, 1, 20.5, 41.0)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (dialogue(entry(2, "so"), entry(2, "what")), "did not take turns"),
        (dialogue(entry(2, "so")), "neither an agreement nor a walk-away"),
        (dialogue(entry(2, "Accept-Deal")), "rules don't allow"),
        (dialogue(points=(25, 17)), "but the file says"),
        (dialogue(entry(2, "Submit-Deal", {})), "is incomplete"),
        (dialogue(entry(2, "Submit-Deal", {"issue2youget": {"Food": float("inf")}})), "damaged: OverflowError"),
        (dialogue() | {"annotations": [["Hello  there!"]]}, "damaged: IndexError"),
        (
            dialogue(entry(2, "Submit-Deal", {**deal(1, 3, 0), "issue2theyget": deal(1, 0, 0)["issue2youget"]})),
            "divide",
        ),
    ],
)
def test_a_dialogue_that_the_rules_do_not_allow_is_refused(wrong: Dialogue, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        to_record(wrong, "invented.json")


def test_a_file_that_holds_no_dialogues_is_refused(tmp_path: Path) -> None:
    for text in ("no json", "[]", "{}", '[{"dialogue_id": 1}]'):
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(ValueError, match=r"x.json is no"):
            read_file(path)
    with pytest.raises(ValueError, match=r"is a folder: give the files in it, such as x\.json$"):
        read_file(tmp_path)


def test_the_command_writes_records_and_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    path, out = tmp_path / "small.json", tmp_path / "run"
    wrong = {**dialogue(entry(2, "so")), "dialogue_id": 8}
    path.write_text(json.dumps([dialogue(), wrong]))
    for _ in range(2):
        ran = succeeding("import", "casino", str(path), "--out", str(out))
        assert "left out: small.json, dialogue 8: it has neither an agreement nor a walk-away" in ran.stdout
        assert "1 record, whose points match the stored ones" in ran.stdout
    assert negolab("check", str(out)).stdout.startswith("1 ")
    assert "B: [Reject] All of it? No." in negolab("replay", str(out), "--id", "casino-00007").stdout


def test_labels_of_a_dialogue_that_was_damaged_at_first_are_kept_with_the_others(tmp_path: Path) -> None:
    path, out = tmp_path / "small.json", tmp_path / "run"
    for damaged in (True, False, False):
        other = {**dialogue(), "dialogue_id": 8, **({"annotations": None} if damaged else {})}
        path.write_text(json.dumps([dialogue(), other]))
        ran = succeeding("import", "casino", str(path), "--out", str(out))
    labels = {place.match for place in latest(out, "casino")["corpus"]}
    assert labels == {"casino-00007", "casino-00008"} and "4 utterances with labels" in ran.stdout
    assert len(all_readings(out)) == 4, "and none is kept twice"


def test_a_dialogue_with_half_a_character_is_named_and_left_out_alone(tmp_path: Path) -> None:
    wrong = {**dialogue(), "dialogue_id": 8, "annotations": [["Hello  there!", "\ud800"]]}
    (tmp_path / "small.json").write_text(json.dumps([wrong, dialogue()]))
    ran = succeeding("import", "casino", "small.json", "--out", "run", cwd=tmp_path)
    assert "left out: small.json, dialogue 8: it contains what no record can hold: 'utf-8'" in ran.stdout
    assert "run: 1 record" in ran.stdout


# The slice of the corpus.


def test_the_slice_replays_with_the_ends_points_offers_and_rejections_that_are_stored() -> None:
    if not CORPUS.is_dir():
        missing(f"the corpus is not at {CORPUS}")
    dialogues = [one for name in ("casino_valid.json", "casino_test.json") for one in read_file(CORPUS / name)]
    records = [to_record(one, "slice") for one in dialogues]
    assert len(records) == 130
    texts = Counter(log["text"] for one in dialogues for log in one["chat_logs"])
    found = figures(records)
    assert (found.agreed, found.offers, found.rejections) == (
        texts["Accept-Deal"],
        texts["Submit-Deal"],
        texts["Reject-Deal"],
    )
    for one, record in zip(dialogues, records, strict=True):
        points = {name: worker["outcomes"]["points_scored"] for name, worker in one["participant_info"].items()}
        assert {worker: record.payoffs[seat] for seat, worker in record.header.notes["workers"].items()} == points
        last = one["chat_logs"][-1]["text"]
        assert record.end == {"Accept-Deal": "AGREED", "Walk-Away": "NO_DEAL"}[last]
        assert replay_differences(parse_record(record.to_line())) == []
        labels = [label for _, label in record.header.notes.get("strategies", [])]
        assert labels == [label.split(",") for _, label in one["annotations"]]
