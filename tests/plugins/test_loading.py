"""Discovery by metadata, loading phase by phase; a broken plugin is a status and stops nobody."""

from __future__ import annotations

import sys

import pytest

from hermes_memory_core import Memory
from hermes_memory_core.plugins.discover import discover, find

GOOD = """
from hermes_memory_core import hookimpl
class Provider:
    def __init__(self, context):
        self.context = context
    @hookimpl
    def prefetch(self, query):
        return "found by the plugin"
"""


def use(home, name, more=""):
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(f"memory: {{provider: {name}}}\n{more}", encoding="utf-8")


def external(memory):
    with memory.session() as session:
        session.begin_turn("what do you know about it")
    return next(layer for layer in memory.status()["layers"] if layer["kind"] == "external")


def test_built_ins_come_by_the_same_door():
    found = {plugin.name: plugin for plugin in discover()}
    assert found["files"].built_in
    assert found["sessions"].built_in


def test_discovery_imports_nothing_and_reads_everything(site):
    module = site.add("sea", GOOD)
    plugin = find("sea")
    assert plugin.distribution == "hermes-memory-sea"
    assert plugin.version == "1.2.3"
    assert plugin.requires_core == ">=0.1,<0.2" or set(plugin.requires_core.split(",")) == {
        ">=0.1",
        "<0.2",
    }
    assert module not in sys.modules


def test_only_the_active_plugin_is_imported(site, home):
    active, idle = site.add("sea", GOOD), site.add("land", GOOD)
    use(home, "sea")
    with Memory.open(home) as memory:
        assert external(memory)["state"] == "on"
    assert active in sys.modules
    assert idle not in sys.modules


def test_nothing_external_is_imported_for_notes_or_status(site, home):
    module = site.add("sea", GOOD)
    use(home, "sea")
    with Memory.open(home) as memory:
        memory.notes.list()
        memory.status()
    assert module not in sys.modules


BROKEN = {
    "import error": ("import no_such_module_at_all\n", "import", "no_such_module_at_all"),
    "exit at import": ("raise SystemExit(3)\n", "import", "SystemExit"),
    "no such attribute": ("x = 1\n", "import", "Provider"),
    "bad constructor": (
        "class Provider:\n    def __init__(self, context): raise RuntimeError('no room')\n",
        "construct",
        "no room",
    ),
    "exit in constructor": (
        "class Provider:\n    def __init__(self, context): raise SystemExit\n",
        "construct",
        "SystemExit",
    ),
    "wrong arity": ("class Provider:\n    pass\n", "construct", "TypeError"),
    "typo": (GOOD.replace("prefetch", "prefech"), "validate", "prefech"),
    "unknown argument": (GOOD.replace("query", "qeury"), "validate", "qeury"),
    "async": (GOOD.replace("def prefetch", "async def prefetch"), "validate", "async"),
    "keyword only": (GOOD.replace("self, query", "self, *, query"), "validate", "query"),
    "star args": (GOOD.replace("self, query", "self, *args"), "validate", "args"),
    "no marker": (GOOD.replace("    @hookimpl\n", ""), "validate", "@hookimpl"),
    "wrapper": (GOOD.replace("@hookimpl", "@hookimpl(wrapper=True)"), "validate", "wrapper"),
    "config": (
        GOOD
        + "    from pydantic import BaseModel\n    class Config(BaseModel):\n        url: str\n        api_key: str = ''\n",
        "config",
        "url",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_is_a_status_with_phase_error_and_hint(site, home, case):
    code, phase, word = BROKEN[case]
    site.add("sea", code)
    use(home, "sea")
    notices = []
    with Memory.open(home, notify=notices.append) as memory:
        layer = external(memory)
        assert layer["state"] == "failed"
        assert layer["why"].startswith(f"{phase}: ")
        assert word in layer["why"]
        assert layer["hint"]
        assert layer["distribution"] == "hermes-memory-sea"
        assert [notice.code for notice in notices] == ["provider_failed"]
        with memory.session() as session:
            assert session.end_turn("it works", "all the same").saved
            assert memory.notes is not None


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("prefech", "prefetch"),
        ("sync_turns", "sync_turn"),
        ("tool", "tools"),
        ("sesion_end", "end_session"),
    ],
)
def test_h09_a_misspelt_hook_gets_a_did_you_mean(site, home, wrong, right):
    site.add("sea", GOOD.replace("prefetch(self, query)", f"{wrong}(self)"))
    use(home, "sea")
    with Memory.open(home) as memory:
        layer = external(memory)
    if wrong == "sesion_end":
        assert layer["hint"]
    else:
        assert f"did you mean `{right}`" in layer["hint"]


def test_h05_a_plugin_for_another_version_is_not_imported(site, home):
    module = site.add("sea", GOOD, requires="hermes-memory-core>=7")
    use(home, "sea")
    with Memory.open(home) as memory:
        layer = external(memory)
        assert layer["state"] == "failed"
        assert ">=7" in layer["why"]
    assert module not in sys.modules


def test_h01_a_provider_that_is_not_installed_says_how_to_install_it(home):
    use(home, "honcho")
    notices = []
    with Memory.open(home, notify=notices.append) as memory:
        layer = external(memory)
    assert layer["state"] == "not installed"
    assert layer["hint"] == "hermes plugins install honcho"
    assert "untouched" in notices[0].message


def test_two_distributions_with_one_name_are_both_named_and_neither_is_loaded(site, home):
    one = site.add("sea", GOOD, distribution="sea-one")
    two = site.add("sea", GOOD, distribution="sea-two")
    use(home, "sea")
    notices = []
    with Memory.open(home, notify=notices.append) as memory:
        external(memory)
    assert "sea-one" in notices[0].message
    assert "sea-two" in notices[0].message
    assert one not in sys.modules
    assert two not in sys.modules


def test_nobody_takes_the_name_of_a_built_in(site):
    site.add("files", GOOD, distribution="impostor")
    assert find("files").distribution == "hermes-memory-core"


def test_a_stranger_called_like_a_built_in_is_never_one(site, home):
    site.add("skills", GOOD, distribution="impostor")
    with Memory.open(home) as memory, memory.session():
        assert "skills" not in [provider.name for provider in memory._profile.roster.built_ins]


def test_safe_mode(site, home, monkeypatch):
    module = site.add("sea", GOOD)
    use(home, "sea")
    monkeypatch.setenv("HERMES_MEMORY_NO_PLUGINS", "1")
    with Memory.open(home) as memory:
        layer = external(memory)
        assert layer["state"] == "off"
        assert "safe mode" in layer["why"]
    assert module not in sys.modules


def test_a_disabled_plugin_is_never_imported(site, home):
    module = site.add("sea", GOOD)
    use(home, "sea", "plugins: {disabled: [sea]}\n")
    with Memory.open(home) as memory:
        assert external(memory)["state"] == "off"
    assert module not in sys.modules


def test_config_errors_never_show_the_value(site, home):
    code = (
        GOOD
        + "    from pydantic import BaseModel\n    class Config(BaseModel):\n        api_key: int\n"
    )
    site.add("sea", code)
    use(home, "sea", "providers: {sea: {api_key: hunter2-very-secret}}\n")
    with Memory.open(home) as memory:
        assert "hunter2" not in str(external(memory))


def test_secrets_reach_config_and_context_from_dotenv_only(site, home, monkeypatch):
    code = """
    from pydantic import BaseModel, SecretStr
    from hermes_memory_core import hookimpl
    class Provider:
        class Config(BaseModel):
            api_key: SecretStr | None = None
        def __init__(self, context):
            self.context = context
        @hookimpl
        def prefetch(self):
            key = self.context.config.api_key
            return f"{key.get_secret_value() if key else None} {self.context.secrets.get('api_key')}"
    """
    site.add("sea", code)
    use(home, "sea")
    monkeypatch.setenv("SEA_API_KEY", "from-the-process")
    with Memory.open(home) as memory, memory.session() as session:
        assert "None None" in session.begin_turn("which key is it").text
    (home / ".env").write_text("SEA_API_KEY=from-the-file\n")
    with Memory.open(home) as memory, memory.session() as session:
        session.begin_turn("which key is it")
        instance = memory._profile.roster.external.instance
        assert instance.context.config.api_key.get_secret_value() == "from-the-file"
        assert instance.context.secrets["api_key"] == "from-the-file"
        assert "from-the-file" not in repr(instance.context)


def test_in_process_rules(home):
    from helpers import provider_class

    one, two = provider_class("one"), provider_class("two")
    from hermes_memory_core.errors import ConfigError

    with (
        Memory.open(home, providers=[one, two]) as memory,
        pytest.raises(ConfigError, match="one, two"),
    ):
        memory.session()
    use(home, "two")
    notices = []
    with Memory.open(home, providers=[one, two], notify=notices.append) as memory, memory.session():
        assert memory._profile.roster.external.name == "two"
        assert notices[0].hint == "hermes memory use one"


def test_tool_name_clash_names_both_distributions(home):
    from helpers import provider_class

    from hermes_memory_core.types import ToolSpec

    kind = provider_class(
        "clash", tools=lambda self: [ToolSpec("memory", "mine"), ToolSpec("clash_find", "ok")]
    )
    notices = []
    with (
        Memory.open(home, providers=[kind], notify=notices.append) as memory,
        memory.session() as session,
    ):
        names = [tool["function"]["name"] for tool in session.tools()]
        assert names.count("memory") == 1
        assert "clash_find" in names
        assert "hermes-memory-core" in notices[0].message
        assert "in process" in notices[0].message
