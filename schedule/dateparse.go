package schedule

import (
	"fmt"
	"strings"
	"unicode"
)

// CheckDate returns an error when text is no date or time that when, range, after and until take: what dateutil parses.
func CheckDate(text string) error {
	_, err := parseDate(text, 2000)
	return err
}

// parseDate reads a date as dateutil's parser does (dateutil/parser/_parser.py): month before day, a year of two digits in the century
// around thisYear.
func parseDate(text string, thisYear int) (date, error) {
	p := dateParser{tokens: dateTokens(text), d: date{unset, unset, unset, unset, unset, unset, unset, unset, 0, false}}
	err := p.parse(thisYear)
	if err == nil {
		err = p.d.check()
	}
	if err != nil {
		return date{}, fmt.Errorf("%w: %q", errDate, text)
	}
	return p.d, nil
}

// A dateParser reads tokens one after another.
type dateParser struct {
	tokens  []string
	i       int
	d       date
	ymd     []int // numbers and names of the day, in order
	century bool  // whether one of them has more than two digits
	yearAt  int   // its place in ymd from 1; 0 for none
	monthAt int   // place of a month's name in ymd from 1; 0 for none
	empty   bool
	named   bool // whether the name of a zone has come
}

// dateTokens parts a text into numbers, with a fraction where there is one, words and other characters.
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

// timeFraction tells whether a point behind the last token is that of a fraction of seconds: 5:00:01.5 and 170001.5, and not 1.2.2017.
func timeFraction(tokens []string, rest string) bool {
	if rest == "" || rest[0] < '0' || rest[0] > '9' || strings.ContainsAny(tokens[len(tokens)-1], ".,") {
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

// token reads what begins at the present token, and leaves p at its last one.
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
		p.named = true // dateutil warns, and takes the time as the local one
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
	return []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
}

// nameIndex returns which of the names s is, in full or by its first three letters; -1 for none.
func nameIndex(names []string, s string) int {
	for i, name := range names {
		if s == name || s == name[:3] || s == "sept" && name == "september" {
			return i
		}
	}
	return -1
}

// half returns 0 for the words of the morning, 12 for those of the afternoon, and -1 for others.
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
	case "", ".", ",", ";", "-", "/", "'", "at", "on", "and", "ad", "m", "t", "of", "st", "nd", "rd", "th":
		return true
	}
	return false
}

// halfDay takes am or pm behind an hour.
func (p *dateParser) halfDay(add int) error {
	if p.d.hour == unset || p.d.hour > 12 {
		return errDate
	}
	p.d.hour = p.d.hour%12 + add
	return nil
}
