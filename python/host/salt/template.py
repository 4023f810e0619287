"""Rendering of files, as salt.template does it: by Brine's renderers."""

SLS_ENCODING = "utf-8"
OLD_STYLE_RENDERERS = {
    "%s_%s" % (form, engine): "%s|%s" % (engine, form)
    for form in ("yaml", "json") for engine in ("jinja", "mako", "wempy")
}


def _plain(context):
    """Return the variables of a template that can be sent to Brine."""
    return {k: v for k, v in (context or {}).items()
            if isinstance(k, str) and not callable(v)
            and k not in ("salt", "grains", "pillar", "opts", "env", "__salt__", "__opts__",
                          "__grains__", "__pillar__")}


def render_text(text, pipe, context, path=None, saltenv="base", sls=""):
    """Return what the renderers of a pipe make of a text."""
    from salt import _brine

    return _brine.call("compile_template", pipe, text, path or "", saltenv, sls, _plain(context))


def check_render_pipe_str(pipestr, renderers, blacklist, whitelist):
    """Return the renderers of a pipe like jinja|yaml as (renderer, arguments).

    [] is returned if one is unknown.
    """
    if pipestr is None:
        return []
    parts = [part.strip() for part in pipestr.split("|")]
    if parts[0] == pipestr and pipestr in OLD_STYLE_RENDERERS:
        parts = OLD_STYLE_RENDERERS[pipestr].split("|")
    found = []
    for part in parts:
        name, _, args = part.partition(" ")
        if whitelist and name not in whitelist or blacklist and name in blacklist:
            continue
        try:
            found.append((renderers[name], args.strip()))
        except KeyError:
            return []
    return found


def template_shebang(template, renderers, default, blacklist, whitelist, input_data):
    """Return the renderers that the first line of a file names, or those of default."""
    line = ""
    if template == ":string:":
        line = input_data.split("\n", 1)[0] if input_data else ""
    else:
        with open(template, encoding=SLS_ENCODING, errors="replace") as file:
            line = file.readline()
    found = []
    if line.startswith("#!") and not line.startswith("#!/"):
        found = check_render_pipe_str(line.strip()[2:], renderers, blacklist, whitelist)
    return found or check_render_pipe_str(default, renderers, blacklist, whitelist)


def compile_template(template, renderers, default, blacklist, whitelist, saltenv="base", sls="",
                     input_data="", context=None, **kwargs):
    """Return the data that a file renders to, by the renderers of its first line or of default.

    template may be ":string:", with the text in input_data.
    """
    from salt import _brine

    words = dict(context or {})
    words.update(kwargs)
    if template != ":string:":
        return _brine.call("compile_template", default, None, template, saltenv, sls, _plain(words))
    if not input_data or not input_data.strip():
        return {}
    return _brine.call("compile_template", default, input_data, "", saltenv, sls, _plain(words))


def compile_template_str(template, renderers, default, blacklist, whitelist):
    """Return the data that a text renders to."""
    return compile_template(":string:", renderers, default, blacklist, whitelist,
                            input_data=template)
