"""Codes beside conditions and outcomes: CaSiNo's labels, the report, and outcomes by use."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from negolab.coding.associations import outcome_by_use
from negolab.coding.units import Place, Reading, all_readings, keep, latest, units
from negolab.formats.casino import STRATEGIES
from tests.analysis.test_export import kept
from tests.coding.dialogues import bargained
from tests.conftest import missing
from tests.formats.test_casino import CORPUS
from tests.support.command import negolab, succeeding

COUNTS = {
    "non-strategic": 171,
    "small-talk": 130,
    "self-need": 115,
    "promote-coordination": 79,
    "vouch-fair": 52,
    "elicit-pref": 47,
    "other-need": 46,
    "showing-empathy": 38,
    "no-need": 30,
    "uv-part": 9,
}
"""Labels of the 568 annotated utterances in the slice of the corpus, counted in its files."""


@pytest.fixture(scope="module")
def casino(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The slice of CaSiNo, imported by the command, twice."""
    if not CORPUS.is_dir():
        missing(f"the corpus is not at {CORPUS}")
    out = tmp_path_factory.mktemp("casino") / "run"
    for _ in range(2):
        ran = negolab("import", "casino", *map(str, sorted(CORPUS.glob("*.json"))), "--out", str(out))
        assert "568 utterances with labels" in ran.stdout, ran.stderr
    return out


def test_the_labels_of_casino_are_imported_exactly_and_once(casino: Path) -> None:
    own = latest(casino, "casino")["corpus"]
    assert len(own) == len(all_readings(casino)) == 568 and len({place.match for place in own}) == 49
    found = Counter(code for reading in own.values() for code, value in reading.codes.items() if value)
    assert found == COUNTS and set(found) == set(STRATEGIES)
    assert own.keys() <= units(casino, "utterance").keys(), "each label is of an utterance of the table"


def test_points_by_strategy_have_intervals_by_draw(casino: Path) -> None:
    table = outcome_by_use(casino)
    assert len(table) == 20 and set(table["n"]) <= set(range(1, 50))
    used = table[(table["code"] == "self-need") & table["used"]].iloc[0]
    assert used["n"] == 43 and used["low"] < used["mean"] < used["high"]
    assert used["mean"] == pytest.approx(18.38, abs=0.005)


def test_a_codebook_called_casino_takes_the_corpus_for_one_more_coder(casino: Path, tmp_path: Path) -> None:
    succeeding("new", "codebook", "casino", cwd=tmp_path)
    gold = list(latest(casino, "casino")["corpus"].values())[:100]
    keep(casino, [Reading(book="casino", coder="anna", place=one.place, codes=one.codes) for one in gold])
    ran = negolab("code", str(casino), "--book", str(tmp_path / "casino.toml"), "--gold", "corpus")
    assert "corpus 568, anna 100" in ran.stdout and re.search(r"small-talk nominal +2 +100 +\d+ +1\.0", ran.stdout)


def test_a_report_shows_codes_by_condition_and_before_an_agreement(tmp_path: Path) -> None:
    texts = ("60\nMESSAGE: Hello.", "50\nMESSAGE: Or I leave.", "accept")
    records = [bargained(*texts, id=f"m{n}", cost=3000 + n) for n in range(12)]
    run = kept(tmp_path / "run", *records)
    said = [(Place(f"m{n}", turn=turn, seat="AB"[turn]), int(turn == 1)) for n in range(12) for turn in range(2)]
    keep(run, [Reading(book="mine", coder="anna", place=place, codes={"threat": yes}) for place, yes in said])
    succeeding("report", str(run))
    page = (run / "report.html").read_text()
    section = page[page.index("What was said") :]
    row = re.sub(r"<[^>]+>", "|", section[section.index("mine / anna / threat") :][:600])
    assert "0.5" in row.split("|") and "1" in row.split("|"), "half of all, and all of the last before an agreement"
    assert "association, not its effect" in section
    paid = outcome_by_use(run).set_index("used")["mean"]
    assert paid[True] != paid[False] and isinstance(paid, pd.Series)
