"""Tells when a browser draws the page: a kernel that was started ahead has its page ready long before."""

from __future__ import annotations

from collections.abc import Callable

import anywidget

_ESM = "export default { render({ model }) { model.send({ here: true }); } };"


class Arrival(anywidget.AnyWidget):
    """Calls `came` whenever the page is drawn in a browser."""

    _esm = _ESM

    def __init__(self, came: Callable[[], None]) -> None:
        super().__init__(layout={"display": "none"})
        self.on_msg(lambda *_: came())
