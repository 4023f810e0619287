package schedule

import (
	"fmt"
	"strings"
	"unicode"
)

// CheckDate returns an error if text is not a date or time valid for when, range, after and until:
// dateutil cannot parse it.
func CheckDate(text string) error {
	_, err := parseDate(text, 2000)
	return err
}

// parseDate parses a date like dateutil's parser (dateutil/parser/_parser.py): month before day,
// and years of two digits near thisYear.
func parseDate(text string, thisYear int) (date, error) {
	p := dateParser{tokens: dateTokens(text),
		d: date{unset, unset, unset, unset, unset, unset, unset, unset, 0, false}}
	err := p.parse(thisYear)
	if err == nil {
		err = p.d.check()
	}
	if err != nil {
		return date{}, fmt.Errorf("%w: %q", errDate, text)
	}
	return p.d, nil
}

// A dateParser processes tokens one by one.
type dateParser struct {
	tokens  []string
	i       int
	d       date
	ymd     []int // numbers and names of the day, in order
	century bool  // one of them has more than two digits
	yearAt  int   // position of the year in ymd from 1; 0 means none
	monthAt int   // position of a month name in ymd from 1; 0 means none
	empty   bool
	named   bool // a zone name was found
}

// dateTokens splits a text into numbers with optional fractions, words and other characters.
func dateTokens(text string) []string {
	var tokens []string
	class := func(c rune) int {
		switch {
		case c >= '0' && c <= '9':
			return 1
		case unicode.IsLetter(c):
			return 2
		}
		return 0
	}
	last := 0
	for i, c := range text {
		k := class(c)
		fraction := (c == '.' || c == ',') && last == 1 && timeFraction(tokens, text[i+1:])
		switch {
		case k != 0 && k == last, fraction:
			tokens[len(tokens)-1] += string(c)
		default:
			tokens = append(tokens, string(c))
			last = k
		}
	}
	return tokens
}

// timeFraction reports whether a point after the last token begins a fraction of a second, as in
// 5:00:01.5 and 170001.5 but not in 1.2.2017.
func timeFraction(tokens []string, rest string) bool {
	if rest == "" || rest[0] < '0' || rest[0] > '9' ||
		strings.ContainsAny(tokens[len(tokens)-1], ".,") {
		return false
	}
	n := len(tokens)
	return n >= 2 && tokens[n-2] == ":" || len(tokens[n-1]) == 6
}

func (p *dateParser) at(k int) string {
	if p.i+k < len(p.tokens) {
		return p.tokens[p.i+k]
	}
	return ""
}

func (p *dateParser) parse(thisYear int) error {
	p.empty = true
	for p.i < len(p.tokens) {
		if err := p.token(); err != nil {
			return err
		}
		p.i++
	}
	if p.empty {
		return errDate
	}
	return p.settle(thisYear)
}

// token parses what begins at the current token, and leaves p at its last token.
func (p *dateParser) token() error {
	s := strings.ToLower(p.at(0))
	if isDigit(s) {
		p.empty = false
		return p.number()
	}
	if i := nameIndex(weekdays(), s); i >= 0 {
		p.d.weekday, p.empty = i, false
		return nil
	}
	if i := nameIndex(monthNames(), s); i >= 0 {
		p.empty = false
		return p.monthName(i + 1)
	}
	switch {
	case half(s) >= 0:
		return p.halfDay(half(s))
	case p.d.hour != unset && (s == "+" || s == "-") && isDigit(p.at(1)):
		return p.zone(s)
	case p.d.hour != unset && !p.d.zoned && (s == "z" || s == "utc" || s == "gmt"):
		p.d.zoned = true
		return nil
	case jumps(s):
		return nil
	case p.d.hour != unset && !p.d.zoned && !p.named && isZoneName(p.at(0)):
		p.named = true // dateutil warns, and uses local time
		return nil
	}
	return errDate
}

func isZoneName(s string) bool {
	return len(s) <= 5 && strings.IndexFunc(s, func(c rune) bool { return c < 'A' || c > 'Z' }) < 0
}

func isDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func weekdays() []string {
	return []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
}

func monthNames() []string {
	return []string{"january", "february", "march", "april", "may", "june", "july", "august",
		"september", "october", "november", "december"}
}

// nameIndex returns the index of s in names, in full or by its first three letters, or -1.
func nameIndex(names []string, s string) int {
	for i, name := range names {
		if s == name || s == name[:3] || s == "sept" && name == "september" {
			return i
		}
	}
	return -1
}

// half returns 0 for words for the morning, 12 for the afternoon, and -1 for others.
func half(s string) int {
	switch s {
	case "am", "a":
		return 0
	case "pm", "p":
		return 12
	}
	return -1
}

func jumps(s string) bool {
	switch strings.TrimSpace(s) {
	case "", ".", ",", ";", "-", "/", "'", "at", "on", "and", "ad", "m", "t", "of", "st",
		"nd", "rd", "th":
		return true
	}
	return false
}

// halfDay processes am or pm after an hour.
func (p *dateParser) halfDay(add int) error {
	if p.d.hour == unset || p.d.hour > 12 {
		return errDate
	}
	p.d.hour = p.d.hour%12 + add
	return nil
}
