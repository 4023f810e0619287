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

// longestSearch bounds one search of an expression for which the engine goes back.
const longestSearch = 10 * time.Second

// Groups is an expression of Python's re for searches, with its groups. Several goroutines may use it.
//
// Whether it matches takes linear time, but for look-ahead, look-behind, back-references, conditionals and atomic groups: these go back,
// as Python does. So does finding where it matches, when that may be nothing or has a $ for the end of the text. A search that goes back
// for longer than ten seconds is an error.
type Groups struct {
	plain *regexp.Regexp  // nil where only the other can
	back  *regexp2.Regexp // nil where plain can all
	names map[string]int
	count int
}

// CompileGroups reads an expression; fold is re.I and lines re.M.
func CompileGroups(expr string, fold, lines bool) (*Groups, error) {
	return compileGroups(expr, flags{fold: fold, multiline: lines}, false)
}

// CompileAtStart reads an expression that matches at the start of a text only (re.match).
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

// newGroups compiles with the standard library, and for the other engine too where all matches are what only that one finds.
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

// newBack compiles for the engine that goes back.
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
	re.MatchTimeout = longestSearch
	return &Groups{back: re, names: groups.names, count: groups.count}, nil
}

// nullable reports whether a tree may match the empty text.
func nullable(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyCharNotNL, syntax.OpAnyChar, syntax.OpNoMatch:
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

// NumSubexp returns how many groups there are.
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

// Find returns where the first match and its groups begin and end in a text, in bytes: two numbers each, -1 for a group that has no
// part; nothing where there is no match.
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

// FindAll returns where up to most matches are, as Find does; all where most is 0. One that is empty may begin where the one before it
// ends (re.finditer).
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

// offsets returns a function that tells where in a text, in bytes, its character of a number begins.
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
