"""Checks for `study.toml`: run them with `pytest test_study.py`."""

from __future__ import annotations

from pathlib import Path

from negolab.studies.study_file import read_study

STUDY = read_study(Path(__file__).with_name("study.toml"))


def test_every_treatment_can_be_played() -> None:
    for treatment in STUDY.treatments:
        assert STUDY.loaded(treatment).bound() is not None, "a match of people must end"


def test_participants_are_told_what_they_agree_to() -> None:
    assert STUDY.consent
    assert len(set(STUDY.codes.values())) == len(STUDY.codes)
