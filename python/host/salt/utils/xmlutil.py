"""XML as dictionaries, as salt.utils.xmlutil makes them."""


def to_dict(xmltree, attr=False):
    """Return an element as a dictionary of its children; with attr=True, its attributes as well.

    Children of the same name are a list.
    """
    return _with_attributes(xmltree) if attr else _bare(xmltree)


def _name(tag):
    return tag.rpartition("}")[2]


def _bare(element):
    children = list(element)
    if not children:
        return {_name(element.tag): element.text}
    made = {}
    for child in children:
        name, value = _name(child.tag), _bare(child)
        if name not in made:
            made[name] = child.text if not len(child) else value
        elif isinstance(made[name], list):
            made[name].append(value)
        else:
            made[name] = [made[name], value]
    return made


def _with_attributes(element):
    made = {_name(k): v for k, v in element.attrib.items()}
    children = list(element)
    if not children:
        if not made:
            return element.text
        made[_name(element.tag)] = element.text
        return made
    for child in children:
        name, value = _name(child.tag), _with_attributes(child)
        if name not in made:
            made[name] = value
        elif isinstance(made[name], list):
            made[name].append(value)
        else:
            made[name] = [made[name], value]
    return made
