"""Baselines for split games. Each sees its observation alone.

Several are the fixed partners and bounds of the published split games (arXiv 2406.14662, 2511.19405).
"""

from __future__ import annotations

from negolab.players.player import Scripted
from negolab.players.scripted.split.dealers import Agreeable, Concede
from negolab.players.scripted.split.dividers import Equal, Greedy, Liar, Random, TitForTat, Truthful, Welfare

PLAYERS: dict[str, type[Scripted]] = {
    "greedy": Greedy,
    "equal": Equal,
    "welfare": Welfare,
    "truthful": Truthful,
    "liar": Liar,
    "tit-for-tat": TitForTat,
    "random": Random,
    "agreeable": Agreeable,
    "concede": Concede,
}
