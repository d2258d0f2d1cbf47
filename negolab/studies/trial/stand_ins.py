"""A study as a trial plays it: a scripted player replaces language models and partners who do not come."""

from __future__ import annotations

import msgspec

from negolab.protocols import MODEL_PREFIX
from negolab.studies.steps import RoundsStep, Step
from negolab.studies.study_config import Study, Treatment

STAND_IN = "random-legal"
"""Player that replaces others."""
LONGEST_WAIT = 30.0
"""Longest time in seconds that a browser waits for a partner: a few browsers cannot always be paired."""


def without_models(study: Study) -> tuple[Study, tuple[str, ...]]:
    """Return the study with `STAND_IN` in place of each language model, and the names of these models."""
    names: dict[str, None] = {}

    def other(player: str | None) -> str | None:
        if player is None or not player.startswith(MODEL_PREFIX):
            return player
        names[player] = None
        return STAND_IN

    def steps(every: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(
            msgspec.structs.replace(step, opponent=other(step.opponent)) if isinstance(step, RoundsStep) else step
            for step in every
        )

    def treatment(one: Treatment) -> Treatment:
        return msgspec.structs.replace(one, opponent=other(one.opponent), steps=steps(one.steps))

    changed = msgspec.structs.replace(
        study,
        treatments=tuple(map(treatment, study.treatments)),
        steps=steps(study.steps),
        practice=msgspec.structs.replace(study.practice, opponent=str(other(study.practice.opponent))),
        pairing=msgspec.structs.replace(study.pairing, then=str(other(study.pairing.then))),
    )
    return changed, tuple(names)


def browsers_study(study: Study, *, with_models: bool) -> Study:
    """Return the study as browsers try it.

    A player takes the seat of a partner who does not come within `LONGEST_WAIT`, so that all pages are visited.

    Args:
        study: The study.
        with_models: Let language models play; otherwise, `STAND_IN` replaces them.
    """
    if not with_models:
        study, _ = without_models(study)
    if not study.paired:
        return study
    then = study.pairing.player or STAND_IN
    pairing = msgspec.structs.replace(study.pairing, wait=min(study.pairing.wait, LONGEST_WAIT), then=then)
    return msgspec.structs.replace(study, pairing=pairing)
