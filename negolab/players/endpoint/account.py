"""What a run has spent, in a file beside its games: never less than the truth, also after a kill."""

from __future__ import annotations

from pathlib import Path

import msgspec

from negolab.disk import written
from negolab.players.endpoint.failures import RunFailed

FILE = "spent.json"


class _Written(msgspec.Struct):
    pico: int
    tokens: int


class Account:
    """The file of one run. A run that is killed is taken to have spent what it had announced; one that ends says what
    it really was."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self.pico, self.tokens = 0, 0
        if self._file.exists():
            try:
                found = msgspec.json.decode(self._file.read_bytes(), type=_Written)
            except msgspec.DecodeError as error:
                raise ValueError(f"{self._file}: does not say what was spent ({error}): move it away") from None
            self.pico, self.tokens = found.pico, found.tokens

    def covers(self, pico: int, tokens: int) -> bool:
        """Whether so much was announced, in `PICO`ths of a dollar and in tokens."""
        return pico <= self.pico and tokens <= self.tokens

    def write(self, pico: int, tokens: int) -> None:
        """On the disk when this returns; `RunFailed` if it cannot be written, because then no cap could be kept."""
        try:
            written(self._file, msgspec.json.encode(_Written(pico, tokens)) + b"\n")
        except OSError as error:
            raise RunFailed(f"{self._file}: what is spent cannot be noted: {error.strerror}") from None
        self.pico, self.tokens = pico, tokens
