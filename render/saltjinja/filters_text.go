package saltjinja

import (
	"crypto/rand"
	"encoding/base64"
	"math"
	"math/big"
	"regexp"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

// textFilters returns the filters for text (salt/utils/stringutils.py, salt/utils/jinja.py).
func textFilters() map[string]jinja.Func {
	return map[string]jinja.Func{
		"to_bool": toBool, "quote": textFilter("quote", shellQuote),
		"to_num": one("to_num", toNum), "str_to_num": one("to_num", toNum),
		"is_hex": one("is_hex", isHex), "to_bytes": toBytes, "random_str": randomText,
		"contains_whitespace": textFilter("contains_whitespace", containsSpace),
		"human_to_bytes":      humanToBytes, "check_whitelist_blacklist": checkLists,
		"to_snake_case": textFilter("camel_to_snake_case", snakeCase), "to_camelcase": camelCase,
	}
}

// textFilter makes a filter from a function of text.
func textFilter(name string, fn func(string) (any, error)) jinja.Func {
	return func(c *jinja.Call) (any, error) {
		p := bind(c, name, "value")
		s := p.text(0)
		if p.err != nil {
			return nil, p.err
		}
		return fn(s)
	}
}

func toBool(c *jinja.Call) (any, error) {
	p := bind(c, "to_bool", "val")
	if p.err != nil {
		return nil, p.err
	}
	if s, ok := textOf(p.args[0]); ok {
		s = strings.ToLower(s)
		return s == "yes" || s == "1" || s == "true", nil
	}
	switch v := p.args[0].(type) {
	case nil, *jinja.Undefined:
		return false, nil
	case bool:
		return v, nil
	case int64:
		return v > 0, nil
	case *big.Int:
		return v.Sign() > 0, nil
	}
	if jinja.Hashable(p.args[0]) {
		return false, nil
	}
	items, err := c.Items(p.args[0])
	return len(items) > 0, err
}

var unsafeInShell = regexp.MustCompile(`[^A-Za-z0-9_@%+=:,./-]`)

// shellQuote is shlex.quote.
func shellQuote(s string) (any, error) {
	if s != "" && !unsafeInShell.MatchString(s) {
		return s, nil
	}
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'", nil
}

func toNum(_ *jinja.Call, v any) (any, error) {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, jinja.Raise(jinja.ValueError, "cannot convert float %s to integer",
				data.Repr(v))
		}
		n, _ := big.NewFloat(math.Trunc(v)).Int(nil)
		return jinja.Import(n), nil
	case bool:
		return int64(map[bool]int{true: 1}[v]), nil
	case int64, *big.Int:
		return v, nil
	}
	if s, ok := textOf(v); ok {
		return toNumber(s), nil
	}
	return nil, jinja.Raise(jinja.TypeError,
		"int() argument must be a string, a bytes-like object or a real number, not '%s'",
		jinja.TypeName(v))
}

func isHex(_ *jinja.Call, v any) (any, error) {
	s, ok := textOf(v)
	if !ok {
		return false, nil
	}
	s = strings.ToLower(strings.TrimSpace(s))
	s = strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	s = strings.TrimPrefix(s, "0x")
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return false, nil
	}
	_, ok = new(big.Int).SetString(strings.ReplaceAll(s, "_", ""), 16)
	return ok && !strings.ContainsAny(s, "+-"), nil
}

func toBytes(c *jinja.Call) (any, error) {
	p := bind(c, "to_bytes", "s", "encoding=", "errors=")
	return bytesOf(p, 0), p.err
}

// bytesOf returns argument i as bytes.
func bytesOf(p *params, i int) []byte {
	if s, ok := textOf(p.args[i]); ok {
		return []byte(s)
	}
	if b, ok := p.args[i].([]byte); ok {
		return b
	}
	p.note(typeError(p.args[i], "expected str, bytes, or bytearray not <class '"+
		jinja.TypeName(p.args[i])+"'>"))
	return nil
}

// randomText takes the length as its value.
func randomText(c *jinja.Call) (any, error) {
	p := bind(c, "random", "size=")
	n := p.number(0, 32)
	if n < 0 || n > 1<<20 {
		p.note(jinja.Raise(jinja.ValueError, "random_str of %d characters", n))
	}
	if p.err != nil {
		return nil, p.err
	}
	b := make([]byte, n)
	_, err := rand.Read(b)
	return base64.StdEncoding.EncodeToString(b)[:n], err
}

func containsSpace(s string) (any, error) {
	return strings.ContainsFunc(s,
		func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }), nil
}

var (
	humanSize = regexp.MustCompile(`^([0-9.]*)\s*(.*)$`)
	metricTwo = regexp.MustCompile(`^[kmgtpezy]b$`)
	byteUnit  = regexp.MustCompile(`^(b|[kmgtpezy](ib)?)$`)
)

func humanToBytes(c *jinja.Call) (any, error) {
	p := bind(c, "human_to_bytes", "size", "default_unit=", "handle_metric=")
	text, err := c.Str(p.args[0])
	p.note(err)
	fallback, _ := textOf(p.or(1, "B"))
	metric := p.truth(2)
	m := humanSize.FindStringSubmatch(strings.TrimSpace(text))
	if p.err != nil || m == nil {
		return int64(0), p.err
	}
	unit := strings.ToLower(m[2])
	if unit == "" {
		unit = strings.ToLower(fallback)
	}
	decimal := metricTwo.MatchString(unit) && metric
	if !metricTwo.MatchString(unit) && !byteUnit.MatchString(unit) {
		return int64(0), nil
	}
	value, ok := new(big.Float).SetPrec(200).SetString(m[1])
	if !ok {
		return int64(0), nil
	}
	power := int64(strings.IndexByte("bkmgtpezy", unit[0]))
	base, each := int64(2), int64(10)
	if decimal {
		base, each = 10, 3
	}
	factor := new(big.Int).Exp(big.NewInt(base), big.NewInt(power*each), nil)
	n, _ := value.Mul(value, new(big.Float).SetInt(factor)).Int(nil)
	return jinja.Import(n), nil
}

// checkLists is check_whitelist_blacklist. Values that are not text, such as numbers, match nothing
// (salt/utils/stringutils.py, expr_match).
func checkLists(c *jinja.Call) (any, error) {
	p := bind(c, "check_whitelist_blacklist", "value", "whitelist=", "blacklist=")
	value := p.or(0, nil)
	white, black := p.patterns(1, "whitelist"), p.patterns(2, "blacklist")
	if p.err != nil {
		return nil, p.err
	}
	switch {
	case len(black) > 0 && len(white) == 0:
		return !exprMatch(value, black), nil
	case len(white) > 0 && len(black) == 0:
		return exprMatch(value, white), nil
	case len(white) > 0:
		return !exprMatch(value, black) && exprMatch(value, white), nil
	}
	return true, nil
}

// patterns returns the patterns of a list, or a single text.
func (p *params) patterns(i int, name string) []any {
	v := p.or(i, nil)
	if ok, err := p.c.Truth(v); err != nil || !ok {
		p.note(err)
		return nil
	}
	if s, ok := textOf(v); ok {
		return []any{s}
	}
	if ok, _ := iterable(p.c, v); !ok {
		p.note(jinja.Raise(jinja.TypeError, "Expecting iterable %s, but got %s (%s)", name,
			jinja.TypeName(v), data.Str(plain(v))))
		return nil
	}
	return p.items(i)
}

// exprMatch reports whether a text matches one of patterns, as a glob or entirely as a regular
// expression.
func exprMatch(v any, patterns []any) bool {
	s, ok := textOf(v)
	if !ok {
		return false
	}
	for _, v := range patterns {
		pattern, ok := textOf(v)
		if !ok {
			continue
		}
		if loader.Glob(pattern, s) {
			return true
		}
		if re, err := match.CompileRegexp(`\A(?:` + pattern + `)\Z`); err == nil && re.Match(s) {
			return true
		}
	}
	return false
}

func snakeCase(s string) (any, error) {
	if s == "" {
		return nil, jinja.Raise(jinja.IndexError, "string index out of range")
	}
	runes := []rune(s)
	var b strings.Builder
	b.WriteString(strings.ToLower(string(runes[0])))
	for i := 1; i < len(runes); i++ {
		if unicode.IsUpper(runes[i]) &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(runes[i])))
	}
	return b.String(), nil
}

func camelCase(c *jinja.Call) (any, error) {
	p := bind(c, "snake_to_camel_case", "snake_input", "uppercamel=")
	s, upper := p.text(0), p.truth(1)
	words := strings.Split(s, "_")
	for i, w := range words {
		if i > 0 || upper {
			words[i] = capitalize(w)
		}
	}
	return strings.Join(words, ""), p.err
}

func capitalize(s string) string {
	runes := []rune(strings.ToLower(s))
	if len(runes) > 0 {
		runes[0] = unicode.ToTitle(runes[0])
	}
	return string(runes)
}
