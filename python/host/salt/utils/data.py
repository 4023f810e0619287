"""Values and collections, as salt.utils.data handles them."""

from collections.abc import Mapping, MutableMapping, Sequence

from salt.defaults import DEFAULT_TARGET_DELIM

ALGORITHMS_ATTR_NAME = "algorithms_guaranteed"


class CaseInsensitiveDict(MutableMapping):
    """A dictionary whose keys are found in any case, and keep the one they came with."""

    def __init__(self, init=None, **kwargs):
        self._data = {}
        self.update(init or {}, **kwargs)

    def __len__(self):
        return len(self._data)

    def __setitem__(self, key, value):
        self._data[to_lowercase(key)] = (key, value)

    def __delitem__(self, key):
        del self._data[to_lowercase(key)]

    def __getitem__(self, key):
        return self._data[to_lowercase(key)][1]

    def __iter__(self):
        return (key for key, _ in self._data.values())

    def __eq__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        return dict(self.items_lower()) == dict(CaseInsensitiveDict(other).items_lower())

    __hash__ = None

    def __repr__(self):
        return repr(dict(self.items()))

    def items_lower(self):
        """Return pairs of the keys in lower case and the values."""
        return ((key, pair[1]) for key, pair in self._data.items())

    def copy(self):
        """Return a copy."""
        return CaseInsensitiveDict(self._data.values())


def _mapped(data, change, dict_class=False):
    """Return data with change applied to all keys and values that are not collections."""
    if isinstance(data, Mapping):
        pairs = {_mapped(k, change, dict_class): _mapped(v, change, dict_class)
                 for k, v in data.items()}
        return type(data)(pairs) if dict_class else pairs
    if isinstance(data, tuple):
        return tuple(_mapped(v, change, dict_class) for v in data)
    if isinstance(data, list):
        return [_mapped(v, change, dict_class) for v in data]
    return change(data)


def to_lowercase(data, preserve_dict_class=False):
    """Return data with all text in it in lower case."""
    return _mapped(data, lambda v: v.lower() if isinstance(v, str) else v, preserve_dict_class)


def to_uppercase(data, preserve_dict_class=False):
    """Return data with all text in it in upper case."""
    return _mapped(data, lambda v: v.upper() if isinstance(v, str) else v, preserve_dict_class)


def compare_dicts(old=None, new=None):
    """Return what differs as {key: {"old": ..., "new": ...}}, with "" for what is not there."""
    old, new = old or {}, new or {}
    found = {}
    for key in list(new) + [k for k in old if k not in new]:
        if key not in old:
            found[key] = {"old": "", "new": new[key]}
        elif key not in new:
            found[key] = {"new": "", "old": old[key]}
        elif old[key] != new[key]:
            found[key] = {"old": old[key], "new": new[key]}
    return found


def compare_lists(old=None, new=None):
    """Return the items that only one list has as {"old": [...], "new": [...]}."""
    found = {}
    for name, one, other in (("new", new, old), ("old", old, new)):
        only = [item for item in one or [] if item not in (other or [])]
        if only:
            found[name] = only
    return found


class _Change:
    """What decode or encode does with each value."""

    def __init__(self, one, keep, dict_class, tuples):
        self.one, self.keep, self.dict_class, self.tuples = one, keep, dict_class, tuples

    def leaf(self, value):
        try:
            return self.one(value)
        except TypeError:
            return value
        except UnicodeError:
            if self.keep:
                return value
            raise

    def __call__(self, value):
        if isinstance(value, Mapping):
            made = type(value)() if self.dict_class else {}
            for key, inner in value.items():
                made[self.key(key)] = self(inner)
            return made
        if isinstance(value, list):
            return [self(inner) for inner in value]
        if isinstance(value, tuple):
            items = [self(inner) for inner in value]
            if not self.tuples:
                return items
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return self.leaf(value)

    def key(self, key):
        if isinstance(key, tuple):
            return tuple(self.key(part) for part in key)
        return self.leaf(key)


def _decoder(encoding, errors, keep, normalize, preserve_dict_class, preserve_tuples):
    from salt.utils.stringutils import to_unicode

    return _Change(lambda v: to_unicode(v, encoding, errors, normalize), keep,
                   preserve_dict_class, preserve_tuples)


def decode(data, encoding=None, errors="strict", keep=False, normalize=False,
           preserve_dict_class=False, preserve_tuples=False, to_str=False):
    """Return data with all bytes in it as text. With keep, bytes that are no text stay."""
    return _decoder(encoding, errors, keep, normalize, preserve_dict_class, preserve_tuples)(data)


def decode_dict(data, encoding=None, errors="strict", keep=False, normalize=False,
                preserve_dict_class=False, preserve_tuples=False, to_str=False):
    """Decode a dictionary."""
    return decode(data, encoding, errors, keep, normalize, preserve_dict_class, preserve_tuples)


def decode_list(data, encoding=None, errors="strict", keep=False, normalize=False,
                preserve_dict_class=False, preserve_tuples=False, to_str=False):
    """Decode a list, or what else can be iterated, as a list."""
    return decode(list(data), encoding, errors, keep, normalize, preserve_dict_class,
                  preserve_tuples)


def decode_tuple(data, encoding=None, errors="strict", keep=False, normalize=False,
                 preserve_dict_class=False, to_str=False):
    """Decode a tuple, which stays one."""
    return tuple(decode_list(data, encoding, errors, keep, normalize, preserve_dict_class, True))


def encode(data, encoding=None, errors="strict", keep=False, preserve_dict_class=False,
           preserve_tuples=False):
    """Return data with all text in it as bytes."""
    from salt.utils.stringutils import to_bytes

    return _Change(lambda v: to_bytes(v, encoding, errors), keep, preserve_dict_class,
                   preserve_tuples)(data)


def encode_dict(data, encoding=None, errors="strict", keep=False, preserve_dict_class=False,
                preserve_tuples=False):
    """Encode a dictionary."""
    return encode(data, encoding, errors, keep, preserve_dict_class, preserve_tuples)


def encode_list(data, encoding=None, errors="strict", keep=False, preserve_dict_class=False,
                preserve_tuples=False):
    """Encode a list, or what else can be iterated, as a list."""
    return encode(list(data), encoding, errors, keep, preserve_dict_class, preserve_tuples)


def encode_tuple(data, encoding=None, errors="strict", keep=False, preserve_dict_class=False):
    """Encode a tuple, which stays one."""
    return tuple(encode_list(data, encoding, errors, keep, preserve_dict_class, True))


def exactly_n(iterable, amount=1):
    """Report whether amount items are true."""
    return sum(1 for item in iterable if item) == amount


def exactly_one(iterable):
    """Report whether one item is true."""
    return exactly_n(iterable)


def filter_by(lookup_dict, lookup, traverse, merge=None, default="default", base=None):
    """Return the value of lookup_dict that the value of traverse at the path lookup selects.

    The keys of lookup_dict are patterns. The value of the key base is what the selected one is
    merged into, and merge is merged into that.
    """
    import fnmatch

    found = None
    value = traverse_dict_and_list(traverse, lookup, None)
    for wanted in value if isinstance(value, list) else [value]:
        for key in lookup_dict:
            if wanted is not None and fnmatch.fnmatchcase(str(wanted), str(key)):
                found = lookup_dict[key]
                break
        if found is not None:
            break
    if found is None:
        found = lookup_dict.get(default)
    if base and base in lookup_dict:
        from salt.utils import dictupdate

        if found is None:
            found = lookup_dict[base]
        elif isinstance(lookup_dict[base], Mapping) and isinstance(found, Mapping):
            import copy

            found = dictupdate.update(copy.deepcopy(lookup_dict[base]), found)
    if merge:
        from salt.utils import dictupdate

        if not isinstance(merge, Mapping):
            from salt.exceptions import SaltException

            raise SaltException("filter_by merge argument must be a dictionary.")
        if found is None:
            found = merge
        else:
            import copy

            found = dictupdate.update(copy.deepcopy(found), merge)
    return found


_NONE = object()


def traverse_dict(data, key, default=None, delimiter=DEFAULT_TARGET_DELIM):
    """Return the value of nested dictionaries at a path like a:b, or default."""
    at = data
    try:
        for part in key.split(delimiter):
            at = at[part]
    except (KeyError, IndexError, TypeError):
        return default
    return at


def traverse_dict_and_list(data, key, default=None, delimiter=DEFAULT_TARGET_DELIM):
    """Return the value of nested dictionaries and lists at a path like a:0:b, or default.

    A part that is no number asks each dictionary of a list.
    """
    at = data
    parts = key.split(delimiter) if isinstance(key, str) else (
        key if isinstance(key, (list, tuple)) else [key])
    for part in parts:
        if isinstance(at, list):
            at = _in_list(at, part)
        elif isinstance(at, Mapping):
            at = _in_dict(at, part)
        else:
            return default
        if at is _NONE:
            return default
    return at


def _in_list(items, part):
    try:
        index = int(part)
    except (ValueError, TypeError):
        for item in items:
            if isinstance(item, Mapping) and part in item:
                return item[part]
        return _NONE
    try:
        return items[index]
    except IndexError:
        return _NONE


def _in_dict(mapping, part):
    if part in mapping:
        return mapping[part]
    try:
        number = int(part)
    except (ValueError, TypeError):
        return _NONE
    return mapping[number] if number in mapping else _NONE


def subdict_match(data, expr, delimiter=DEFAULT_TARGET_DELIM, regex_match=False,
                  exact_match=False):
    """Report whether data has, at a path, a value that a pattern matches: expr is a:b:PATTERN."""

    def fits(value, pattern):
        text = value if isinstance(value, str) else str(value)
        if regex_match:
            import re

            try:
                return bool(re.match(pattern.lower(), text.lower()))
            except re.error:
                return False
        if exact_match:
            return text.lower() == pattern.lower()
        import fnmatch

        return fnmatch.fnmatch(text.lower(), pattern.lower())

    def matches(value, pattern):
        if isinstance(value, Mapping):
            return pattern == "*" or any(fits(key, pattern) for key in value)
        if isinstance(value, (list, tuple)):
            return any(matches(item, pattern) for item in value)
        return fits(value, pattern)

    def below(value, parts):
        if not parts:
            return True
        if isinstance(value, (list, tuple)):
            return any(below(item, parts) for item in value) or (
                len(parts) == 1 and matches(value, parts[0]))
        if matches(value, delimiter.join(parts)):
            return True
        if not isinstance(value, Mapping):
            return False
        for count in range(1, len(parts)):
            name = delimiter.join(parts[:count])
            if name == "*":
                if any(below(inner, parts[count:]) for inner in value.values()):
                    return True
            elif name in value and below(value[name], parts[count:]):
                return True
        return False

    parts = expr.split(delimiter)
    if len(parts) < 2 or not data:
        return False
    return below(data, parts)


def substr_in_list(string_to_search_for, list_to_search):
    """Report whether a text is part of one of a list."""
    return any(string_to_search_for in text for text in list_to_search)


def is_dictlist(data):
    """Report whether data is a list of dictionaries with one key each."""
    return isinstance(data, list) and all(
        isinstance(item, dict) and len(item) == 1 for item in data)


def repack_dictlist(data, strict=False, recurse=False, key_cb=None, val_cb=None):
    """Return the dictionary that a list of one-key dictionaries and of names stands for.

    {} is returned for what is no such list; data may be YAML text.
    """
    if isinstance(data, str):
        from salt.utils import yaml

        try:
            data = yaml.safe_load(data)
        except yaml.YAMLError:
            return {}
    key_cb = key_cb or (lambda key: key)
    val_cb = val_cb or (lambda key, value: value)
    if not isinstance(data, list):
        return {}
    for item in data:
        if isinstance(item, dict):
            if len(item) != 1:
                return {}
        elif not isinstance(item, (str, int, float)):
            return {}
    made = {}
    for item in data:
        if not isinstance(item, dict):
            made[key_cb(item)] = None
            continue
        for key, value in item.items():
            if recurse and is_dictlist(value):
                made[key_cb(key)] = repack_dictlist(value, recurse=recurse)
            elif recurse and isinstance(value, list) and strict:
                return {}
            else:
                made[key_cb(key)] = val_cb(key, value)
    return made


def is_list(value):
    """Report whether a value is a list."""
    return isinstance(value, list)


def is_iter(thing, ignore=(str,)):
    """Report whether something can be iterated; text, or what else ignore has, does not count."""
    if ignore and isinstance(thing, ignore):
        return False
    return hasattr(thing, "__iter__")


def is_true(value=None):
    """Return the truth of a value: numbers above 0, and the texts true and numbers above 0."""
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            try:
                value = float(value)
            except ValueError:
                return value.lower() == "true"
    if isinstance(value, (int, float)):
        return int(value) > 0
    return bool(value)


def mysql_to_dict(data, key):
    """Return the rows of a table that mysql prints, by the column key."""
    found, columns = {}, []
    for line in data:
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not columns:
            columns = cells
            continue
        from salt.utils.stringutils import to_num

        row = {name: to_num(cell) for name, cell in zip(columns, cells)}
        found[row[key]] = row
    return found


def simple_types_filter(data):
    """Return data with the repr() of all that is no plain value and no list, tuple or dict."""
    if data is None or isinstance(data, (str, int, float, bool)):
        return data
    if isinstance(data, (list, tuple)):
        made = [v if isinstance(v, tuple) else simple_types_filter(v) for v in data]
        return made if isinstance(data, list) else tuple(made)
    if isinstance(data, dict):
        return {k if isinstance(k, (str, int, float, bool)) else repr(k): simple_types_filter(v)
                for k, v in data.items()}
    return repr(data)


def stringify(data):
    """Return the items of a list as text."""
    return [item if isinstance(item, str) else str(item) for item in data]


def json_query(data, expr):
    """Return what a JMESPath expression finds in data; needs the module jmespath."""
    try:
        import jmespath
    except ImportError:
        raise RuntimeError("json_query requires jmespath library") from None
    return jmespath.search(expr, data)


def filter_falsey(data, recurse_depth=None, ignore_types=()):
    """Return a list or dictionary without what is neither true nor of one of ignore_types.

    recurse_depth is how many levels below are treated in the same way.
    """
    ignored = tuple(ignore_types)

    def clean(value):
        if recurse_depth and isinstance(value, (Mapping, list, tuple, set, frozenset)):
            return filter_falsey(value, recurse_depth - 1, ignore_types)
        return value

    def kept(value):
        return bool(value) or type(value) in ignored

    if isinstance(data, Mapping):
        pairs = [(key, clean(value)) for key, value in data.items()]
        return type(data)((key, value) for key, value in pairs if kept(value))
    if isinstance(data, (list, tuple, set, frozenset)):
        return type(data)(value for value in map(clean, data) if kept(value))
    return data


def recursive_diff(old, new, ignore_keys=None, ignore_order=False, ignore_missing_keys=False):
    """Return what differs as {"old": ..., "new": ...} of the same shape; {} where nothing does."""
    ignored = ignore_keys or []
    if type(old) is not type(new) and not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return {"old": old, "new": new} if old != new else {}
    if isinstance(old, Mapping):
        before, after = {}, {}
        for key in list(old) + [k for k in new if k not in old]:
            if key in ignored:
                continue
            if key not in new:
                if not ignore_missing_keys:
                    before[key] = old[key]
            elif key not in old:
                if not ignore_missing_keys:
                    after[key] = new[key]
            else:
                inner = recursive_diff(old[key], new[key], ignored, ignore_order,
                                       ignore_missing_keys)
                if inner:
                    before[key], after[key] = inner["old"], inner["new"]
        return {"old": before, "new": after} if before or after else {}
    if isinstance(old, (set, frozenset)):
        if old == new:
            return {}
        return {"old": old - new, "new": new - old}
    if is_iter(old) and isinstance(old, Sequence):
        before = [item for at, item in enumerate(old) if _differs(item, at, new, ignore_order,
                                                                 ignored, ignore_missing_keys)]
        after = [item for at, item in enumerate(new) if _differs(item, at, old, ignore_order,
                                                                ignored, ignore_missing_keys)]
        if not before and not after:
            return {}
        return {"old": type(old)(before), "new": type(new)(after)}
    return {"old": old, "new": new} if old != new else {}


def _differs(item, at, others, ignore_order, ignored, ignore_missing_keys):
    if ignore_order:
        return not any(not recursive_diff(item, other, ignored, True, ignore_missing_keys)
                       for other in others)
    if at >= len(others):
        return True
    return bool(recursive_diff(item, others[at], ignored, False, ignore_missing_keys))


def get_value(obj, path, default=None):
    """Return what is at a path as a list of {"value": ...}, with the key of each step besides."""
    found = [{"value": obj}]
    for part in path.split(":"):
        at = []
        for one in found:
            value = traverse_dict_and_list(one["value"], part, _NONE) if part else one["value"]
            at.append({"value": default if value is _NONE else value})
        found = at
    return found


def flatten(data, levels=None, preserve_nulls=False, _ids=None):
    """Return a list without lists in it, or with levels less of them. Nulls are left out."""
    seen = set() if _ids is None else _ids
    if id(data) in seen:
        raise RecursionError("Reference cycle detected. Check input list.")
    seen.add(id(data))
    made = []
    for item in data:
        if not preserve_nulls and item in (None, "None", "null"):
            continue
        if is_iter(item) and not isinstance(item, Mapping):
            if levels is None:
                made += flatten(item, None, preserve_nulls, seen)
                continue
            if levels >= 1:
                made += flatten(item, levels - 1, preserve_nulls, seen)
                continue
        made.append(item)
    seen.discard(id(data))
    return made


def sorted_ignorecase(to_sort):
    """Return a list sorted without regard to case."""
    return sorted(to_sort, key=lambda text: text.lower())


def hash(value, algorithm="sha512"):  # pylint: disable=redefined-builtin
    """Return the hexadecimal digest of a text."""
    import hashlib

    if algorithm not in hashlib.algorithms_guaranteed:
        from salt.exceptions import SaltException

        raise SaltException("You must specify a valid algorithm.")
    made = hashlib.new(algorithm)
    made.update(value.encode() if isinstance(value, str) else value)
    return made.hexdigest()


def sample(value, size, seed=None):
    """Return size items of a list, chosen by chance or by seed."""
    return shuffle(value, seed=seed)[:size] if size > len(value) else _random(seed).sample(
        list(value), size)


def shuffle(value, seed=None):
    """Return a list in an order that is chosen by chance or by seed."""
    return sample(value, len(value), seed=seed)


def _random(seed):
    import random

    return random.Random(seed) if seed is not None else random.SystemRandom()
