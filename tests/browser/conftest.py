"""Pages of the browser, closed after a test; no script of theirs may fail, and nothing may be asked of elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.browser import WIDE

HERE = ("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:", "file:", "about:")


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Any]]:
    """A function that opens a page in a browser of its own, at an address if one is given."""
    faults: list[str] = []
    contexts = []

    def opened(url: str = "", size: dict[str, int] = WIDE, **options: Any) -> Any:
        contexts.append(chromium.new_context(viewport=size, **options))
        contexts[-1].on("request", lambda request: None if request.url.startswith(HERE) else faults.append(request.url))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        if url:
            page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []
