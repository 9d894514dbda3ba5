"""Where a server listens: on this machine only, unless it has a token."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket

KEPT = 1 << 16
"""Bytes that the machine keeps for each client that has yet to read them: as many as that one may have taken
unknown to the server, which waits only so long for one that takes nothing."""


class AddressError(Exception):
    """There is no such address, or it is taken. The text is one clear line."""


def listening(host: str, port: int) -> socket.socket:
    """A socket that clients may connect to from now on. Raises AddressError."""
    family, address = _resolved(host, port)
    try:
        made = socket.create_server(address, family=family, backlog=512)
    except OSError as error:
        # Its own words repeat the address.
        why = os.strerror(error.errno) if error.errno else error
        mend = "; --port takes another" if error.errno == errno.EADDRINUSE else ""
        raise AddressError(f"{host}:{port}: {why}{mend}") from None
    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KEPT)
    return made


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it. Raises AddressError."""
    _, address = _resolved(host, 0)
    return ipaddress.ip_address(address[0].partition("%")[0]).is_loopback


def url_of(made: socket.socket) -> str:
    host, port = made.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, tuple]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise AddressError(f"{host}: there is no such address ({why})") from None
    family, _, _, _, address = found[0]
    return family, address
