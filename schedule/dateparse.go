package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
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

// hourOf takes an hour directly before am or pm; of those beyond 12 the word is passed over, as dateutil does.
func (p *dateParser) hourOf(s string, half int) error {
	if err := p.clock(s, "", ""); err != nil || p.d.hour > 12 {
		return err
	}
	return p.halfDay(half)
}

// monthName takes a month's name and, when a separator stands behind it, the numbers that follow: Jan-01-99.
func (p *dateParser) monthName(month int) error {
	p.ymd = append(p.ymd, month)
	if p.monthAt != 0 {
		return errDate
	}
	p.monthAt = len(p.ymd)
	if sep := p.at(1); (sep == "-" || sep == "/") && isDigit(p.at(2)) {
		p.i += 2
		if err := p.addPart(p.at(0)); err != nil {
			return err
		}
		if p.at(1) == sep && isDigit(p.at(2)) {
			p.i += 2
			return p.addPart(p.at(0))
		}
	}
	return nil
}

// addPart takes a number or a name as a part of the day.
func (p *dateParser) addPart(s string) error {
	if i := nameIndex(monthNames(), strings.ToLower(s)); i >= 0 {
		p.ymd = append(p.ymd, i+1)
		p.monthAt = len(p.ymd)
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n > 9999 {
		return errDate
	}
	p.ymd = append(p.ymd, n)
	if len(s) > 2 || n > 100 {
		if p.century {
			return errDate
		}
		p.century, p.yearAt = true, len(p.ymd)
	}
	return nil
}

// number reads a number by its length and by what follows it.
func (p *dateParser) number() error {
	s, next := p.at(0), p.at(1)
	whole, _, fraction := strings.Cut(strings.ReplaceAll(s, ",", "."), ".")
	switch n := len(whole); {
	case len(p.ymd) == 3 && (n == 2 || n == 4) && !fraction && p.d.hour == unset && (next == "" || next == " "):
		return p.clock(s[:2], s[2:], "")
	case n == 6 && len(p.ymd) == 0 && !fraction:
		return p.addParts(s[:2], s[2:4], s[4:])
	case n == 6:
		return p.clock(s[:2], s[2:4], s[4:])
	case fraction:
		return errDate
	case n == 8 || n == 12 || n == 14:
		return p.compact(s)
	case unit(next) >= 0 || next == " " && unit(p.at(2)) >= 0:
		return p.units()
	case next == ":" && isDigit(p.at(2)):
		return p.colons()
	case next == "-" || next == "/" || next == ".":
		return p.separated(next)
	}
	return p.bare(s, next)
}

func (p *dateParser) addParts(parts ...string) error {
	for _, s := range parts {
		if err := p.addPart(s); err != nil {
			return err
		}
	}
	return nil
}

// compact reads 20171129, 201711291600 and 20171129160000.
func (p *dateParser) compact(s string) error {
	if err := p.addParts(s[:4], s[4:6], s[6:8]); err != nil || len(s) == 8 {
		return err
	}
	return p.clock(s[8:10], s[10:12], s[12:])
}

// bare reads a number with nothing that belongs to it behind: an hour before am or pm, or else a part of the day.
func (p *dateParser) bare(s, next string) error {
	hour := half(strings.ToLower(next))
	if hour >= 0 {
		p.i++
	} else if next == " " && half(strings.ToLower(p.at(2))) >= 0 {
		hour = half(strings.ToLower(p.at(2)))
		p.i += 2
	}
	switch {
	case hour >= 0:
		return p.hourOf(s, hour)
	case next == "" || jumps(strings.ToLower(next)):
		return p.addPart(s)
	case len(s) <= 2 && len(p.ymd) < 3:
		return p.addPart(s)
	}
	return errDate
}

// clock sets the time; parts may be "".
func (p *dateParser) clock(hour, minute, second string) error {
	var err error
	if p.d.hour, err = strconv.Atoi(hour); err != nil {
		return errDate
	}
	if minute != "" {
		if p.d.minute, err = strconv.Atoi(minute); err != nil {
			return errDate
		}
	}
	if second != "" {
		return p.seconds(second)
	}
	return nil
}

func (p *dateParser) seconds(s string) error {
	whole, rest, _ := strings.Cut(strings.ReplaceAll(s, ",", "."), ".")
	n, err := strconv.Atoi(whole)
	if err != nil {
		return errDate
	}
	micros, err := strconv.Atoi((rest + "000000")[:6])
	if err != nil {
		return errDate
	}
	p.d.second, p.d.nanos = n, micros*1000
	return nil
}

// colons reads 16:00 and 16:00:30.5.
func (p *dateParser) colons() error {
	hour, minute, second := p.at(0), p.at(2), ""
	p.i += 2
	if p.at(1) == ":" && isDigit(p.at(2)) {
		second = p.at(2)
		p.i += 2
	}
	return p.clock(hour, minute, second)
}

// unit returns 0, 1 or 2 when s says that the number before it is one of hours, minutes or seconds; -1 for others.
func unit(s string) int {
	switch strings.ToLower(s) {
	case "h", "hour", "hours":
		return 0
	case "m", "minute", "minutes":
		return 1
	case "s", "second", "seconds":
		return 2
	}
	return -1
}

// units reads 10h30m.
func (p *dateParser) units() error {
	n, err := strconv.Atoi(p.at(0))
	if err != nil {
		return errDate
	}
	p.i++
	if p.at(0) == " " {
		p.i++
	}
	switch unit(p.at(0)) {
	case 0:
		p.d.hour = n
	case 1:
		p.d.minute = n
	default:
		p.d.second = n
	}
	return nil
}

// separated reads 11/29/2017, 2017-11-29, 29.11.2017 and 29-Nov-2017.
func (p *dateParser) separated(sep string) error {
	if err := p.addPart(p.at(0)); err != nil {
		return err
	}
	p.i++
	if next := p.at(1); next == "" || jumps(strings.ToLower(next)) {
		return nil
	}
	p.i++
	if err := p.addPart(p.at(0)); err != nil {
		return err
	}
	switch {
	case p.at(1) == sep:
		p.i += 2
		return p.addPart(p.at(0))
	case sep == "." && p.monthAt == 0:
		p.ymd = p.ymd[:len(p.ymd)-1] // dateutil reads 3.5 as a number, the day 3
	}
	return nil
}

// zone reads +01, +0100 and +01:00.
func (p *dateParser) zone(sign string) error {
	s := p.at(1)
	p.i++
	if len(s) == 2 && p.at(1) == ":" && len(p.at(2)) == 2 && isDigit(p.at(2)) {
		s += p.at(2)
		p.i += 2
	}
	if len(s) == 2 {
		s += "00"
	}
	n, err := strconv.Atoi(s)
	if err != nil || len(s) != 4 || p.d.zoned {
		return errDate
	}
	p.d.offset, p.d.zoned = n/100*3600+n%100*60, true
	if sign == "-" {
		p.d.offset = -p.d.offset
	}
	return nil
}

// settle finds out which part of the day is which.
func (p *dateParser) settle(thisYear int) error {
	if len(p.ymd) > 3 {
		return errDate
	}
	order := p.order()
	for i, n := range p.ymd {
		switch order[i] {
		case 'y':
			p.d.year = n
		case 'm':
			p.d.month = n
		case 'd':
			p.d.day = n
		}
	}
	if p.d.year != unset && p.d.year < 100 && !p.century {
		p.d.year = nearYear(p.d.year, thisYear)
	}
	return nil
}

// nearYear returns the year of two digits that is less than 50 years away.
func nearYear(year, thisYear int) int {
	year += thisYear / 100 * 100
	switch {
	case year >= thisYear+50:
		return year - 100
	case year < thisYear-50:
		return year + 100
	}
	return year
}

// order returns a letter for each part: y, m, d.
func (p *dateParser) order() string {
	if p.monthAt != 0 {
		return p.orderOfName()
	}
	switch n := p.ymd; len(n) {
	case 1:
		if n[0] > 31 {
			return "y"
		}
		return "d"
	case 2:
		if n[0] > 31 {
			return "ym"
		}
		if n[1] > 31 {
			return "my"
		}
		return "md"
	case 3:
		if n[0] > 31 || p.yearAt == 1 {
			return "ymd"
		}
		if n[0] > 12 {
			return "dmy"
		}
		return "mdy"
	}
	return ""
}

// orderOfName is order where the month is given by its name.
func (p *dateParser) orderOfName() string {
	n := p.ymd
	big := func(i int) bool { return n[i] > 31 || p.yearAt == i+1 }
	switch {
	case len(n) == 1:
		return "m"
	case len(n) == 2 && p.monthAt == 1:
		return "m" + map[bool]string{true: "y", false: "d"}[n[1] > 31]
	case len(n) == 2:
		return map[bool]string{true: "y", false: "d"}[n[0] > 31] + "m"
	case p.monthAt == 1:
		return map[bool]string{true: "myd", false: "mdy"}[big(1)]
	case p.monthAt == 2:
		return map[bool]string{true: "ymd", false: "dmy"}[big(0)]
	}
	return map[bool]string{true: "dym", false: "ydm"}[big(1)]
}

// yearOf is the year around which years of two digits lie.
func yearOf(now time.Time, place *time.Location) int { return civil(now, place).Year() }
