"""The experiment that puts people of CaSiNo beside players on the same deals: invented dialogues, then the slice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import camping
import pytest

from negolab.formats.casino import read_file, to_record
from negolab.record import Record
from tests.analysis.test_export import kept
from tests.conftest import missing
from tests.formats.test_casino import CORPUS, dialogue, entry


def invented() -> list[Record]:
    """Two dialogues on one deal, the second without an agreement."""
    walked: dict[str, Any] = dialogue(entry(2, "Walk-Away"), points=(6, 4))
    return [to_record(one, "invented.json") for one in (dialogue(), {**walked, "dialogue_id": 8})]


def test_dialogues_and_players_are_on_the_same_deals(tmp_path: Path) -> None:
    people = camping.imported(str(kept(tmp_path / "people", *invented())))
    deals = camping.deals(people, 0, 1)
    assert [camping.deal_text(one) for one in deals] == ["3-5-4 / 4-3-5"]
    (record,) = camping.play("linear", deals, 1)
    assert camping.deal_of(record) == deals[0]
    assert len(camping.deals([], 0, 1)) == 36 and len(camping.deals([], 5, 1)) == 5


def test_a_game_is_measured_by_its_joint_points_logrolling_and_first_offer(tmp_path: Path) -> None:
    frame = camping.outcomes(kept(tmp_path / "run", *invented()))
    agreed, walked = frame.itertuples()
    # Of 3-5-4 / 4-3-5 the most is 12 + 15 + 15; two or one unit of each make at most 38.
    assert (agreed.joint, agreed.logrolling, agreed.share) == (41, 3, pytest.approx(100 * 41 / 42))
    assert (agreed.first_own, agreed.first_left) == (36, 0)
    assert (walked.joint, walked.agreed) == (10, 0)
    assert walked.logrolling != walked.logrolling, "missing without an agreement"
    found = camping.estimated(frame).set_index("measure")
    assert (found.value[camping.JOINT.name], found.n[camping.JOINT.name], found.draws[camping.JOINT.name]) == (
        25.5,
        2,
        1,
    )
    assert found.n[camping.LOGROLLING.name] == 1


def test_people_are_compared_with_each_player_deal_by_deal(tmp_path: Path) -> None:
    people = invented()
    played = list(camping.play("conceder with stubborn", camping.deals(people, 0, 1), 1))
    frame = camping.outcomes(kept(tmp_path / "run", *people, *played))
    assert list(dict.fromkeys(frame.player)) == ["people", "conceder with stubborn"]
    (row,) = camping.beside_people(frame, camping.JOINT).itertuples()
    assert (row.two, row.n, row.value) == ("conceder with stubborn", 1, 25.5 - frame.joint.iloc[-1])


def test_a_game_without_an_offer_has_no_first_one() -> None:
    log = [entry(1, "Hello."), entry(2, "Walk-Away")]
    silent = {**dialogue(points=(6, 4)), "chat_logs": log}
    assert camping.first_offer(to_record(silent, "invented.json")) == (None, None)


def test_published_figures_stand_beside_those_of_the_dialogues() -> None:
    shown = camping.published(invented()).set_index("figure")
    assert list(shown.here) == [2, 50, 12.75, 41]
    assert camping.published([]).here.isna().sum() == 3


def test_a_folder_without_dialogues_is_said(tmp_path: Path) -> None:
    assert camping.imported("") == []
    with pytest.raises(ValueError, match="whole path"):
        camping.imported(str(tmp_path / "nowhere"))
    kept(tmp_path / "other", *camping.play("linear", camping.deals([], 1, 1), 1))
    with pytest.raises(ValueError, match="negolab import casino"):
        camping.imported(str(tmp_path / "other"))


@pytest.mark.long
def test_people_of_the_slice_roll_more_logs_than_who_gives_way_evenly(tmp_path: Path) -> None:
    if not CORPUS.is_dir():
        missing(f"the corpus is not at {CORPUS}")
    names = ("casino_valid.json", "casino_test.json")
    people = [to_record(one, name) for name in names for one in read_file(CORPUS / name)]
    played = list(camping.play("linear", camping.deals(people, 0, 1), 1))
    frame = camping.outcomes(kept(tmp_path / "run", *people, *played))
    (rolled,) = camping.beside_people(frame, camping.LOGROLLING).itertuples()
    (first,) = camping.beside_people(frame, camping.FIRST_OWN).itertuples()
    assert rolled.n == 35 and rolled.low > 0 and rolled.holm < 0.05
    assert first.value < -15, "people do not begin by asking for all"
