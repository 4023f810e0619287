"""How Mako's templates find others, as salt.utils.mako has it: salt:// and file:// URLs."""

import os
from urllib.parse import urlparse

from mako.lookup import TemplateCollection
from mako.template import Template


class SaltMakoTemplateLookup(TemplateCollection):
    """Finds the templates that <%include> and <%namespace> name.

    A path is one of the file server: relative to the template that names it, or from the root.
    """

    def __init__(self, opts, saltenv="base", pillar_rend=False):
        self.opts, self.saltenv = opts, saltenv
        self.found = {}

    def adjust_uri(self, uri, filename):
        """Return the URL that a template names."""
        scheme = urlparse(uri).scheme
        if scheme in ("salt", "file"):
            return uri
        if scheme:
            raise ValueError("Unsupported URL scheme(%s) in %s" % (scheme, uri))
        if uri.startswith("/") or not filename:
            return "/" + uri.lstrip("/")
        start = filename.partition("://")[2] or filename
        return "/" + os.path.normpath(
            os.path.join(os.path.dirname("/" + start.lstrip("/")), uri)).lstrip("/")

    def get_template(self, uri, relativeto=None):
        """Return the template of a URL."""
        if uri not in self.found:
            self.found[uri] = Template(filename=self._path(uri), uri=uri, lookup=self,
                                       input_encoding="utf-8")
        return self.found[uri]

    def _path(self, uri):
        from mako.exceptions import TopLevelLookupException

        if uri.startswith("file://"):
            path = uri[len("file://"):]
        else:
            from salt import _brine

            url = uri if uri.startswith("salt://") else "salt://" + uri.lstrip("/")
            path = _brine.call("template_file", url, self.saltenv)
        if not path or not os.path.isfile(path):
            raise TopLevelLookupException("Cant locate template for uri %r" % uri)
        return path

    def destroy(self):
        """End the use of the lookup."""
