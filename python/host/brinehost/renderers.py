"""Users' own renderers: how they are called, and the renderers that they call themselves."""

import io


def call(worker, function, args, keywords):
    """Call a function render. Return its result, and whether that was a stream, which is read.

    The keyword __stream__ says that the first argument, a text, is to be a stream. Salt's
    compile_template passes text so, but not what another renderer returned as text.
    """
    source, rest = args[0], args[1:]
    if keywords.pop("__stream__", False):
        source = io.StringIO(source)
    value = function(source, *rest, renderers=Renderers(worker), **keywords)
    text = read(value)
    return (value, False) if text is None else (text, True)


def read(value):
    """Return the text of a stream from its beginning, None for any other value."""
    if not hasattr(value, "read"):
        return None
    if hasattr(value, "seek"):
        value.seek(0)
    return value.read()


class Renderers:
    """All renderers by name, as a renderer gets them."""

    def __init__(self, worker):
        self._worker = worker

    def _find(self, name):
        plugin = self._worker.loader("renderers").plugin(name)
        if plugin is not None and "render" in plugin.functions:
            function = plugin.functions["render"]
            return lambda *args, **keywords: function(*args, **dict({"renderers": self}, **keywords))
        if self._worker.channel.call("renderer", name):
            return Renderer(self._worker, name)
        return None

    def __getitem__(self, name):
        found = self._find(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name):
        return self._find(name) is not None

    def get(self, name, default=None):
        found = self._find(name)
        return default if found is None else found


class Renderer:
    """A renderer of Brine's."""

    def __init__(self, worker, name):
        self._worker = worker
        self.__name__ = name

    def __call__(self, template, saltenv="base", sls="", argline="", context=None, tmplpath=None, **keywords):
        text = read(template)
        variables = {k: v for k, v in keywords.items() if k != "renderers"}
        variables.update(context or {})
        result = self._worker.channel.call(
            "render", (self.__name__ + " " + argline).strip(), template if text is None else text,
            tmplpath or "", saltenv, sls, variables
        )
        return io.StringIO(result) if isinstance(result, str) else result
