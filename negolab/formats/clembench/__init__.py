"""Published matches of clembench's `hot_air_balloon` as records of the balloon game.

`read_tree` reads all episodes under a folder, `read_episode` one; `score_pairs` and `score_lines` recompute the stored
scores from the dialogues.
"""

from negolab.formats.clembench.episodes import (
    DIFFERENCES,
    GAME,
    CrashedError,
    LeftOut,
    Published,
    count_left_out,
    episode_differences,
    episode_folders,
    import_published,
    read_episode,
    read_tree,
)
from negolab.formats.clembench.scores import NOTE, ScorePair, score_lines, score_pairs

__all__ = [
    "DIFFERENCES",
    "GAME",
    "NOTE",
    "CrashedError",
    "LeftOut",
    "Published",
    "ScorePair",
    "count_left_out",
    "episode_differences",
    "episode_folders",
    "import_published",
    "read_episode",
    "read_tree",
    "score_lines",
    "score_pairs",
]
