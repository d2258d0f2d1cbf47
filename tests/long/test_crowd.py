"""Many participants at once on one machine: all finish, and no event is lost, also while others attack."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SLOW, needs
from tests.support import crowd
from tests.support.overload import ATTACKS

pytestmark = [pytest.mark.soak, pytest.mark.browser, pytest.mark.alone]


@pytest.mark.parametrize(
    ("people", "browsers", "attacks"),
    [
        pytest.param(50 if SLOW else 20, 5 if SLOW else 3, list(ATTACKS), id="attacked"),
        *([pytest.param(30, 3, [], id="30")] if SLOW else []),
    ],
)
def test_many_people_come_within_ten_seconds_and_all_finish(
    tmp_path: Path, people: int, browsers: int, attacks: list[str]
) -> None:
    needs("chromium", "chromium")
    database, study, ids, came, weight = crowd.run_crowd(tmp_path, people, browsers, attacks)
    print("\n" + crowd.summary(came, weight))
    assert [one.code for one in came] == ["DONE"] * people
    for id, one in zip(ids, came, strict=True):
        (sat,) = database.matches(study.name, participant=id)
        log = database.record(sat.id).to_line().decode()
        assert [log.count(text.split()[0]) for text in one.seen] == [1] * len(one.seen)
    database.close()
