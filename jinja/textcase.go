package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// caseMethod returns one of the methods of str that change case.
func caseMethod(name string) method {
	var change func(string) string
	switch name {
	case "lower":
		change = lower
	case "upper":
		change = upper
	case "casefold":
		change = caseFold
	case "title":
		change = title
	case "capitalize":
		change = capitalize
	case "swapcase":
		change = swapCase
	default:
		return nil
	}
	return func(c *Call, self any) (any, error) {
		if err := c.none("str." + name); err != nil {
			return nil, err
		}
		s, _ := textOf(self)
		if name == "casefold" {
			return change(s), c.f.run.room(len(s))
		}
		return like(self, change(s)), c.f.run.room(len(s))
	}
}

// Letters whose upper case is more than one letter (Unicode's SpecialCasing.txt, without the
// conditional ones).
const (
	manyLower = "ßŉǰΐΰևﬀﬁﬂﬃﬄﬅﬆ"
	manyUpper = "SS ʼN J̌ Ϊ́ Ϋ́ ԵՒ FF FI FL FFI FFL ST ST"
)

// upperRune returns the upper case of one letter.
func upperRune(r rune) string {
	if r >= utf8.RuneSelf && strings.ContainsRune(manyLower, r) {
		n := utf8.RuneCountInString(manyLower[:strings.IndexRune(manyLower, r)])
		return strings.Fields(manyUpper)[n]
	}
	return string(unicode.ToUpper(r))
}

// titleRune returns the form of a letter at the beginning of a word.
func titleRune(r rune) string {
	if up := upperRune(r); len(up) > 1 && utf8.RuneCountInString(up) > 1 {
		first, n := utf8.DecodeRuneInString(up)
		if !isCased(first) {
			return up
		}
		return string(first) + lower(up[n:])
	}
	return string(unicode.ToTitle(r))
}

func lowerRune(r rune) string {
	if r == 'İ' {
		return "i̇"
	}
	return string(unicode.ToLower(r))
}

// each joins the results of change for each character.
func each(s string, change func(rune) string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteString(change(r))
	}
	return b.String()
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for i, r := range s {
		if r == 'Σ' && endsWord(s, i) {
			b.WriteRune('ς')
			continue
		}
		b.WriteString(lowerRune(r))
	}
	return b.String()
}

// endsWord reports whether the sigma at i follows a letter and precedes none.
func endsWord(s string, i int) bool {
	ignored := func(r rune) bool { return unicode.IsMark(r) || strings.ContainsRune("'.:\u00ad\u200b", r) }
	before, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(s[:i], ignored))
	after, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(s[i+len("Σ"):], ignored))
	return isCased(before) && !isCased(after)
}

func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return each(s, upperRune)
}

func caseFold(s string) string {
	return each(s, func(r rune) string {
		switch {
		case r == 'ς':
			return "σ"
		case strings.ContainsRune(manyLower, r):
			return each(upperRune(r), lowerRune)
		}
		return lowerRune(r)
	})
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	return titleRune(r) + lower(s[n:])
}

func title(s string) string {
	inWord := false
	return each(s, func(r rune) string {
		was := inWord
		inWord = isCased(r)
		if was {
			return lowerRune(r)
		}
		return titleRune(r)
	})
}

func swapCase(s string) string {
	return each(s, func(r rune) string {
		switch {
		case isUpperRune(r):
			return lowerRune(r)
		case isLowerRune(r):
			return upperRune(r)
		}
		return string(r)
	})
}

func isLowerRune(r rune) bool {
	return unicode.IsLower(r) || r >= utf8.RuneSelf && unicode.Is(unicode.Other_Lowercase, r)
}

func isUpperRune(r rune) bool {
	return unicode.IsUpper(r) || r >= utf8.RuneSelf && unicode.Is(unicode.Other_Uppercase, r)
}

func isCased(r rune) bool { return isLowerRune(r) || isUpperRune(r) || unicode.IsTitle(r) }

func isLower(s string) bool {
	return strings.IndexFunc(s, isLowerRune) >= 0 &&
		strings.IndexFunc(s, func(r rune) bool { return isUpperRune(r) || unicode.IsTitle(r) }) < 0
}

func isUpper(s string) bool {
	return strings.IndexFunc(s, isUpperRune) >= 0 &&
		strings.IndexFunc(s, func(r rune) bool { return isLowerRune(r) || unicode.IsTitle(r) }) < 0
}

func isTitle(s string) bool {
	cased, found := false, false
	for _, r := range s {
		switch {
		case isUpperRune(r) || unicode.IsTitle(r):
			if cased {
				return false
			}
			cased, found = true, true
		case isLowerRune(r):
			if !cased {
				return false
			}
			found = true
		default:
			cased = false
		}
	}
	return found
}
