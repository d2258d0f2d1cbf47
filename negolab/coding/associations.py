"""Codes related to conditions and outcomes, with intervals by draw.

Nobody was assigned what to say, so an outcome that goes with a code is associated with the code, and not an effect of
it.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from negolab.analysis import tables
from negolab.analysis.observations import frame_sample
from negolab.analysis.stats import UNBOUNDED
from negolab.coding.units import code_rows

BY = ["book", "coder", "code"]


def coded_seats(source: Path, seats: pd.DataFrame) -> pd.DataFrame:
    """Return one row per code that counts, with the columns of `seats` for the seat that said it; a whole match has two
    rows."""
    codes = pd.DataFrame(code_rows(source), columns=["match", "cell", "turn", "seat", *BY, "value"])
    same = [name for name in ("match", "cell", "seat") if name in seats and codes[name].notna().all()]
    return codes[[*same, "turn", *BY, "value"]].merge(seats, on=same)


def estimates(rows: pd.DataFrame, by: list[str], column: str = "value") -> pd.DataFrame:
    """Return the number of matches, the mean of a column and its 95% interval by draw, for each group of rows; for a
    yes-or-no code, the mean is the share of yes."""
    # The mean of marks cannot lie outside their range.
    ends = {names: tuple(part[column].agg(["min", "max"])) for names, part in rows.groupby(by, sort=False)}
    found = {
        names: frame_sample(part, column).mean(bounds=ends[names] if column == "value" else UNBOUNDED)
        for names, part in rows.groupby(by, sort=False)
    }
    told = [(*names, one.n, one.value, one.low, one.high) for names, one in found.items()]
    return pd.DataFrame(told, columns=[*by, "n", "mean", "low", "high"])


def before_agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the last coded turn of each match that ended in agreement."""
    agreed = rows[rows["end"] == "AGREED"]
    return agreed[agreed["turn"] == agreed.groupby([agreed["match"], agreed["cell"]])["turn"].transform("max")]


def outcome_by_use(source: Path | str, outcome: str = "payoff") -> pd.DataFrame:
    """Compare an outcome between seats that used a code at least once and those that did not.

    Args:
        source: The folder of a run or a sweep in which somebody has coded.
        outcome: A column of `tables.seats`.

    Returns:
        A row per codebook, coder, code and use: the number of matches, the mean and its 95% interval by draw. A
        difference is an association.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A record cannot be read.
    """
    coded = coded_seats(Path(source), tables.seats(source))
    keys = [*BY, *(name for name in ("match", "cell", "seat") if name in coded)]
    used = coded.groupby(keys, dropna=False)["value"].transform("max") > 0
    return estimates(coded.assign(used=used).drop_duplicates(keys), [*BY, "used"], outcome)
