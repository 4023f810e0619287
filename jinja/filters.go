package jinja

// builtinFilters are the filters of Jinja (jinja2/filters.py).
func builtinFilters() map[string]Func {
	return map[string]Func{
		"abs": filterAbs, "attr": filterAttr, "batch": filterBatch, "capitalize": filterCapitalize,
		"center": filterCenter, "count": filterLength, "d": filterDefault, "default": filterDefault,
		"dictsort": filterDictSort, "e": filterEscape, "escape": filterEscape,
		"filesizeformat": filterFileSize, "first": filterFirst, "float": filterFloat,
		"forceescape": filterForceEscape, "format": filterFormat,
		"groupby": filterGroupBy, "indent": filterIndent, "int": filterInt, "items": filterItems,
		"join": filterJoin, "last": filterLast, "length": filterLength, "list": filterList,
		"lower": filterLower, "map": filterMap, "max": filterMax, "min": filterMin,
		"pprint": filterPprint, "random": filterRandom, "reject": filterReject,
		"rejectattr": filterRejectAttr, "replace": filterReplace,
		"reverse": filterReverse, "round": filterRound, "safe": filterSafe, "select": filterSelect,
		"selectattr": filterSelectAttr, "slice": filterSlice, "sort": filterSort,
		"string": filterString, "striptags": filterStripTags, "sum": filterSum,
		"title": filterTitle, "tojson": filterToJSON, "trim": filterTrim,
		"truncate": filterTruncate, "unique": filterUnique, "upper": filterUpper,
		"urlencode": filterURLEncode, "urlize": filterURLize, "wordcount": filterWordCount,
		"wordwrap": filterWordWrap,
		"xmlattr":  filterXMLAttr,
	}
}

// takes returns a signature, in one line.
func takes(name string, hidden int, params ...param) signature {
	return signature{name, hidden, params}
}

func filterDefault(c *Call) (any, error) {
	args, err := c.bind(takes("do_default", 0, need("value"), opt("default_value", ""),
		opt("boolean", false)))
	if err != nil {
		return nil, err
	}
	if _, undefined := args[0].(*Undefined); undefined {
		return args[1], nil
	}
	always, err := c.f.run.truth(args[2])
	if err != nil || !always {
		return args[0], err
	}
	ok, err := c.f.run.truth(args[0])
	if err != nil || !ok {
		return args[1], err
	}
	return args[0], nil
}

func filterAttr(c *Call) (any, error) {
	args, err := c.bind(takes("do_attr", 1, need("obj"), need("name")))
	if err != nil {
		return nil, err
	}
	name, ok := textOf(args[1])
	if !ok {
		return nil, Raise(TypeError, "attribute name must be string, not '%s'", typeName(args[1]))
	}
	if u, ok := args[0].(*Undefined); ok {
		return u.member(name)
	}
	v, found, err := c.f.run.attribute(args[0], name)
	if err != nil {
		return nil, err
	}
	if !found {
		return c.f.run.noMember(args[0], name), nil
	}
	return v, nil
}

func filterLength(c *Call) (any, error) {
	v, err := c.one("len")
	if err != nil {
		return nil, err
	}
	return c.f.run.length(v)
}

func filterPprint(c *Call) (any, error) {
	args, err := c.bind(takes("do_pprint", 0, need("value")))
	if err != nil {
		return nil, err
	}
	return c.f.run.pprint(args[0])
}

// bool returns an argument as a condition.
func (c *Call) bool(v any) (bool, error) { return c.f.run.truth(v) }

// byName returns the filter or test whose name was passed as a value.
func (c *Call) byName(kind string, table map[string]Func, name any) (Func, error) {
	if s, ok := textOf(name); ok {
		if fn := table[s]; fn != nil {
			return fn, nil
		}
	}
	text, err := c.f.run.repr(name)
	if err != nil {
		return nil, err
	}
	message := "No " + kind + " named " + text + "."
	if u, ok := name.(*Undefined); ok {
		message += " (" + u.Message() + "; did you forget to quote the callable name?)"
	}
	return nil, Raise(RuntimeError, "%s", message)
}
