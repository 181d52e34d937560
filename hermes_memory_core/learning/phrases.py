"""Words a title leaves out: greetings and requests around the matter, and words no title ends with. Data only.

``_`` stands for a space. One line a language or group; lower case, apostrophes straight.
"""

from __future__ import annotations

from typing import Final

LEADING: Final = """
hi hello hey hiya hey_there hi_there hello_there good_morning good_afternoon good_evening greetings dear_all hi_all ok okay so
well um yes thanks thanks_a_lot thank_you thank_you_very_much thank_you_so_much many_thanks thanks_in_advance please pls kindly quick_question i_have_a_question
i_have_a_quick_question one_question another_question question hope_you_are_well i_hope_you_are_well how_are_you
how_are_you_doing sorry excuse_me sorry_to_bother_you by_the_way also now first again maybe
can_you can_you_please could_you could_you_please would_you would_you_please will_you can_we could_we can_i could_i may_i
would_you_mind would_it_be_possible_to is_it_possible_to is_there_a_way_to are_you_able_to do_you_know do_you_know_how_to
can_you_tell_me could_you_tell_me can_you_explain_to_me can_you_help_me can_you_help_me_to can_you_help_me_with
could_you_help_me could_you_help_me_to could_you_help_me_with help_me help_me_to help_me_with i_need_help
i_need_help_with i_need_your_help i_need_your_help_with i_need_some_help i_need_some_help_with i_want_to i_want_you_to i_want
i_would_like_to i_would_like_you_to i_would_like i'd_like_to i'd_like_you_to i'd_like i'd_love_to i_need_to i_need_you_to i_need
i_have_to i_must i_should we_need_to we_want_to we_need we_want we_would_like_to i_am_trying_to i'm_trying_to we_are_trying_to
we're_trying_to i_have_been_trying_to i've_been_trying_to i_tried_to i_was_trying_to i_am_looking_for i'm_looking_for
we_are_looking_for i_am_wondering i'm_wondering i_was_wondering i_wonder if_you_could if_you_can i_have_a_problem_with
i_have_an_issue_with i_have_problems_with i_have_trouble_with i'm_having_trouble_with i_am_having_trouble_with i_have_a
let's let_us let_me let's_talk_about let_us_talk_about tell_me tell_me_about tell_me_more_about give_me show_me explain_to_me
how_do_i how_do_we how_do_you how_does_one how_can_i how_can_we how_can_you how_could_i how_should_i how_should_we how_would_i
how_would_you how_to what_is what_are what's what_is_the_best_way_to what's_the_best_way_to the_best_way_to i_think you_should
hallo guten_morgen guten_tag guten_abend moin servus bitte danke vielen_dank kannst_du kannst_du_bitte kannst_du_mir
kannst_du_mir_bitte kannst_du_mir_helfen könntest_du könntest_du_bitte könntest_du_mir könntest_du_mir_bitte können_sie
können_sie_bitte können_sie_mir könnten_sie könnten_sie_bitte könnten_sie_mir ich_möchte ich_möchte_gerne ich_würde_gerne
ich_würde_gern ich_will ich_brauche ich_brauche_hilfe ich_brauche_hilfe_bei ich_muss ich_suche hilf_mir hilf_mir_bei
hilf_mir_bitte hilf_mir_bitte_bei wie_kann_ich wie_können_wir wie_mache_ich was_ist was_sind sag_mir erkläre_mir erklär_mir
ich_habe_eine_frage eine_frage kurze_frage
bonjour salut bonsoir coucou merci s'il_te_plaît s'il_vous_plaît stp svp peux-tu peux-tu_m'aider_à peux_tu pouvez-vous
pouvez-vous_m'aider_à pouvez_vous pourrais-tu pourriez-vous tu_peux vous_pouvez est-ce_que_tu_peux est-ce_que_je_peux
est-ce_que je_veux je_voudrais j'aimerais je_souhaite j'ai_besoin_de j'ai_besoin_d'aide_pour j'ai_une_question je_dois je_cherche
aide-moi_à aide-moi aidez-moi_à aidez-moi comment_puis-je comment_je_peux comment_faire_pour comment qu'est-ce_que
qu'est-ce_que_c'est quel_est quelle_est dis-moi dites-moi explique-moi expliquez-moi
hola buenos_días buenas_tardes buenas_noches buenas gracias por_favor puedes puedes_ayudarme_a puedes_ayudarme_con puede
podrías podrías_ayudarme_a podría me_puedes me_podrías quiero quisiera necesito necesito_ayuda_con necesito_ayuda_para
me_gustaría tengo_que estoy_buscando busco ayúdame_a ayúdame_con ayúdame cómo_puedo cómo_se_puede cómo_se cómo_hago_para cómo
qué_es cuál_es dime explícame tengo_una_pregunta una_pregunta tengo_un_problema_con
olá oi bom_dia boa_tarde boa_noite obrigado obrigada você_pode você_poderia pode poderia pode_me_ajudar_a pode_me_ajudar_com
quero queria gostaria_de eu_gostaria_de eu_quero preciso_de eu_preciso_de preciso me_ajude_a me_ajude_com me_ajuda_a como_posso
como_eu_faço_para como_faço_para o_que_é qual_é me_diga me_explique estou_tentando
ciao salve buongiorno buonasera grazie per_favore per_piacere puoi puoi_aiutarmi_a potresti potresti_aiutarmi_a può potrebbe
vorrei voglio ho_bisogno_di devo aiutami_a aiutami_con aiutami come_posso come_si_fa_a come_faccio_a cos'è che_cos'è qual_è
dimmi spiegami
goedemorgen goedemiddag alsjeblieft alstublieft bedankt kun_je kun_je_me kunt_u zou_je kan_je ik_wil ik_wil_graag ik_zou_graag
ik_heb_hulp_nodig_met ik_moet help_me_met hoe_kan_ik hoe_moet_ik wat_is wat_zijn
привет здравствуйте здравствуй добрый_день доброе_утро добрый_вечер спасибо пожалуйста можешь можешь_ли_ты можете можете_ли_вы
не_могли_бы_вы не_мог_бы_ты мог_бы_ты могли_бы_вы помоги_мне помогите_мне помоги помогите я_хочу я_хотел_бы я_хотела_бы хочу
мне_нужно мне_надо мне_нужна_помощь_с нужно надо подскажи подскажите подскажи_пожалуйста подскажите_пожалуйста расскажи
расскажи_мне расскажите объясни объясни_мне объясните скажи как_мне как_я_могу как_можно как что_такое
مرحبا مرحباً السلام_عليكم أهلا من_فضلك لو_سمحت شكرا هل_يمكنك هل_يمكنك_مساعدتي_في هل_تستطيع أريد أريد_أن أحتاج_إلى ساعدني_في
ساعدني كيف_يمكنني كيف ما_هو ما_هي
xin_chào chào chào_bạn làm_ơn cảm_ơn bạn_có_thể bạn_có_thể_giúp_tôi giúp_tôi hãy_giúp_tôi tôi_muốn tôi_cần làm_sao_để làm_thế_nào_để
merhaba selam lütfen teşekkürler bana_yardım_eder_misin
नमस्ते कृपया धन्यवाद क्या_आप मुझे
안녕하세요 안녕 안녕하십니까 감사합니다 고마워 저기요 저기 혹시 죄송하지만 실례지만 제발 저는 제가 나는 내가
"""
"""What may stand before the matter, where words are spaced."""

LEADING_DENSE: Final = """
你好 您好 你好啊 嗨 哈喽 早上好 下午好 晚上好 早安 大家好 请问 請問 请问一下 请 請 麻烦 麻煩 麻烦你 麻烦您 麻煩你 麻煩您 谢谢 謝謝 不好意思 打扰一下
帮我 幫我 请帮我 請幫我 帮忙 幫忙 帮我看看 帮我看一下 帮我写 你能 您能 你能帮我 您能帮我 你能不能 能不能 能不能帮我 能否 能否帮我 可以 可以帮我 你可以 你可以帮我
可不可以 可以请你 我想 我想要 我想请你 我想问 我想问一下 我想知道 我想了解 我想了解一下 我要 我需要 我们想 我们需要 我們想 我們需要 告诉我 告訴我 给我 給我 给我讲讲 跟我说说
讲讲 说说 介绍一下 解释一下 解釋一下 如何 怎么 怎麼 怎样 怎樣 什么是 什麼是 有没有 有沒有 现在 现在我 那么 那 嗯 好的 对了 另外
こんにちは こんばんは おはよう おはようございます はじめまして すみません すいません ごめんなさい ありがとう ありがとうございます ちょっと あの えっと どうやって どうすれば
お願いします お忙しいところすみません もしもし 私は 僕は まず
สวัสดี สวัสดีครับ สวัสดีค่ะ ขอบคุณ ขอบคุณครับ ขอบคุณค่ะ ขอโทษ ขอโทษครับ ขอโทษค่ะ ช่วย ช่วยผม ช่วยฉัน ช่วยบอก กรุณา รบกวน รบกวนช่วย อยากทราบว่า อยากรู้ว่า อยากให้ช่วย
ฉันต้องการ ผมต้องการ ฉันอยาก ผมอยาก คุณช่วย ครับ ค่ะ คะ
"""
"""The same where words are not spaced."""

TRAILING: Final = """
please pls thanks thank_you thanks_in_advance for_me for_us bitte danke s'il_te_plaît s'il_vous_plaît merci por_favor gracias
per_favore grazie obrigado obrigada alsjeblieft пожалуйста спасибо من_فضلك شكرا
"""
TRAILING_DENSE: Final = """
吗 嗎 呢 吧 啊 呀 好吗 好嗎 可以吗 可以嗎 行吗 谢谢 謝謝 谢谢你 了吗 一下 怎么办 怎麼辦
教えて 教えてください 教えて下さい 教えてくれませんか 教えてもらえますか 教えていただけますか を教えて を教えてください を教えて下さい を教えてくれませんか について教えて について教えてください
について説明して について説明してください を説明して を説明してください してください して下さい してほしい してくれませんか してもらえますか お願いします をお願いします お願いできますか をお願いできますか
ですか ますか でしょうか はどうすればいいですか はどうすればいい って何ですか とは何ですか とは何 は何ですか ください 下さい か
알려줘 알려주세요 알려_줘 알려_주세요 알려줄래 알려주실래요 를_알려줘 을_알려줘 를_알려주세요 을_알려주세요 를_알려_주세요 을_알려_주세요 에_대해_알려줘 에_대해_알려주세요 에_대해_설명해줘 에_대해_설명해_주세요 설명해줘
설명해_줘 설명해주세요 설명해_주세요 도와줘 도와주세요 도와_줘 도와_주세요 해줘 해_줘 해주세요 해_주세요 부탁해 부탁해요 부탁드려요 부탁드립니다 부탁합니다 인가요 무엇인가요 뭐야 뭐예요 요
ครับ ค่ะ คะ นะครับ นะคะ หน่อย หน่อยครับ หน่อยค่ะ หน่อยได้ไหม ได้ไหม ได้ไหมครับ ได้ไหมคะ ไหม ไหมครับ ไหมคะ ด้วย ด้วยครับ ด้วยค่ะ ให้หน่อย
"""
"""What may stand after it."""

PARTICLES: Final = "的了和在与與是把被对對跟及或をにのはがでとへもや"
"""Characters a clipped title of an unspaced script does not end with."""

_BREAKS: Final = """
because since so but which while when whenever where although though whereas unless until if
weil da aber wenn während obwohl damit dass wobei denn sodass car mais quand lorsque puisque qui que afin
porque pero cuando aunque mientras que si mas quando enquanto embora perché ma quando mentre omdat maar wanneer terwijl
потому но когда если который чтобы хотя поэтому لأن لكن عندما إذا vì nhưng khi
"""
BREAKS: Final = frozenset(_BREAKS.split())
"""A long sentence may end before one of these."""

_WEAK: Final = """
a an the and or of to in on at by for from with about into over under as than then but is are was were be been being am do
does did have has had having can could should would will may might must not no i you he she it we they me him her us them my
your his its our their this that these those there here some any which who whom what so if just very really also up out off
get got getting trying try want need like make when where while because since after before between without within via per
der die das den dem des ein eine einen einem einer eines und oder von zu zum zur im in am an auf aus bei mit nach für über um
ist sind war waren wird werden habe hat ich du er sie es wir ihr mein meine meinen meinem meiner dein sein nicht auch als wie
le la les l' un une des du de et ou à au aux en dans sur pour par avec sans est sont je tu il elle nous vous mon ma mes ton ce
cette ces ne pas se sa son ses leur y el los las del al con por para en y o u e un una unos unas es son mi mis tu su sus se
que como lo da do das dos em no na nos nas ao com por para uma um meu minha seu sua os as il lo gli i di da dal della dello
nel nella con su per tra fra mio mia sono è ed che de het een en of van voor met op bij naar uit te ik je mijn is zijn
и в во на с со к по из у о об от до за для не как я мы ты вы мой моя мои мне это при или а
في من على إلى عن مع و أو của và cho với là trong các những một
"""
WEAK: Final = frozenset(_WEAK.split())
"""Function words: no title ends with one, and a long sentence is read from its first other word on."""
