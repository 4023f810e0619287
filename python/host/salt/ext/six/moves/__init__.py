"""Modules and functions of Python's that have other names in Python 2."""

import functools
import sys

_FUNCTIONS = {
    "input": "builtins.input", "map": "builtins.map", "filter": "builtins.filter",
    "zip": "builtins.zip", "range": "builtins.range", "xrange": "builtins.range",
    "intern": "sys.intern", "reduce": "functools.reduce", "getcwd": "os.getcwd",
    "getcwdb": "os.getcwdb", "reload_module": "importlib.reload",
    "shlex_quote": "shlex.quote", "StringIO": "io.StringIO", "cStringIO": "io.StringIO",
    "UserDict": "collections.UserDict", "UserList": "collections.UserList",
    "UserString": "collections.UserString", "zip_longest": "itertools.zip_longest",
    "filterfalse": "itertools.filterfalse", "getoutput": "subprocess.getoutput",
}
_MODULES = {
    "builtins": "builtins", "configparser": "configparser", "copyreg": "copyreg",
    "cPickle": "pickle", "http_client": "http.client", "http_cookiejar": "http.cookiejar",
    "http_cookies": "http.cookies", "BaseHTTPServer": "http.server", "queue": "queue",
    "socketserver": "socketserver", "_thread": "_thread", "winreg": "winreg",
    "html_entities": "html.entities", "html_parser": "html.parser", "urllib": "urllib",
    "urllib_parse": "urllib.parse", "urllib_error": "urllib.error",
    "urllib_robotparser": "urllib.robotparser", "xmlrpc_client": "xmlrpc.client",
    "xmlrpc_server": "xmlrpc.server", "email_mime_multipart": "email.mime.multipart",
    "email_mime_text": "email.mime.text", "email_mime_base": "email.mime.base",
    "tkinter": "tkinter", "dbm_gnu": "dbm.gnu", "reprlib": "reprlib",
}
# Submodules are made when Python imports them by name; see salt._Finder.
_REAL = dict(_MODULES, **{
    "urllib.parse": "urllib.parse", "urllib.error": "urllib.error",
    "urllib.request": "urllib.request", "urllib.response": "urllib.response",
})
reduce, intern = functools.reduce, sys.intern


def real(name):
    """Return the module of Python's that has a name here, or None."""
    target = _REAL.get(name)
    if target is None:
        return None
    __import__(target)
    if target == "urllib":
        for part in ("parse", "error", "request"):
            __import__("urllib." + part)
    return sys.modules[target]


def __getattr__(name):
    if name in _FUNCTIONS:
        module, _, attribute = _FUNCTIONS[name].rpartition(".")
        __import__(module)
        value = getattr(sys.modules[module], attribute)
    elif name in _MODULES:
        value = real(name)
    else:
        from salt import missing

        return missing(__name__, name)
    globals()[name] = value
    return value
