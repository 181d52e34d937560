from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_core.engine.fence import (
    CLOSE,
    OPEN,
    FenceScrubber,
    fence,
    remove_tags,
    strip_fences,
)

pieces = st.sampled_from(
    [
        OPEN,
        CLOSE,
        OPEN.upper(),
        "<memory",
        "-context>",
        "\n",
        "\r\n",
        " ",
        "text",
        "预算",
        "<",
        ">",
        "</",
    ]
)
texts = st.lists(pieces, max_size=25).map("".join)


def scrub(text, cuts=()):
    scrubber, out, position = FenceScrubber(), [], 0
    for cut in [*sorted(cuts), len(text)]:
        out.append(scrubber.feed(text[position:cut]))
        position = cut
    return "".join(out) + scrubber.flush()


@given(texts, st.data())
def test_the_scrubber_does_not_depend_on_the_pieces(text, data):
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    assert scrub(text, cuts) == scrub(text)


@given(texts, texts)
def test_what_stands_in_a_block_never_shows(inside, before):
    secret = f"SECRET{inside}".replace(CLOSE, "").replace(CLOSE.upper(), "")
    if re.search(r"</memory-context>", secret, re.IGNORECASE):
        return
    visible = scrub(f"{before}\n{OPEN}\n{secret}\n{CLOSE}\nafter")
    assert "SECRET" not in visible


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("hi <memory-context> inline", "hi <memory-context> inline"),
        ("<memory-context>\nsecret\n</memory-context>after", "after"),
        ("<memory-context>x</memory-context>ok", "<memory-context>x</memory-context>ok"),
        ("before\n<MEMORY-context>\r\nnever closed", "before\n"),
        ("no tags at all", "no tags at all"),
        ("ends in a tag <memory-context>", "ends in a tag <memory-context>"),
        ("x\n<memory-context>\na</memory-context><memory-context>\nb", "x\n"),
    ],
)
def test_scrubber_vectors(text, visible):
    assert scrub(text) == visible
    assert scrub(text, range(len(text))) == visible


@given(texts)
def test_no_tag_survives_inside_the_fence(text):
    body = fence(text)
    if body:
        assert body.lower().count(OPEN) == 1
        assert body.lower().count(CLOSE) == 1
        assert body.startswith(OPEN)
        assert body.endswith(CLOSE)


def test_halves_of_a_tag_cannot_be_put_together_by_removing_another():
    assert "memory-context" not in remove_tags("<memory-<memory-context>context>") or not re.search(
        r"<\s*/?memory-context\s*>", remove_tags("<memory-<memory-context>context>")
    )


@given(texts)
def test_a_fenced_block_is_always_stripped(text):
    block = fence(f"recalled {text}")
    assert "recalled" not in strip_fences(f"question\n\n{block}")


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("hi <memory-context>old</memory-context>", "hi"),
        ("a <memory-context> b", "a <memory-context> b"),
        ("x\n<memory-context>\nleak", "x"),
        (
            "<memory-context>a<memory-context>b</memory-context>c</memory-context>d",
            "d",
        ),
        ("q </memory-context> r", "q </memory-context> r"),
        ("Q <MEMORY-CONTEXT >x</ memory-context> R", "Q  R"),
    ],
)
def test_strip_vectors(text, stored):
    assert strip_fences(text) == stored


@given(st.text())
def test_text_without_the_tag_is_untouched(text):
    if "memory-context" not in text.lower():
        assert strip_fences(text) == text
        assert scrub(text) == text
