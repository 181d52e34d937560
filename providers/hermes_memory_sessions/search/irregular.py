"""English forms that no rule of endings brings together: each line is a base form and its irregular forms. Data only.

Forms that are more often another word (``saw``, ``left``, ``found`` are kept; ``lay``, ``bore``, ``wound`` are not)
stay out: a wrong pair costs more than a missed one.
"""

from __future__ import annotations

from typing import Final

_FORMS: Final = """
arise arose arisen|become became|begin began begun|bend bent|bite bit bitten|bleed bled|blow blew blown|break broke broken
breed bred|bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|creep crept
deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen
feed fed|feel felt|fight fought|find found|flee fled|fly flew flown|forget forgot forgotten|forgive forgave forgiven
freeze froze frozen|get got gotten|give gave given|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden
hold held|keep kept|kneel knelt|know knew known|lead led|lean leant|learn learnt|leave left|lend lent|lose lost
make made|mean meant|meet met|mistake mistook mistaken|pay paid|prove proven|ride rode ridden|ring rang rung
rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|sew sewn|shake shook shaken
shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid
speak spoke spoken|spend spent|spin spun|spill spilt|stand stood|steal stole stolen|stick stuck|strike struck
swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told
think thought|throw threw thrown|understand understood|undertake undertook undertaken|wake woke woken|wear wore worn
weave wove woven|weep wept|win won|withdraw withdrew withdrawn|write wrote written|rewrite rewrote rewritten
overcome overcame|rebuild rebuilt|forbid forbade forbidden
child children|person people|man men|woman women|foot feet|tooth teeth|goose geese|mouse mice|life lives
wife wives|knife knives|leaf leaves|shelf shelves|half halves|wolf wolves|loaf loaves|thief thieves|datum data
analysis analyses|crisis crises|basis bases|criterion criteria|phenomenon phenomena|matrix matrices|index indices
vertex vertices|appendix appendices
"""

FORMS: Final[dict[str, str]] = {
    form: base
    for entry in _FORMS.replace("\n", "|").split("|")
    if entry.strip()
    for base, *forms in [entry.split()]
    for form in forms
}
"""Irregular form to base form."""
