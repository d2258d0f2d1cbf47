"""Latency for participants: thirty at once, and one reply at the host."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from negolab.studies import links
from negolab.studies.database import Database
from negolab.studies.page_state import Playing
from negolab.studies.service import StudyService
from negolab.studies.study_file import parse_study
from tests.support import crowd


def first_control() -> float:
    """Median seconds from admission to the first working control, for thirty who arrive within ten seconds."""
    with tempfile.TemporaryDirectory() as folder:
        database, _, _, came, weight = crowd.run_crowd(Path(folder))
        database.close()
    print(crowd.summary(came, weight), file=sys.stderr)
    return statistics.median(one.first for one in came)


def reply() -> float:
    """Median milliseconds until a reply and the opponent's answer are stored and the next page state is made."""
    study = parse_study(crowd.STUDY.replace("max_turns = 10", "max_turns = 400"), Path("reply.toml"))
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "people.db")
        service = StudyService(database, study)
        kept = database.study(study.name, study.text)
        (who,) = database.invite(study.name)
        service.authenticator.bind(links.make_token(kept.secret, study.name, who.id), "kernel")
        lease = database.participants(study.name)[0].lease or ""
        service.act(lease, {"kind": "start"})
        times = []
        while len(times) < 100:
            scene = service.now(lease).state
            assert isinstance(scene, Playing)
            said = {"kind": "reply", "text": "hello", "turn": scene.table["turn"], "match": scene.match}
            began = time.perf_counter()
            service.act(lease, said)
            times.append(time.perf_counter() - began)
        database.close()
    return 1000 * statistics.median(times)
