# Calls one function of a library for classification and prints its result. The order comes as one
# line of JSON on standard input; pillar.go and tops.go of Brine's shelves describe the functions.
import base64
import collections
import collections.abc
import json
import os
import sys


def plain(value):
    """Return a value in a form of JSON that keeps the types of keys, and bytes."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {"map": [[plain(k), plain(v)] for k, v in value.items()]}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    return str(value)


def values(value):
    """Return the value of a form of plain."""
    if isinstance(value, list):
        return [values(v) for v in value]
    if isinstance(value, dict):
        if "bytes" in value:
            return base64.b64decode(value["bytes"])
        return {values(k): values(v) for k, v in value["map"]}
    return value


def reclass(order, options):
    # reclass 1.7 uses names that Python 3.10 has removed.
    for name in ("Iterable", "Mapping", "MutableMapping", "Sequence"):
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    from reclass.adapters import salt as adapter

    if order["function"] == "top":
        return adapter.top(order["id"], **options)
    return adapter.ext_pillar(order["id"], values(order["pillar"]), **options)


def varstack(order, options):
    from varstack import Varstack

    return Varstack(config_filename=options["conf"]).evaluate(values(order["grains"]))


def main():
    out, sys.stdout = sys.stdout, sys.stderr
    order = json.loads(sys.stdin.readline())
    if order["path"]:
        sys.path.insert(0, os.path.abspath(os.path.expanduser(order["path"])))
    library = {"reclass": reclass, "varstack": varstack}[order["library"]]
    try:
        answer = {"value": plain(library(order, values(order["options"])))}
    except Exception as err:
        kinds = [k.__module__ + "." + k.__name__ for k in type(err).__mro__]
        answer = {"error": str(err), "kinds": kinds}
    out.write(json.dumps(answer))


main()
