"""Archives that hosts pack anew: fetched from loopback, imported in every form, files pinned."""

import gzip
import hashlib
import io
import json
import tarfile
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentenvs import sources
from agentenvs.errors import SourceMismatch, SourceMissing
from agentenvs.sources import _containers as containers
from agentenvs.sources import _http as http
from agentenvs.sources import _manifest as manifest

FILES = {
    "data/en/a.json": b'{"id": "a"}\n' * 40,
    "data/zh/a.json": '{"id": "a", "text": "你好"}\n'.encode(),
}
CLASSES = {
    "run/en/post.py": b"""\
import os
raise RuntimeError("a source must never be imported")

ROOM = 6

class Post:
    def __init__(self):
        self.room: int = ROOM
        self.inbox = {1: {"text": "hello"}}
        self.home = os.getcwd()

    def _load(self, config):
        self.inbox = {9: {}}
""",
    "run/zh/post.py": """\
class Base:
    pass

class Post(Base):
    def reset(self):
        self.room = 7
    def __init__(self):
        super().__init__()
        self.room = 6
        self.inbox = {1: {"text": "你好"}}
""".encode(),
    "run/old/post.py": b"class Post:\n    def __init__(self):\n        self.room = 5\n",
    "run/broken.py": b"class Post(:\n",
    "setup.py": b"raise RuntimeError('a source must never be run')\n",
}
STATES = {
    "en": {"room": 6, "inbox": {"1": {"text": "hello"}}},
    "zh": {"room": 6, "inbox": {"1": {"text": "你好"}}},
}
WORLD = {
    lang: {"Lamp": {"state": {"on": False}}, "Post": {"state": state}}
    for lang, state in STATES.items()
}


def compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def zipped(contents: dict[str, bytes], top: str = "repo-1/") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(top + name), content)
    return stream.getvalue()


def tarred(contents: dict[str, bytes], top: str = "repo-1/", mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in contents.items():
            entry = tarfile.TarInfo(top + name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        link = tarfile.TarInfo(f"{top}data/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return stream.getvalue()


BODIES = {
    "zip": zipped({**FILES, **CLASSES}),
    "tar": tarred({**FILES, **CLASSES}),
    "bare": zipped(FILES, ""),
    "other": zipped({**FILES, "data/en/a.json": b"{}"}),
    "lacking": zipped({"data/en/a.json": FILES["data/en/a.json"]}),
    "junk": b"PK\x03\x04 but no archive",
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        _, way, name = self.path.split("/")
        self.server.seen.append(way)  # type: ignore[attr-defined]
        self.close_connection = True
        body = BODIES[name]
        if way == "missing":
            self.answer(404, b"")
        elif way == "page":
            self.answer(200, b"<html><title>Sign in</title></html>", kind="text/html")
        elif way == "half":
            self.answer(200, body[: len(body) // 2], str(len(body)))
        elif way == "chunked":
            self.chunks(body, whole=True)
        elif way == "cut":
            self.chunks(body, whole=False)
        elif way == "flaky" and self.server.seen.count("flaky") < 3:  # type: ignore[attr-defined]
            self.answer(503, b"")
        else:
            self.answer(200, body)

    def answer(self, code: int, body: bytes, length: str = "", kind: str = "") -> None:
        self.send_response(code)
        self.send_header("Content-Length", length or str(len(body)))
        if kind:
            self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def chunks(self, body: bytes, whole: bool) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, len(body), 200):
            part = body[at : at + 200]
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        if whole:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *parts: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    seen: list[str]

    def handle_error(self, *parts: object) -> None:
        pass


@dataclass
class Shelf:
    source: sources.Source
    slot: Path
    base: str
    server: Server
    put: Callable[[sources.Source], None]
    reports: list[tuple[int, int, str]] = field(default_factory=list)

    def reach(self, *places: str, **settings: Any) -> None:
        way = sources.Archive(
            tuple(f"{self.base}/{place}" for place in places),
            **{"pause": 0.0, "timeout": 5.0, **settings},
        )
        self.put(replace(self.source, way=way))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def shelf(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "AGENTENVS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("AGENTENVS_SHELF", raising=False)
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "cache"))
    server.seen = []
    content = compact(WORLD)
    made = sources.ClassStates(
        "world.json",
        len(content),
        sha256(content),
        tuple(
            sources.ClassState(lang, "Post", ("room", "inbox"), sha256(compact(state)))
            for lang, state in STATES.items()
        ),
        (("Lamp", (("on", False),)),),
    )
    source = sources.Source(
        name="shelf",
        version="1",
        title="A shelf",
        licence="MIT",
        credit="nobody",
        url="https://example.org",
        filename="repo-1.zip",
        size=sum(map(len, FILES.values())),
        way=None,
        files=tuple(sources.NeededFile(name, len(c), sha256(c)) for name, c in FILES.items()),
        bare="data/",
        made=(made,),
    )
    slot = tmp_path / "cache" / "sources" / "shelf-1"
    base = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setitem(manifest.SOURCES, "shelf", source)
    put = lambda entry: monkeypatch.setitem(manifest.SOURCES, "shelf", entry)  # noqa: E731
    return Shelf(source, slot, base, server, put)


def unpack(folder: Path, contents: dict[str, bytes], bare: bool = False) -> Path:
    for name, content in contents.items():
        place = folder / (name.removeprefix("data/") if bare else name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return folder


def check(tree: sources.Tree, world: bool = True) -> None:
    assert tree.read_many() == FILES
    if world:
        assert json.loads(tree.read("world.json")) == WORLD
    else:
        with pytest.raises(SourceMissing, match=r"has no world\.json, and nothing"):
            tree.read("world.json")


@pytest.mark.parametrize("place", ["good/zip", "good/tar", "chunked/zip", "chunked/tar"])
def test_what_is_needed_is_fetched_checked_and_kept_small(shelf: Shelf, place: str) -> None:
    shelf.reach(place)
    tree = sources.pull("shelf", lambda *report: shelf.reports.append(report))
    check(tree)
    kept = [path.name for path in shelf.slot.iterdir() if path.name != "lock"]
    assert kept == ["shelf-1.zip"]
    with zipfile.ZipFile(shelf.slot / "shelf-1.zip") as archive:
        assert sorted(archive.namelist()) == sorted([*FILES, "world.json"])
    assert sources.verify("shelf") == []
    assert any(text.startswith("Fetching A shelf from 127.0.0.1") for _, _, text in shelf.reports)
    check(sources.open_source("shelf", fetch=False))


def test_an_archive_without_a_top_folder_or_classes_serves(shelf: Shelf) -> None:
    shelf.reach("good/bare")
    check(sources.pull("shelf"), world=False)


def test_a_busy_server_is_asked_again(shelf: Shelf) -> None:
    shelf.reach("flaky/zip")
    check(sources.pull("shelf"))
    assert shelf.server.seen == ["flaky"] * 3


def test_the_next_address_is_tried(shelf: Shelf) -> None:
    shelf.reach("missing/zip", "page/zip", "good/other", "good/junk", "cut/zip", "good/tar")
    check(sources.pull("shelf"))
    assert shelf.server.seen[:4] == ["missing", "page", "good", "good"]


@pytest.mark.parametrize(
    ("place", "kind", "said"),
    [
        ("missing/zip", SourceMissing, "answers 404"),
        ("page/zip", SourceMissing, r"sends a web page instead of the file \('Sign in'\)"),
        ("half/zip", SourceMissing, "broke off after"),
        ("cut/zip", SourceMissing, "broke off"),
        ("good/other", SourceMismatch, r"data/en/a\.json: expected 480 bytes, found 2"),
        ("good/lacking", SourceMismatch, r"data/zh/a\.json: missing"),
        ("good/junk", SourceMismatch, "cannot be read"),
    ],
)
def test_what_went_wrong_is_said(shelf: Shelf, place: str, kind: Any, said: str) -> None:
    shelf.reach(place)
    with pytest.raises(kind, match=said):
        sources.pull("shelf")
    assert not list(shelf.slot.glob("*.zip"))


def test_more_than_may_come_is_refused(shelf: Shelf) -> None:
    shelf.reach("good/zip", most=100)
    with pytest.raises(SourceMissing, match="sends more than 100 bytes"):
        sources.pull("shelf")


def test_a_slow_server_is_given_up(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ticks = iter(range(0, 1_000_000, 100))
    monkeypatch.setattr(http, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))
    with pytest.raises(http.DroppedError, match="slower than 20 kB/s"):
        http.fetch(f"{shelf.base}/good/zip", tmp_path / "part", 10_000, 5.0, lambda done: None)


@pytest.mark.parametrize("form", ["checkout", "below", "above", "data", "flat", "zip", "tar"])
def test_every_form_of_a_copy_is_taken(shelf: Shelf, tmp_path: Path, form: str) -> None:
    place = tmp_path / "copy"
    world = form != "flat"
    if form == "flat":
        unpack(place, FILES, bare=True)
    elif form in ("zip", "tar"):
        place.write_bytes(BODIES[form])
    else:
        unpack(place / "repo-1", {**FILES, **CLASSES})
        place = {"checkout": place / "repo-1", "above": place}.get(form, place / "repo-1" / "data")
    check(sources.import_("shelf", place), world)
    check(sources.open_source("shelf", fetch=False), world)


def test_a_copy_is_used_where_it_lies(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "copy.tar.gz").write_bytes(BODIES["tar"])
    for place in (unpack(tmp_path / "copy", {**FILES, **CLASSES}), tmp_path / "copy.tar.gz"):
        monkeypatch.setenv("AGENTENVS_SHELF", str(place))
        tree = sources.open_source("shelf")
        assert tree.origin == "env"
        check(tree)
    assert not shelf.slot.exists()


def test_states_come_from_a_file_in_another_layout(shelf: Shelf, tmp_path: Path) -> None:
    folder = unpack(tmp_path / "copy", FILES, bare=True)
    told = {"note": "x", "en": {"Post": {"state": {"spare": 1, **STATES["en"]}, "methods": {}}}}
    told["zh"] = {"Post": {"state": STATES["zh"]}, "Other": 3}
    (folder / "world.json").write_text(json.dumps(told, indent=1))
    check(sources.import_("shelf", folder))


@pytest.mark.parametrize(
    "classes",
    [
        {},
        {"run/en/post.py": CLASSES["run/en/post.py"]},
        {**CLASSES, "run/zh/post.py": CLASSES["run/zh/post.py"].replace(b"6", b"8")},
        {**CLASSES, "run/en/post.py": b"class Post:\n    def __init__(self):\n        f()\n"},
    ],
)
def test_without_the_pinned_states_the_rest_serves(
    shelf: Shelf, tmp_path: Path, classes: dict[str, bytes]
) -> None:
    check(sources.import_("shelf", unpack(tmp_path / "copy", {**FILES, **classes})), world=False)


@pytest.mark.parametrize(
    "content",
    [b"[" * 100_000, b'{"en": 3}', b'{"en": {"Post": {"state": []}}}', b"\xff\xfe", b"[1]", b"{"],
)
def test_a_bad_file_of_states_counts_for_nothing(
    shelf: Shelf, tmp_path: Path, content: bytes
) -> None:
    folder = unpack(tmp_path / "copy", {**FILES, "world.json": content})
    check(sources.import_("shelf", folder), world=False)


def test_hostile_sources_are_never_run_and_never_hang(shelf: Shelf, tmp_path: Path) -> None:
    head = b"class Post:\n    def __init__(self):\n        self.room = "
    hostile = {
        "a.py": head + b"(" * 50_000,
        "b.py": head + b"9" * 50_000 + b"\n",
        "c.py": head + b"__import__('os').system('touch ran')\n",
        "d.py": head + b"9 ** 9 ** 9\n",
        "e.py": b"class Post:\n" + b"#" * 1_500_000,
        "f.py": head + b"\0\n",
        "g.py": head + b"{[]: 1}\n",
        "h.py": head + b"'\\d'\n        self.inbox = 1\n",
    }
    folder = unpack(tmp_path / "copy", {**FILES, **hostile})
    check(sources.import_("shelf", folder), world=False)
    check(sources.import_("shelf", unpack(folder, CLASSES)))


def test_links_and_pipes_are_left_alone(shelf: Shelf, tmp_path: Path) -> None:
    folder = unpack(tmp_path / "copy", {**FILES, **CLASSES})
    secret = tmp_path / "secret.py"
    secret.write_bytes(b"class Post:\n    def __init__(self):\n        self.room = 1\n")
    (folder / "run" / "link.py").symlink_to(secret)
    (folder / "run" / "loop").symlink_to(folder)
    place = containers._Folder(folder, shelf.source)
    assert "run/link.py" not in place.names()
    assert not any(name.startswith("run/loop") for name in place.names())
    check(sources.import_("shelf", folder))


def test_an_archive_with_too_much_in_it_is_refused(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "copy").write_bytes(BODIES["tar"])
    monkeypatch.setattr(containers, "_MOST_IN_ALL", 1_000)
    with pytest.raises(SourceMismatch, match="more in it than there should be"):
        sources.import_("shelf", tmp_path / "copy")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_unpacks_to_much_is_refused_unread(
    shelf: Shelf, tmp_path: Path, kind: bytes
) -> None:
    header = tarfile.TarInfo("header")
    header.type, header.size = kind, 4_000_000_000
    (tmp_path / "copy").write_bytes(gzip.compress(header.tobuf() + bytes(2_000_000)))
    with pytest.raises(SourceMismatch, match="a header in it is larger than it should be"):
        sources.import_("shelf", tmp_path / "copy")


def test_an_entry_that_unpacks_to_more_than_it_states_is_not_unpacked(
    shelf: Shelf, tmp_path: Path
) -> None:
    target = tmp_path / "copy.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
        archive.writestr("world.json", bytes(50_000_000))
    said, stated = (number.to_bytes(4, "little") for number in (50_000_000, 20))
    target.write_bytes(target.read_bytes().replace(said, stated))
    with containers.opened(target, shelf.source) as place:
        tracemalloc.start()
        try:
            assert place.read("world.json", 1_000) in (None, bytes(20))
            assert tracemalloc.get_traced_memory()[1] < 5_000_000
        finally:
            tracemalloc.stop()


def test_a_damaged_copy_in_the_cache_is_said_and_replaced(shelf: Shelf) -> None:
    shelf.reach("good/zip")
    sources.pull("shelf")
    (shelf.slot / "shelf-1.zip").write_bytes(b"damaged")
    assert "cannot be read" in sources.verify("shelf")[0]
    check(sources.open_source("shelf", progress=lambda *report: None))


def test_nothing_of_the_kind_is_said(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="to be its archive, a folder that holds it"):
        sources.import_("shelf", tmp_path)


def test_acebench_is_pinned() -> None:
    entry = sources.source("acebench")
    assert entry.version == "56dd66cf6439b0d9655ee1b353e4cd745c6f664e"
    assert len(entry.files) == 68
    assert entry.loose
    assert entry.size == 8_982_582 == sum(file.size for file in entry.files)
    assert all(file.path.startswith("data_all/data_") for file in entry.files)
    assert isinstance(entry.way, sources.Archive)
    assert all(entry.version in place for place in entry.way.places)
    (made,) = entry.made
    assert (made.path, made.sha256[:12]) == ("world.json", "158009432a79")
