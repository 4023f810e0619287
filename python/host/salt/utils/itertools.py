"""Iteration over text, as salt.utils.itertools has it."""


def split(orig, sep=None):
    """Yield the parts of a text one by one; without sep, its words."""
    if sep is not None:
        at = 0
        while True:
            end = orig.find(sep, at)
            if end < 0:
                yield orig[at:]
                return
            yield orig[at:end]
            at = end + len(sep)
    else:
        import re

        for found in re.finditer(r"\S+", orig):
            yield found.group()


def read_file(fh_, chunk_size=1048576):
    """Yield the parts of an open file, and close it."""
    try:
        for chunk in iter(lambda: fh_.read(chunk_size), type(fh_.read(0))()):
            yield chunk
    finally:
        fh_.close()


def fnmatch_multiple(candidates, pattern):
    """Return the first candidate that a pattern matches, or None."""
    import fnmatch

    try:
        return next((c for c in candidates if fnmatch.fnmatch(c, pattern)), None)
    except TypeError:
        return None
