"""Outputters, as salt.output uses them."""


def out_format(data, out, opts=None, **kwargs):
    """Return what an outputter prints of a value: nested, json, yaml, pprint, raw, txt or quiet."""
    opts = opts or {}
    out = out or opts.get("output") or "nested"
    if out == "nested":
        from salt.output import nested

        return nested.output(data, **kwargs)
    if out == "json":
        from salt.utils import json

        try:
            return json.dumps(data, default=repr, indent=opts.get("output_indent", 4))
        except TypeError:
            return "{}"
    if out == "yaml":
        from salt.utils import yaml

        return yaml.safe_dump(data, default_flow_style=False)
    if out in ("pprint", "raw"):
        if out == "raw":
            return str(data)
        import pprint

        return pprint.pformat(data)
    if out == "txt":
        if isinstance(data, dict):
            return "\n".join("%s: %s" % (k, line) for k, v in data.items()
                             for line in (str(v).splitlines() or [""]))
        return str(data)
    if out == "quiet":
        return ""
    from salt import WAY_OUT, _brine

    if _brine.running():
        outputters = _brine.worker().outputters()
        if out in outputters:
            return outputters[out](data, **kwargs)
    raise KeyError(WAY_OUT % ("salt.output." + out))


def string_format(data, out, opts=None, **kwargs):
    """Return what an outputter prints of a value, without colours."""
    return out_format(data, out, opts, **kwargs)


def html_format(data, out, opts=None, **kwargs):
    """Return what an outputter prints of a value as HTML."""
    import html

    return html.escape(out_format(data, out, opts, **kwargs))


def display_output(data, out=None, opts=None, **kwargs):
    """Print a value as an outputter does."""
    text = out_format(data, out, opts, **kwargs)
    if text:
        print(text)
