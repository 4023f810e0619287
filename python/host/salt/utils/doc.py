"""Docstrings, as salt.utils.doc treats them."""


def strip_rst(docs):
    """Remove from a dictionary of docstrings the directives of reStructuredText."""
    import re

    for name, text in docs.items():
        if text is not None:
            text = re.sub(r" *\.\. code-block:: \S+\n{1,2}", "", text)
            text = re.sub(r"\.\. note::", "Note:", text)
            text = re.sub(r"\.\. warning::", "Warning:", text)
            text = re.sub(r"\.\. versionadded::", "New in version", text)
            docs[name] = re.sub(r"\.\. versionchanged::", "Changed in version", text)
    return docs


def parse_docstring(docstring):
    """Return a docstring as {"full": ..., "deps": [...]}, the modules after :depends:."""
    import re

    found = re.search(r":depends:((?:\n\s+(?:- )?\S[^\n]*|[ \t]*[^\n]*))", docstring or "")
    deps = []
    if found:
        deps = [line.strip().lstrip("- ").strip() for line in found.group(1).split("\n")]
    return {"full": docstring, "deps": [dep for dep in deps if dep]}
