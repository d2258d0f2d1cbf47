"""What a run has spent, in a file beside its games: never less than what is known, also after a kill."""

from __future__ import annotations

from pathlib import Path

import msgspec

from negolab.disk import written
from negolab.players.endpoint.failures import RunFailed

FILE = "spent.json"


class Noted(msgspec.Struct, frozen=True):
    """What stands in the file, in `PICO`ths of a dollar and in tokens: what answers took, rounded up; how many calls
    may be in flight, at most; and what the dearest call took so far (before the first answer: what one could)."""

    pico: int = 0
    tokens: int = 0
    flying: int = 0
    dear_pico: int = 0
    dear_tokens: int = 0


class Account:
    """The file of one run. Of a run that was killed nobody knows what its calls in flight took: each is taken to have
    been as dear as the dearest that was answered. A run that ends says what it really was."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self.noted = Noted()
        if self._file.exists():
            try:
                self.noted = msgspec.json.decode(self._file.read_bytes(), type=Noted)
            except msgspec.DecodeError as error:
                raise ValueError(f"{self._file}: does not say what was spent ({error}): move it away") from None

    def write(self, noted: Noted) -> None:
        """On the disk when this returns; `RunFailed` if it cannot be written, because then no cap could be kept."""
        try:
            written(self._file, msgspec.json.encode(noted) + b"\n")
        except OSError as error:
            raise RunFailed(f"{self._file}: what is spent cannot be noted: {error.strerror}") from None
        self.noted = noted
