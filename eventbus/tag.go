package eventbus

import (
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// Match reports whether a tag matches a pattern. kind is a value of the option `event_match_type`:
// startswith (also ""), endswith, find, regex (anchored at the start) or fnmatch. An unknown kind
// or an invalid expression matches nothing. Use Matcher to match many tags.
func Match(kind, pattern, tag string) bool {
	m, err := Matcher(kind, pattern)
	return err == nil && m(tag)
}

// Matcher returns a function that matches tags like Match. It fails for an invalid regular
// expression.
func Matcher(kind, pattern string) (func(tag string) bool, error) {
	switch kind {
	case "", "startswith":
		return func(tag string) bool { return strings.HasPrefix(tag, pattern) }, nil
	case "endswith":
		return func(tag string) bool { return strings.HasSuffix(tag, pattern) }, nil
	case "find":
		return func(tag string) bool { return strings.Contains(tag, pattern) }, nil
	case "fnmatch":
		return match.CompileGlob(pattern).Match, nil
	case "regex":
		re, err := match.CompileRegexp(pattern)
		if err != nil {
			return nil, err
		}
		return re.Match, nil
	}
	return func(string) bool { return false }, nil
}

// Tagify joins parts to a tag that begins with "salt": Tagify("job", jid, "new") returns
// salt/job/<jid>/new. The elements of a list are separate parts; empty parts are omitted
// (salt/utils/event.py, tagify).
func Tagify(parts ...any) string { return JoinTag(append([]any{"salt"}, parts...)...) }

// JoinTag is Tagify without "salt".
func JoinTag(parts ...any) string {
	var words []string
	for _, p := range parts {
		if list, ok := p.([]any); ok {
			for _, e := range list {
				words = append(words, text(e))
			}
			continue
		}
		words = append(words, text(p))
	}
	var b strings.Builder
	for _, w := range words {
		if w == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('/')
		}
		b.WriteString(w)
	}
	return b.String()
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return data.Str(v)
}
