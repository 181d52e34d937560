"""Words that carry no evidence of their own: dropped from a question unless it has nothing else. Data only."""

from __future__ import annotations

from typing import Final

_ENGLISH: Final = """
a about above after again all also am an and any are aren arent as at be because been before being below between
both but by can cannot cant could couldnt did didnt do does doesnt doing dont down during each either else ever few
for from further had hadnt has hasnt have havent having he her here hers herself him himself his how i if in into is
isnt it its itself just let lets may me might more most much must my myself no nor not of off on once only or other
ought our ours ourselves out over own please same shall she should shouldnt so some such than that the their theirs
them themselves then there these they this those through to too under until up upon us very was wasnt we were werent
what whats when where which while who whom whose why will with wont would wouldnt yes you your yours yourself
anything something everything tell remind
"""
_GERMAN: Final = """
aber als am an auch auf aus bei bin bis das dass dein dem den der des dich die dir du ein eine einem einen einer eines
er es fur hat hatte habe haben hier ich ihm ihn ihr ihre im in ist ja kann kein keine man mein meine mich mir mit nach
nicht noch oder ob sein seine sich sie sind so um und uns unser unter vom von vor wann war waren warum was welche
welcher weil wenn wer werden wie wieder wir wird wo wurde zu zum zur
"""
_FRENCH: Final = """
ai au aux avec avait ce ces cette dans de des du elle elles en est et etait eu il ils je la le les leur lui ma mais me
mes moi mon ne nos notre nous on ou ont par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi sa sans
se ses sont son sur ta te tes toi ton tu un une vos votre vous comment
"""
_SPANISH: Final = """
al como con cual cuando cuanto de del desde donde el ella ellos en era es esa ese eso esta este esto estaba fue ha han
hay la las le les lo los mas me mi mis muy no nos o para pero por porque que quien se ser si sin sobre son su sus te
tiene tu tus un una unos y ya yo
"""
_ITALIAN_PORTUGUESE: Final = """
che chi ci come con cosa cui da dei del della delle di dove e gli ha hanno ho i il io la le lo ma mi mia mio nel nella
non per perche piu quale quando quello questa questo se si sono su sua suo ti tra tu un una uno
a ao aos as com como da das de do dos e ela ele em era essa esse esta este eu foi isso ja mais mas me meu minha na nao
nas no nos o onde os ou para pela pelo por porque qual quando que quem sao se sem ser seu sua tem um uma voce
"""
_DUTCH: Final = """
aan al als bij dan dat de der deze die dit door een en er had heb heeft het hij hoe ik in is je kan maar me met mijn na
naar niet nog nu of om ons ook op over te toen tot uit van veel voor waar waarom wanneer was wat we wel werd wie wij
worden zal ze zich zij zijn zo zou
"""
_RUSSIAN: Final = """
а без был была были было быть в вам вас вот все всегда вы где да для до его ее ей ему если есть еще же за здесь и из или
им их к как какая какие какой когда кто ли мне мой моя мы на нам нас не него нет ни но о об он она они от по под почему
при с сколько со так там то того тоже только ты у уже чем что чтобы эта эти это этот я
"""

LATIN_LANGUAGES: Final = {
    "german": frozenset(_GERMAN.split()),
    "french": frozenset(_FRENCH.split()),
    "spanish": frozenset(_SPANISH.split()),
}
WORDS: Final = frozenset(_ENGLISH.split()) | frozenset(_RUSSIAN.split())
"""English and Russian function words, folded; English because it is also everybody's second language."""

FOREIGN: Final = frozenset((_GERMAN + _FRENCH + _SPANISH + _ITALIAN_PORTUGUESE + _DUTCH).split())
"""Function words of other Latin languages: used when a query has three of them and they are its majority."""

KOREAN: Final = frozenset(
    [
        "누가",
        "누구",
        "누구의",
        "무엇",
        "무엇을",
        "뭐",
        "뭘",
        "무슨",
        "언제",
        "어디",
        "어디서",
        "어디에",
        "왜",
        "어떻게",
        "어떤",
        "어느",
        "몇",
        "얼마",
        "얼마나",
        "그",
        "이",
        "저",
        "나",
        "나는",
        "내",
        "내가",
        "저는",
        "제",
        "제가",
        "우리",
        "너",
        "당신",
        "그리고",
        "그런데",
        "하지만",
        "있어",
        "있나요",
        "있습니까",
        "했어",
        "했나요",
        "해줘",
        "알려줘",
        "것",
        "수",
    ]
)
KOREAN_ENDINGS: Final = tuple(
    sorted(
        [
            "습니까",
            "습니다",
            "합니까",
            "합니다",
            "입니까",
            "입니다",
            "했습니까",
            "했습니다",
            "됩니까",
            "됩니다",
            "하나요",
            "했나요",
            "인가요",
            "인가",
            "나요",
            "을까요",
            "까요",
            "했어요",
            "했어",
            "해요",
            "이에요",
            "예요",
            "에서는",
            "에서도",
            "으로는",
            "에게서",
            "한테서",
            "부터",
            "까지",
            "에서",
            "에게",
            "한테",
            "으로",
            "이나",
            "이랑",
            "처럼",
            "보다",
            "마다",
            "조차",
            "밖에",
            "하고",
            "이는",
            "들은",
            "들이",
            "들을",
            "들의",
            "은",
            "는",
            "이",
            "가",
            "을",
            "를",
            "의",
            "에",
            "로",
            "와",
            "과",
            "도",
            "만",
        ],
        key=len,
        reverse=True,
    )
)
"""Particles and polite endings, longest first: what may follow a noun without changing it."""

UNSPACED_PHRASES: Final = tuple(
    sorted(
        [
            "为什么",
            "為什么",
            "什么时候",
            "什么",
            "怎么样",
            "怎么办",
            "怎么",
            "怎样",
            "如何",
            "哪里",
            "哪儿",
            "哪个",
            "哪些",
            "哪天",
            "几点",
            "几号",
            "多少",
            "多久",
            "是不是",
            "有没有",
            "能不能",
            "可不可以",
            "请问",
            "告诉我",
            "我们",
            "你们",
            "他们",
            "她们",
            "咱们",
            "这个",
            "那个",
            "这些",
            "那些",
            "这里",
            "那里",
            "的时候",
            "以及",
            "还是",
            "或者",
            "是什么",
            "是谁",
            "でしょうか",
            "でしょう",
            "ですか",
            "ですが",
            "です",
            "でした",
            "ますか",
            "ました",
            "ましたか",
            "ません",
            "ますが",
            "ます",
            "ています",
            "ていました",
            "ている",
            "ていた",
            "ください",
            "という",
            "どうして",
            "どんな",
            "どのように",
            "どの",
            "どこ",
            "どれ",
            "どう",
            "だれ",
            "なぜ",
            "なに",
            "いつ",
            "これ",
            "それ",
            "あれ",
            "この",
            "その",
            "あの",
            "については",
            "について",
            "何時",
            "何が",
            "何を",
            "何",
            "誰",
            "อะไร",
            "ที่ไหน",
            "เมื่อไหร่",
            "เมื่อไร",
            "ทำไม",
            "อย่างไร",
            "ยังไง",
            "หรือเปล่า",
            "ไหม",
            "ครับ",
            "ค่ะ",
        ],
        key=len,
        reverse=True,
    )
)
"""Function words of scripts without blanks, longest first, in folded form (simplified characters)."""

HAN_FUNCTION: Final = frozenset("的了吗呢吧啊呀是在我你您他她它们谁哪这那和与跟把被也很")
"""Characters that part words in a long Chinese run."""

KANA_PARTICLES: Final = frozenset("のはがをにでともへやかねよ")
"""Particles that part words beside a character that is not hiragana."""
