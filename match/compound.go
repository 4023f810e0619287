package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// A Word is one parsed word of a compound target: G|@level|a has the engine G and the delimiter |.
type Word struct {
	Engine    string // one of G P I J L N S E R, or "" for a glob on the id
	Delimiter string // one character, or "" if none is given
	Pattern   string
}

// ParseWord parses a word of a compound target (salt/utils/minions.py, parse_target).
func ParseWord(word string) Word {
	body := strings.TrimSuffix(word, "\n")
	if strings.Contains(body, "\n") || body == "" || strings.IndexByte("GPIJLNSER", body[0]) < 0 {
		return Word{Pattern: patternOf(word, body)}
	}
	if p, ok := strings.CutPrefix(body[1:], "@"); ok && p != "" {
		return Word{Engine: body[:1], Pattern: p}
	}
	_, size := utf8.DecodeRuneInString(body[1:])
	p, ok := strings.CutPrefix(body[1+size:], "@")
	if !ok || p == "" || strings.IndexByte("GPIJ", body[0]) < 0 {
		return Word{Pattern: body}
	}
	return Word{Engine: body[:1], Delimiter: body[1 : 1+size], Pattern: p}
}

func patternOf(word, body string) string {
	if body == "" || strings.Contains(body, "\n") {
		return word
	}
	return body
}

var engines = map[string]string{
	"G": "grain", "P": "grain_pcre", "I": "pillar", "J": "pillar_pcre",
	"L": "list", "S": "ipcidr", "E": "pcre", "R": "range",
}

func isOperator(w string) bool {
	switch w {
	case "and", "or", "not", "(", ")":
		return true
	}
	return false
}

// fields splits at white space as Python does.
func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f })
}

// compound compiles a compound target: text, or a list of words.
func (c *compiler) compound(tgt any) (node, error) {
	switch t := tgt.(type) {
	case string:
		return c.words(fields(t))
	case data.Tuple:
		return c.compound([]any(t))
	case []any:
		words := make([]string, 0, len(t))
		for _, v := range t {
			w, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("%w: a word is %T, not text", ErrMalformed, v)
			}
			words = append(words, w)
		}
		return c.words(words)
	}
	return nil, fmt.Errorf("%w: a compound target must be text or a list, not %T",
		ErrMalformed, tgt)
}

func (c *compiler) words(given []string) (node, error) {
	words, err := c.expandGroups(given)
	if err != nil {
		return nil, err
	}
	p := parser{compiler: c, words: words}
	n, err := p.or()
	if err == nil && !p.ended() {
		err = fmt.Errorf("%w: %q is not expected", ErrMalformed, clip(p.next()))
	}
	if err != nil {
		if circle := CheckCircular(given, c.nodegroups); circle != nil {
			err = fmt.Errorf("%w: %w", circle, err)
		}
		return nil, fmt.Errorf("compound target %q: %w", clip(strings.Join(words, " ")), err)
	}
	return n, nil
}

// expandGroups replaces N@ words by the words of the group; an unknown group vanishes.
func (c *compiler) expandGroups(words []string) ([]string, error) {
	isGroup := func(w string) bool { return ParseWord(w).Engine == "N" }
	if !slices.ContainsFunc(words, isGroup) {
		return words, nil
	}
	var all []string
	for _, w := range words {
		if !isGroup(w) {
			all = append(all, w)
			continue
		}
		group, err := ExpandNodegroup(ParseWord(w).Pattern, c.nodegroups)
		if err != nil && !errors.Is(err, ErrUnknownNodegroup) {
			return nil, err
		}
		if all = append(all, group...); len(all) > maxWords {
			return nil, fmt.Errorf("%w: more than %d words with node groups", ErrTooBig, maxWords)
		}
	}
	return all, nil
}

// AsksForData reports whether a target matches on data of minions: grains, pillar or others. A node
// group counts, since it may.
func AsksForData(tgt any, kind string) bool {
	switch kind {
	case "glob", "pcre", "list":
		return false
	case "compound":
		return slices.ContainsFunc(wordsOf(tgt), func(w string) bool {
			word := ParseWord(strings.TrimLeft(w, "("))
			return word.Engine != "" && word.Engine != "L" && word.Engine != "E"
		})
	}
	return true
}

// wordsOf returns the words of a compound target, which is a text or a list.
func wordsOf(tgt any) []string {
	if text, ok := tgt.(string); ok {
		return strings.Fields(text)
	}
	var all []string
	list, _ := tgt.([]any)
	for _, w := range list {
		all = append(all, data.Str(w))
	}
	return all
}
