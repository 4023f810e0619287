"""Locales, as salt.utils.locales handles them."""


def get_encodings():
    """Return the encodings to try for text."""
    import sys

    found = []
    for name in (sys.getdefaultencoding(), "utf-8", "latin-1"):
        if name not in found:
            found.append(name)
    return found


def sdecode(string_):
    """Return bytes as text by the first encoding that fits."""
    if isinstance(string_, str):
        return string_
    for name in get_encodings():
        try:
            return string_.decode(name)
        except UnicodeDecodeError:
            continue
    return string_


def sdecode_if_string(value_):
    """Return bytes as text; other values stay."""
    return sdecode(value_) if isinstance(value_, bytes) else value_


def split_locale(loc):
    """Return the parts of a locale like ca_ES.UTF-8@valencia UTF-8."""
    rest, _, charmap = loc.partition(" ")
    rest, _, modifier = rest.partition("@")
    rest, _, codeset = rest.partition(".")
    language, _, territory = rest.partition("_")
    return {"charmap": charmap, "modifier": modifier, "codeset": codeset, "language": language,
            "territory": territory}


def join_locale(comps):
    """Return a locale of parts, without the charmap if that is the codeset."""
    loc = comps["language"]
    for mark, name in (("_", "territory"), (".", "codeset"), ("@", "modifier")):
        if comps.get(name):
            loc += mark + comps[name]
    return loc + " " + comps["charmap"] if comps.get("charmap") else loc


def normalize_locale(loc):
    """Return a locale with its parts in the usual case."""
    comps = split_locale(loc)
    comps["territory"] = comps["territory"].upper()
    comps["codeset"] = comps["codeset"].lower().replace("-", "")
    comps["charmap"] = ""
    return join_locale(comps)
