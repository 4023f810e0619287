package jinja

import (
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// textMethod returns a method of str. Markup has the same ones; most of them return Markup and
// escape their arguments.
func textMethod(name string) method {
	if m := splitMethod(name); m != nil {
		return m
	}
	if m := caseMethod(name); m != nil {
		return m
	}
	switch name {
	case "startswith":
		return func(c *Call, self any) (any, error) { return affix(c, self, name, strings.HasPrefix) }
	case "endswith":
		return func(c *Call, self any) (any, error) { return affix(c, self, name, strings.HasSuffix) }
	case "replace":
		return textReplace
	case "join":
		return textJoin
	case "format":
		return func(c *Call, self any) (any, error) { return c.f.run.formatText(self, c.Args, c.Kw) }
	case "format_map":
		return textFormatMap
	case "find", "rfind", "index", "rindex":
		return func(c *Call, self any) (any, error) { return textFind(c, self, name) }
	case "count":
		return textCount
	case "encode":
		return textEncode
	case "translate":
		return textTranslate
	case "removeprefix":
		return func(c *Call, self any) (any, error) { return removeAffix(c, self, name, strings.TrimPrefix) }
	case "removesuffix":
		return func(c *Call, self any) (any, error) { return removeAffix(c, self, name, strings.TrimSuffix) }
	case "ljust", "rjust", "center":
		return func(c *Call, self any) (any, error) { return textJustify(c, self, name) }
	case "zfill":
		return textZfill
	case "expandtabs":
		return textExpandTabs
	case "maketrans":
		return textMakeTrans
	}
	return textTest(name)
}

// like converts s to the type of self.
func like(self any, s string) any {
	if _, ok := self.(Markup); ok {
		return Markup(s)
	}
	return s
}

// argText returns a text argument, escaped if self is Markup.
func argText(self, v any) (string, bool) {
	s, ok := textOf(v)
	_, safe := self.(Markup)
	if _, already := v.(Markup); ok && safe && !already {
		return escapeHTML(s), true
	}
	return s, ok
}

func wantText(function string, v any) error {
	return Raise(TypeError, "%s() argument must be str, not %s", function, typeName(v))
}

// affix is startswith and endswith: it tests a part of the text for one text or a tuple of texts.
func affix(c *Call, self any, name string, has func(s, part string) bool) (any, error) {
	if err := c.noKeywords("str." + name); err != nil {
		return nil, err
	}
	switch n := len(c.Args); {
	case n == 0:
		return nil, Raise(TypeError, "%s() takes at least 1 argument (0 given)", name)
	case n > 3:
		return nil, Raise(TypeError, "%s() takes at most 3 arguments (%d given)", name, n)
	}
	s, _ := textOf(self)
	s, _, err := textPart(s, c.Args[1:])
	if err != nil {
		return nil, err
	}
	parts, many := c.Args[0].(data.Tuple)
	if !many {
		part, ok := textOf(c.Args[0])
		if !ok {
			return nil, Raise(TypeError, "%s first arg must be str or a tuple of str, not %s", name,
				typeName(c.Args[0]))
		}
		return s != outOfRange && has(s, part), nil
	}
	for _, p := range parts {
		part, ok := textOf(p)
		if !ok {
			return nil, Raise(TypeError, "tuple for %s must only contain str, not %s",
				name, typeName(p))
		}
		if s != outOfRange && has(s, part) {
			return true, nil
		}
	}
	return false, nil
}

// outOfRange represents a part that begins after the end of its text, in which not even the empty
// text is found.
const outOfRange = "\xff\xfe out of range"

// textPart returns s[start:end], and the index of its first character.
func textPart(s string, bounds []any) (string, int, error) {
	if len(bounds) == 0 {
		return s, 0, nil
	}
	var b [3]any
	copy(b[:], bounds)
	n := runeCount(s)
	for i := range 2 {
		if b[i] == nil {
			continue
		}
		if _, err := sliceIndex(b[i]); err != nil {
			return "", 0, err
		}
	}
	start, _, _, count, err := sliceBounds(b, n)
	if err != nil {
		return "", 0, err
	}
	if b[0] != nil {
		if at, _ := sliceIndex(b[0]); at > n {
			return outOfRange, 0, nil
		}
	}
	end := n
	if b[1] != nil {
		end, _ = sliceIndex(b[1])
		if end < 0 {
			end += n
		}
	}
	if end < start {
		return outOfRange, 0, nil
	}
	return pickText(s, start, 1, count), start, nil
}

func textReplace(c *Call, self any) (any, error) {
	if err := c.between("str.replace", 2, 3); err != nil {
		return nil, err
	}
	s, _ := textOf(self)
	var parts [2]string
	for i := range parts {
		text, ok := argText(self, c.Args[i])
		if !ok {
			return nil, Raise(TypeError, "replace() argument %d must be str, not %s", i+1,
				typeName(c.Args[i]))
		}
		parts[i] = text
	}
	n := -1
	if len(c.Args) == 3 {
		var err error
		if n, err = indexOf(c.Args[2]); err != nil {
			return nil, err
		}
	}
	out, err := c.f.run.replaceText(s, parts[0], parts[1], n)
	return like(self, out), err
}

func (r *run) replaceText(s, old, with string, n int) (string, error) {
	times := strings.Count(s, old)
	if n >= 0 {
		times = min(times, n)
	}
	if size, ok := product(times, len(with)); !ok {
		return "", r.room(-1)
	} else if err := r.room(len(s) + size); err != nil {
		return "", err
	}
	return strings.Replace(s, old, with, n), nil
}

// indexOf returns an argument that must be an int.
func indexOf(v any) (int, error) {
	if n, ok := smallInt(v); ok {
		return int(n), nil
	}
	if _, ok := v.(*big.Int); ok {
		return 0, Raise(OverflowError, "Python int too large to convert to C ssize_t")
	}
	return 0, Raise(TypeError, "'%s' object cannot be interpreted as an integer", typeName(v))
}

func textJoin(c *Call, self any) (any, error) {
	arg, err := c.one("str.join")
	if err != nil {
		return nil, err
	}
	items, err := c.f.run.list(arg)
	if isKind(err, TypeError) {
		return nil, Raise(TypeError, "can only join an iterable")
	}
	if err != nil {
		return nil, err
	}
	sep, _ := textOf(self)
	_, safe := self.(Markup)
	parts := make([]string, len(items))
	for i, v := range items {
		text, ok := argText(self, v)
		if !ok && !safe {
			return nil, Raise(TypeError, "sequence item %d: expected str instance, %s found",
				i, typeName(v))
		}
		if !ok {
			if text, err = c.f.run.str(v); err != nil {
				return nil, err
			}
			text = escapeHTML(text)
		}
		parts[i] = text
	}
	out, err := c.f.run.joinTexts(parts, sep)
	return like(self, out), err
}

func (r *run) joinTexts(parts []string, sep string) (string, error) {
	size := len(sep) * len(parts)
	for _, p := range parts {
		size += len(p)
	}
	if err := r.room(size); err != nil {
		return "", err
	}
	return strings.Join(parts, sep), nil
}

func textFormatMap(c *Call, self any) (any, error) {
	if len(c.Kw) > 0 {
		return nil, Raise(TypeError, "format_map() takes no keyword arguments")
	}
	if len(c.Args) != 1 {
		return nil, Raise(TypeError, "format_map() takes exactly one argument (%d given)",
			len(c.Args))
	}
	m, ok := c.Args[0].(*data.Map)
	if !ok {
		return nil, Raise(TypeError, "format_map() argument must be a mapping, not %s",
			typeName(c.Args[0]))
	}
	var kw []Keyword
	for k, v := range m.All() {
		if name, ok := textOf(k); ok {
			kw = append(kw, Keyword{name, v})
		}
	}
	return c.f.run.formatText(self, nil, kw)
}

func textFind(c *Call, self any, name string) (any, error) {
	if err := c.between("str."+name, 1, 3); err != nil {
		n := len(c.Args)
		if len(c.Kw) == 0 && n == 0 {
			return nil, Raise(TypeError, "%s() takes at least 1 argument (0 given)", name)
		}
		if len(c.Kw) == 0 {
			return nil, Raise(TypeError, "%s() takes at most 3 arguments (%d given)", name, n)
		}
		return nil, err
	}
	part, ok := textOf(c.Args[0])
	if !ok {
		return nil, Raise(TypeError, "must be str, not %s", typeName(c.Args[0]))
	}
	s, _ := textOf(self)
	s, first, err := textPart(s, c.Args[1:])
	if err != nil {
		return nil, err
	}
	at := strings.Index(s, part)
	if name[0] == 'r' {
		at = strings.LastIndex(s, part)
	}
	if at < 0 || s == outOfRange {
		if strings.HasSuffix(name, "index") {
			return nil, Raise(ValueError, "substring not found")
		}
		return int64(-1), nil
	}
	return int64(first + runeCount(s[:at])), nil
}

func textCount(c *Call, self any) (any, error) {
	if n := len(c.Args); n == 0 || n > 3 || len(c.Kw) > 0 {
		return textFind(c, self, "count")
	}
	part, ok := textOf(c.Args[0])
	if !ok {
		return nil, Raise(TypeError, "must be str, not %s", typeName(c.Args[0]))
	}
	s, _ := textOf(self)
	s, _, err := textPart(s, c.Args[1:])
	if err != nil || s == outOfRange {
		return int64(0), err
	}
	return int64(strings.Count(s, part)), nil
}

func textEncode(c *Call, self any) (any, error) {
	args, err := c.clinic("encode", opt("encoding", "utf-8"), opt("errors", "strict"))
	if err != nil {
		return nil, err
	}
	s, _ := textOf(self)
	encoding, _ := textOf(args[0])
	switch strings.ToLower(strings.ReplaceAll(encoding, "_", "-")) {
	case "utf-8", "utf8":
		return []byte(s), nil
	case "ascii", "us-ascii":
		for i, r := range []rune(s) {
			if r >= utf8.RuneSelf {
				return nil, Raise(UnicodeEncodeErr,
					"'ascii' codec can't encode character '%s' in position %d: ordinal not in range(128)", asciiEscape(r), i)
			}
		}
		return []byte(s), nil
	}
	return nil, Raise(LookupError, "unknown encoding: %s", encoding)
}

func textTranslate(c *Call, self any) (any, error) {
	arg, err := c.one("str.translate")
	if err != nil {
		return nil, err
	}
	table, ok := arg.(*data.Map)
	if !ok {
		return nil, Raise(TypeError, "'%s' object is not subscriptable", typeName(arg))
	}
	s, _ := textOf(self)
	var b strings.Builder
	for _, r := range s {
		to, ok := table.Get(int64(r))
		text, isText := textOf(to)
		code, isCode := smallInt(to)
		switch {
		case !ok:
			b.WriteRune(r)
		case isText:
			b.WriteString(text)
		case isCode:
			b.WriteRune(rune(code))
		}
		if err := c.f.run.room(len(text)); err != nil {
			return nil, err
		}
	}
	return like(self, b.String()), nil
}

func textMakeTrans(c *Call, _ any) (any, error) {
	if err := c.between("str.maketrans", 1, 3); err != nil {
		return nil, err
	}
	table := &data.Map{}
	if len(c.Args) == 1 {
		m, ok := c.Args[0].(*data.Map)
		if !ok {
			return nil, Raise(TypeError, "if you give only one argument to maketrans it must be a dict")
		}
		for k, v := range m.All() {
			if s, ok := textOf(k); ok {
				r, _ := utf8.DecodeRuneInString(s)
				k = int64(r)
			}
			table.Set(k, v)
		}
		return table, nil
	}
	from, _ := textOf(c.Args[0])
	to, _ := textOf(c.Args[1])
	a, b := []rune(from), []rune(to)
	if len(a) != len(b) {
		return nil, Raise(ValueError, "the first two maketrans arguments must have equal length")
	}
	for i := range a {
		table.Set(int64(a[i]), int64(b[i]))
	}
	if len(c.Args) == 3 {
		drop, _ := textOf(c.Args[2])
		for _, r := range drop {
			table.Set(int64(r), nil)
		}
	}
	return table, nil
}

func removeAffix(c *Call, self any, name string, trim func(s, part string) string) (any, error) {
	arg, err := c.one("str." + name)
	if err != nil {
		return nil, err
	}
	part, ok := textOf(arg)
	if !ok {
		return nil, wantText(name, arg)
	}
	s, _ := textOf(self)
	return trim(s, part), nil
}

func textJustify(c *Call, self any, name string) (any, error) {
	if err := c.between("str."+name, 1, 2); err != nil {
		return nil, err
	}
	width, err := indexOf(c.Args[0])
	if err != nil {
		return nil, err
	}
	fill := " "
	if len(c.Args) == 2 {
		var ok bool
		if fill, ok = argText(self, c.Args[1]); !ok {
			return nil, Raise(TypeError, "The fill character must be a unicode character, not %s",
				typeName(c.Args[1]))
		}
		if runeCount(fill) != 1 {
			return nil, Raise(TypeError, "The fill character must be exactly one character long")
		}
	}
	s, _ := textOf(self)
	out, err := c.f.run.justify(s, width, fill, name)
	return like(self, out), err
}

func (r *run) justify(s string, width int, fill, how string) (string, error) {
	gap := width - runeCount(s)
	if gap <= 0 {
		return s, nil
	}
	if err := r.room(gap); err != nil {
		return "", err
	}
	left := gap
	switch how {
	case "ljust":
		left = 0
	case "center":
		left = gap/2 + gap&width&1
	}
	return strings.Repeat(fill, left) + s + strings.Repeat(fill, gap-left), nil
}

func textZfill(c *Call, self any) (any, error) {
	arg, err := c.one("str.zfill")
	if err != nil {
		return nil, err
	}
	width, err := indexOf(arg)
	if err != nil {
		return nil, err
	}
	s, _ := textOf(self)
	gap := width - runeCount(s)
	if gap <= 0 {
		return self, nil
	}
	if err := c.f.run.room(gap); err != nil {
		return nil, err
	}
	zeros := strings.Repeat("0", gap)
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return like(self, s[:1]+zeros+s[1:]), nil
	}
	return like(self, zeros+s), nil
}

func textExpandTabs(c *Call, self any) (any, error) {
	args, err := c.clinic("expandtabs", opt("tabsize", int64(8)))
	if err != nil {
		return nil, err
	}
	size, err := indexOf(args[0])
	if err != nil {
		return nil, err
	}
	s, _ := textOf(self)
	if want, ok := product(strings.Count(s, "\t"), max(size, 0)); !ok {
		return nil, c.f.run.room(-1)
	} else if err := c.f.run.room(want); err != nil {
		return nil, err
	}
	var b strings.Builder
	column := 0
	for _, r := range s {
		switch r {
		case '\t':
			if size > 0 {
				gap := size - column%size
				b.WriteString(strings.Repeat(" ", gap))
				column += gap
			}
			continue
		case '\n', '\r':
			column = -1
		}
		b.WriteRune(r)
		column++
	}
	return like(self, b.String()), nil
}

// textTest returns one of the methods that test the characters of a text.
func textTest(name string) method {
	var test func(string) bool
	switch name {
	case "isdigit":
		test = allRunes(func(r rune) bool { return unicode.IsDigit(r) || isSuperscript(r) })
	case "isdecimal":
		test = allRunes(unicode.IsDigit)
	case "isnumeric":
		test = allRunes(unicode.IsNumber)
	case "isalpha":
		test = allRunes(unicode.IsLetter)
	case "isalnum":
		test = allRunes(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
	case "isspace":
		test = allRunes(isSpace)
	case "isascii":
		test = isASCII
	case "isprintable":
		test = func(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 }
	case "isidentifier":
		test = isIdentifier
	case "islower":
		test = isLower
	case "isupper":
		test = isUpper
	case "istitle":
		test = isTitle
	default:
		return nil
	}
	return func(c *Call, self any) (any, error) {
		if err := c.none("str." + name); err != nil {
			return nil, err
		}
		s, _ := textOf(self)
		return test(s), nil
	}
}

func isSuperscript(r rune) bool {
	return r == '²' || r == '³' || r == '¹' || r >= 0x2070 && r <= 0x2089 && r != 0x2071
}

func allRunes(is func(rune) bool) func(string) bool {
	return func(s string) bool {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0
	}
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if !isWord(r) || i == 0 && r != '_' && !unicode.IsLetter(r) {
			return false
		}
	}
	return s != ""
}
