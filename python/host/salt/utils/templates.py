"""Templates, as salt.utils.templates renders them: by Brine's renderers."""

import os

SLS_ENCODING = "utf-8"
TEMPLATE_DIRNAME = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "templates")


def generate_sls_context(tmplpath, sls):
    """Return the variables that say where an SLS file is: tplfile, slspath and their like."""
    place, made = sls.replace(".", "/"), {}
    if tmplpath:
        file = str(tmplpath).replace("\\", "/")
        if not sls:
            file = file.rsplit("/", 1)[-1]
        else:
            for end in (place + ".sls", place + "/init.sls"):
                if file.endswith(end):
                    file = end
                    break
        place = file.rpartition("/")[0]
        made = {"tplpath": tmplpath, "tplfile": file, "tpldir": place or ".",
                "tpldot": place.replace("/", ".")}
    made.update({
        "slspath": place, "slsdotpath": place.replace("/", "."),
        "slscolonpath": place.replace("/", ":"), "sls_path": place.replace("/", "_"),
    })
    return made


def _renderer(engine):
    def render(tmplsrc, from_str=False, to_str=False, context=None, tmplpath=None, **kws):
        """Render a file, or a text with from_str.

        Returns {"result": True, "data": ...}: the path of a temporary file, or text with to_str.
        """
        from salt import template
        from salt.exceptions import SaltRenderError

        words = dict(context or {})
        words.update(kws)
        if from_str:
            text = tmplsrc
        elif hasattr(tmplsrc, "read"):
            text = tmplsrc.read()
        else:
            try:
                with open(tmplsrc, encoding=SLS_ENCODING) as file:
                    text = file.read()
            except (OSError, UnicodeDecodeError) as exc:
                return {"result": False, "data": str(exc)}
        try:
            made = template.render_text(text, engine, words, path=tmplpath)
        except SaltRenderError as exc:
            return {"result": False, "data": str(exc)}
        if to_str:
            return {"result": True, "data": made}
        from salt.utils import files

        path = files.mkstemp()
        with files.fopen(path, "w") as file:
            file.write(made)
        return {"result": True, "data": path}

    render.__name__ = engine.upper()
    return render


JINJA, CHEETAH, GENSHI, WEMPY = (
    _renderer(name) for name in ("jinja", "cheetah", "genshi", "wempy"))


def py(sfn, string=False, **kwargs):
    """Run a file of Python and return what its function run returns."""
    import traceback
    import types

    if not os.path.isfile(sfn):
        return {}
    module = types.ModuleType(os.path.basename(sfn).partition(".")[0])
    module.__file__ = sfn
    words = dict(kwargs)
    for name in ("salt", "grains", "pillar", "opts"):
        if name in words:
            words["__%s__" % name] = words[name]
    module.__dict__.update(words)
    try:
        with open(sfn, encoding="utf-8") as file:
            exec(compile(file.read(), sfn, "exec"), module.__dict__)
        data = module.run()
    except Exception:  # pylint: disable=broad-except
        return {"result": False, "data": traceback.format_exc()}
    if string:
        return {"result": True, "data": data}
    from salt.utils import files

    path = files.mkstemp()
    with files.fopen(path, "w") as file:
        file.write(data)
    return {"result": True, "data": path}


def wrap_tmpl_func(render_str):
    """Return a renderer of files from one of texts: render_str(text, context, path)."""

    def render_tmpl(tmplsrc, from_str=False, to_str=False, context=None, tmplpath=None, **kws):
        from salt.exceptions import SaltRenderError

        words = dict(kws)
        words.update(context or {})
        if "sls" in words:
            words.update(generate_sls_context(tmplpath, words["sls"]))
        if hasattr(tmplsrc, "read"):
            text = tmplsrc.read()
            tmplsrc.close()
        elif from_str:
            text = tmplsrc
        else:
            with open(os.path.join(tmplpath or "", tmplsrc), encoding=SLS_ENCODING) as file:
                text = file.read()
        try:
            made = render_str(text, words, tmplpath)
        except SaltRenderError:
            raise
        except Exception:  # pylint: disable=broad-except
            import traceback

            return {"result": False, "data": traceback.format_exc()}
        if to_str:
            return {"result": True, "data": made}
        from salt.utils import files

        path = files.mkstemp()
        with files.fopen(path, "w") as file:
            file.write(made)
        return {"result": True, "data": path}

    render_tmpl.render_str = render_str
    return render_tmpl


def render_jinja_tmpl(tmplstr, context, tmplpath=None):
    """Return a text rendered by Jinja."""
    from salt import template

    return template.render_text(tmplstr, "jinja", context, path=tmplpath)


def render_mako_tmpl(tmplstr, context, tmplpath=None):
    """Return a text rendered by Mako."""
    from salt.exceptions import SaltRenderError

    try:
        import mako.exceptions
        from mako.template import Template
    except ImportError as exc:
        import sys

        raise SaltRenderError(
            "The renderer mako needs the Python library Mako: install it for %s (Debian: "
            "python3-mako): %s" % (sys.executable, exc)) from None
    from salt.utils.mako import SaltMakoTemplateLookup

    lookup = None
    if context["saltenv"]:
        lookup = SaltMakoTemplateLookup(context["opts"], context["saltenv"],
                                        pillar_rend=context.get("_pillar_rend", False))
    elif tmplpath:
        from mako.lookup import TemplateLookup

        lookup = TemplateLookup(directories=[os.path.dirname(tmplpath)])
    try:
        template = Template(tmplstr, strict_undefined=True, lookup=lookup,
                            uri=context["sls"].replace(".", "/") if "sls" in context else None)
        return template.render(**context)
    except Exception:  # pylint: disable=broad-except
        raise SaltRenderError(mako.exceptions.text_error_template().render()) from None


MAKO = wrap_tmpl_func(render_mako_tmpl)

TEMPLATE_REGISTRY = {
    "jinja": JINJA, "mako": MAKO, "py": py, "wempy": WEMPY, "genshi": GENSHI, "cheetah": CHEETAH,
}
