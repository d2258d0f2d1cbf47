"""Thirty participants at once on one machine: all finish, and no event is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import needs
from tests.support import crowd

pytestmark = [pytest.mark.soak, pytest.mark.browser]


def test_thirty_people_come_within_ten_seconds_and_all_finish(tmp_path: Path) -> None:
    needs("chromium", "chromium")
    database, study, people, came, weight = crowd.run_crowd(tmp_path)
    print("\n" + crowd.summary(came, weight))
    assert [one.code for one in came] == ["DONE"] * crowd.PEOPLE
    for id, one in zip(people, came, strict=True):
        (sat,) = database.matches(study.name, participant=id)
        log = database.record(sat.id).to_line().decode()
        assert [log.count(text.split()[0]) for text in one.seen] == [1] * len(one.seen)
    database.close()
