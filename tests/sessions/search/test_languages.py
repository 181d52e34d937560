"""Languages beside English: stems by the message's language, reached from a query in any."""

from __future__ import annotations

import pytest
from hermes_memory_sessions.search.languages import guess

TEXTS = [
    (
        "german",
        "Wir haben gestern die Häuser am See besichtigt",
        ["Haus", "Häuser", "Hauser", "besichtigte"],
    ),
    (
        "french",
        "Les chevaux de ma voisine sont dans les champs",
        ["cheval voisin", "champ", "voisines"],
    ),
    ("spanish", "¿Dónde están las llaves de la casa de mi abuela?", ["llave", "casas", "abuelas"]),
    ("portuguese", "As crianças da minha irmã não gostam de sopa", ["criança", "sopas"]),
    ("dutch", "Het huis van mijn broer is niet te koop", ["broers", "huis"]),
    ("english", "We looked at the houses by the lake yesterday", ["house", "lakes"]),
]


@pytest.mark.parametrize(("language", "text", "queries"), TEXTS, ids=[row[0] for row in TEXTS])
def test_other_forms_of_a_word_are_found(shelf, language, text, queries):
    assert guess(text) == language
    for _, other, _ in TEXTS:
        if other != text:
            shelf.say(other)
    wanted = shelf.say(text)
    for query in queries:
        assert shelf.find(query)[:1] == [wanted], query


@pytest.mark.parametrize(
    "text", ["", "ok", "I would die for a man in the sun", "la vida", "42", "烤箱", "no me"]
)
def test_in_doubt_it_is_english(text):
    assert guess(text) == "english"


def test_russian_and_greek_stem_by_their_script(shelf):
    russian = shelf.say("мы купили новые книги")
    greek = shelf.say("οι δρόμοι είναι κλειστοί")
    assert shelf.find("книга") == [russian]
    assert shelf.find("δρόμου") == [greek]
