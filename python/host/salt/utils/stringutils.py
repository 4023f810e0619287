"""Text, as salt.utils.stringutils handles it."""

import os


def to_bytes(s, encoding=None, errors="strict"):
    """Return text as bytes; bytes stay."""
    if isinstance(s, bytes):
        return s
    if isinstance(s, bytearray):
        return bytes(s)
    if isinstance(s, str):
        return _tried(s.encode, encoding, errors)
    raise TypeError("expected str, bytes, or bytearray not %s" % type(s))


def _tried(change, encoding, errors):
    encodings = encoding if isinstance(encoding, (tuple, list)) else [encoding or "utf-8"]
    for at, name in enumerate(encodings):
        try:
            return change(name, errors)
        except UnicodeError:
            if at == len(encodings) - 1:
                raise


def to_str(s, encoding=None, errors="strict", normalize=False):
    """Return bytes as text; text stays. normalize composes accents (NFC)."""
    if isinstance(s, str):
        text = s
    elif isinstance(s, (bytes, bytearray)):
        text = _tried(bytes(s).decode, encoding, errors)
    else:
        raise TypeError("expected str, bytes, or bytearray not %s" % type(s))
    if normalize:
        import unicodedata

        return unicodedata.normalize("NFC", text)
    return text


def to_unicode(s, encoding=None, errors="strict", normalize=False):
    """Return bytes as text; the same as to_str."""
    return to_str(s, encoding, errors, normalize)


def to_num(text):
    """Return the number that a text is, or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def to_none(text):
    """Return the text, or None for one of blanks."""
    return text if str(text).strip() else None


def is_quoted(value):
    """Return the quote that a text is enclosed in, or "" for none."""
    if value and isinstance(value, str) and value[0] == value[-1] and value[0] in "'\"":
        return value[0]
    return ""


def dequote(value):
    """Return a text without the quotes that it is enclosed in."""
    return value[1:-1] if is_quoted(value) else value


def is_hex(value):
    """Report whether a text is a hexadecimal number."""
    try:
        int(value, 16)
        return True
    except (TypeError, ValueError):
        return False


def is_binary(data):
    """Report whether data has bytes that no text has."""
    if not data or not isinstance(data, (str, bytes)):
        return False
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    if 0 in raw:
        return True
    printed = bytes(range(32, 127)) + b"\n\r\t\f\b"
    if isinstance(data, str):
        strange = sum(1 for c in data if ord(c) < 127 and ord(c) not in printed)
        return strange / len(data) > 0.3
    return len(raw.translate(None, printed)) / len(raw) > 0.3


def random(size=32):
    """Return size characters chosen by chance."""
    import base64

    if size < 0:
        raise ValueError("negative argument not allowed")
    return base64.b64encode(os.urandom(size)).decode()[:size]


def contains_whitespace(text):
    """Report whether a text has blanks in it."""
    return any(c.isspace() for c in text)


def human_to_bytes(size, default_unit="B", handle_metric=False):
    """Return the bytes of a size like 10M, 1.5GiB or 3 mb; 0 for what is no size.

    MB and the like are powers of 1000 with handle_metric, else of 1024 as M and MiB are.
    """
    import re

    found = re.match(r"^\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*$", str(size))
    if not found:
        return 0
    number, unit = found.groups()
    unit = (unit or default_unit).lower()
    if unit != "b" and not re.match(r"^[kmgtpezy](ib|b)?$", unit):
        return 0
    power = "bkmgtpezy".index(unit[0])
    base = 1000 if handle_metric and unit[1:] == "b" else 1024
    return int(float(number) * base**power)


def build_whitespace_split_regex(text):
    """Return a regular expression that matches text with any blanks between its words."""
    import re

    gap = r"(?:[\s]+)?"
    built = "(?m)^"
    for line in text.splitlines():
        words = [re.escape(word) for word in line.split()]
        built += gap + gap.join(words) + gap + "$\n" if words else ""
    return built.rstrip("\n") if not built.endswith("$\n") else built[:-1]


def expr_match(line, expr):
    """Report whether line is expr, or matches it as a pattern or a regular expression."""
    import fnmatch
    import re

    try:
        if fnmatch.fnmatch(line, expr):
            return True
        return bool(re.match(r"\A%s\Z" % expr, line))
    except (re.error, TypeError):
        return False


def check_whitelist_blacklist(value, whitelist=None, blacklist=None):
    """Report whether value matches one of whitelist, if there is any, and none of blacklist."""

    def entries(name, given):
        if isinstance(given, str):
            return [given]
        if not hasattr(given, "__iter__"):
            raise TypeError("Expecting iterable %s, but got %s (%s)"
                            % (name, type(given).__name__, given))
        return given

    if blacklist is not None:
        if any(expr_match(value, expr) for expr in entries("blacklist", blacklist)):
            return False
    if whitelist:
        return any(expr_match(value, expr) for expr in entries("whitelist", whitelist))
    return True


def check_include_exclude(path_str, include_pat=None, exclude_pat=None):
    """Report whether a path is wanted: patterns are for names, or after E@ regular expressions."""

    def matches(pattern):
        if pattern[:2] == "E@":
            import re

            return bool(re.search(pattern[2:], path_str))
        import fnmatch

        return fnmatch.fnmatch(path_str, pattern)

    included = matches(include_pat) if include_pat else True
    return included and not (matches(exclude_pat) if exclude_pat else False)


def print_cli(msg, retries=10, step=0.01):
    """Print a text, again when the terminal is busy."""
    import time

    for attempt in range(retries):
        try:
            try:
                print(msg)
            except UnicodeEncodeError:
                print(msg.encode("utf-8"))
            return
        except BlockingIOError:
            if attempt == retries - 1:
                raise
            time.sleep(step)


def get_context(template, line, num_lines=5, marker=None):
    """Return the lines of a text around one, which the marker follows."""
    lines = template.splitlines()
    if line > len(lines):
        return template
    begin, end = max(0, line - num_lines - 1), min(len(lines), line + num_lines)
    shown = lines[begin:end]
    if marker:
        shown[line - 1 - begin] += marker
    if begin > 0:
        shown.insert(0, "[...]")
    if end < len(lines):
        shown.append("[...]")
    return "\n".join(["---"] + shown + ["---"])


def get_diff(a, b, *args, **kwargs):
    """Return the unified diff of two lists of lines; further arguments are those of difflib."""
    import difflib

    return "".join(difflib.unified_diff([to_str(line) for line in a], [to_str(line) for line in b],
                                        *args, **kwargs))


def camel_to_snake_case(camel_input):
    """Return camelCase as camel_case."""
    import re

    apart = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", camel_input)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", apart).lower()


def snake_to_camel_case(snake_input, uppercamel=False):
    """Return snake_case as snakeCase, or as SnakeCase."""
    first, *rest = snake_input.split("_")
    if uppercamel:
        first = first.capitalize()
    return first + "".join(word.capitalize() for word in rest)
