"""Tests press faster than people do."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_double_clicks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("negolab_widgets.play.seat.DOUBLE_CLICK", 0)
