"""YAML, as salt.utils.yaml has it: by the PyYAML of the system, with the rules of Salt's loader.

Text stays text, octal numbers are decimal, a repeated key is an error, and dumped dictionaries keep
their order.
"""

try:
    import yaml as _yaml
except ImportError:
    raise ImportError(
        "YAML in Python needs PyYAML: install python3-yaml (Debian) or python3-pyyaml (Fedora)"
    ) from None

from yaml import *  # noqa: F401,F403
from yaml import YAMLError  # noqa: F401
from yaml.constructor import ConstructorError

__all__ = [name for name in dir(_yaml) if not name.startswith("_")]

_Base = getattr(_yaml, "CSafeLoader", _yaml.SafeLoader)
_Dumper = getattr(_yaml, "CSafeDumper", _yaml.SafeDumper)


class SaltYamlSafeLoader(_Base):
    """A loader of plain values."""

    def __init__(self, stream, dictclass=dict):
        super().__init__(stream)
        self.dictclass = dictclass

    def construct_yaml_map(self, node):
        made = self.dictclass()
        yield made
        made.update(self.construct_mapping(node))

    def construct_mapping(self, node, deep=False):
        if not isinstance(node, _yaml.MappingNode):
            raise ConstructorError(None, None, "expected a mapping node, but found %s" % node.id,
                                   node.start_mark)
        self.flatten_mapping(node)
        made = self.dictclass()
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=deep)
            try:
                hash(key)
            except TypeError:
                raise ConstructorError("while constructing a mapping", node.start_mark,
                                       "found unacceptable key {0!r}".format(key_node.value),
                                       key_node.start_mark) from None
            if key in made:
                raise ConstructorError("while constructing a mapping", node.start_mark,
                                       "found conflicting ID '%s'" % key, key_node.start_mark)
            made[key] = self.construct_object(value_node, deep=deep)
        return made

    def construct_scalar(self, node):
        # Numbers like 0755 are decimal, with their zeros gone.
        if node.tag == "tag:yaml.org,2002:int" and isinstance(node.value, str):
            if node.value == "0":
                pass
            elif node.value.startswith("0") and not node.value.startswith(("0b", "0x")):
                node.value = node.value.lstrip("0") or "0"
        return super().construct_scalar(node)

    def construct_unicode(self, node):
        return node.value

    def flatten_mapping(self, node):
        merged, own = [], []
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                inner = [value_node] if isinstance(value_node, _yaml.MappingNode) else (
                    list(reversed(value_node.value)))
                for one in inner:
                    if not isinstance(one, _yaml.MappingNode):
                        raise ConstructorError(
                            "while constructing a mapping", node.start_mark,
                            "expected a mapping for merging, but found %s" % one.id,
                            one.start_mark)
                    self.flatten_mapping(one)
                    merged += one.value
            else:
                if key_node.tag == "tag:yaml.org,2002:value":
                    key_node.tag = "tag:yaml.org,2002:str"
                own.append((key_node, value_node))
        if merged:
            names = [k.value for k, _ in own]
            node.value = [pair for pair in merged if pair[0].value not in names] + own


for _tag, _construct in (
    ("map", SaltYamlSafeLoader.construct_yaml_map),
    ("omap", SaltYamlSafeLoader.construct_yaml_map),
    ("str", SaltYamlSafeLoader.construct_yaml_str),
    ("python/unicode", SaltYamlSafeLoader.construct_unicode),
    ("timestamp", SaltYamlSafeLoader.construct_scalar),
):
    SaltYamlSafeLoader.add_constructor("tag:yaml.org,2002:" + _tag, _construct)


class SafeOrderedDumper(_Dumper):
    """A dumper that keeps the order of dictionaries."""


class OrderedDumper(_yaml.Dumper):
    """The same for all objects of Python."""


class IndentedSafeOrderedDumper(_yaml.SafeDumper):
    """A dumper that indents the items of lists."""

    def increase_indent(self, flow=False, indentless=False):
        return super().increase_indent(flow, False)


def _mapping(dumper, data):
    return dumper.represent_mapping("tag:yaml.org,2002:map", list(data.items()))


def _text(dumper, data):
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(data))


for _kind in (SafeOrderedDumper, OrderedDumper, IndentedSafeOrderedDumper):
    from collections import OrderedDict as _Ordered
    from salt.utils.odict import DefaultOrderedDict as _Default, OrderedDict as _Salts

    for _class in (_Ordered, _Salts, _Default):
        _kind.add_representer(_class, _mapping)
    from brinehost.mappings import NamedLoaderContext as _Lent

    _kind.add_multi_representer(_Lent, lambda d, v: d.represent_dict(dict(v.value())))
    _kind.add_multi_representer(dict, lambda d, v: d.represent_dict(dict(v)))
    _kind.add_multi_representer(str, _text)

del _tag, _construct, _kind, _class


def get_dumper(dumper_name):
    """Return a dumper class by its name."""
    return {
        "OrderedDumper": OrderedDumper, "SafeOrderedDumper": SafeOrderedDumper,
        "IndentedSafeOrderedDumper": IndentedSafeOrderedDumper,
    }.get(dumper_name)


def load(stream, Loader=SaltYamlSafeLoader):
    """Return the value of YAML text."""
    return _yaml.load(stream, Loader=Loader)


def safe_load(stream, Loader=SaltYamlSafeLoader):
    """Return the value of YAML text."""
    return _yaml.load(stream, Loader=Loader)


def dump(data, stream=None, **kwargs):
    """Return a value as YAML in blocks, or write it to stream."""
    kwargs.setdefault("allow_unicode", True)
    kwargs.setdefault("default_flow_style", None)
    return _yaml.dump(data, stream, Dumper=kwargs.pop("Dumper", OrderedDumper), **kwargs)


def safe_dump(data, stream=None, **kwargs):
    """Return a plain value as YAML, or write it to stream."""
    kwargs.setdefault("allow_unicode", True)
    kwargs.setdefault("default_flow_style", None)
    return _yaml.dump(data, stream, Dumper=kwargs.pop("Dumper", SafeOrderedDumper), **kwargs)
