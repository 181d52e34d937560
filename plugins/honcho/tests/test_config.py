"""Settings: strict values, and honcho.json of Hermes Agent with its order."""

import json

import pydantic
import pytest
from hermes_memory_honcho.address import checked_url, is_private
from hermes_memory_honcho.legacy import resolve
from hermes_memory_honcho.settings import HonchoSettings

from hermes_memory_core.errors import ConfigError


@pytest.fixture
def place(tmp_path):
    (tmp_path / "root" / "profiles" / "work").mkdir(parents=True)
    (tmp_path / "user" / ".honcho").mkdir(parents=True, exist_ok=True)
    return tmp_path


def settle(place, profile="default", **ours):
    root = place / "root"
    folder = root if profile == "default" else root / "profiles" / profile
    return resolve(HonchoSettings(**ours), folder, profile, place / "user")


def write(path, **data):
    path.write_text(json.dumps(data))


def test_defaults_of_the_design():
    settings = HonchoSettings()
    assert (settings.context_cadence, settings.dialectic_cadence, settings.dialectic_depth) == (
        1,
        2,
        1,
    )
    assert (settings.recall_mode, settings.write_frequency) == ("hybrid", "async")
    assert (settings.first_turn_base_wait, settings.first_turn_dialectic_wait) == (3.0, 2.0)
    assert settings.flags == ((True, True), (True, True))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("logging", "maybe"),
        ("save_messages", ""),
        ("save_messages", 1),
        ("write_frequency", "sometimes"),
        ("write_frequency", 0),
        ("write_frequency", True),
        ("dialectic_depth", 4),
        ("base_url", "localhost:8000"),
        ("base_url", "http://me:secret@host"),
        ("session_strategy", "per-topic"),
        ("colour", "blue"),
    ],
)
def test_wrong_values_are_refused(key, value):
    with pytest.raises(pydantic.ValidationError):
        HonchoSettings(**{key: value})


@pytest.mark.parametrize(
    ("given", "turns"), [("async", 1), ("turn", 1), ("session", None), (5, 5), ("5", 5)]
)
def test_write_frequency(given, turns):
    assert HonchoSettings(write_frequency=given).hold_turns == turns


def test_aliases():
    assert HonchoSettings(recall_mode="auto").recall_mode == "hybrid"
    assert HonchoSettings(observation_mode="shared").flags == ((True, False), (False, True))
    overridden = HonchoSettings(observe_ai={"observe_others": False})
    assert overridden.flags == ((True, True), (True, False))


def test_the_first_file_counts_alone(place):
    write(place / "user" / ".honcho" / "config.json", peerName="far", aiPeer="far")
    assert settle(place).settings.peer_name == "far"
    write(place / "root" / "honcho.json", peerName="near")
    found = settle(place)
    assert (found.settings.peer_name, found.ai_peer) == ("near", "hermes")
    assert found.path == place / "root" / "honcho.json"


def test_a_profile_reads_the_roots_file_and_its_own_first(place):
    write(place / "root" / "honcho.json", hosts={"hermes_work": {"peerName": "from root"}})
    assert settle(place, "work").settings.peer_name == "from root"
    write(place / "root" / "profiles" / "work" / "honcho.json", peerName="own")
    assert settle(place, "work").settings.peer_name == "own"


def test_host_block_over_root_and_ours_over_both(place):
    write(
        place / "root" / "honcho.json",
        peerName="root",
        contextTokens=100,
        dialecticCadence=3,
        hosts={"hermes": {"peerName": "host", "contextTokens": 200}},
    )
    found = settle(place, context_tokens=300)
    assert found.settings.peer_name == "host"
    assert found.settings.context_tokens == 300
    assert found.settings.dialectic_cadence == 3
    assert found.origins["peer_name"] == "honcho.json hosts.hermes"
    assert found.origins["context_tokens"] == "config.yaml or .env"


@pytest.mark.parametrize(
    ("data", "profile", "host"),
    [
        ({}, "default", "hermes"),
        ({"defaultHost": "bot"}, "default", "bot"),
        ({"defaultHost": "bot"}, "work", "hermes_work"),
    ],
)
def test_hosts(place, data, profile, host):
    write(place / "root" / "honcho.json", **data)
    found = settle(place, profile)
    assert (found.host, found.workspace, found.ai_peer) == (host, host, host)


def test_the_old_dotted_host_block_is_read(place):
    write(place / "root" / "honcho.json", hosts={"hermes.work": {"peerName": "dotted"}})
    assert settle(place, "work").settings.peer_name == "dotted"


def test_older_installations_keep_the_unified_view(place):
    write(place / "root" / "honcho.json", enabled=True)
    assert settle(place).settings.observation_mode == "unified"
    write(place / "root" / "honcho.json", enabled=True, observationMode="directional")
    assert settle(place).settings.observation_mode == "directional"
    write(place / "root" / "honcho.json", peerName="x")
    assert settle(place).settings.observation_mode == "directional"


def test_maps_of_the_host_replace_the_roots(place):
    write(
        place / "root" / "honcho.json",
        userPeerAliases={"1": "a"},
        hosts={"hermes": {"userPeerAliases": {}}},
    )
    assert settle(place).settings.user_peer_aliases == {}


def test_unknown_keys_and_wrong_values_are_told_and_fall_back(place):
    write(place / "root" / "honcho.json", contextCadenze=3, dialecticDepth=9, logging="maybe")
    found = settle(place)
    assert found.settings.dialectic_depth == 1
    assert found.settings.logging is False
    told = "\n".join(found.warnings)
    assert "did you mean `contextCadence`" in told
    assert "dialectic_depth" in told
    assert "logging" in told


def test_a_broken_file_is_an_error_that_names_it(place):
    (place / "root" / "honcho.json").write_text("{broken")
    with pytest.raises(ConfigError, match=r"honcho\.json"):
        settle(place)
    assert settle(place, read_honcho_json=False).path is None


@pytest.mark.parametrize(
    ("data", "ours", "key"),
    [
        ({}, {"api_key": "mine"}, "mine"),
        ({"apiKey": "file"}, {"api_key": "mine"}, "file"),
        ({"apiKey": "file"}, {"api_key": "mine", "workspace": "w"}, "mine"),
        ({"apiKey": "root", "hosts": {"hermes": {"apiKey": "host"}}}, {}, "host"),
        ({"apiKey": "cloud", "baseUrl": "http://192.168.1.5:8000"}, {}, None),
        ({"baseUrl": "http://localhost:8000", "hosts": {"hermes": {"apiKey": "host"}}}, {}, "host"),
    ],
)
def test_which_key_is_sent(place, data, ours, key):
    write(place / "root" / "honcho.json", **data)
    assert settle(place, **ours).key == key


def test_a_key_is_in_no_repr(place):
    assert "hch-secret" not in repr(settle(place, api_key="hch-secret"))


def test_addresses():
    assert checked_url("http://localhost:8000/v3/") == "http://localhost:8000"
    assert checked_url("https://x.example/honcho/v3") == "https://x.example/honcho"
    private = ["http://127.0.0.1", "http://[::1]:8", "http://10.1.1.1", "http://100.64.0.1"]
    assert all(map(is_private, [*private, "http://localhost:8000", "http://169.254.1.1"]))
    assert not any(map(is_private, ["https://api.honcho.dev", "http://8.8.8.8"]))


@pytest.mark.parametrize(
    ("text", "value"),
    [("false", False), ("False", False), ("off", False), ("true", True), ("1", True)],
)
def test_booleans_as_texts_mean_what_they_say(text, value):
    assert HonchoSettings(logging=text).logging is value
