"""The parameters of the hot air balloon game."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from typing_extensions import override

from negolab.game import SEATS, Game, Seat
from negolab.games.balloon.instance import LARGEST, MANY_ITEMS, MOST_ITEMS, Correlation, Instance, Mode, uncorrelated
from negolab.games.balloon.prompt import language
from negolab.games.balloon.state import Private, Public, Rules, Say
from negolab.reading import Reading

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]


class Parameters(Game[Public, Private, Say], frozen=True, kw_only=True):
    """Parameters of the hot air balloon game.

    `reading` says whether tags are read as meant or literally. `rules` are those that the prompt states or the
    reference's. `patience` limits a seat's invalid replies in the whole match, `empty_turn_limit` the accepted messages
    in a row without PROPOSAL, and `turn_limit` the accepted messages. The other parameters say how an instance is
    drawn, unless `instance` gives one.
    """

    rules: Rules = "stated"
    reading: Reading = "fair"
    language: str = "en"
    strategic_reasoning: bool = False
    require_argument: bool = True
    patience: Count = 2
    empty_turn_limit: Count | None = None
    turn_limit: Positive | None = 40
    items: Annotated[int, Meta(ge=1, le=MOST_ITEMS)] = 15
    effort_range: tuple[Positive, Positive] = (1, 1001)
    limit_ratio: Annotated[float, Meta(gt=0, le=1)] = 0.5
    mode: Mode | None = "inverse"
    correlation: dict[Seat, Correlation] | None = msgspec.field(default_factory=uncorrelated)
    importance_seed: int | None = None
    instance: Instance | None = None

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        language(self.language)
        if self.effort_range[0] > self.effort_range[1]:
            raise ValueError(f"effort_range must go from low to high, not {self.effort_range}")
        most = LARGEST * 10 // 11  # importances are up to a tenth higher
        if self.items > MANY_ITEMS and self.effort_range[1] > most:
            raise ValueError(
                f"with {self.items} items, effort_range must end at {most:,} or below, not {self.effort_range}"
            )
        if self.correlation is not None and len(self.correlation) < len(SEATS):
            raise ValueError(f"correlation must be given for A and for B, not {self.correlation}")
