package jinja

import (
	"math"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
)

// changeText makes a filter that changes str(value).
func changeText(name string, change func(string) string) Func {
	return func(c *Call) (any, error) {
		args, err := c.bind(takes(name, 0, need("s")))
		if err != nil {
			return nil, err
		}
		s, err := c.f.run.str(args[0])
		if err != nil {
			return nil, err
		}
		return like(args[0], change(s)), c.f.run.room(len(s))
	}
}

func filterUpper(c *Call) (any, error)      { return changeText("do_upper", upper)(c) }
func filterLower(c *Call) (any, error)      { return changeText("do_lower", lower)(c) }
func filterCapitalize(c *Call) (any, error) { return changeText("do_capitalize", capitalize)(c) }

// filterTitle begins words with a capital; words begin after a space and - ( { [ <.
func filterTitle(c *Call) (any, error) {
	args, err := c.bind(takes("do_title", 0, need("s")))
	if err != nil {
		return nil, err
	}
	s, err := c.f.run.str(args[0])
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	begins := true
	for _, r := range s {
		switch {
		case strings.ContainsRune("-({[<", r) || isSpace(r):
			b.WriteRune(r)
			begins = true
			continue
		case begins:
			b.WriteString(upper(string(r)))
		default:
			b.WriteString(lower(string(r)))
		}
		begins = false
	}
	return b.String(), nil
}

func filterString(c *Call) (any, error) {
	v, err := c.one("markupsafe._speedups.soft_str")
	if err != nil {
		return nil, err
	}
	if _, ok := textOf(v); ok {
		return v, nil
	}
	return c.f.run.str(v)
}

func filterTrim(c *Call) (any, error) {
	args, err := c.bind(takes("do_trim", 0, need("value"), opt("chars", nil)))
	if err != nil {
		return nil, err
	}
	s, err := c.f.run.str(args[0])
	if err != nil {
		return nil, err
	}
	return textStrip(&Call{f: c.f, Args: args[1:]}, like(args[0], s), "strip")
}

func filterCenter(c *Call) (any, error) {
	args, err := c.bind(takes("do_center", 0, need("value"), opt("width", int64(80))))
	if err != nil {
		return nil, err
	}
	s, err := c.f.run.str(args[0])
	if err != nil {
		return nil, err
	}
	return textJustify(&Call{f: c.f, Args: args[1:]}, like(args[0], s), "center")
}

func filterReplace(c *Call) (any, error) {
	args, err := c.bind(takes("do_replace", 1, need("s"), need("old"), need("new"),
		opt("count", nil)))
	if err != nil {
		return nil, err
	}
	var parts [3]string
	for i := range parts {
		if parts[i], err = c.f.run.str(args[i]); err != nil {
			return nil, err
		}
	}
	n := -1
	if args[3] != nil {
		if n, err = indexOf(args[3]); err != nil {
			return nil, err
		}
	}
	if !*c.f.cx.autoescape {
		return c.f.run.replaceText(parts[0], parts[1], parts[2], n)
	}
	_, safe := args[0].(Markup)
	_, safeOld := args[1].(Markup)
	_, safeNew := args[2].(Markup)
	if safe || safeOld || safeNew {
		for i := range parts {
			if _, ok := args[i].(Markup); !ok {
				parts[i] = escapeHTML(parts[i])
			}
		}
		text, err := c.f.run.replaceText(parts[0], parts[1], parts[2], n)
		return Markup(text), err
	}
	return c.f.run.replaceText(parts[0], parts[1], parts[2], n)
}

func filterFormat(c *Call) (any, error) {
	if len(c.Args) > 1 && len(c.Kw) > 0 {
		return nil, Raise(FilterArgumentError,
			"can't handle positional and keyword arguments at the same time")
	}
	s, err := c.f.run.str(c.Args[0])
	if err != nil {
		return nil, err
	}
	var values any = data.Tuple(c.Args[1:])
	if len(c.Kw) > 0 {
		m := &data.Map{}
		for _, k := range c.Kw {
			m.Set(k.Name, k.Value)
		}
		values = m
	}
	return c.f.run.percent(s, like(c.Args[0], s), values)
}

func filterIndent(c *Call) (any, error) {
	args, err := c.bind(takes("do_indent", 0, need("s"), opt("width", int64(4)),
		opt("first", false), opt("blank", false)))
	if err != nil {
		return nil, err
	}
	by, ok := textOf(args[1])
	if !ok {
		n, err := indentWidth(args[1])
		if err != nil {
			return nil, err
		}
		if by, err = c.f.run.repeatText(" ", n); err != nil {
			return nil, err
		}
	}
	first, err := c.bool(args[2])
	if err != nil {
		return nil, err
	}
	blank, err := c.bool(args[3])
	if err != nil {
		return nil, err
	}
	s, err := indentable(args[0])
	if err != nil {
		return nil, err
	}
	out, err := c.f.run.indent(s, by, first, blank)
	return like(args[0], out), err
}

// indentable returns the text to indent, with one more line break, or an error for other values.
func indentable(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v + "\n", nil
	case Markup:
		return string(v) + "\n", nil
	case *Undefined:
		return "", v.fail()
	case *List:
		return "", Raise(AttributeError, "'list' object has no attribute 'splitlines'")
	case data.Tuple:
		return "", Raise(TypeError, `can only concatenate tuple (not "str") to tuple`)
	}
	return "", unsupported("+=", v, "")
}

func indentWidth(v any) (int, error) {
	if !isInt(v) {
		return 0, Raise(TypeError, "can't multiply sequence by non-int of type '%s'", typeName(v))
	}
	return count(v), nil
}

func (r *run) indent(s, by string, first, blank bool) (string, error) {
	lines := splitLines(s, false)
	if size, ok := product(len(lines), len(by)); !ok {
		return "", r.room(-1)
	} else if err := r.room(len(s) + size); err != nil {
		return "", err
	}
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 && first || i > 0 && (blank || line != "") {
			b.WriteString(by)
		}
		b.WriteString(line)
	}
	return b.String(), nil
}

func filterTruncate(c *Call) (any, error) {
	args, err := c.bind(takes("do_truncate", 1, need("s"), opt("length", int64(255)),
		opt("killwords", false), opt("end", "..."), opt("leeway", nil)))
	if err != nil {
		return nil, err
	}
	if args[4] == nil {
		args[4] = int64(5)
	}
	end, ok := textOf(args[3])
	if !ok {
		return nil, Raise(TypeError, "object of type '%s' has no len()", typeName(args[3]))
	}
	if !isNumber(args[1]) {
		return nil, Raise(TypeError, "'>=' not supported between instances of '%s' and 'int'",
			typeName(args[1]))
	}
	length, err := indexOf(args[1])
	if err != nil {
		return nil, err
	}
	leeway, err := indexOf(args[4])
	if err != nil {
		return nil, err
	}
	if length < runeCount(end) {
		return nil, Raise(AssertError, "expected length >= %d, got %d", runeCount(end), length)
	}
	if leeway < 0 {
		return nil, Raise(AssertError, "expected leeway >= 0, got %d", leeway)
	}
	n, err := c.f.run.length(args[0])
	if err != nil {
		return nil, err
	}
	if n.(int64) <= int64(length+leeway) {
		return args[0], nil
	}
	s, ok := textOf(args[0])
	if !ok {
		return nil, Raise(AttributeError, "'%s' object has no attribute 'rsplit'",
			typeName(args[0]))
	}
	cut := pickText(s, 0, 1, length-runeCount(end))
	kill, err := c.bool(args[2])
	if err != nil {
		return nil, err
	}
	if at := strings.LastIndexByte(cut, ' '); !kill && at >= 0 {
		cut = cut[:at]
	}
	return c.f.run.binary("+", like(args[0], cut), args[3])
}

func filterWordCount(c *Call) (any, error) {
	args, err := c.bind(takes("do_wordcount", 0, need("s")))
	if err != nil {
		return nil, err
	}
	s, err := c.f.run.str(args[0])
	if err != nil {
		return nil, err
	}
	n, inWord := 0, false
	for _, r := range s {
		word := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
		if word && !inWord {
			n++
		}
		inWord = word
	}
	return int64(n), nil
}

func filterReverse(c *Call) (any, error) {
	args, err := c.bind(takes("do_reverse", 0, need("value")))
	if err != nil {
		return nil, err
	}
	if s, ok := textOf(args[0]); ok {
		runes := []rune(s)
		for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
			runes[i], runes[j] = runes[j], runes[i]
		}
		return like(args[0], string(runes)), c.f.run.room(len(s))
	}
	items, err := c.f.run.list(args[0])
	if isKind(err, TypeError) {
		return nil, Raise(FilterArgumentError, "argument must be iterable")
	}
	if err != nil {
		return nil, err
	}
	for i, j := 0, len(items)-1; i < j; i, j = i+1, j-1 {
		items[i], items[j] = items[j], items[i]
	}
	switch args[0].(type) {
	case *List, data.Tuple, *data.Map, *dictView, *rangeValue:
		return &sliceIterator{items: items}, nil
	}
	return &List{items}, nil
}

func filterFileSize(c *Call) (any, error) {
	args, err := c.bind(takes("do_filesizeformat", 0, need("value"), opt("binary", false)))
	if err != nil {
		return nil, err
	}
	size, err := c.f.run.toFloat(args[0])
	if err != nil {
		return nil, err
	}
	binary, err := c.bool(args[1])
	if err != nil {
		return nil, err
	}
	base, units := 1000.0, []string{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}
	if binary {
		base, units = 1024, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	}
	if size == 1 {
		return "1 Byte", nil
	}
	if size < base {
		return data.Str(normal(truncated(size))) + " Bytes", nil
	}
	for i, name := range units {
		unit := math.Pow(base, float64(i+2))
		if size < unit || i == len(units)-1 {
			text, err := c.f.run.formatFloat(base*size/unit, spec{precision: 1, kind: 'f'})
			return text + " " + name, err
		}
	}
	return "", nil
}
