"""URLs, as salt.utils.url handles them."""


def __getattr__(name):
    if name in ("urlparse", "urlunparse", "urlsplit", "urlunsplit"):
        import urllib.parse

        return getattr(urllib.parse, name)
    from salt import missing

    return missing(__name__, name)


def parse(url):
    """Return path and environment of a salt:// URL; another one is returned with None."""
    if not url.startswith("salt://"):
        return url, None
    path, env = url[len("salt://"):], None
    if not path.startswith("|") and "?" in path:
        bare, _, query = path.rpartition("?")
        if query.startswith("saltenv="):
            path, env = bare, query[len("saltenv="):]
    return path, env


def create(path, saltenv=None):
    """Return the salt:// URL of a path."""
    path = path.replace("\\", "/").lstrip("/")
    return "salt://%s%s" % (path, "?saltenv=%s" % saltenv if saltenv else "")


def is_escaped(url):
    """Report whether a URL or path begins with the mark | for a path that is taken as it is."""
    return url.startswith(("|", "salt://|"))


def escape(url):
    """Mark a URL or path as one that is taken as it is."""
    if is_escaped(url):
        return url
    if url.startswith("salt://"):
        path, env = parse(url)
        return create("|" + path, env)
    return "|" + url


def unescape(url):
    """Remove the mark of escape."""
    if not is_escaped(url):
        return url
    return "salt://" + url[len("salt://|"):] if url.startswith("salt://") else url.lstrip("|")


def add_env(url, saltenv):
    """Return a salt:// URL with an environment."""
    if not url.startswith("salt://"):
        return url
    return create(parse(url)[0], saltenv)


def split_env(url):
    """Return a salt:// URL without its environment, and that."""
    if not url.startswith("salt://"):
        return url, None
    path, env = parse(url)
    return create(path), env


def validate(url, protos):
    """Report whether the scheme of a URL is one of protos."""
    import urllib.parse

    scheme = urllib.parse.urlparse(url).scheme
    return (scheme or "") in protos


def strip_proto(url):
    """Return a URL without its scheme."""
    head, mark, rest = url.partition("://")
    return rest if mark else url


def add_http_basic_auth(url, user=None, password=None, https_only=False):
    """Return a URL with user and password in it."""
    if user is None and password is None:
        return url
    import urllib.parse

    parts = urllib.parse.urlparse(url)
    if https_only and parts.scheme != "https":
        raise ValueError("Basic Auth only supported for HTTPS")
    login = user or ""
    if password is not None:
        login += ":" + password
    host = parts.netloc.rpartition("@")[2]
    return urllib.parse.urlunparse(parts._replace(netloc="%s@%s" % (login, host)))


def redact_http_basic_auth(output):
    """Return a text with <redacted> in place of user and password in its URLs."""
    import re

    return re.sub(r"(https?)://[^\s/@]*@", r"\1://<redacted>@", output)
