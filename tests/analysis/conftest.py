"""Corrections of p-values without the garbage collection that statsmodels forces with each of them."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True)
def uncollected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "collect", lambda generation=2: 0)
