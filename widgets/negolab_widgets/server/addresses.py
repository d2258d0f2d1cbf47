"""The address at which a study is served, and the combinations of options that would be unsafe."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from negolab.cli.serve import ServeOptions


class Address(NamedTuple):
    """A public address such as `https://lab.example/study/`: the scheme, the host as browsers send it, and the path
    between slashes."""

    scheme: str
    host: str
    prefix: str

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}{self.prefix}"


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach the host."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def parse_public_url(url: str) -> Address:
    """Parse a public address; raise ValueError if it is invalid or not encrypted."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(f"--public-url {url!r} is not an address such as https://lab.example/study/") from None
    name = (parts.hostname or "").lower()
    if parts.scheme not in ("http", "https") or not name or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError(f"--public-url {url!r} is not an address such as https://lab.example/study/")
    prefix = "/" + "".join(f"{part}/" for part in parts.path.split("/") if part)
    if not re.fullmatch(r"[A-Za-z0-9._~/-]*", prefix):
        raise ValueError(f"--public-url {url!r}: its path may contain only letters, digits and . _ ~ -")
    if parts.scheme == "http" and not is_loopback(name):
        raise ValueError(f"--public-url {url!r} is not encrypted: use https:// (a proxy may add it: --behind-proxy)")
    host = f"[{name}]" if ":" in name else name
    shown = "" if port is None or (parts.scheme, port) in (("http", 80), ("https", 443)) else f":{port}"
    return Address(parts.scheme, host + shown, prefix)


def local_address(port: int) -> Address:
    """Return an address that only this machine can reach."""
    return Address("http", f"127.0.0.1:{port}", "/")


def serving_address(options: ServeOptions) -> Address:
    """Return the participants' address; raise ValueError with a one-line message for an unsafe combination of
    options."""
    if (options.certfile is None) != (options.keyfile is None):
        raise ValueError("--certfile and --keyfile belong together: give both")
    if options.public_url is None:
        if not is_loopback(options.host):
            raise ValueError(f"--host {options.host} is reachable from elsewhere: add --public-url https://...")
        if options.behind_proxy or options.certfile is not None:
            raise ValueError("add the study's address with --public-url https://...")
        return local_address(options.port)
    address = parse_public_url(options.public_url)
    if address.scheme == "https" and not options.behind_proxy and options.certfile is None:
        raise ValueError("--public-url https://... needs a proxy (--behind-proxy) or --certfile and --keyfile")
    return address
