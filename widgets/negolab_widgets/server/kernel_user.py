"""Run participants' Voila and its kernels as another user of this machine, so that no kernel can read what is ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple


class KernelUser(NamedTuple):
    """A user of this machine, as a process is started for it."""

    name: str
    uid: int
    gid: int

    def options(self) -> dict[str, Any]:
        """Return what `Popen` needs to become that user, with no group and no file permission of ours."""
        groups = os.getgrouplist(self.name, self.gid)
        return {"user": self.uid, "group": self.gid, "extra_groups": groups, "umask": 0o077}

    def give(self, folder: Path) -> None:
        """Make a folder the user's own."""
        os.chown(folder, self.uid, self.gid)
        folder.chmod(0o700)


def kernel_user(name: str) -> KernelUser:
    """Find the user, and check that it can run Python and this package; raise ValueError otherwise."""
    if os.name != "posix" or os.geteuid() != 0:
        raise ValueError(f"--kernel-user {name} needs root: only root can start a process for another user")
    import pwd

    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise ValueError(f"--kernel-user {name}: there is no such user") from None
    if entry.pw_uid == 0:
        raise ValueError(f"--kernel-user {name} is root itself: name a user that owns nothing")
    user = KernelUser(name, entry.pw_uid, entry.pw_gid)
    _check(user)
    return user


def _check(user: KernelUser) -> None:
    code = "import negolab_widgets.server.gate"
    try:
        ran = subprocess.run(
            [sys.executable, "-P", "-c", code],
            env={"PATH": os.defpath, "HOME": "/"},
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            **user.options(),
        )
        fault = ran.stderr.strip().splitlines()[-1] if ran.returncode else ""
    except OSError as error:
        fault = str(error)
    if fault:
        what = f"{sys.executable} with negolab"
        raise ValueError(f"--kernel-user {user.name} cannot run {what} ({fault}): let it read both")
