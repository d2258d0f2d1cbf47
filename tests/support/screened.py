"""A participant in a real browser, from the link to the code: the same buttons and boxes a person uses."""

from __future__ import annotations

import asyncio
import random
import re
import time
from contextlib import suppress
from typing import Any

from playwright.async_api import TimeoutError

SHORT = 10_000
"""Milliseconds after which something is tried again."""

_DONE = ".nl-code"

_READY = """() => {
  const here = (e) => e.offsetParent && !e.disabled;
  const named = /^(I agree|Start|Continue|Send reply|Show: a box to type)/;
  const buttons = [...document.querySelectorAll("button")].filter(here);
  return buttons.some((b) => named.test(b.innerText)) || document.querySelector(".nl-code") !== null;
}"""


class Screened:
    """One participant at trading. `first` is the time from admission to the first control that answered, in seconds;
    `said` what was seen to stand in the talk."""

    def __init__(self, chrome: Any, link: str, rng: random.Random) -> None:
        self.chrome, self.link, self.rng = chrome, link, rng
        self.said: list[str] = []
        self.queued = self.first = 0.0

    async def come(self) -> None:
        """Open the link and press its button; the page may have to wait in the line."""
        self.context = await self.chrome.new_context()
        self.page = await self.context.new_page()
        self.page.set_default_timeout(180_000)
        base, admitted = self.link.split("join/")[0], [time.monotonic()]
        self.page.on("response", lambda r: admitted.append(time.monotonic()) if r.url == base else None)
        await self.page.goto(self.link)
        await self._button("Continue").click()
        pressed = time.monotonic()
        await self.page.get_by_role("button", name=re.compile("^(I agree|Start)")).first.wait_for()
        self.queued, self.first = admitted[-1] - pressed, time.monotonic() - admitted[-1]

    async def play(self, pace: tuple[float, float], *, replies: int = 1000) -> str:
        """Go on to the code, or until `replies` were given; the code, "" if there is none yet."""
        while True:
            await self.page.wait_for_function(_READY)
            if await self.page.locator(_DONE).count():
                return str(await self.page.locator(_DONE).inner_text())
            for name in ("I agree and take part", "Start", "Continue", "Show: a box to type the reply yourself"):
                if await self._button(name).count():
                    with suppress(TimeoutError):
                        await self._on_reply(name)
                    break
            else:
                if len(self.said) >= replies:
                    return ""
                await asyncio.sleep(self.rng.uniform(*pace))
                # A page that lost its connection is loaded anew, and the box is folded again.
                with suppress(TimeoutError):
                    await self._say(f"word-{self.rng.getrandbits(32):08x}")

    async def leave(self) -> str:
        """Leave the study, in its two steps."""
        await self._button("Leave the study").click()
        await self._button("Yes, leave the study").click()
        await self.page.locator(_DONE).wait_for()
        return str(await self.page.locator(_DONE).inner_text())

    async def close(self) -> None:
        await self.context.close()

    def _button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    async def _on_reply(self, name: str) -> None:
        await self._button(name).click(timeout=SHORT)
        # What it leads to has another button in its place.
        await self._button(name).wait_for(state="hidden", timeout=SHORT)

    async def _say(self, text: str) -> None:
        box = self.page.get_by_label("Your reply with its tokens")
        stands = await self._button("Deny").count() > 0  # an offer does
        await box.fill(f"{text} [Deny]" if stands else text, timeout=SHORT)
        await self._button("Send reply").click(timeout=SHORT)
        await self.page.wait_for_function("text => document.body.innerText.includes(text)", arg=text, timeout=SHORT)
        self.said.append(text)
