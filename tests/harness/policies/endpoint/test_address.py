from __future__ import annotations

import pytest

from agentenvs.errors import PolicyError
from agentenvs.harness.policies.endpoint.address import Address, Key, name_of, read_spec


def test_a_spec_is_split_at_the_last_http() -> None:
    assert read_spec("Qwen/Qwen3-8B@http://localhost:8000/v1") == (
        "Qwen/Qwen3-8B",
        "http://localhost:8000/v1",
    )
    assert read_spec("a@b@http://x@https://y") == ("a@b@http://x", "https://y")


@pytest.mark.parametrize("spec", ["", "model", "model@localhost:8000", "@http://localhost"])
def test_a_spec_that_lacks_a_part(spec: str) -> None:
    with pytest.raises(PolicyError, match="openai:MODEL@URL"):
        read_spec(spec)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1"),
        ("http://localhost:8000/", "http://localhost:8000/v1"),
        ("https://api.example.org/openai/v1/", "https://api.example.org/openai/v1"),
        ("http://[::1]:80/v1", "http://[::1]:80/v1"),
        ("http://HOST", "http://host/v1"),
    ],
)
def test_a_url_without_a_path_gets_one(text: str, url: str) -> None:
    assert Address.of(text).url == url


def test_what_lies_beside_the_api() -> None:
    address = Address.of("http://box:8000/deep/v1/")
    assert (address.root, address.host) == ("http://box:8000/deep", "box:8000")
    assert Address.of("https://box/api").root == "https://box/api"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("smollm2", "smollm2"),
        ("/data/models/smol.gguf", "smol"),
        ("models/smol.Q4.gguf", "smol.Q4"),
        ("./out/checkpoint-9/", "checkpoint-9"),
        ("C:\\models\\smol.gguf", "smol"),
        ("smol.gguf", "smol"),
        ("/", "/"),
    ],
)
def test_a_model_that_is_a_path_goes_by_its_last_part(model: str, name: str) -> None:
    assert name_of(model) == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost:8000",
        "ftp://x/v1",
        "http://",
        "http://x:port",
        "http://x/v1?key=sk",
        "http://[x",
    ],
)
def test_a_url_that_is_none(text: str) -> None:
    with pytest.raises(PolicyError, match="Expected"):
        Address.of(text)


def test_the_url_of_a_single_path_is_refused() -> None:
    with pytest.raises(PolicyError, match="up to '/v1' alone"):
        Address.of("http://localhost:8000/v1/chat/completions")


@pytest.mark.parametrize("user", ["ada:secret", "ada", ":secret"])
def test_a_password_in_a_url_is_refused_and_not_shown(user: str) -> None:
    with pytest.raises(PolicyError, match="user information") as refused:
        Address.of(f"http://{user}@localhost/v1")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("api.localhost", True),
        ("127.0.0.1", True),
        ("127.3.2.1", True),
        ("[::1]", True),
        ("10.0.0.1", False),
        ("localhost.example.org", False),
    ],
)
def test_this_machine_is_known(host: str, loopback: bool) -> None:
    assert Address.of(f"http://{host}:1/v1").loopback is loopback


def test_a_key_comes_from_the_environment_and_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    key = Key("TESTS_KEY")
    monkeypatch.delenv("TESTS_KEY", raising=False)
    assert key.headers() == {}
    assert key.hide("as\n it  is") == "as it is"
    monkeypatch.setenv("TESTS_KEY", " sk-abc\n")
    assert key.headers() == {"Authorization": "Bearer sk-abc"}
    assert key.hide("the key sk-abc is wrong") == "the key *** is wrong"
    assert "sk-abc" not in repr(vars(key))


def test_no_part_of_a_key_is_left_where_a_message_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTS_KEY", "sk-0123456789")
    hidden = Key("TESTS_KEY").hide("x" * 490 + "sk-0123456789" + "y" * 90)
    assert len(hidden) == 500
    assert "sk" not in hidden


@pytest.mark.parametrize("value", ["two words", "schlüssel", "a\x00b"])
def test_what_can_be_no_key_is_refused_and_not_shown(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = Key("TESTS_KEY")
    monkeypatch.setattr(Key, "_read", lambda self: value)
    with pytest.raises(PolicyError, match="TESTS_KEY") as refused:
        key.headers()
    assert value not in str(refused.value)
