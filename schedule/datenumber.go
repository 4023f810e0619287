package schedule

import (
	"strconv"
	"strings"
)

// number parses a number depending on its length and on what follows.
func (p *dateParser) number() error {
	s, next := p.at(0), p.at(1)
	whole, _, fraction := strings.Cut(strings.ReplaceAll(s, ",", "."), ".")
	switch n := len(whole); {
	case len(p.ymd) == 3 && (n == 2 || n == 4) && !fraction && p.d.hour == unset &&
		(next == "" || next == " "):
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

// compact parses 20171129, 201711291600 and 20171129160000.
func (p *dateParser) compact(s string) error {
	if err := p.addParts(s[:4], s[4:6], s[6:8]); err != nil || len(s) == 8 {
		return err
	}
	return p.clock(s[8:10], s[10:12], s[12:])
}

// bare parses a number without a suffix: an hour before am or pm, or else a part of the day.
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

// hourOf parses an hour directly before am or pm. As in dateutil, am or pm is ignored after an hour
// above 12.
func (p *dateParser) hourOf(s string, half int) error {
	if err := p.clock(s, "", ""); err != nil || p.d.hour > 12 {
		return err
	}
	return p.halfDay(half)
}

// clock sets the time; arguments may be "".
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

// colons parses 16:00 and 16:00:30.5.
func (p *dateParser) colons() error {
	hour, minute, second := p.at(0), p.at(2), ""
	p.i += 2
	if p.at(1) == ":" && isDigit(p.at(2)) {
		second = p.at(2)
		p.i += 2
	}
	return p.clock(hour, minute, second)
}

// unit returns 0, 1 or 2 if s is a unit of hours, minutes or seconds, else -1.
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

// units parses 10h30m.
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

// separated parses 11/29/2017, 2017-11-29, 29.11.2017 and 29-Nov-2017.
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

// zone parses +01, +0100 and +01:00.
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
