"""Prints what plistlib makes of generated values and of texts, one JSON value a line; the arguments are a seed and a count."""
import base64, datetime, json, math, plistlib, random, sys

rnd = random.Random(int(sys.argv[1]))
TEXTS = ["", "a", "key", "größe", "日本", "😀 x", "<&>\"'", "a\r\nb\rc\n", "\ttab", " lead ", "x" * 14, "x" * 15, "ä" * 15, "z" * 300, "1", "\x7f\x80\u2028", "\x01", "\ufffe"]


def date():
    return datetime.datetime(rnd.choice([1, 1970, 1999, 2001, 2026, 9999]), rnd.randint(1, 12), rnd.randint(1, 28), rnd.randint(0, 23), rnd.randint(0, 59),
                             rnd.randint(0, 59), rnd.choice([0, 0, 1, 500000, 999999]))


def number():
    n = rnd.choice([0, 1, 255, 256, 65535, 65536, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, rnd.randint(-10, 300), 2**64, 2**70])
    return -n if rnd.random() < 0.3 else n


def real():
    return rnd.choice([0.0, -0.0, 1.0, 0.1, 1e16, 1e-5, 1.5e300, -2.5, float("inf"), float("-inf"), float("nan"), rnd.random() * 10 ** rnd.randint(-20, 20)])


def value(depth):
    kind = rnd.random()
    if depth < 5 and kind < (0.7 if depth == 0 else 0.3):
        items = rnd.choice([0, 1, 2, 3, 5]) if rnd.random() < 0.97 else rnd.choice([15, 16, 300])
        if rnd.random() < 0.5:
            return [value(depth + 1) for _ in range(items)]
        return {key(): value(depth + 1) for _ in range(items)}
    if kind < 0.5:
        t = rnd.choice(TEXTS[:-2])
        return rnd.choice(TEXTS) if rnd.random() < 0.01 else t
    if kind < 0.65:
        n = number()
        return n if -2**63 <= n < 2**64 or rnd.random() < 0.05 else 7
    if kind < 0.75:
        return real()
    if kind < 0.82:
        return rnd.random() < 0.5
    if kind < 0.9:
        return rnd.randbytes(rnd.choice([0, 1, 2, 3, 14, 15, 50, 60, 300]))
    if kind < 0.98:
        return date()
    return None if rnd.random() < 0.2 else "none"


def key():
    if rnd.random() < 0.002:
        return rnd.choice([1, 2.5, True])
    k = rnd.choice(TEXTS[:-2])
    return k if rnd.random() < 0.5 else k + str(rnd.randint(0, 99))


def tagged(v):
    if v is None or isinstance(v, (bool, str)):
        return v
    if isinstance(v, int):
        return {"i": str(v)}
    if isinstance(v, float):
        return {"f": repr(v)}
    if isinstance(v, bytes):
        return {"b": base64.b64encode(v).decode()}
    if isinstance(v, datetime.datetime):
        return {"d": v.isoformat() + "Z"}
    if isinstance(v, list):
        return [tagged(e) for e in v]
    if isinstance(v, plistlib.UID):
        raise ValueError("Invalid file")  # it is no value here
    return {"m": [[tagged(k), tagged(e)] for k, e in v.items()]}


def written(v, **opts):
    try:
        return base64.b64encode(plistlib.dumps(v, **opts)).decode()
    except Exception as e:
        return "error: " + str(e)


def read(raw):
    try:
        return {"value": tagged(plistlib.loads(raw))}
    except RecursionError:
        raise
    except Exception as e:
        return {"error": "%s" % e}


def damaged(raw):
    raw = bytearray(raw)
    for _ in range(rnd.randint(1, 3)):
        raw[rnd.randrange(len(raw))] = rnd.randrange(256)
    return bytes(raw)


BODIES = ["<integer> 12 </integer>", "<integer>0x1F</integer>", "<integer>1_0</integer>", "<integer>x</integer>", "<integer/>", "<integer>+7</integer>",
          "<integer>99999999999999999999</integer>", "<real>1e5</real>", "<real>inf</real>", "<real> nan </real>", "<real>x</real>", "<real>0x1p4</real>",
          "<real>1e999</real>", "<data>YQ==</data>", "<data>Y Q =\n=</data>", "<data>YQ</data>", "<data>Y</data>", "<data>YWJj*ZA==junk</data>", "<data/>",
          "<date>2026-11-22T01:02:03Z</date>", "<date>2026-11-22Z</date>", "<date>2026-11Z</date>", "<date>2026Z</date>", "<date>2026-13-01Z</date>",
          "<date>2026-02-30T00:00:00Z</date>", "<date>2026-02-03T24:00Z</date>", "<date>2026-02-03T23:60Z</date>", "<date>2026-02-03T23:59:60Z</date>", "<date>0000-01-01Z</date>",
          "<date>2026-11-22T01:02:03Zjunk</date>", "<date>x</date>", "<string>a<b/>c</string>", "<string>a<![CDATA[<x>]]>&amp;&#65;&#x42;</string>", "<string/>",
          "<dict><key>a</key></dict>", "<dict><string>a</string></dict>", "<dict><key>a</key><key>b</key></dict>", "<key>a</key>", "<array><key>a</key></array>",
          "<dict><key>a</key><true/><key>a</key><false/></dict>", "<dict><key>b</key><dict/><key>a</key><array><array/></array></dict>", "", "<x/>",
          "<string>a</string><string>b</string>", "<string>a\r\nb</string>", "<!-- c --><string><!-- d -->x</string>", "<true>x</true>", "<array>x<true/>y</array>",
          "<string xml:lang='x'>s</string>", "<dict><key>a</key><array><dict><key>c</key><integer>1</integer></dict></array><key>z</key><string>e</string></dict>"]
TEXT_FORMS = ['<plist version="1.0">%s</plist>', '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "x">\n<plist>%s</plist>\n']
OTHERS = ["", "x", "bplist00", "bplist01" + "x" * 40, " <plist/>", "<plist/>", "<plist><string>a</plist>", "<plist/><plist/>", "<plist/>x",
          '<?xml version="1.0"?><!DOCTYPE plist [<!ENTITY a "b">]><plist><string>&a;</string></plist>', "\ufeff<plist><string>ä</string></plist>"]

for n in range(int(sys.argv[2])):
    v = value(0)
    case = {"in": tagged(v), "xml": written(v), "binary": written(v, fmt=plistlib.FMT_BINARY)}
    if n % 3 == 0:
        case["unsorted"] = written(v, sort_keys=False)
        case["unsorted binary"] = written(v, sort_keys=False, fmt=plistlib.FMT_BINARY)
        case["skipped"] = written(v, skipkeys=True)
    print(json.dumps(case))
    try:
        raw = plistlib.dumps(v, fmt=plistlib.FMT_BINARY)
    except Exception:
        continue
    for raw in (raw, plistlib.dumps(v) if "error" not in case["xml"] else raw, damaged(raw)):
        try:
            print(json.dumps({"read": base64.b64encode(raw).decode(), **read(raw)}))
        except RecursionError:
            pass  # it holds itself
for text in OTHERS + [f % b for b in BODIES for f in TEXT_FORMS]:
    raw = text.encode()
    print(json.dumps({"read": base64.b64encode(raw).decode(), **read(raw)}))
for text in ("<plist><string>ä</string></plist>", "<?xml version='1.0' encoding='UTF-16'?><plist><true/></plist>"):
    for enc in ("utf-16-le", "utf-16-be"):
        raw = ("\ufeff" + text).encode(enc)
        print(json.dumps({"read": base64.b64encode(raw).decode(), **read(raw)}))
