"""One word, the commonest query: its messages, their rows and texts in two statements instead of six.

The same candidates as ``candidates`` finds: the newest messages with the word that the filters let through.
"""

from __future__ import annotations

from . import compile as fts
from .corpus import COLUMNS, Candidates, Corpus, Row
from .edges import judge, needs_judging
from .evidence import TermEvidence, rarity
from .index import searchable_text
from .syntax import Term
from .weights import DEMOTED_SOURCES


def one_word(corpus: Corpus, term: Term, most: int) -> Candidates | None:
    """Candidates for a word that is one token; None when it is not, or stands in more than ``most`` places."""
    readings = term.readings
    if term.prefix or len(readings) != 1 or len(readings[0]) != 1 or corpus.condition.narrow:
        return None
    token = readings[0][0]
    places = corpus.db.execute(
        "SELECT doc FROM index_postings WHERE term = ? LIMIT ?", (token, most + 1)
    ).fetchall()
    if len(places) > most:
        return None
    frequency: dict[int, float] = {}
    for (message,) in places:
        frequency[message] = frequency.get(message, 0.0) + 1.0
    found = Candidates(mean_length=corpus.mean_length)
    evidence = TermEvidence(term, frequency, rarity=rarity(len(frequency), corpus.messages))
    found.evidence = [evidence]
    best = corpus.best(1)
    rows = corpus.db.execute(
        # both parts are constants of this package; what people give is bound
        f"SELECT {COLUMNS}, 1, s.id, m.content, m.tool_name, m.tool_calls "  # noqa: S608
        "FROM message_index i CROSS JOIN messages m ON m.id = i.rowid CROSS JOIN sessions s ON s.key = m.session "
        f"WHERE message_index MATCH ? AND {corpus.condition.sql} ORDER BY i.rowid DESC LIMIT ?",
        (fts.term(term), *corpus.condition.values, best),
    ).fetchall()
    if len(rows) >= best and any(row[8] in DEMOTED_SOURCES for row in rows):
        return None  # those of people must not be crowded out
    for values in rows:
        row = Row._make(values[:10])
        found.rows[row.id] = row
        corpus.texts[row.id] = values[10:12]
    if needs_judging(term):
        judge(evidence, {row[0]: searchable_text(row[11], row[12], row[13]) for row in rows})
        found.rows = {id_: row for id_, row in found.rows.items() if id_ in frequency}
    return found
