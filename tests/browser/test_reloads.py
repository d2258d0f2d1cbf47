"""A page that is loaded again at any moment comes back to its table by itself."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from tests.support.host_process import solo_treatment, study_toml
from tests.support.study_server import Person, serving_study

pytestmark = [pytest.mark.browser, pytest.mark.long]

RELOADS = int(os.environ.get("NEGOLAB_RELOADS", "12"))


def test_a_page_reloaded_at_random_moments_comes_back_to_its_table(tmp_path: Path, chromium: Any) -> None:
    rng = random.Random(35)
    with serving_study(
        tmp_path, study_toml("bargaining", solo_treatment("fair", more="params = { rounds = 14 }"))
    ) as server:
        person = Person(chromium, server).join().begin().seated()
        for _ in range(RELOADS):
            person.page.reload(wait_until=rng.choice(("commit", "domcontentloaded", "load")))
            if rng.random() < 0.3:  # the next one meets the page while it loads
                person.page.wait_for_timeout(rng.uniform(0, 800))
            else:
                person.wait_until(person.shows_turn, "the page is dead")
                person.page.wait_for_timeout(rng.uniform(0, 2000))
        person.wait_until(person.shows_turn, "the page is dead")
