"""Query string to tree; the one parser for every path, and it never raises.

Grammar: ``OR`` binds least, then ``AND``, then ``NOT``, then words in a row (any of them is enough).
Operators are the capital English words. What cannot be honoured is searched as words, with a warning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from .patterns import lazy
from .scripts import clean, compatible, fold
from .segmenter import Piece, pairs, pieces
from .stopwords import FOREIGN, WORDS
from .syntax import AllOf, AnyOf, Node, Term, Without, strict, terms
from .unspaced import Word, words

LONGEST_QUERY: Final = 100_000
"""Characters of a query that are read."""

MOST_TERMS: Final = 400
"""Different terms that are looked for; a pasted text has its first ones searched."""

_DEEPEST: Final = 40
_QUOTES: Final = {
    '"': '"',
    "\u201c": "\u201d",
    "\u201e": "\u201c",
    "\u300c": "\u300d",
    "\u300e": "\u300f",
    "\u00ab": "\u00bb",
    "\u300a": "\u300b",
}
_LEXEME: Final = lazy(
    # a typographic quotation mark opens a phrase even inside a run of Chinese
    "(?P<space>\\s+)|(?P<open>\\()|(?P<close>\\))|(?P<word>[^\\s()][^\\s()\u201c\u201e\u300c\u300e\u00ab\u300a]*)"
)
_OPERATORS: Final = frozenset({"AND", "OR", "NOT"})
_JOINED: Final = lazy(r"[-_./:@&+#\\'~=%$\u00b7\u2010-\u2013]+")
_PREFIX: Final = lazy(r"[^\W_]\*$")
_NEAR: Final = lazy(r"\bNEAR\(([^()]*?)(?:,\s*\d+\s*)?\)")
_ASKS: Final = lazy(
    r"[?\u061f]\s*$|^(?:what|when|where|who|whom|whose|which|why|how|did|do|does|is|are|was|were|has|have|had|can|"
    r"could|would|will|should)\b|什么|怎么|为什么|哪|谁|几|吗\s*$|呢\s*$|多少|如何|何|誰|いつ|どこ|なぜ|どう|누가|무엇|언제|어디|왜|어떻게",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query."""

    text: str
    """What was read: at most 100,000 characters, full-width folded."""
    node: Node | None = None
    """None when there is no word in it."""
    warnings: tuple[str, ...] = ()
    question: bool = False
    """Reads like a question in natural language."""
    literal: str = ""
    """With no word in the query: its signs, to be looked for as they are."""


@dataclass(slots=True)
class _Lexeme:
    kind: str
    """``word``, ``phrase``, ``AND``, ``OR``, ``NOT``, ``open`` or ``close``."""
    text: str


@dataclass(slots=True)
class _State:
    lexemes: list[_Lexeme]
    question: bool
    at: int = 0
    depth: int = 0
    warnings: dict[str, None] = field(default_factory=dict)

    def peek(self) -> str:
        return self.lexemes[self.at].kind if self.at < len(self.lexemes) else "end"

    def warn(self, message: str) -> None:
        self.warnings[message] = None


def parse(text: str) -> Query:
    """Read any string as a query."""
    warnings: dict[str, None] = {}
    if len(text) > LONGEST_QUERY:
        warnings["The query is longer than 100,000 characters; the rest was not read."] = None
    text = compatible(clean(text[:LONGEST_QUERY]))
    question = bool(_ASKS.search(text.strip()))
    lexemes = _grouped(_operators(_lex(text, warnings), warnings), warnings)
    state = _State(lexemes, question, warnings=warnings)
    node = _any(state)
    if node is None and lexemes:
        node = _words_only(lexemes, question)
    node = _bounded(node, state)
    literal = "" if node else text.strip()
    if literal:
        state.warn("There is no word in the query; its signs were looked for in recent messages.")
    return Query(text, node, tuple(state.warnings), question, literal)


# ---------------------------------------------------------------- lexing


def _lex(text: str, warnings: dict[str, None]) -> list[_Lexeme]:
    near = _NEAR.search(text)
    if near:
        warnings["NEAR(...) is not supported; its words were searched."] = None
        text = _NEAR.sub(lambda m: f" {m.group(1)} ", text)
    out: list[_Lexeme] = []
    at = 0
    closers = {close: text.rfind(close) for close in _QUOTES.values()}
    while at < len(text):
        close = _QUOTES.get(text[at])
        starts = at == 0 or text[at - 1] in " \t\r\n(" or text[at] != '"'
        if close and starts and closers[close] > at:
            end = text.find(close, at + 1)
            out.append(_Lexeme("phrase", text[at + 1 : end]))
            at = end + 1
            continue
        if text[at] == '"' and starts:
            warnings["A quotation mark is not closed; it was ignored."] = None
            at += 1
            continue
        match = _LEXEME.match(text, at)
        assert match is not None  # noqa: S101 - the four kinds cover every character
        kind, end = match.lastgroup or "word", match.end()
        if kind != "space":
            out.append(_Lexeme(kind, match.group()))
        at = end
    return out


def _operators(lexemes: list[_Lexeme], warnings: dict[str, None]) -> list[_Lexeme]:
    """Mark operators that stand between two operands; the others are dropped, with a warning."""
    if all(lexeme.text in _OPERATORS or lexeme.kind in ("open", "close") for lexeme in lexemes):
        return [lexeme for lexeme in lexemes if lexeme.kind == "word"]
    out: list[_Lexeme] = []
    for lexeme in lexemes:
        if lexeme.kind != "word" or lexeme.text not in _OPERATORS:
            out.append(lexeme)
        elif lexeme.text == "NOT" and out and out[-1].kind == "AND":
            out[-1] = _Lexeme("NOT", "NOT")  # "a AND NOT b"
        elif out and out[-1].kind in ("word", "phrase", "close"):
            out.append(_Lexeme(lexeme.text, lexeme.text))
        else:
            warnings[f"{lexeme.text} has nothing before it; it was ignored."] = None
    while out and out[-1].kind in _OPERATORS:
        warnings[f"{out.pop().kind} has nothing after it; it was ignored."] = None
    return out


def _grouped(lexemes: list[_Lexeme], warnings: dict[str, None]) -> list[_Lexeme]:
    """Keep parentheses only where they group: balanced, and beside operators."""
    if not any(lexeme.kind in ("open", "close") for lexeme in lexemes):
        return lexemes
    operators = any(lexeme.kind in _OPERATORS for lexeme in lexemes)
    depth = deepest = 0
    balanced = True
    for lexeme in lexemes:
        depth += (lexeme.kind == "open") - (lexeme.kind == "close")
        balanced &= depth >= 0
        deepest = max(deepest, depth)
    if operators and balanced and depth == 0 and deepest <= _DEEPEST:
        return lexemes
    if operators:
        warnings["The parentheses do not match; they were ignored."] = None
    rest = [lexeme for lexeme in lexemes if lexeme.kind not in ("open", "close")]
    return _operators(
        [_Lexeme("word", x.text) if x.kind in _OPERATORS else x for x in rest], warnings
    )


# ---------------------------------------------------------------- parsing


def _any(state: _State) -> Node | None:
    nodes = [_all(state)]
    while state.peek() == "OR":
        state.at += 1
        nodes.append(_all(state))
    return _joined(AnyOf, nodes)


def _all(state: _State) -> Node | None:
    nodes = [_without(state)]
    while state.peek() == "AND":
        state.at += 1
        nodes.append(_without(state))
    if len(nodes) > 1:
        nodes = [strict(node) if node else None for node in nodes]
    return _joined(AllOf, nodes)


def _without(state: _State) -> Node | None:
    node = _row(state)
    while state.peek() == "NOT":
        state.at += 1
        taken = _row(state)
        if node and taken:
            node = Without(node, strict(taken))
        elif taken:
            state.warn("NOT has no word before it; the words after it were searched.")
            node = taken
    return node


def _row(state: _State) -> Node | None:
    """Words, phrases and groups side by side."""
    nodes: list[Node | None] = []
    while (kind := state.peek()) in ("word", "phrase", "open"):
        lexeme = state.lexemes[state.at]
        state.at += 1
        if kind == "open":
            nodes.append(_any(state))
            if state.peek() == "close":
                state.at += 1
        elif kind == "phrase":
            nodes.append(_phrase(lexeme.text))
        else:
            nodes.extend(_terms(lexeme.text, state.question))
    return _joined(AnyOf, nodes)


def _joined(kind: type[AnyOf | AllOf], nodes: list[Node | None]) -> Node | None:
    kept: list[Node] = []
    for node in nodes:
        if node is None or node in kept[-50:]:
            continue
        # nested rows of the same kind mean the same flat
        kept.extend(node.nodes if isinstance(node, kind) else (node,))
    if len(kept) <= 1:
        return kept[0] if kept else None
    return kind(tuple(kept))


def _words_only(lexemes: list[_Lexeme], question: bool) -> Node | None:
    found: list[Node | None] = []
    for lexeme in lexemes:
        found.extend(_terms(lexeme.text, question))
    return _joined(AnyOf, found)


def _bounded(node: Node | None, state: _State) -> Node | None:
    """At most ``MOST_TERMS`` terms: the tree of a pasted text is one row, and its head is kept."""
    found = list(terms(node))
    if len(found) > MOST_TERMS:
        state.warn(f"The query has more than {MOST_TERMS} terms; the rest was ignored.")
        different = list(dict.fromkeys(term for term in found if not term.weak))[:MOST_TERMS]
        node = AnyOf(tuple(different or found[:MOST_TERMS]))
    return _foreign(node)


def _foreign(node: Node | None) -> Node | None:
    """In a question in another Latin language, that language's function words are weak too."""
    found = [term for term in terms(node) if not term.exact and not term.prefix]
    foreign = {term for term in found if fold(term.text) in FOREIGN}
    if len(foreign) < 2 or len(foreign) * 3 < len(found) or not isinstance(node, AnyOf):
        return node
    return AnyOf(
        tuple(
            Term(child.text, child.readings, weak=True)
            if isinstance(child, Term) and child in foreign
            else child
            for child in node.nodes
        )
    )


# ---------------------------------------------------------------- terms


def _phrase(text: str) -> Term | None:
    """A quoted phrase: all its tokens in a row."""
    found = list(pieces(text))
    tokens: list[str] = []
    prefix = False
    for piece in found:
        last = piece is found[-1]
        tokens.extend(
            piece.tokens if not last or piece.kind != "run" else _run_tokens(piece.tokens)
        )
        prefix = last and piece.kind == "run" and len(piece.tokens) == 1
    if not tokens:
        return None
    starred = bool(_PREFIX.search(text)) and bool(found) and found[-1].kind == "word"
    return Term(text, (tuple(tokens[:200]),), prefix=prefix or starred, exact=True)


def _run_tokens(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """A run in a query may go on in the message: its last character alone says nothing."""
    return tokens[:-1] if len(tokens) > 1 else tokens


def _terms(lexeme: str, question: bool) -> list[Node | None]:
    """Terms of one stretch without blanks: parts joined by signs belong together, runs stand alone."""
    starred = bool(_PREFIX.search(lexeme))
    found = list(pieces(lexeme))
    out: list[Node | None] = []
    group: list[Piece] = []
    for i, piece in enumerate(found):
        if piece.kind == "run":
            _close(group, lexeme, out)
            typed = lexeme[piece.start : piece.end]
            run = fold(typed)
            out.extend(_run_term(word, typed, run) for word in words(run, question=question))
            continue
        if group and not _JOINED.fullmatch(lexeme[group[-1].end : piece.start]):
            _close(group, lexeme, out)
        group.append(piece)
        if starred and i == len(found) - 1 and piece.kind == "word":
            out.append(_prefix_term(group, lexeme))
            group = []
    _close(group, lexeme, out)
    return out


def _close(group: list[Piece], lexeme: str, out: list[Node | None]) -> None:
    if not group:
        return
    text = lexeme[group[0].start : group[-1].end]
    tokens = tuple(token for piece in group for token in piece.tokens)
    readings = [tokens]
    if len(group) == 1 and group[0].parts:
        readings.append(group[0].parts)
    elif len(group) > 1 and re.fullmatch(r"[A-Za-z_]+", text):
        # snake_case in the query, camelCase in the message
        readings.append((_whole(text),))
    plain_words = [fold(lexeme[piece.start : piece.end]).replace("'", "") for piece in group]
    stems = [fold(lexeme[piece.start : piece.end]).split("'")[0] for piece in group]
    weak = all(a in WORDS or b in WORDS for a, b in zip(plain_words, stems, strict=True))
    out.append(Term(text, tuple(readings), weak=weak))
    group.clear()


def _whole(text: str) -> str:
    from .stems import stem

    return stem(text.replace("_", "").lower())


def _run_term(word: Word, typed: str, run: str) -> Term:
    """The term of a word in ``run``, which is ``typed`` folded."""
    readings = [_run_tokens(tuple(pairs(text))) for text in (word.text, word.base) if text]
    at = run.find(word.text)
    written = typed[at : at + len(word.text)]
    return Term(
        word.text,
        tuple(readings),
        prefix=len(word.text) == 1,
        weak=word.weak,
        typed=written if fold(written) == word.text else "",
    )


def _prefix_term(group: list[Piece], lexeme: str) -> Term:
    text = lexeme[group[0].start : group[-1].end]
    head = tuple(token for piece in group[:-1] for token in piece.tokens)
    last = fold(lexeme[group[-1].start : group[-1].end]).split("'")[0]
    return Term(text + "*", ((*head, last),), prefix=True)
