"""Through which proxy an address is asked, as the environment says: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from negolab.players.endpoint.failures import RunFailed


def proxy(url: str) -> str | None:
    """The proxy's address; None: the endpoint is asked directly. `RunFailed` for one that cannot be used."""
    asked, named = urlsplit(url), getproxies()
    found = named.get(asked.scheme) or named.get("all")
    if not found or proxy_bypass(asked.netloc) or _spared(asked, named.get("no", "")):
        return None
    address = found if "://" in found else f"http://{found.removeprefix('//')}"
    if not _usable(address):
        raise RunFailed(f"{url}: the environment names no proxy of HTTP for it: set another, or NO_PROXY")
    return address


def _spared(asked: SplitResult, said: str) -> bool:
    """Whether NO_PROXY names the address in a way that the standard library does not read: as a network, with a
    protocol or a star before it, or by a star among others."""
    return any(_means(entry.strip(), asked) for entry in said.split(","))


def _means(entry: str, asked: SplitResult) -> bool:
    protocol, _, name = entry.rpartition("://")
    host = asked.hostname or ""
    if protocol not in ("", "all", asked.scheme):
        return False
    if name == "*":
        return True
    try:
        return ip_address(host) in ip_network(name.strip("[]"), strict=False)
    except ValueError:  # one of them is no number
        domain = name.removeprefix("*").lstrip(".").lower()
        return bool(domain) and f".{host}".endswith(f".{domain}")


def _usable(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or brackets that are none
        return False
