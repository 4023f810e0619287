package match

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// maxSearch is the time limit of one search by the backtracking engine.
const maxSearch = 10 * time.Second

// Groups is an expression of Python's re for searches, with its groups. It is safe for concurrent
// use.
//
// Whether it matches is found in linear time, except for look-ahead, look-behind, back-references,
// conditionals and atomic groups: these backtrack, as in Python. Finding the position of a match
// backtracks too if the match may be empty or the expression has a $ for the end of the text. A
// search that backtracks for more than ten seconds is an error.
type Groups struct {
	plain *regexp.Regexp  // nil if only the other engine can match
	back  *regexp2.Regexp // nil if plain can do everything
	names map[string]int
	count int
}

// CompileGroups compiles an expression; fold is re.I and lines re.M.
func CompileGroups(expr string, fold, lines bool) (*Groups, error) {
	return compileGroups(expr, flags{fold: fold, multiline: lines}, false)
}

// CompileAtStart compiles an expression that matches only at the start of a text (re.match).
func CompileAtStart(expr string, fold, lines bool) (*Groups, error) {
	return compileGroups(expr, flags{fold: fold, multiline: lines}, true)
}

func compileGroups(expr string, f flags, atStart bool) (*Groups, error) {
	if len(expr) > MaxLength {
		return nil, fmt.Errorf("regular expression: %w: %d bytes", ErrTooBig, len(expr))
	}
	g, err := newGroups(expr, f, atStart)
	if errors.Is(err, ErrUnsupported) {
		g, err = newBack(expr, f, atStart)
	}
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", clip(expr), err)
	}
	return g, nil
}

// newGroups compiles with the standard library. If that cannot find all matches, it also compiles
// for the backtracking engine.
func newGroups(expr string, f flags, atStart bool) (*Groups, error) {
	t, err := translateWith(expr, f)
	if err == nil && len(t.asserts) > 0 {
		err = fmt.Errorf("look-ahead and look-behind are %w by this engine", ErrUnsupported)
	}
	if err != nil {
		return nil, err
	}
	tree, err := parseBounded(t.text)
	if err != nil {
		return nil, err
	}
	text := f.set() + t.text
	if atStart {
		text = `\A(?:` + text + ")"
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, syntaxError(err)
	}
	g := &Groups{plain: re, count: re.NumSubexp()}
	if nullable(tree) || strings.Contains(t.text, lastLine) {
		if back, err := newBack(expr, f, atStart); err == nil {
			g.back = back.back
		}
	}
	return g, nil
}

// newBack compiles for the backtracking engine.
func newBack(expr string, f flags, atStart bool) (*Groups, error) {
	text, groups, err := translateBack(expr, f)
	if err != nil {
		return nil, err
	}
	text = f.set() + text
	if atStart {
		text = `\A(?:` + text + ")"
	}
	re, err := regexp2.Compile(text, regexp2.None)
	if err != nil {
		return nil, syntaxError(err)
	}
	re.MatchTimeout = maxSearch
	return &Groups{back: re, names: groups.names, count: groups.count}, nil
}

// nullable reports whether a tree may match the empty text.
func nullable(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyCharNotNL, syntax.OpAnyChar,
		syntax.OpNoMatch:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return nullable(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || nullable(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !nullable(sub) {
				return false
			}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if nullable(sub) {
				return true
			}
		}
		return false
	}
	return true
}

// NumSubexp returns the number of groups.
func (g *Groups) NumSubexp() int { return g.count }

// SubexpIndex returns the number of the group of that name, or -1.
func (g *Groups) SubexpIndex(name string) int {
	if g.plain != nil {
		return g.plain.SubexpIndex(name)
	}
	if n, ok := g.names[name]; ok {
		return n
	}
	return -1
}

// Match reports whether the expression matches anywhere in a text.
func (g *Groups) Match(text string) (bool, error) {
	if g.plain != nil {
		return g.plain.MatchString(text), nil
	}
	return g.back.MatchString(text)
}

// Find returns the byte offsets of the first match and its groups: start and end of each, -1 for a
// group that did not match. It returns nil if there is no match.
func (g *Groups) Find(text string) ([]int, error) {
	if g.back == nil {
		return g.plain.FindStringSubmatchIndex(text), nil
	}
	found, err := g.backwards(text, 1)
	if len(found) == 0 {
		return nil, err
	}
	return found[0], err
}

// FindAll returns up to most matches, each as Find does; all if most is 0. An empty match may begin
// where the one before it ends (re.finditer).
func (g *Groups) FindAll(text string, most int) ([][]int, error) {
	if g.back != nil {
		return g.backwards(text, most)
	}
	if most <= 0 {
		most = -1
	}
	return g.plain.FindAllStringSubmatchIndex(text, most), nil
}

func (g *Groups) backwards(text string, most int) ([][]int, error) {
	var all [][]int
	at := offsets(text)
	m, err := g.back.FindStringMatch(text)
	for ; m != nil && err == nil; m, err = g.back.FindNextMatch(m) {
		one := make([]int, 0, 2*g.count+2)
		for i := range g.count + 1 {
			group := m.GroupByNumber(i)
			if group == nil || len(group.Captures) == 0 {
				one = append(one, -1, -1)
				continue
			}
			one = append(one, at(group.Index), at(group.Index+group.Length))
		}
		if all = append(all, one); len(all) == most {
			break
		}
	}
	return all, err
}

// offsets returns a function that converts the index of a character in a text to its byte offset.
func offsets(text string) func(int) int {
	plain := true
	for i := range len(text) {
		plain = plain && text[i] < utf8.RuneSelf
	}
	if plain {
		return func(i int) int { return i }
	}
	at := make([]int, 0, len(text)+1)
	for i := range text {
		at = append(at, i)
	}
	at = append(at, len(text))
	return func(i int) int { return at[i] }
}
