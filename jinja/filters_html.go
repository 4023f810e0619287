package jinja

import (
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

var htmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;",
	"'", "&#39;")

// escapeHTML is markupsafe.escape of a text.
func escapeHTML(s string) string {
	if !strings.ContainsAny(s, `&<>"'`) {
		return s
	}
	return htmlEscapes.Replace(s)
}

func filterEscape(c *Call) (any, error) {
	v, err := c.one("markupsafe._speedups.escape")
	if err != nil {
		return nil, err
	}
	if m, ok := v.(Markup); ok {
		return m, nil
	}
	s, err := c.f.run.str(v)
	return Markup(escapeHTML(s)), err
}

func filterForceEscape(c *Call) (any, error) {
	args, err := c.bind(takes("do_forceescape", 0, need("value")))
	if err != nil {
		return nil, err
	}
	s, err := c.f.run.str(args[0])
	return Markup(escapeHTML(s)), err
}

func filterSafe(c *Call) (any, error) {
	args, err := c.bind(takes("do_mark_safe", 0, need("value")))
	if err != nil {
		return nil, err
	}
	s, err := c.f.run.str(args[0])
	return Markup(s), err
}

var (
	htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	htmlTag     = regexp.MustCompile(`(?s)<.*?>`)
)

func filterStripTags(c *Call) (any, error) {
	args, err := c.bind(takes("do_striptags", 0, need("value")))
	if err != nil {
		return nil, err
	}
	s, err := c.f.run.str(args[0])
	if err != nil {
		return nil, err
	}
	s = htmlTag.ReplaceAllString(htmlComment.ReplaceAllString(s, ""), "")
	return html.UnescapeString(strings.Join(splitSpace(s, -1), " ")), nil
}

func filterXMLAttr(c *Call) (any, error) {
	args, err := c.bind(takes("do_xmlattr", 1, need("d"), opt("autospace", true)))
	if err != nil {
		return nil, err
	}
	pairs, err := c.pairs(args[0])
	if err != nil {
		return nil, err
	}
	var items []string
	for _, pair := range pairs {
		k, v := pair.(data.Tuple)[0], pair.(data.Tuple)[1]
		if _, undefined := v.(*Undefined); undefined || v == nil {
			continue
		}
		text, err := c.xmlAttr(k, v)
		if err != nil {
			return nil, err
		}
		items = append(items, text)
	}
	out := strings.Join(items, " ")
	space, err := c.bool(args[1])
	if err != nil {
		return nil, err
	}
	if space && out != "" {
		out = " " + out
	}
	return c.f.markup(out), c.f.run.room(len(out))
}

func (c *Call) xmlAttr(k, v any) (string, error) {
	name, ok := textOf(k)
	if !ok {
		return "", Raise(TypeError, "expected string or bytes-like object, got '%s'", typeName(k))
	}
	if strings.ContainsAny(name, " \t\n\r\f\v/>=") {
		return "", Raise(ValueError, "Invalid character in attribute name: %s", quote(name))
	}
	text, err := c.f.run.str(v)
	if _, safe := v.(Markup); !safe {
		text = escapeHTML(text)
	}
	return escapeHTML(name) + `="` + text + `"`, err
}

func filterURLEncode(c *Call) (any, error) {
	args, err := c.bind(takes("do_urlencode", 0, need("value")))
	if err != nil {
		return nil, err
	}
	v := args[0]
	if _, ok := textOf(v); ok || !iterable(v) {
		return c.urlQuote(v, false)
	}
	var items []any
	if isMapping(v) {
		items, err = c.pairs(v)
	} else {
		items, err = c.f.run.list(v)
	}
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(items))
	for i, item := range items {
		pair, err := c.f.pair(item)
		if err != nil {
			return nil, err
		}
		k, err := c.urlQuote(pair[0], true)
		if err != nil {
			return nil, err
		}
		text, err := c.urlQuote(pair[1], true)
		if err != nil {
			return nil, err
		}
		parts[i] = k + "=" + text
	}
	return c.f.run.joinTexts(parts, "&")
}

// iterable reports whether a value is of an iterable type.
func iterable(v any) bool {
	switch v.(type) {
	case *List, data.Tuple, *data.Map, []byte, Iterator, Iterable, *Undefined:
		return true
	}
	return false
}

// pair unpacks two values.
func (f *frame) pair(v any) (out [2]any, err error) {
	items, err := f.run.list(v)
	switch {
	case isKind(err, TypeError):
		return out, Raise(TypeError, "cannot unpack non-iterable %s object", typeName(v))
	case err != nil:
		return out, err
	case len(items) < 2:
		return out, Raise(ValueError, "not enough values to unpack (expected 2, got %d)",
			len(items))
	case len(items) > 2:
		return out, Raise(ValueError, "too many values to unpack (expected 2)")
	}
	return [2]any{items[0], items[1]}, nil
}

// urlQuote is urllib's quote; in a query / is quoted too, and a space becomes a plus.
func (c *Call) urlQuote(v any, query bool) (string, error) {
	var s string
	if raw, ok := v.([]byte); ok {
		s = string(raw)
	} else {
		var err error
		if s, err = c.f.run.str(v); err != nil {
			return "", err
		}
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch ch := s[i]; {
		case ch >= 'a' && ch <= 'z', ch >= 'A' && ch <= 'Z', ch >= '0' && ch <= '9',
			strings.IndexByte("_.-~", ch) >= 0, ch == '/' && !query:
			b.WriteByte(ch)
		case ch == ' ' && query:
			b.WriteByte('+')
		default:
			b.Write([]byte{'%', digits[ch>>4], digits[ch&15]})
		}
	}
	return b.String(), c.f.run.room(b.Len())
}

var (
	wordSpace  = regexp.MustCompile(`[\s\x1c-\x1f\x{85}\x{a0}]+`)
	linkHead   = regexp.MustCompile(`^([(<]|&lt;)+`)
	linkTail   = regexp.MustCompile(`([)>.,\n]|&gt;)+$`)
	linkScheme = regexp.MustCompile(`^([\w.+-]{2,}:(/){0,2})$`)
	linkEmail  = regexp.MustCompile(`^\S+@\w[\w.-]*\.\w+$`)
	linkHTTP   = regexp.MustCompile(`(?i)^((https?://|www\.)(([\w%-]+\.)+)?([a-z]{2,63}|xn--[\w%]{2,59})` +
		`|([\w%-]{2,63}\.)+(com|net|int|edu|gov|org|info|mil)` +
		`|(https?://)((([\d]{1,3})(\.[\d]{1,3}){3})|(\[([\da-f]{0,4}:){2}([\da-f]{0,4}:?){1,6}])))` +
		`(?::[\d]{1,5})?(?:[/?#]\S*)?$`)
)

// A linker converts addresses in a text to links (jinja2.utils.urlize).
type linker struct {
	limit   int // of the shown part of an address; -1 for none
	attrs   string
	schemes []string
}

func filterURLize(c *Call) (any, error) {
	args, err := c.bind(takes("do_urlize", 1, need("value"), opt("trim_url_limit", nil),
		opt("nofollow", false), opt("target", nil), opt("rel", nil), opt("extra_schemes", nil)))
	if err != nil {
		return nil, err
	}
	text, err := c.f.run.str(args[0])
	if err != nil {
		return nil, err
	}
	l := &linker{limit: -1}
	if args[1] != nil {
		if l.limit, err = indexOf(args[1]); err != nil {
			return nil, err
		}
	}
	if err := c.linkAttrs(l, args); err != nil {
		return nil, err
	}
	if err := c.linkSchemes(l, args[5]); err != nil {
		return nil, err
	}
	if _, safe := args[0].(Markup); !safe {
		text = escapeHTML(text)
	}
	var b strings.Builder
	for text != "" {
		at := wordSpace.FindStringIndex(text)
		if at == nil {
			at = []int{len(text), len(text)}
		}
		b.WriteString(l.word(text[:at[0]]))
		b.WriteString(text[at[0]:at[1]])
		text = text[at[1]:]
		if err := c.f.run.step(); err != nil {
			return nil, err
		}
	}
	return c.f.markup(b.String()), c.f.run.room(b.Len())
}

func (c *Call) linkAttrs(l *linker, args []any) error {
	rel, _ := textOf(args[4])
	words := append(strings.Fields(rel), "noopener")
	nofollow, err := c.bool(args[2])
	if err != nil {
		return err
	}
	if nofollow {
		words = append(words, "nofollow")
	}
	slices.Sort(words)
	l.attrs = ` rel="` + escapeHTML(strings.Join(slices.Compact(words), " ")) + `"`
	if target, ok := textOf(args[3]); ok && target != "" {
		l.attrs += ` target="` + escapeHTML(target) + `"`
	}
	return nil
}

func (c *Call) linkSchemes(l *linker, v any) error {
	if v == nil {
		return nil
	}
	items, err := c.f.run.list(v)
	if err != nil {
		return err
	}
	for _, item := range items {
		s, _ := textOf(item)
		if !linkScheme.MatchString(s) {
			return Raise(FilterArgumentError, "%s is not a valid URI scheme prefix.", reprOf(item))
		}
		l.schemes = append(l.schemes, s)
	}
	return nil
}

func (l *linker) word(word string) string {
	head := linkHead.FindString(word)
	middle := word[len(head):]
	tail := ""
	if at := linkTail.FindStringIndex(middle); at != nil {
		middle, tail = middle[:at[0]], middle[at[0]:]
	}
	for _, pair := range [][2]string{{"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}} {
		open := strings.Count(middle, pair[0])
		if open <= strings.Count(middle, pair[1]) {
			continue
		}
		for range min(open, strings.Count(tail, pair[1])) {
			end := strings.Index(tail, pair[1]) + len(pair[1])
			middle += tail[:end]
			tail = tail[end:]
		}
	}
	return head + l.link(middle) + tail
}

func (l *linker) link(s string) string {
	switch {
	case linkHTTP.MatchString(s):
		to := s
		if !strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://") {
			to = "https://" + s
		}
		return `<a href="` + to + `"` + l.attrs + `>` + l.shown(s) + `</a>`
	case strings.HasPrefix(s, "mailto:") && linkEmail.MatchString(s[7:]):
		return `<a href="` + s + `">` + s[7:] + `</a>`
	case strings.Contains(s, "@") && !strings.HasPrefix(s, "www.") && !strings.Contains(s, ":") &&
		linkEmail.MatchString(s):
		return `<a href="mailto:` + s + `">` + s + `</a>`
	}
	for _, scheme := range l.schemes {
		if s != scheme && strings.HasPrefix(s, scheme) {
			s = `<a href="` + s + `"` + l.attrs + `>` + s + `</a>`
		}
	}
	return s
}

func (l *linker) shown(s string) string {
	if l.limit < 0 || runeCount(s) <= l.limit {
		return s
	}
	return pickText(s, 0, 1, l.limit) + "..."
}
