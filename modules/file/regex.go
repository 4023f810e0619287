package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

// Flags of Python's re.
const (
	reIgnoreCase = 2
	reLocale     = 4
	reMultiline  = 8
	reDotAll     = 16
	reUnicode    = 32
	reVerbose    = 64
	reASCII      = 256
)

// flagsOf parses the argument flags: a number, a name, or a list of names.
func flagsOf(v any) (int64, error) {
	list, ok := v.([]any)
	switch v := v.(type) {
	case int64:
		return v, nil
	case string:
		list, ok = []any{v}, true
	}
	if !ok {
		return 0, loader.Execution(`Invalid re flags: "%s", must be given either as a single flag string, a list of strings, as an integer, `+
			`or as an re flag`, data.Str(v))
	}
	names := map[string]int64{
		"I": reIgnoreCase, "IGNORECASE": reIgnoreCase, "L": reLocale, "LOCALE": reLocale,
		"M": reMultiline, "MULTILINE": reMultiline, "S": reDotAll, "DOTALL": reDotAll,
		"U": reUnicode, "UNICODE": reUnicode, "X": reVerbose, "VERBOSE": reVerbose, "A": reASCII,
		"ASCII": reASCII,
	}
	var flags int64
	for _, name := range list {
		flag := names[strings.ToUpper(data.Str(name))]
		if flag == 0 {
			return 0, loader.Execution("Invalid re flag given: %s", data.Str(name))
		}
		flags |= flag
	}
	return flags, nil
}

// inline puts flags in front of an expression, joined with the flags that it begins with.
func inline(expr string, flags int64) string {
	letters := ""
	if rest, ok := strings.CutPrefix(expr, "(?"); ok {
		if own, after, ok := strings.Cut(rest, ")"); ok && own != "" &&
			strings.Trim(own, "aiLmsux") == "" {
			letters, expr = strings.NewReplacer("L", "", "a", "", "u", "").Replace(own), after
		}
	}
	for _, f := range []struct {
		flag   int64
		letter string
	}{{reIgnoreCase, "i"}, {reMultiline, "m"}, {reDotAll, "s"}, {reVerbose, "x"}} {
		if flags&f.flag != 0 && !strings.Contains(letters, f.letter) {
			letters += f.letter
		}
	}
	if letters == "" {
		return expr
	}
	return "(?" + letters + ")" + expr
}

// compiled compiles an expression with flags. Positions in errors refer to the expression without
// them.
func compiled(expr string, flags int64) (*match.Groups, error) {
	re, err := match.CompileGroups(inline(expr, flags), false, false)
	if err == nil {
		return re, nil
	}
	if _, bare := match.CompileGroups(expr, false, false); bare != nil {
		err = bare
	}
	return nil, err
}

// reError converts an error of an expression to Python's exception, without the expression.
func reError(err error) error {
	return loader.Exception("re.error", "%w", cmp.Or(errors.Unwrap(err), err))
}

// searcher returns a function that reports whether an expression matches anywhere in a text.
func searcher(expr string, flags int64) (func(string) (bool, error), error) {
	re, err := compiled(expr, flags)
	if err != nil {
		return nil, reError(err)
	}
	return func(text string) (bool, error) {
		found, err := re.Match(text)
		if err != nil {
			return false, reError(err)
		}
		return found, nil
	}, nil
}

// A part of a replacement is text, or a group by its number.
type part struct {
	text  string
	group int // -1: text
}

// substituted replaces up to most matches in a text, all if most is 0, and returns their number
// (re.subn).
func substituted(re *match.Groups, text string, parts []part, most int) (string, int, error) {
	var b strings.Builder
	found, err := re.FindAll(text, most)
	if err != nil {
		return "", 0, err
	}
	last := 0
	for _, at := range found {
		b.WriteString(text[last:at[0]])
		for _, p := range parts {
			switch g := 2 * p.group; {
			case p.group < 0:
				b.WriteString(p.text)
			case at[g] >= 0:
				b.WriteString(text[at[g]:at[g+1]])
			}
		}
		last = at[1]
	}
	b.WriteString(text[last:])
	return b.String(), len(found), nil
}

// A substitution replaces matches of an expression with a text (re.sub).
type substitution struct {
	re    *match.Groups
	parts []part
}

func newSubstitution(expr, repl string, flags int64) (*substitution, error) {
	re, err := compiled(expr, flags)
	if err != nil {
		return nil, reError(err)
	}
	parts, err := replacement(repl, re)
	return &substitution{re, parts}, err
}

// in replaces up to most matches in a text, all if most is 0.
func (s *substitution) in(text string, most int) (string, error) {
	result, _, err := substituted(s.re, text, s.parts, most)
	if err != nil {
		return "", reError(err)
	}
	return result, nil
}

// replacement parses a replacement text with \1, \g<1>, \g<name>, \n and similar (re.sub).
func replacement(s string, re *match.Groups) ([]part, error) {
	var parts []part
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return append(parts, part{s, -1}), nil
		}
		if i+1 >= len(s) {
			return nil, reError(fmt.Errorf("bad escape (end of pattern) at position %d", i))
		}
		p, size, err := escaped(s[i:], re)
		if err != nil {
			return nil, reError(err)
		}
		parts = append(parts, part{s[:i], -1}, p)
		s = s[i+size:]
	}
}

func escaped(s string, re *match.Groups) (part, int, error) {
	c := s[1]
	if i := strings.IndexByte(`abfnrtv\`, c); i >= 0 {
		return part{"\a\b\f\n\r\t\v\\"[i : i+1], -1}, 2, nil
	}
	switch {
	case c == 'g':
		name, _, ok := strings.Cut(strings.TrimPrefix(s, `\g<`), ">")
		if !ok || !strings.HasPrefix(s, `\g<`) {
			return part{}, 0, errors.New("missing group name")
		}
		p, err := groupPart(name, re)
		return p, len(name) + 4, err
	case c >= '0' && c <= '9':
		return numbered(s, re)
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return part{}, 0, fmt.Errorf(`bad escape \%c`, c)
	}
	return part{s[:2], -1}, 2, nil
}

// numbered parses a backslash with digits: an octal character, or a group.
func numbered(s string, re *match.Groups) (part, int, error) {
	end := 2
	for end < len(s) && end < 4 && s[end] >= '0' && s[end] <= '7' {
		end++
	}
	if s[1] == '0' || end == 4 && s[1] <= '7' {
		if s[1] == '0' {
			end = min(end, 4)
		}
		n, _ := strconv.ParseUint(s[1:end], 8, 16)
		if n > 0o377 {
			return part{}, 0, fmt.Errorf(`octal escape value \%s outside of range 0-0o377`,
				s[1:end])
		}
		return part{string([]byte{byte(n)}), -1}, end, nil
	}
	end = 2
	if len(s) > 2 && s[2] >= '0' && s[2] <= '9' {
		end = 3
	}
	p, err := groupPart(s[1:end], re)
	return p, end, err
}

func groupPart(name string, re *match.Groups) (part, error) {
	n, err := strconv.Atoi(name)
	if err != nil {
		if n = re.SubexpIndex(name); n < 0 {
			return part{}, fmt.Errorf("unknown group name %s", data.Repr(name))
		}
	}
	if n < 0 || n > re.NumSubexp() {
		return part{}, fmt.Errorf("invalid group reference %d", n)
	}
	return part{"", n}, nil
}

type searchArgs struct {
	Path            string
	Pattern         string
	Flags           any  `default:"8"`
	Bufsize         any  `default:"1"`
	IgnoreIfMissing bool `default:"False"`
	Multiline       bool `default:"False"`
}

// search reports whether a regular expression matches anywhere in a file.
//
// flags : 8
//
//	Flags of the expression: a number, or names such as IGNORECASE. 8 is MULTILINE.
//
// ignore_if_missing : False
//
//	Treat a missing file as one that does not match.
//
// CLI Example:
//
//	salt '*' file.search /etc/crontab 'mymaintenance.sh'
func search(ctx context.Context, a searchArgs) (any, error) {
	flags, err := flagsOf(a.Flags)
	if err != nil {
		return nil, err
	}
	if a.Multiline {
		flags |= reMultiline
	}
	return replace(ctx, replaceArgs{Path: a.Path, Pattern: a.Pattern, Flags: flags, DryRun: true,
		SearchOnly: true, IgnoreIfMissing: a.IgnoreIfMissing})
}
