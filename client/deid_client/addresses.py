"""The servers behind an endpoint. A host name with several addresses counts as several servers.

gRPC connects to only one address of a name. To use all servers and to check the models of each, the client opens one
connection per address. A headless service of Kubernetes is an example.
"""

import asyncio
import ipaddress
import socket
from dataclasses import dataclass
from typing import Final

from deid_client.settings import split_endpoint

_LOOKUP_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Address:
    """One server. ``endpoint`` is ``host:port`` from the settings. ``ip`` is None when gRPC resolves the host."""

    endpoint: str
    ip: str | None = None

    @property
    def host(self) -> str:
        """The host of the endpoint, the name in its certificate."""
        return split_endpoint(self.endpoint)[0]

    @property
    def target(self) -> str:
        """The target that gRPC connects to."""
        if self.ip is None:
            return self.endpoint
        port = split_endpoint(self.endpoint)[1]
        return f"ipv6:[{self.ip}]:{port}" if ":" in self.ip else f"ipv4:{self.ip}:{port}"

    def __str__(self) -> str:
        return self.endpoint if self.ip is None else f"{self.endpoint} ({self.ip})"


def is_name(endpoint: str) -> bool:
    """Return whether the host of ``endpoint``, ``host:port``, is a name and not an IP address."""
    host, _ = split_endpoint(endpoint)
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return True
    return False


async def look_up(endpoint: str) -> list[Address] | None:
    """Return the servers behind ``endpoint``, one or more; None when its host cannot be resolved now.

    A host with one address, or with one IPv4 and one IPv6 address, is a single server, and gRPC resolves it. Otherwise
    the family with more addresses is used, since a server may have one address of each family.
    """
    if not is_name(endpoint):
        return [Address(endpoint)]
    host, port = split_endpoint(endpoint)
    try:
        async with asyncio.timeout(_LOOKUP_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # also a timeout, and an invalid name
        return None
    by_family = [
        list(dict.fromkeys(str(place[0]) for family, *_, place in found if family is wanted))
        for wanted in (socket.AF_INET, socket.AF_INET6)
    ]
    ips = max(by_family, key=len)
    return [Address(endpoint, ip) for ip in ips] if len(ips) > 1 else [Address(endpoint)]
