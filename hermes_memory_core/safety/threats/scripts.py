"""Character tables: lookalike letters, traditional Han, small capitals. No logic beyond building the dicts."""

from __future__ import annotations

# Cyrillic and Greek letters that pass for Latin ones, lower case, as two aligned strings. Used only on words
# that mix scripts (or stand alone among Latin words), so Russian and Greek text keeps its own letters.
LOOKALIKES: dict[int, str] = {}

_PAIRS = (
    "аa вb сc ԁd еe ғf ԍg һh іi јj кk ӏl мm нh оo рp ԛq гr ѕs тt υu ѵv ԝw хx уy ʐz зe ьb бb пn иu яr єe їi ґr "
    "αa βb γy δd εe ζz ηn θo ικ κk λl μm νv οo πn ρp σo τt υu φf χx ψw ωw ϲc ϳj ϙq ϝf "
    "աw օo սu ոn հh ցg զq յj ѡw ҽe ѐe ӧo ӓa ϵe ɡg ɑa ɩi ʟl"
)
for _pair in _PAIRS.split():
    LOOKALIKES[ord(_pair[0])] = _pair[1] if _pair[1].isascii() else "i"

# Letters NFKC leaves alone although they read as Latin: small capitals, turned letters, boxed letters.
STYLED: dict[int, str] = {
    ord(char): latin
    for char, latin in zip(
        "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢǫ" + "ɐɔǝɟƃɥıɾʞɯɹʇʌʍʎ" + "ɑɡɩøłđħŧƒ",
        "abcdefghijklmnopqrstuvwyzq" + "acefghijkmrtvwy" + "agioldhtf",
        strict=True,
    )
}
for _start in (0x1F110, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6):
    for _index in range(26):
        STYLED[_start + _index] = chr(97 + _index)

# Traditional → simplified, only for characters that occur in the word tables; aligned strings.
_TRADITIONAL = (
    "無視規則統計說請對話記錄詞個設這麼樣還為與從後現開關閉關機會員權限驗證碼號發傳輸給讓執"
    "條約約束過濾審覈運繞斷復複製備檔資訊網絡連結鏈圖參數據庫處隱瞞悄聲須優級導語義務實際"
    "線終環變儲錢賬戶帳匯轉寫讀獲取檢測啟動應該當聽從廢棄舊內容護攔擋範圍剛纔講難誰課題"
    "門頭臉視頻預訂單獨進劃別點擊總結論間隨時針態電腦軟體換頁訪問輯擇嚴絕無許願幫側邊"
    "遠離裡裏邊顯示輸齊於並業眾傷東車長龍馬鳥魚麥黃齒龜壓縮編譯組織維紙級純細綁給統繼續"
    "聯繫職聖聲腳臨舉舊藝節蓋薦藍虛號術衛裝補製觀覺觸討訓託許訴診詐評試詢該詳誤誠誌認誘誓課"
    "調談謀謊謂證識譯議讀讓豐財貢責販貨貪貫貼費貿資賊賓賜賞賠質賬購贈贊跡踐軌軍軟較載輕輪輯輸轉"
    "辦辭農邏遲遷選遺郵鄰釋針鈕鋼錄錯鍵鎖鏡鏈鑰鑒閃閱陣陰陸階際隊隨險隱雜離難雲靈靜響項順須預"
    "領頻題額顧顯風飛飯飲館騙驅驚驗體鬆麼點黨內兩冊冪凍則剛創劃劇劑動務勝勞勢勳匯區協卻厲參吳"
    "員問啟單喚嚇嚴囑國圍園圓圖團執堅場塊壇壞壯壽夾奪奮媽學寧寶實審寫寬將專尋導層屬岡島幣幫幹幾"
    "庫廠廢廣廳張強彈彙徑從復徹恆惡愛態慣憂應懷戀戰戲戶拋掃掛採換揮損搖搶撥撐擁擇擊據擴擺擾攝敗"
    "敵數斂斷時暫曆會東條極榮構樣標樓樞樹橋機檔檢歡歷歸殘殺氣決沒況洩淚淨減測渾溝準滅滿漏漢潔"
    "濾為烏無煩熱營爾牆狀獨獲環現產畢異當療發監盤眾睜碼礎確礙種稱穩窩競筆筍築簡簽籌籤糾約納紐級"
    "紋紛終組結絕統經綠維網緊線編緩緣練總績繞繪繳罰羅義習腦臺與興舊莊莫萬葉蔥處眞僅價億優傳倫偽備"
    "佔併來侖係俠倉個們側偵債傾僕儀儘檯嗎嗚噴妝姪據誡闆覆牠妳您甚鑑註冊佈置匿誰轍睏頁臟裡碟礦籬"
)
_SIMPLIFIED = (
    "无视规则统计说请对话记录词个设这么样还为与从后现开关闭关机会员权限验证码号发传输给让执"
    "条约约束过滤审核运绕断复复制备档资讯网络连结链图参数据库处隐瞒悄声须优级导语义务实际"
    "线终环变储钱账户账汇转写读获取检测启动应该当听从废弃旧内容护拦挡范围刚才讲难谁课题"
    "门头脸视频预订单独进划别点击总结论间随时针态电脑软体换页访问辑择严绝无许愿帮侧边"
    "远离里里边显示输齐于并业众伤东车长龙马鸟鱼麦黄齿龟压缩编译组织维纸级纯细绑给统继续"
    "联系职圣声脚临举旧艺节盖荐蓝虚号术卫装补制观觉触讨训托许诉诊诈评试询该详误诚志认诱誓课"
    "调谈谋谎谓证识译议读让丰财贡责贩货贪贯贴费贸资贼宾赐赏赔质账购赠赞迹践轨军软较载轻轮辑输转"
    "办辞农逻迟迁选遗邮邻释针钮钢录错键锁镜链钥鉴闪阅阵阴陆阶际队随险隐杂离难云灵静响项顺须预"
    "领频题额顾显风飞饭饮馆骗驱惊验体松么点党内两册幂冻则刚创划剧剂动务胜劳势勋汇区协却厉参吴"
    "员问启单唤吓严嘱国围园圆图团执坚场块坛坏壮寿夹夺奋妈学宁宝实审写宽将专寻导层属冈岛币帮干几"
    "库厂废广厅张强弹汇径从复彻恒恶爱态惯忧应怀恋战戏户抛扫挂采换挥损摇抢拨撑拥择击据扩摆扰摄败"
    "敌数敛断时暂历会东条极荣构样标楼枢树桥机档检欢历归残杀气决没况泄泪净减测浑沟准灭满漏汉洁"
    "滤为乌无烦热营尔墙状独获环现产毕异当疗发监盘众睁码础确碍种称稳窝竞笔笋筑简签筹签纠约纳纽级"
    "纹纷终组结绝统经绿维网紧线编缓缘练总绩绕绘缴罚罗义习脑台与兴旧庄莫万叶葱处真仅价亿优传伦伪备"
    "占并来仑系侠仓个们侧侦债倾仆仪尽台吗呜喷妆侄据诫板覆它你您甚鉴注册布置匿谁辙困页脏里碟矿篱"
)
SIMPLIFY: dict[int, str] = {
    ord(a): b for a, b in zip(_TRADITIONAL, _SIMPLIFIED, strict=True) if a != b
}
_ALSO = "憑凭 瀏浏 覽览 週周 嘗尝 擬拟 飾饰 徵征 捨舍 脫脱 夠够 釣钓 駭骇 帶带 塗涂 蹤踪 躍跃 您你 妳你 牠它 鉤钩 誘诱 遞递 灣湾 繁繁 籍籍 貴贵 買买 賣卖 訂订 諾诺 誰谁 祕秘 閒闲 僅仅 紙纸 綜综 綱纲 擋挡 搜搜 摺折 誇夸 鍋锅 滾滚 潛潜 歲岁 棄弃 顆颗 題题 隸隶 雖虽 雙双 雜杂 醫医 鐘钟 鋪铺 項项 勵励 勢势 匱匮 噸吨 埋埋 奧奥 姦奸 屆届 嶺岭 懲惩 懶懒 戶户 挾挟 捲卷 攜携 攬揽 曬晒 棟栋 殼壳 沖冲 況况 涼凉 滯滞 漲涨 澤泽 獎奖 瑪玛 疊叠 癒愈 盜盗 盡尽 矯矫 碩硕 禮礼 穀谷 窮穷 竊窃 筧笕 範范 糧粮 糾纠 緒绪 締缔 縱纵 罷罢 聽听 肅肃 膽胆 艱艰 薩萨 蘋苹 蟲虫 襯衬 誕诞 諮咨 讚赞 貌貌 賴赖 趕赶 跡迹 輛辆 違违 邁迈 鄉乡 鉛铅 錫锡 鎮镇 鑽钻 閥阀 闖闯 隔隔 霧雾 韓韩 頁页 額额 颱台 餘余 饋馈 駐驻 驟骤 髮发 鬧闹 鮮鲜 鷹鹰 鹽盐 麵面 點点 齡龄 滑滑 內内 衝冲 準准 擔担 據据 擾扰 陳陈 濃浓 瞭了 簽签 籲吁 屜屉 嘆叹"
for _pair in _ALSO.split():
    if _pair[0] != _pair[1]:
        SIMPLIFY[ord(_pair[0])] = _pair[1]
