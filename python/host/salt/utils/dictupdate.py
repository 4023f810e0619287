"""Merging of dictionaries, as salt.utils.dictupdate does it."""

from collections.abc import Mapping

from salt.defaults import DEFAULT_TARGET_DELIM


def update(dest, upd, recursive_update=True, merge_lists=False):
    """Merge the dictionary upd into dest and return dest.

    Dictionaries in it are merged as well, unless recursive_update is False. With merge_lists, a
    list gets the items of the other one that it does not have.
    """
    if not isinstance(dest, Mapping) or not isinstance(upd, Mapping):
        raise TypeError("Cannot update using non-dict types in dictupdate.update()")
    if not recursive_update:
        try:
            for key in upd:
                dest[key] = upd[key]
        except AttributeError:
            dest.update(upd)
        return dest
    for key in list(upd):
        new, old = upd[key], dest.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            dest[key] = update(old, new, merge_lists=merge_lists)
        elif isinstance(old, list) and isinstance(new, list) and merge_lists:
            merged = list(old)
            merged += [item for item in new if item not in merged]
            dest[key] = merged
        else:
            dest[key] = new
    return dest


def merge_list(obj_a, obj_b):
    """Return a copy of obj_a in which each key of both holds the list of both values."""
    import copy

    merged = copy.deepcopy(obj_a)
    for key, value in obj_b.items():
        if key in merged:
            merged[key] = [merged[key], value]
    return merged


def merge_recurse(obj_a, obj_b, merge_lists=False):
    """Return a copy of obj_a into which obj_b is merged."""
    import copy

    return update(copy.deepcopy(obj_a), obj_b, merge_lists=merge_lists)


def merge_overwrite(obj_a, obj_b, merge_lists=False):
    """Return a copy of obj_a with the values of obj_b in place of its own."""
    import copy

    merged = copy.deepcopy(obj_a)
    for key in obj_b:
        merged[key] = obj_b[key]
    return merged


def merge_aggregate(obj_a, obj_b):
    """Refuse: Brine's library has no renderer yamlex."""
    from salt.exceptions import SaltInvocationError

    raise SaltInvocationError("the strategy aggregate needs Salt's own library")


def merge(obj_a, obj_b, strategy="smart", renderer="yaml", merge_lists=False):
    """Return obj_a and obj_b merged by a strategy: recurse, overwrite, list, none or smart."""
    if strategy == "smart":
        strategy = "aggregate" if "yamlex" in renderer.split("|") else "recurse"
    if strategy == "list":
        return merge_list(obj_a, obj_b)
    if strategy == "overwrite":
        return merge_overwrite(obj_a, obj_b, merge_lists)
    if strategy == "aggregate":
        return merge_aggregate(obj_a, obj_b)
    if strategy == "none":
        return merge_recurse(obj_a, obj_b)
    if strategy != "recurse":
        from salt import _brine

        _brine.log(30, __name__, "Unknown merging strategy '%s', fallback to recurse" % strategy)
    return merge_recurse(obj_a, obj_b, merge_lists)


def _made(ordered):
    if ordered:
        from salt.utils.odict import OrderedDict

        return OrderedDict()
    return {}


def _place(in_dict, keys, delimiter, ordered):
    """Return the dictionary that has the last of keys, made where it is missing, and that key."""
    if not isinstance(in_dict, dict):
        from salt.exceptions import SaltInvocationError

        raise SaltInvocationError("in_dict must be a dictionary")
    *path, last = keys.split(delimiter)
    at = in_dict
    for key in path:
        if not isinstance(at.get(key), dict):
            at[key] = _made(ordered)
        at = at[key]
    return at, last


def ensure_dict_key(in_dict, keys, delimiter=DEFAULT_TARGET_DELIM, ordered_dict=False):
    """Have a dictionary at the path keys of in_dict; others are replaced."""
    at, last = _place(in_dict, keys, delimiter, ordered_dict)
    if not isinstance(at.get(last), dict):
        at[last] = _made(ordered_dict)
    return in_dict


def set_dict_key_value(in_dict, keys, value, delimiter=DEFAULT_TARGET_DELIM, ordered_dict=False):
    """Set the value at the path keys of in_dict, which is returned."""
    at, last = _place(in_dict, keys, delimiter, ordered_dict)
    at[last] = value
    return in_dict


def _held(at, last, kind, verb):
    from salt.exceptions import SaltInvocationError

    held = at.get(last)
    if held is None:
        held = at[last] = kind()
    if not isinstance(held, (dict if kind is not list else list)):
        raise SaltInvocationError(
            "The last key contains a %s, which cannot %s." % (type(held), verb)
        )
    return held


def update_dict_key_value(in_dict, keys, value, delimiter=DEFAULT_TARGET_DELIM,
                          ordered_dict=False):
    """Update the dictionary at the path keys of in_dict, which is returned."""
    at, last = _place(in_dict, keys, delimiter, ordered_dict)
    held = _held(at, last, lambda: _made(ordered_dict), "update")
    try:
        held.update(value)
    except (TypeError, ValueError):
        from salt.exceptions import SaltInvocationError

        raise SaltInvocationError(
            "Cannot update %s with a %s." % (type(held), type(value))
        ) from None
    return in_dict


def append_dict_key_value(in_dict, keys, value, delimiter=DEFAULT_TARGET_DELIM,
                          ordered_dict=False):
    """Append to the list at the path keys of in_dict, which is returned."""
    at, last = _place(in_dict, keys, delimiter, ordered_dict)
    _held(at, last, list, "append").append(value)
    return in_dict


def extend_dict_key_value(in_dict, keys, value, delimiter=DEFAULT_TARGET_DELIM,
                          ordered_dict=False):
    """Extend the list at the path keys of in_dict, which is returned."""
    at, last = _place(in_dict, keys, delimiter, ordered_dict)
    held = _held(at, last, list, "extend")
    try:
        held.extend(value)
    except TypeError:
        from salt.exceptions import SaltInvocationError

        raise SaltInvocationError(
            "Cannot extend %s with a %s." % (type(held), type(value))
        ) from None
    return in_dict
