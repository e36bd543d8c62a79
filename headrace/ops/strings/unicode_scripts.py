"""Which script a character belongs to (Unicode 13), by ICU's numbers for scripts.

RUNS: how many characters in a row, and their script, as base-36 numbers.  Data, not code.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

NAMES = """
0:Common 1:Inherited 2:Arabic 3:Armenian 4:Bengali 5:Bopomofo 6:Cherokee 7:Coptic 8:Cyrillic
9:Deseret 10:Devanagari 11:Ethiopic 12:Georgian 13:Gothic 14:Greek 15:Gujarati 16:Gurmukhi 17:Han
18:Hangul 19:Hebrew 20:Hiragana 21:Kannada 22:Katakana 23:Khmer 24:Lao 25:Latin 26:Malayalam
27:Mongolian 28:Myanmar 29:Ogham 30:Old_Italic 31:Oriya 32:Runic 33:Sinhala 34:Syriac 35:Tamil
36:Telugu 37:Thaana 38:Thai 39:Tibetan 40:Canadian_Aboriginal 41:Yi 42:Tagalog 43:Hanunoo 44:Buhid
45:Tagbanwa 46:Braille 47:Cypriot 48:Limbu 49:Linear_B 50:Osmanya 51:Shavian 52:Tai_Le 53:Ugaritic
55:Buginese 56:Glagolitic 57:Kharoshthi 58:Syloti_Nagri 59:New_Tai_Lue 60:Tifinagh 61:Old_Persian
62:Balinese 63:Batak 65:Brahmi 66:Cham 71:Egyptian_Hieroglyphs 75:Pahawh_Hmong 76:Old_Hungarian
78:Javanese 79:Kayah_Li 82:Lepcha 83:Linear_A 84:Mandaic 86:Meroitic_Hieroglyphs 87:Nko
88:Old_Turkic 89:Old_Permic 90:Phags_Pa 91:Phoenician 92:Miao 99:Vai 101:Cuneiform 103:Unknown
104:Carian 106:Tai_Tham 107:Lycian 108:Lydian 109:Ol_Chiki 110:Rejang 111:Saurashtra
112:SignWriting 113:Sundanese 115:Meetei_Mayek 116:Imperial_Aramaic 117:Avestan 118:Chakma
120:Kaithi 121:Manichaean 122:Inscriptional_Pahlavi 123:Psalter_Pahlavi 125:Inscriptional_Parthian
126:Samaritan 127:Tai_Viet 130:Bamum 131:Lisu 133:Old_South_Arabian 134:Bassa_Vah 135:Duployan
136:Elbasan 137:Grantha 140:Mende_Kikakui 141:Meroitic_Cursive 142:Old_North_Arabian 143:Nabataean
144:Palmyrene 145:Khudawadi 146:Warang_Citi 149:Mro 150:Nushu 151:Sharada 152:Sora_Sompeng
153:Takri 154:Tangut 156:Anatolian_Hieroglyphs 157:Khojki 158:Tirhuta 159:Caucasian_Albanian
160:Mahajani 161:Ahom 162:Hatran 163:Modi 164:Multani 165:Pau_Cin_Hau 166:Siddham 167:Adlam
168:Bhaiksuki 169:Marchen 170:Newa 171:Osage 175:Masaram_Gondi 176:Soyombo 177:Zanabazar_Square
178:Dogra 179:Gunjala_Gondi 180:Makasar 181:Medefaidrin 182:Hanifi_Rohingya 183:Sogdian
184:Old_Sogdian 185:Elymaic 186:Nyiakeng_Puachue_Hmong 187:Nandinagari 188:Wancho 189:Chorasmian
190:Dives_Akuru 191:Khitan_Small_Script 192:Yezidi
"""

RUNS = """
1t.0 q.p 6.0 q.p 1b.0 1.p f.0 1.p 5.0 n.p 1.0 v.p 1.0 ch.p 13.0 5.p 5.0 2.5 k.0 34.1 4.e 1.0 3.e
2.2v 4.e 1.0 1.e 4.2v 1.e 1.0 1.e 1.0 3.e 1.2v 1.e 1.2v k.e 1.2v 1r.e e.7 g.e 3p.8 2.1 4p.8 1.2v
12.3 2.2v 1e.3 2.2v 3.3 1.2v 1j.j 8.2v r.j 4.2v 6.j b.2v 5.2 1.0 6.2 1.0 e.2 1.0 1.2 1.2v 1.2 1.0
w.2 1.0 a.2 b.1 q.2 1.1 30.2 1.0 y.2 e.y 1.2v 1o.y 2.2v 3.y 1c.2 1e.11 e.2v 1n.2f 2.2v 3.2f 1a.3i
2.2v f.3i 1.2v s.2c 2.2v 1.2c 1.2v b.y 1h.2v l.2 1.2v i.2 b.2v f.2 1.0 t.2 29.a 4.1 f.a 2.0 q.a
4.4 1.2v 8.4 2.2v 2.4 2.2v m.4 1.2v 7.4 1.2v 1.4 3.2v 4.4 2.2v 9.4 2.2v 2.4 2.2v 4.4 8.2v 1.4 4.2v
2.4 1.2v 5.4 2.2v p.4 2.2v 3.g 1.2v 6.g 4.2v 2.g 2.2v m.g 1.2v 7.g 1.2v 2.g 1.2v 2.g 1.2v 2.g 2.2v
1.g 1.2v 5.g 4.2v 2.g 2.2v 3.g 3.2v 1.g 7.2v 4.g 1.2v 1.g 7.2v h.g a.2v 3.f 1.2v 9.f 1.2v 3.f 1.2v
m.f 1.2v 7.f 1.2v 2.f 1.2v 5.f 2.2v a.f 1.2v 3.f 1.2v 3.f 2.2v 1.f f.2v 4.f 2.2v c.f 7.2v 7.f 1.2v
3.v 1.2v 8.v 2.2v 2.v 2.2v m.v 1.2v 7.v 1.2v 2.v 1.2v 5.v 2.2v 9.v 2.2v 2.v 2.2v 3.v 7.2v 3.v 4.2v
2.v 1.2v 5.v 2.2v i.v a.2v 2.z 1.2v 6.z 3.2v 3.z 1.2v 4.z 3.2v 2.z 1.2v 1.z 1.2v 2.z 3.2v 2.z 3.2v
3.z 3.2v c.z 4.2v 5.z 3.2v 3.z 1.2v 4.z 2.2v 1.z 6.2v 1.z e.2v l.z 5.2v d.10 1.2v 3.10 1.2v n.10
1.2v g.10 3.2v 8.10 1.2v 3.10 1.2v 4.10 7.2v 2.10 1.2v 3.10 5.2v 4.10 2.2v a.10 7.2v 9.10 d.l 1.2v
3.l 1.2v n.l 1.2v a.l 1.2v 5.l 2.2v 9.l 1.2v 3.l 1.2v 4.l 7.2v 2.l 7.2v 1.l 1.2v 4.l 2.2v a.l 1.2v
2.l d.2v d.q 1.2v 3.q 1.2v 1f.q 1.2v 3.q 1.2v 6.q 4.2v g.q 2.2v q.q 1.2v 3.x 1.2v i.x 3.2v o.x
1.2v 9.x 1.2v 1.x 2.2v 7.x 3.2v 1.x 4.2v 6.x 1.2v 1.x 1.2v 8.x 6.2v a.x 2.2v 3.x c.2v 1m.12 4.2v
1.0 s.12 11.2v 2.o 1.2v 1.o 1.2v 5.o 1.2v o.o 1.2v 1.o 1.2v n.o 2.2v 5.o 1.2v 1.o 1.2v 6.o 2.2v
a.o 2.2v 4.o w.2v 20.13 1.2v 10.13 4.2v 13.13 1.2v 10.13 1.2v f.13 1.2v 7.13 4.0 2.13 11.2v 4g.s
12.c 1.2v 1.c 5.2v 1.c 2.2v 17.c 1.0 4.c 74.i 21.b 1.2v 4.b 2.2v 7.b 1.2v 1.b 1.2v 4.b 2.2v 15.b
1.2v 4.b 2.2v x.b 1.2v 4.b 2.2v 7.b 1.2v 1.b 1.2v 4.b 2.2v f.b 1.2v 1l.b 1.2v 4.b 2.2v 1v.b 2.2v
w.b 3.2v q.b 6.2v 2e.6 2.2v 6.6 2.2v hs.14 t.t 3.2v 23.w 3.0 b.w 7.2v d.16 1.2v 7.16 b.2v l.17 2.0
9.2v k.18 c.2v d.19 1.2v 3.19 1.2v 2.19 c.2v 2m.n 2.2v a.n 6.2v a.n 6.2v 2.r 2.0 1.r 1.0 9.r 1.2v
a.r 6.2v 2h.r 7.2v 17.r 5.2v 1y.14 a.2v v.1c 1.2v c.1c 4.2v c.1c 4.2v 1.1c 3.2v c.1c u.1g 2.2v
5.1g b.2v 18.1n 4.2v q.1n 6.2v b.1n 3.2v 2.1n w.n s.1j 2.2v 2.1j 1r.2y 1.2v t.2y 2.2v b.2y 6.2v
a.2y 6.2v e.2y 2.2v h.1 1r.2v 24.1q 4.2v 19.1q 3.2v 1s.35 1g.1r 8.2v 4.1r 1k.2a 3.2v f.2a 3.2v
3.2a 1c.31 9.8 7.2v 17.c 2.2v 3.c 8.35 8.2v 3.1 1.0 d.1 1.0 7.1 4.0 1.1 6.0 1.1 3.0 2.1 1.0 5.2v
12.p 5.e 1.8 1d.p 5.e 4.p 5.e d.p 1.8 1y.p 1.e 1m.1 1.2v 5.1 74.p m.e 2.2v 6.e 2.2v 12.e 2.2v 6.e
2.2v 8.e 1.2v 1.e 1.2v 1.e 1.2v 1.e 1.2v v.e 2.2v 1h.e 1.2v f.e 1.2v e.e 2.2v 6.e 1.2v j.e 2.2v
3.e 1.2v 9.e 1.2v c.0 2.1 2f.0 1.2v b.0 1.p 2.2v b.0 1.p f.0 1.2v d.p 3.2v w.0 g.2v x.1 f.2v 12.0
1.e 3.0 2.p 6.0 1.p r.0 1.p h.0 15.p 3.0 4.2v if.0 p.2v b.0 l.2v ps.0 74.1a hg.0 2.2v w.0 1.2v
2x.0 1b.1k 1.2v 1b.1k 1.2v w.p 38.7 5.2v 7.7 12.c 1.2v 1.c 5.2v 1.c 2.2v 1k.1o 7.2v 2.1o e.2v 1.1o
n.b 9.2v 7.b 1.2v 7.b 1.2v 7.b 1.2v 7.b 1.2v 7.b 1.2v 7.b 1.2v 7.b 1.2v 7.b 1.2v w.8 2b.0 19.2v
q.h 1.2v 2h.h c.2v 5y.h q.2v c.0 4.2v 5.0 1.h 1.0 1.h p.0 9.h 4.1 2.i 8.0 4.h 4.0 1.2v 2e.k 2.2v
2.1 2.0 3.k 1.0 2i.m 2.0 3.m 5.2v 17.5 1.2v 2m.i 1.2v g.0 w.5 10.0 c.2v g.m v.i 1.2v 1s.0 v.i 29.0
1b.m 1.0 2g.m 4o.0 534.h 1s.0 g71.h 3.2v wd.15 3.2v 1j.15 9.2v 1c.3n 8c.2r k.2v 2o.8 2g.3m 8.2v
y.0 2u.p 3.0 1h.p 2.2v 9.p 16.2v b.p 19.1m 3.2v a.0 6.2v 1k.2i 8.2v 1y.33 8.2v c.33 6.2v w.a 1a.27
1.0 1.27 10.32 b.2v 1.32 t.i 3.2v 26.26 1.2v 1.0 a.26 4.2v 2.26 v.s 1.2v 1j.1u 9.2v e.1u 2.2v a.1u
2.2v 4.1u w.s 1v.3j o.2v 5.3j n.37 a.2v 6.b 2.2v 6.b 2.2v 6.b 9.2v 7.b 1.2v 7.b 1.2v 17.p 1.0 9.p
1.e 4.p 2.0 4.2v 28.6 1a.37 2.2v a.37 6.2v 8mc.i c.2v n.i 4.2v 1d.i 6is.2v a6.h 2.2v 2y.h 12.2v
7.p c.2v 5.3 5.2v q.j 1.2v 5.j 1.2v 1.j 1.2v 2.j 1.2v 2.j 1.2v a.j 36.2 h.2v a3.2 2.0 g.2v 1s.2
2.2v 1i.2 14.2v e.2 2.2v g.1 a.0 6.2v e.1 2.8 z.0 1.2v j.0 1.2v 4.0 4.2v 5.2 1.2v 3r.2 2.2v 1.0
1.2v w.0 q.p 6.0 q.p b.0 a.m 1.0 19.m 2.0 v.i 3.2v 6.i 2.2v 6.i 2.2v 6.i 2.2v 3.i 3.2v 7.0 1.2v
7.0 a.2v 5.0 2.2v c.1d 1.2v q.1d 1.2v j.1d 1.2v 2.1d 1.2v f.1d 2.2v e.1d y.2v 3f.1d 5.2v 3.0 4.2v
19.0 3.2v 9.0 27.e 1.2v d.0 3.2v 1.e 1b.2v 19.0 1.1 3m.2v t.2z 3.2v 1d.2w f.2v 1.1 r.0 4.2v 10.u
9.2v 3.u r.d 5.2v 17.2h 5.2v u.1h 1.2v 1.1h 10.1p 4.2v e.1p 16.2v 28.9 1c.1f u.1e 2.2v a.1e 6.2v
10.4r 4.2v 10.4r 4.2v 14.3s 8.2v 1g.4f b.2v 1.4f 40.2v 8n.2b 9.2v m.2b a.2v 8.2b 48.2v 6.1b 2.2v
1.1b 1.2v 18.1b 1.2v 2.1b 3.2v 1.1b 2.2v 1.1b m.38 1.2v 9.38 w.40 v.3z 8.2v 9.3z 1c.2v j.4i 1.2v
2.4i 5.2v 5.4i s.2j 3.2v 1.2j q.30 5.2v 1.30 1s.2v w.2e o.3x 4.2v k.3x 2.2v 1a.3x 4.1l 1.2v 2.1l
5.2v 8.1l 1.2v 3.1l 1.2v t.1l 2.2v 3.1l 4.2v a.1l 7.2v 9.1l 7.2v w.3p w.3y w.2v 13.3d 4.2v c.3d
9.2v 1i.39 3.2v 7.39 m.3h 2.2v 8.3h j.3e 5.2v 8.3e i.3f 7.2v 4.3f c.2v 7.3f 28.2v 21.2g 1j.2v
1f.24 d.2v 1f.24 7.2v 6.24 14.52 8.2v a.52 86.2v v.2 1.2v 16.5c 1.2v 3.5c 2.2v 2.5c 26.2v 14.54
8.2v 16.53 2e.2v s.59 k.2v n.55 9.2v 26.1t 4.2v u.1t f.2v 1.1t 1u.3c b.2v 1.3c 2.2v p.48 7.2v a.48
6.2v 1h.3a 1.2v i.3a 8.2v 13.4g 9.2v 2o.47 1.2v k.x b.2v i.4d 1.2v 18.4d 1t.2v 7.4k 1.2v 1.4k 1.2v
4.4k 1.2v f.4k 1.2v b.4k 6.2v 1n.41 5.2v a.41 6.2v 4.3t 1.2v 8.3t 2.2v 2.3t 2.2v m.3t 1.2v 7.3t
1.2v 2.3t 1.2v 5.3t 1.2v 1.1 9.3t 2.2v 2.3t 2.2v 3.3t 2.2v 1.3t 6.2v 1.3t 5.2v 7.3t 2.2v 7.3t 3.2v
5.3t 3v.2v 2k.4q 1.2v 5.4q u.2v 20.4e 8.2v a.4e 4m.2v 1i.4m 2.2v 12.4m y.2v 1x.4j b.2v a.4j 6.2v
d.r j.2v 1l.49 7.2v a.49 1i.2v r.4h 2.2v f.4h 4.2v g.4h 5c.2v 1o.4y 2s.2v 2b.42 c.2v 1.42 7.5a
2.2v 1.5a 2.2v 8.5a 1.2v 2.5a 1.2v u.5a 1.2v 2.5a 2.2v c.5a 9.2v a.5a 1y.2v 8.57 2.2v 1a.57 2.2v
b.57 r.2v 20.4x 8.2v 2b.4w t.2v 1l.4l 7b.2v 9.4o 1.2v 19.4o 1.2v e.4o a.2v t.4o 3.2v w.4p 2.2v
m.4p 1.2v e.4p 21.2v 7.4v 1.2v 2.4v 1.2v 18.4v 3.2v 1.4v 1.2v 2.4v 1.2v 9.4v 8.2v a.4v 6.2v 6.4z
1.2v 2.4z 1.2v 11.4z 1.2v 2.4z 1.2v 6.4z 7.2v a.4z 8m.2v p.50 53.2v 1.3n f.2v 1e.z d.2v 1.z pm.2t
2u.2v 33.2t 1.2v 5.2t b.2v 5g.2t 24c.2v tr.1z 1.2v 9.1z 347.2v g7.4c 6nt.2v ft.3m 7.2v v.45 1.2v
a.45 4.2v 2.45 2o.2v u.3q 2.2v 6.3q a.2v 1y.23 a.2v a.23 1.2v 7.23 1.2v l.23 5.2v j.23 j4.2v 2j.51
2t.2v 23.2k 4.2v 1l.2k 7.2v h.2k 1s.2v 1.4a 1.46 2.0 1.5b b.2v 2.h e.2v 4qg.4a 8.2v lc.4a d2.5b
16.2v 9.4a 6wn.2v 1.m 7y.k 1d.2v 3.k h.2v 4.m 8.2v b0.46 1s4.2v 2z.3r 5.2v d.3r 3.2v 9.3r 7.2v
a.3r 2.2v 4.3r 4.0 3to.2v 6u.0 a.2v 13.0 2.2v 1q.0 3.1 h.0 8.1 2.0 7.1 u.0 4.1 1n.0 n.2v 1y.e
4a.2v k.0 c.2v 2f.0 9.2v p.0 3r.2v 2d.0 1.2v 1z.0 1.2v 2.0 2.2v 1.0 2.2v 2.0 2.2v 4.0 1.2v c.0
1.2v 1.0 1.2v 7.0 1.2v 1t.0 1.2v 4.0 2.2v 8.0 1.2v 7.0 1.2v s.0 1.2v 4.0 1.2v 5.0 1.2v 1.0 3.2v
7.0 1.2v 9g.0 2.2v 84.0 2.2v 1e.0 i4.34 f.2v 5.34 1.2v f.34 11s.2v 7.1k 1.2v h.1k 2.2v 7.1k 1.2v
2.1k 1.2v 5.1k 5x.2v 19.56 3.2v e.56 2.2v a.56 4.2v 2.56 a8.2v 1m.58 5.2v 1.58 zk.2v 5h.3w 2.2v
g.3w 15.2v 24.4n 4.2v a.4n 4.2v 2.4n lt.2v 1w.0 24.2v 1p.0 5e.2v 4.2 1.2v r.2 1.2v 2.2 1.2v 1.2
2.2v 1.2 1.2v a.2 1.2v 4.2 1.2v 1.2 1.2v 1.2 6.2v 1.2 4.2v 1.2 1.2v 1.2 1.2v 1.2 1.2v 3.2 1.2v 2.2
1.2v 1.2 2.2v 1.2 1.2v 1.2 1.2v 1.2 1.2v 1.2 1.2v 1.2 1.2v 2.2 1.2v 1.2 2.2v 4.2 1.2v 7.2 1.2v 4.2
1.2v 4.2 1.2v 1.2 1.2v a.2 1.2v h.2 5.2v 3.2 1.2v 5.2 1.2v h.2 1g.2v 2.2 7i.2v 18.0 4.2v 2s.0 c.2v
f.0 2.2v f.0 1.2v f.0 1.2v 11.0 a.2v 4u.0 1k.2v q.0 1.k 2.0 d.2v 18.0 4.2v 9.0 7.2v 2.0 e.2v 6.0
4a.2v rc.0 8.2v d.0 3.2v d.0 3.2v 38.0 c.2v 2h.0 7.2v c.0 k.2v c.0 4.2v 1k.0 8.2v a.0 6.2v 14.0
8.2v u.0 2.2v 2.0 26.2v 3d.0 1.2v 2a.0 1.2v 3r.0 c.2v e.0 2.2v 5.0 3.2v 3.0 5.2v 7.0 9.2v p.0 7.2v
7.0 9.2v 3.0 d.2v 7.0 15.2v 43.0 1.2v 1j.0 11.2v a.0 sm.2v wym.h y.2v 379.h b.2v 66.h 2.2v 4g2.h
e.2v 5rl.h 2e7.2v f2.h 15u.2v 3t7.h fcfq.2v 1.0 u.2v 2o.0 3k.2v 6o.1 47bk.2v
"""


@cache
def scripts() -> Any:
    """The script of every code point."""
    runs = [run.split(".") for run in RUNS.split()]
    lengths = [int(length, 36) for length, _ in runs]
    return np.repeat(np.array([int(code, 36) for _, code in runs], np.int32), lengths)


@cache
def numbers() -> dict[str, int]:
    """Script names and their numbers."""
    return {name: int(code) for code, name in (w.split(":") for w in NAMES.split())}
