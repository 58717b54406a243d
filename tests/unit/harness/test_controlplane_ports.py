"""Ports that stay ours while their server is away."""

import socket
from collections.abc import Iterator

import pytest

from harness.controlplane.ports import HOST, Port

pytestmark = pytest.mark.unit


@pytest.fixture
def port() -> Iterator[Port]:
    port = Port()
    yield port
    port.release()


def test_nobody_else_can_take_a_port_that_is_held(port: Port) -> None:
    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind((HOST, port.number))


def test_a_server_that_shares_ports_can_listen_on_it_and_leave_and_come_back(port: Port) -> None:
    for _ in range(2):
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            server.bind((HOST, port.number))
            server.listen()
            # The held socket does not listen, so it can't swallow connections.
            for _ in range(20):
                with socket.create_connection((HOST, port.number)), server.accept()[0]:
                    pass


def test_a_held_port_refuses_connections_while_its_server_is_away(port: Port) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, port.number))


def test_many_ports_are_all_different() -> None:
    ports = [Port() for _ in range(200)]
    assert len({port.number for port in ports}) == len(ports)
    for port in ports:
        port.release()
