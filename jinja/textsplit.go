package jinja

import (
	"strings"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// splitMethod returns one of the methods of str that split a text.
func splitMethod(name string) method {
	switch name {
	case "split", "rsplit":
		return func(c *Call, self any) (any, error) { return textSplit(c, self, name) }
	case "splitlines":
		return textSplitLines
	case "partition", "rpartition":
		return func(c *Call, self any) (any, error) { return textPartition(c, self, name) }
	case "strip", "lstrip", "rstrip":
		return func(c *Call, self any) (any, error) { return textStrip(c, self, name) }
	}
	return nil
}

func textSplit(c *Call, self any, name string) (any, error) {
	args, err := c.clinic(name, opt("sep", nil), opt("maxsplit", int64(-1)))
	if err != nil {
		return nil, err
	}
	n, err := indexOf(args[1])
	if err != nil {
		return nil, err
	}
	s, _ := textOf(self)
	var parts []string
	switch sep, ok := textOf(args[0]); {
	case args[0] == nil && name == "split":
		parts = splitSpace(s, n)
	case args[0] == nil:
		parts = rsplitSpace(s, n)
	case !ok:
		return nil, Raise(TypeError, "must be str or None, not %s", typeName(args[0]))
	case sep == "":
		return nil, Raise(ValueError, "empty separator")
	case name == "split":
		parts = strings.SplitN(s, sep, limitParts(n))
	default:
		parts = rsplit(s, sep, n)
	}
	return c.f.run.texts(self, parts)
}

// limitParts returns the number of parts for a number of cuts.
func limitParts(cuts int) int {
	if cuts < 0 {
		return -1
	}
	return cuts + 1
}

// texts returns a list of texts of the type of self.
func (r *run) texts(self any, parts []string) (any, error) {
	if err := r.room(16 * len(parts)); err != nil {
		return nil, err
	}
	items := make([]any, len(parts))
	for i, p := range parts {
		items[i] = like(self, p)
	}
	return &List{items}, nil
}

func splitSpace(s string, n int) []string {
	var parts []string
	s = strings.TrimLeftFunc(s, isSpace)
	for s != "" {
		if n >= 0 && len(parts) == n {
			return append(parts, s)
		}
		end := strings.IndexFunc(s, isSpace)
		if end < 0 {
			return append(parts, s)
		}
		parts = append(parts, s[:end])
		s = strings.TrimLeftFunc(s[end:], isSpace)
	}
	return parts
}

func rsplitSpace(s string, n int) []string {
	var parts []string
	s = strings.TrimRightFunc(s, isSpace)
	for s != "" {
		at := strings.LastIndexFunc(s, isSpace)
		if at < 0 || n >= 0 && len(parts) == n {
			parts = append(parts, s)
			break
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		parts = append(parts, s[at+size:])
		s = strings.TrimRightFunc(s[:at], isSpace)
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return parts
}

func rsplit(s, sep string, n int) []string {
	all := strings.Split(s, sep)
	if n < 0 || len(all) <= n+1 {
		return all
	}
	cut := len(all) - n
	return append([]string{strings.Join(all[:cut], sep)}, all[cut:]...)
}

func textSplitLines(c *Call, self any) (any, error) {
	args, err := c.clinic("splitlines", opt("keepends", false))
	if err != nil {
		return nil, err
	}
	keep, err := c.f.run.truth(args[0])
	if err != nil {
		return nil, err
	}
	s, _ := textOf(self)
	return c.f.run.texts(self, splitLines(s, keep))
}

func isLineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

func splitLines(s string, keep bool) []string {
	var lines []string
	for s != "" {
		end := strings.IndexFunc(s, isLineEnd)
		if end < 0 {
			return append(lines, s)
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		if strings.HasPrefix(s[end:], "\r\n") {
			size = 2
		}
		if keep {
			lines = append(lines, s[:end+size])
		} else {
			lines = append(lines, s[:end])
		}
		s = s[end+size:]
	}
	return lines
}

func textPartition(c *Call, self any, name string) (any, error) {
	arg, err := c.one("str." + name)
	if err != nil {
		return nil, err
	}
	sep, ok := argText(self, arg)
	if !ok {
		return nil, Raise(TypeError, "must be str, not %s", typeName(arg))
	}
	if sep == "" {
		return nil, Raise(ValueError, "empty separator")
	}
	s, _ := textOf(self)
	at := strings.Index(s, sep)
	if name == "rpartition" {
		at = strings.LastIndex(s, sep)
	}
	parts := [3]string{s}
	switch {
	case at >= 0:
		parts = [3]string{s[:at], sep, s[at+len(sep):]}
	case name == "rpartition":
		parts = [3]string{2: s}
	}
	return data.Tuple{like(self, parts[0]), like(self, parts[1]), like(self, parts[2])}, nil
}

func textStrip(c *Call, self any, name string) (any, error) {
	if err := c.between("str."+name, 0, 1); err != nil {
		return nil, err
	}
	in := isSpace
	if len(c.Args) == 1 && c.Args[0] != nil {
		set, ok := argText(self, c.Args[0])
		if !ok {
			return nil, Raise(TypeError, "%s arg must be None or str", name)
		}
		in = func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	s, _ := textOf(self)
	if name != "rstrip" {
		s = strings.TrimLeftFunc(s, in)
	}
	if name != "lstrip" {
		s = strings.TrimRightFunc(s, in)
	}
	return like(self, s), nil
}
