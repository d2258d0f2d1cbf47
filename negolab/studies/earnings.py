"""Earnings of a study's participants, from its database.

What a participant was shown is kept, and paid, even if the study file changes afterward.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from negolab.events import Ended
from negolab.game import Game
from negolab.runs.plan import derive_seed
from negolab.studies.database import Database, Participant, StoredMatch
from negolab.studies.database.payments import EARNINGS
from negolab.studies.endings import ENDINGS
from negolab.studies.payment import Earnings, Payoff, earnings
from negolab.studies.study_config import Study
from negolab.studies.texts import format_payoff


def shown_earnings(database: Database, study: Study, participant: Participant) -> Earnings | None:
    """Return what a participant earned, and keep it as shown to them; None if the study does not pay."""
    if study.payment is None:
        return None
    kept = database.kept_notes(study.name, EARNINGS, Earnings, participant.id)
    if participant.id in kept:
        return kept[participant.id]
    mine = database.matches(study.name, participant=participant.id)
    ends = database.ends(study.name, participant=participant.id)
    earned = computed_earnings(study, [participant], mine, ends)[participant.id]
    database.keep(EARNINGS, earned, study=study.name, participant=participant.id)
    return earned


def computed_earnings(
    study: Study, people: Iterable[Participant], matches: Sequence[StoredMatch], ends: Mapping[str, Ended]
) -> dict[str, Earnings]:
    """Compute the earnings of everybody for whom the study is over, by id, as the study file says.

    Args:
        study: The study.
        people: Its participants.
        matches: Their matches, in the order they began.
        ends: Last events of finished matches by their ids.

    Returns:
        Earnings by participant id; empty if the study does not pay.
    """
    if study.payment is None:
        return {}
    game = study.loaded(study.treatments[0])
    own_words = type(game).format_payoff is not Game.format_payoff
    payoffs: dict[str, list[Payoff]] = defaultdict(list)
    for match in matches:
        ended = ends.get(match.id)
        if not match.practice and ended is not None and ended.reason is None:
            for seat, id in match.participants.items():
                payoffs[id].append(ended.payoffs[seat])
    return {
        person.id: earnings(
            study.payment,
            person.status,
            payoffs[person.id],
            unit="" if own_words else game.unit,
            seed=derive_seed(study.seed, study.name, person.number, "payment"),
            write=partial(format_payoff, game) if own_words else None,
        )
        for person in people
        if person.status in ENDINGS
    }


def paid_earnings(now: Mapping[str, Earnings], shown: Mapping[str, Earnings]) -> dict[str, Earnings]:
    """Return the earnings to pay: those shown, if in the same currency, or else what the file says now."""
    return {id: kept if (kept := shown.get(id, one)).currency == one.currency else one for id, one in now.items()}


def study_earnings(database: Database, study: Study) -> dict[str, Earnings]:
    """Return the earnings of everybody for whom the study is over, by id: as shown, or else as the file says."""
    if study.payment is None:
        return {}
    people = database.participants(study.name)
    now = computed_earnings(study, people, database.matches(study.name), database.ends(study.name))
    return paid_earnings(now, database.kept_notes(study.name, EARNINGS, Earnings))
