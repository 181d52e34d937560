"""Messages too slight to ask memory about: thanks, yes, go on, a lone emoji, a slash command.

Asking for "ok" costs a deadline and brings noise. The words are data below, one line a language.
"""

from __future__ import annotations

import re
import unicodedata

MAX_CHARS = 40
"""Longer messages are never trivial."""

_PHRASES = """
ok okay k kk yes yeah yep yup no nope sure right correct exactly great good nice cool perfect awesome thanks thx ty
thank_you thank_you_very_much thanks_a_lot got_it i_see go_on go_ahead continue proceed next more do_it please
please_do sounds_good looks_good lgtm hi hello hey hi_there good_morning good_evening good_night bye goodbye
never_mind nevermind stop wait done fine alright all_right of_course no_problem no_thanks yes_please hmm hm ah oh lol
好 好的 好吧 好啊 好呀 行 行吧 可以 可以的 嗯 嗯嗯 哦 噢 喔 是 是的 对 对的 對 對的 不 不是 不用 不用了 没有 沒有 没事 沒事
谢谢 謝謝 谢谢你 謝謝你 多谢 多謝 感谢 感謝 辛苦了 收到 明白 明白了 知道了 懂了 继续 繼續 继续吧 請繼續 请继续 下一步 下一个
然后呢 然後呢 你好 您好 嗨 早 早上好 早安 晚安 晚上好 再见 再見 拜拜 哈哈 哈哈哈 没问题 沒問題 当然 當然 开始吧 開始吧 停 等一下 算了
はい いいえ うん ううん ありがとう ありがとうございます 了解 了解です わかった わかりました 続けて お願いします おはよう こんにちは こんばんは おやすみ
네 예 응 아니요 아니 고마워 고마워요 감사합니다 알겠어 알겠습니다 계속 계속해 안녕 안녕하세요 좋아 좋아요 그래
si sí no gracias muchas_gracias vale de_acuerdo perfecto sigue continúa hola adiós claro listo
ja nein danke danke_schön gut weiter mach_weiter hallo tschüss klar genau stimmt passt
oui non merci merci_beaucoup d'accord parfait continue bonjour salut bonsoir voilà
да нет спасибо хорошо ладно понятно ясно продолжай дальше привет пока ага
sim não obrigado obrigada certo continua olá tchau tudo_bem beleza
نعم لا شكرا حسنا تمام أكمل مرحبا
"""

_KNOWN = frozenset(
    unicodedata.normalize("NFKC", phrase.replace("_", " ")).casefold()
    for phrase in _PHRASES.split()
)
_NOISE = re.compile(r"(?:[^\w']|_)+")
_SLASH = re.compile(r"/[a-z][\w-]*$", re.IGNORECASE)


def is_trivial(text: str) -> bool:
    """True for messages that need no recall; text with a word outside the table never is."""
    text = text.strip()
    if len(text) > MAX_CHARS:
        return False
    if _SLASH.match(text):
        return True
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    words = _NOISE.sub(" ", plain).strip(" '")
    return not words or words in _KNOWN
