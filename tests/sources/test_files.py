"""Pulling plain files from a server on loopback that behaves in every way but well."""

import hashlib
import io
import re
import shutil
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentenvs import sources
from agentenvs.errors import SourceError, SourceMismatch, SourceMissing
from agentenvs.sources import _files as files
from agentenvs.sources import _http as http
from agentenvs.sources import _manifest as manifest

BIG = bytes(range(256)) * 2000
CONTENTS = {"big.json": BIG, "small.json": b'{"a": 1}\n', "third.json": b"[]"}
PAGE = b"<!DOCTYPE html><html><head><title>Drive - Quota\n exceeded</title></head></html>"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        _, way, name = self.path.split("/", 2)
        content = CONTENTS[name]
        wanted = self.headers.get("Range")
        self.server.seen.append((way, name, wanted))  # type: ignore[attr-defined]
        self.close_connection = True
        begin = int(wanted[6:-1]) if wanted else 0
        getattr(self, f"answer_{way}")(content, begin, name)

    def send(self, status: int, body: bytes, length: int | None = -1, **headers: str) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        if length is not None:
            self.send_header("Content-Length", str(len(body) if length < 0 else length))
        self.end_headers()
        self.wfile.write(body)

    def part(self, content: bytes, begin: int, stop: int | None = None) -> None:
        body = content[begin:stop]
        if begin:
            given = f"bytes {begin}-{len(content) - 1}/{len(content)}"
            self.send(206, body, len(content) - begin, Content_Range=given)
        else:
            self.send(200, body, len(content))

    def answer_good(self, content: bytes, begin: int, name: str) -> None:
        self.part(content, begin)

    def answer_whole(self, content: bytes, begin: int, name: str) -> None:
        self.send(200, content)

    def answer_drops(self, content: bytes, begin: int, name: str) -> None:
        self.part(content, begin, begin + 100_000)

    def answer_dead(self, content: bytes, begin: int, name: str) -> None:
        self.part(content, begin, begin)

    def answer_nameless(self, content: bytes, begin: int, name: str) -> None:
        self.send(200, content, None)

    def answer_endless(self, content: bytes, begin: int, name: str) -> None:
        self.send(200, content + b"\0" * 500_000, None)

    def answer_longer(self, content: bytes, begin: int, name: str) -> None:
        self.send(200, content + b"\0")

    def answer_page(self, content: bytes, begin: int, name: str) -> None:
        self.send(200, PAGE, Content_Type="text/html; charset=utf-8")

    def answer_hidden(self, content: bytes, begin: int, name: str) -> None:
        self.send(200, b"\n <html>", Content_Type="application/octet-stream")

    def answer_missing(self, content: bytes, begin: int, name: str) -> None:
        self.send(404, b"")

    def answer_busy(self, content: bytes, begin: int, name: str) -> None:
        self.send(503, b"")

    def answer_wrong(self, content: bytes, begin: int, name: str) -> None:
        self.part(bytes(len(content)), begin)

    def answer_elsewhere(self, content: bytes, begin: int, name: str) -> None:
        if not begin:
            return self.part(content, 0)
        return self.send(206, content, Content_Range=f"bytes 0-{len(content)}/{len(content)}")

    def answer_other(self, content: bytes, begin: int, name: str) -> None:
        size = len(content) + 7
        self.send(206, content[begin:], Content_Range=f"bytes {begin}-{size - 1}/{size}")

    def answer_beyond(self, content: bytes, begin: int, name: str) -> None:
        if begin:
            self.send(416, b"")
        else:
            self.part(content, 0)

    def answer_moved(self, content: bytes, begin: int, name: str) -> None:
        self.send(302, b"", Location=f"/good/{name}")

    def answer_circle(self, content: bytes, begin: int, name: str) -> None:
        self.send(302, b"", Location=f"/circle/{name}")

    def answer_toftp(self, content: bytes, begin: int, name: str) -> None:
        self.send(302, b"", Location=f"ftp://127.0.0.1/{name}")

    def answer_tofile(self, content: bytes, begin: int, name: str) -> None:
        self.send(302, b"", Location="file:///etc/hostname")

    def log_message(self, *parts: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *parts: object) -> None:
        pass


@dataclass
class Web:
    base: str
    seen: list[tuple[str, str, str | None]] = field(default_factory=list)

    def place(self, way: str) -> str:
        return f"{self.base}/{way}/{{name}}"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def web(server: Server, monkeypatch: pytest.MonkeyPatch) -> Web:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    found = Web(f"http://127.0.0.1:{server.server_address[1]}")
    server.seen = found.seen  # type: ignore[attr-defined]
    return found


@pytest.fixture
def reach(plain: Any, web: Web, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make the sample fetchable from the given places."""

    def reach(*ways: str) -> Any:
        places = tuple(web.place(way) if "/" not in way else way for way in ways)
        way = sources.Files(places=places, pause=0.0, timeout=5.0)
        monkeypatch.setitem(manifest.SOURCES, "plain", replace(plain.source, way=way))
        return plain

    return reach


def in_slot(plain: Any) -> list[str]:
    return sorted(
        path.relative_to(plain.slot).as_posix()
        for path in plain.slot.rglob("*")
        if path.is_file() and path.name != "lock"
    )


WHOLE = ["files/big.json", "files/small.json", "files/third.json"]


@pytest.mark.parametrize("way", ["good", "whole", "drops", "nameless", "moved"])
def test_every_file_is_fetched_and_kept_as_it_is(way: str, reach: Any) -> None:
    plain = reach(way)
    reports: list[tuple[int, int, str]] = []
    tree = sources.pull("plain", lambda *report: reports.append(report))
    assert tree.read_many() == CONTENTS
    assert in_slot(plain) == WHOLE
    assert not (plain.slot / "partial").exists()
    assert reports[-1][:2] == (plain.source.size, plain.source.size)
    counts = [done for done, _, _ in reports]
    assert counts == sorted(counts)
    assert any("big.json (0.5 MB) from 127.0.0.1" in text for _, _, text in reports)


def test_a_connection_that_breaks_is_gone_on_with(reach: Any, web: Web) -> None:
    reach("drops")
    sources.pull("plain")
    ranges = [wanted for _, name, wanted in web.seen if name == "big.json"]
    assert ranges == [None, *(f"bytes={count}-" for count in range(100_000, 512_000, 100_000))]


def test_half_a_file_of_an_earlier_try_is_gone_on_with(reach: Any, web: Web) -> None:
    plain = reach("dead")
    with pytest.raises(SourceMissing, match="broke off after 0 of 512,000 bytes"):
        sources.pull("plain")
    (plain.slot / "partial/big.json.part").write_bytes(BIG[:300_000])
    web.seen.clear()
    reach("good")
    assert sources.pull("plain").read_many() == CONTENTS
    assert web.seen[0] == ("good", "big.json", "bytes=300000-")


def test_files_that_were_whole_are_not_fetched_again(reach: Any, web: Web) -> None:
    plain = reach("good")
    partial = plain.slot / "partial"
    partial.mkdir(parents=True)
    (partial / "big.json").write_bytes(BIG)
    (partial / "small.json").write_bytes(b"damaged!\n")
    assert sources.pull("plain").read_many() == CONTENTS
    assert Counter(name for _, name, _ in web.seen) == {"small.json": 1, "third.json": 1}


@pytest.mark.parametrize("half", [b"\1" * 300_000, b"\1" * 512_000, b"\1" * 600_000])
def test_a_half_that_was_wrong_is_fetched_anew(half: bytes, reach: Any) -> None:
    plain = reach("good")
    (plain.slot / "partial").mkdir(parents=True)
    (plain.slot / "partial/big.json.part").write_bytes(half)
    assert sources.pull("plain").read_many() == CONTENTS


@pytest.mark.parametrize("way", ["whole", "beyond"])
def test_a_server_without_ranges_is_asked_for_the_whole(way: str, reach: Any) -> None:
    plain = reach(way)
    (plain.slot / "partial").mkdir(parents=True)
    (plain.slot / "partial/big.json.part").write_bytes(BIG[:300_000])
    assert sources.pull("plain").read_many() == CONTENTS


def test_the_next_address_is_tried(reach: Any, web: Web) -> None:
    reach("missing", "wrong", "page", "good")
    assert sources.pull("plain").read_many() == CONTENTS
    ways = [way for way, name, _ in web.seen if name == "small.json"]
    assert ways == ["missing", "wrong", "page", "good"]


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("missing", "answers 404"),
        ("busy", "answers 503"),
        ("dead", "broke off after 0 of 512,000 bytes"),
        ("longer", "has a file of 512,001 bytes, expected 512,000"),
        ("endless", "sends more than the expected 512,000 bytes"),
        ("page", r"sends a web page instead of the file \('Drive - Quota exceeded'\)"),
        ("hidden", r"sends a web page instead of the file \('without a title'\)"),
        ("circle", "answers 302"),
        ("toftp", "redirects to 'ftp://127.0.0.1/big.json'"),
        ("tofile", "Redirection to url 'file:///etc/hostname' is not allowed"),
        ("other", "answers with another part"),
        ("ftp://127.0.0.1/{name}", "is no http or https address"),
        ("http://127.0.0.1:1/{name}", "cannot be reached"),
    ],
)
def test_what_went_wrong_is_said(way: str, said: str, reach: Any) -> None:
    plain = reach(way)
    with pytest.raises(SourceMissing, match=said) as caught:
        sources.open_source("plain", progress=lambda *report: None)
    assert "agentenvs data import plain PATH" in str(caught.value)
    assert not (plain.slot / "files").exists()


@pytest.mark.parametrize(
    ("way", "said"), [("elsewhere", "another part"), ("other", "512,007 bytes, expected 512,000")]
)
def test_another_part_than_was_asked_for_is_refused(way: str, said: str, reach: Any) -> None:
    plain = reach(way)
    (plain.slot / "partial").mkdir(parents=True)
    (plain.slot / "partial/big.json.part").write_bytes(BIG[:300_000])
    with pytest.raises(SourceMissing, match=said):
        sources.pull("plain")
    assert (plain.slot / "partial/big.json.part").read_bytes() == BIG[:300_000]


def test_wrong_content_is_a_mismatch(reach: Any) -> None:
    plain = reach("wrong")
    sha256 = hashlib.sha256(BIG).hexdigest()
    with pytest.raises(SourceMismatch, match=f"expected sha256 {sha256}, found "):
        sources.pull("plain")
    assert in_slot(plain) == []


def test_a_web_page_does_not_cost_the_half_that_is_there(reach: Any) -> None:
    plain = reach("page")
    (plain.slot / "partial").mkdir(parents=True)
    (plain.slot / "partial/big.json.part").write_bytes(BIG[:300_000])
    with pytest.raises(SourceMissing, match="web page"):
        sources.pull("plain")
    assert (plain.slot / "partial/big.json.part").stat().st_size == 300_000


def test_a_redirect_from_https_to_http_is_refused() -> None:
    request = urllib.request.Request("https://127.0.0.1/x")
    handler, headers = http._Redirects(), HTTPMessage()
    with pytest.raises(http.RefusedError, match="redirects to 'http://127.0.0.1/x'"):
        handler.redirect_request(request, io.BytesIO(), 302, "", headers, "http://127.0.0.1/x")


def test_a_slow_server_is_given_up(
    reach: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, web: Web
) -> None:
    ticks = iter(range(0, 1_000_000, 100))
    monkeypatch.setattr(http, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))
    with pytest.raises(http.DroppedError, match="slower than 20 kB/s"):
        http.append(f"{web.base}/good/big.json", tmp_path / "part", len(BIG), 5.0, print)


def test_connections_to_one_address_are_bounded(
    reach: Any, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_CONNECTIONS", 3)
    reach("drops")
    with pytest.raises(SourceMissing, match="broke off after 300,000 of 512,000 bytes"):
        sources.pull("plain")
    assert len(web.seen) == 3


def test_a_full_disk_is_said_before_anything_is_fetched(
    reach: Any, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach("good")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=100_000))
    with pytest.raises(SourceError, match="takes 1 MB, and .* has only 0 MB left"):
        sources.pull("plain")
    assert web.seen == []


def test_an_interrupt_keeps_what_came(reach: Any) -> None:
    plain = reach("good")

    def stop(done: int, total: int, text: str) -> None:
        if done > 200_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sources.pull("plain", stop)
    assert 0 < (plain.slot / "partial/big.json.part").stat().st_size < len(BIG)
    assert sources.pull("plain").read_many() == CONTENTS


def test_the_addresses_are_those_of_the_manifest() -> None:
    for name in ("webshop-1k", "webshop-full"):
        entry = sources.source(name)
        assert isinstance(entry.way, sources.Files)
        for file in entry.files:
            drive, mirror = entry.way.addresses(file.path)
            assert re.fullmatch(
                r"https://drive\.usercontent\.google\.com/download"
                r"\?id=[\w-]{33}&export=download&confirm=t",
                drive,
            )
            assert mirror.startswith("https://huggingface.co/datasets/YWZBrandon/webshop-data/")
            assert mirror.endswith(f"/resolve/main/{file.path}")


def test_a_file_without_an_id_is_asked_for_by_name_alone() -> None:
    way = sources.Files(places=("https://a/{id}", "https://b/{name}"))
    assert way.addresses("x.json") == ("https://b/x.json",)
