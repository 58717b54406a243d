"""Framing: bodies are found in any cut of the bytes, and pass untouched."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.faultproxy.framing import (
    LAST_CHUNK,
    NO_BODY,
    BadMessage,
    Framing,
    Piece,
    RequestHead,
    ResponseHead,
    Truncated,
    WireBody,
    as_chunked,
    chunk,
    closes,
    header,
    read_request_head,
    read_response_head,
    request_bytes,
    request_framing,
    response_bytes,
    response_framing,
)

pytestmark = pytest.mark.unit

names = st.text(alphabet="abcdefghijklmnopqrstuvwxyzABC-", min_size=1, max_size=12)
values = st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), max_size=30)
headers = st.lists(st.tuples(names, values), max_size=6).map(tuple)


async def fed(pieces: list[bytes], *, limit: int = 2**16) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=limit)
    for piece in pieces:
        reader.feed_data(piece)
    reader.feed_eof()
    return reader


async def body_in_steps(data: bytes, framing: Framing, *, step: int) -> list[Piece]:
    """Reads a body whose bytes arrive `step` at a time, each step only when everything before is used."""
    reader = asyncio.StreamReader()
    body = WireBody(reader, framing)

    async def feed() -> None:
        for start in range(0, len(data), step):
            reader.feed_data(data[start : start + step])
            await asyncio.sleep(0)
        reader.feed_eof()

    pieces: list[Piece] = []
    feeding = asyncio.create_task(feed())
    while (piece := await body.read()) is not None:
        pieces.append(piece)
    await feeding
    return pieces


@settings(max_examples=60, deadline=None)
@given(payloads=st.lists(st.binary(min_size=1, max_size=40), max_size=5), step=st.integers(1, 30))
def test_a_chunked_body_is_the_same_however_its_bytes_arrive(payloads: list[bytes], step: int) -> None:
    wire = b"".join(chunk(payload) for payload in payloads) + LAST_CHUNK
    pieces = asyncio.run(body_in_steps(wire, Framing("chunked"), step=step))
    assert b"".join(piece.payload for piece in pieces) == b"".join(payloads)
    assert b"".join(piece.raw for piece in pieces) == wire


@settings(max_examples=30, deadline=None)
@given(data=st.binary(max_size=100), step=st.integers(1, 30))
def test_a_counted_body_ends_at_its_length(data: bytes, step: int) -> None:
    pieces = asyncio.run(body_in_steps(data + b"next message", Framing("length", len(data)), step=step))
    assert b"".join(piece.raw for piece in pieces) == data


async def test_extensions_and_trailers_of_chunks_pass_untouched() -> None:
    wire = b"3;name=value\r\nabc\r\n0\r\nDigest: x\r\n\r\n"
    pieces = await body_in_steps(wire, Framing("chunked"), step=4)
    assert b"".join(piece.raw for piece in pieces) == wire
    assert b"".join(piece.payload for piece in pieces) == b"abc"


async def test_the_payload_of_a_chunk_is_here_before_the_chunk_is_whole() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(b"a\r\nhalf ")
    assert await WireBody(reader, Framing("chunked")).read() == Piece(b"a\r\nhalf ", b"half ")


@pytest.mark.parametrize(
    ("wire", "framing"),
    [
        (b"abc", Framing("length", 4)),
        (b"4\r\nabc", Framing("chunked")),
        (b"3\r\nabc\r\n", Framing("chunked")),
        (b"0\r\n", Framing("chunked")),
    ],
)
async def test_a_body_that_ends_early_is_truncated(wire: bytes, framing: Framing) -> None:
    with pytest.raises(Truncated):
        await body_in_steps(wire, framing, step=2)


@pytest.mark.parametrize("wire", [b"x\r\nabc\r\n", b"2\r\nabc\r\n", b"-1\r\nabc\r\n"])
async def test_a_chunk_that_makes_no_sense_is_refused(wire: bytes) -> None:
    body = WireBody(await fed([wire]), Framing("chunked"))
    with pytest.raises(BadMessage):
        await body.read()


@given(headers=headers)
def test_heads_come_out_as_they_went_in(headers: tuple[tuple[str, str], ...]) -> None:
    request = RequestHead("GET", "/api/v1/pods?watch=1", headers)
    response = ResponseHead("HTTP/1.1", 200, "OK", headers)

    async def read() -> tuple[RequestHead | None, ResponseHead]:
        reader = await fed([request_bytes(request), response_bytes(response)])
        return await read_request_head(reader), await read_response_head(reader)

    assert asyncio.run(read()) == (request, response)


async def test_no_request_is_left_when_the_client_ends() -> None:
    assert await read_request_head(await fed([])) is None


async def test_interim_responses_are_skipped() -> None:
    reader = await fed([b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n"])
    assert (await read_response_head(reader)).status == 204


@pytest.mark.parametrize(
    "wire",
    [
        b"GET / HTTP/1.0\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET http://other/ HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nspace : 1\r\n\r\n",
        b"GET /" + b"x" * 100_000,
    ],
)
async def test_a_head_that_makes_no_sense_is_refused(wire: bytes) -> None:
    with pytest.raises(BadMessage):
        await read_request_head(await fed([wire], limit=2**14))


@pytest.mark.parametrize(
    ("method", "status", "headers", "framing"),
    [
        ("GET", 200, (("Content-Length", "12"),), Framing("length", 12)),
        ("GET", 200, (("transfer-encoding", "Chunked"),), Framing("chunked")),
        ("GET", 200, (), Framing("until-close")),
        ("HEAD", 200, (("Content-Length", "12"),), NO_BODY),
        ("DELETE", 204, (), NO_BODY),
        ("GET", 304, (), NO_BODY),
    ],
)
def test_the_end_of_a_response_is_where_http_says(
    method: str, status: int, headers: tuple[tuple[str, str], ...], framing: Framing
) -> None:
    assert response_framing(ResponseHead("HTTP/1.1", status, "", headers), method=method) == framing


def test_a_request_without_length_has_no_body() -> None:
    assert request_framing(RequestHead("GET", "/", ())) == NO_BODY


def test_a_length_that_is_no_number_is_refused() -> None:
    with pytest.raises(BadMessage, match="Content-Length"):
        request_framing(RequestHead("POST", "/", (("Content-Length", "many"),)))


def test_a_response_made_chunked_has_no_length_any_more() -> None:
    head = as_chunked(ResponseHead("HTTP/1.1", 200, "OK", (("Content-Length", "3"), ("Date", "now"))))
    assert head.headers == (("Date", "now"), ("Transfer-Encoding", "chunked"))


def test_headers_are_found_in_any_case() -> None:
    assert header((("CoNNection", "Close"),), "connection") == "Close"
    assert closes((("CoNNection", "Close"),))
    assert not closes(())


def test_an_empty_payload_is_no_chunk() -> None:
    assert chunk(b"") == b""
