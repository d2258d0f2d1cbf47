"""Scripted bargainers. Either seat unless they say so; amounts in cents."""

from __future__ import annotations

from negolab.players.player import Scripted
from negolab.players.scripted.bargaining.concession import Boulware, Conceder, Linear, Time
from negolab.players.scripted.bargaining.fixed import Fair, Fixed, RandomPrice
from negolab.players.scripted.bargaining.rational import Equilibrium
from negolab.players.scripted.bargaining.reactive import AbsoluteTitForTat, RelativeTitForTat, Split
from negolab.players.scripted.bargaining.sellers import Anchored, ThresholdMug, ThresholdTalk

PLAYERS: dict[str, type[Scripted]] = {
    "time": Time,
    "boulware": Boulware,
    "linear": Linear,
    "conceder": Conceder,
    "tft_relative": RelativeTitForTat,
    "tft_absolute": AbsoluteTitForTat,
    "split": Split,
    "fair": Fair,
    "fixed": Fixed,
    "anchored": Anchored,
    "threshold_mug": ThresholdMug,
    "threshold_talk": ThresholdTalk,
    "spe": Equilibrium,
    "random": RandomPrice,
    "random-legal": RandomPrice,
}
