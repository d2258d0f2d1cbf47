"""In a kernel: the page of whoever is given this kernel. A kernel may be ready long before anybody comes."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

from ipykernel.connect import get_connection_file

from negolab import catalog
from negolab.people.client import Elsewhere, Host, Page
from negolab.people.room import Unheard
from negolab_widgets.following import AGAIN, FAULT, behind, followed
from negolab_widgets.places import SEATS
from negolab_widgets.study.page import StudyPage

log = logging.getLogger("negolab.widgets")

ALONE = "This page is for the participants of a study: `negolab serve STUDY.toml` starts one."


def opened() -> StudyPage:
    """The page of the participant whom this kernel is given to."""
    shown = StudyPage()
    if socket := os.environ.get(SEATS):
        behind(lambda: attend(shown, Host(socket), kernel()))
    else:
        shown.trouble(ALONE)
    return shown


def kernel() -> str:
    """The id of this kernel, by the name of its connection file: all that the server and the kernel both know."""
    return Path(get_connection_file()).stem.removeprefix("kernel-")


async def attend(shown: StudyPage, host: Host, kernel: str) -> None:
    """Wait for a participant, then show what the host says until another page takes over."""
    try:
        lease, module = await host.arrival(kernel)
        if module is not None:
            catalog.module(module)  # the researcher's own game: the host says which file
        page = await _reached(shown, host, lease)
    except Unheard as why:
        shown.trouble(str(why))
        return
    except Exception:
        log.exception("a page could not be opened")
        shown.trouble(FAULT)
        return
    shown.show(page)
    await followed(page, shown.trouble)


async def _reached(shown: StudyPage, host: Host, lease: str) -> Page:
    """The page as the host says it, as soon as the host answers."""
    while True:
        try:
            return Page(host, lease)
        except Elsewhere:
            raise
        except Unheard as why:
            shown.trouble(str(why))
            await asyncio.sleep(AGAIN)
