package schedule

import (
	"strconv"
	"strings"
	"time"
)

// settle determines which part of the day is the year, month and day.
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

// nearYear returns the year for two digits that is less than 50 years away.
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

// orderOfName is order for a month given by name.
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

// addPart adds a number or a name as a part of the day.
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

func (p *dateParser) addParts(parts ...string) error {
	for _, s := range parts {
		if err := p.addPart(s); err != nil {
			return err
		}
	}
	return nil
}

// monthName parses a month name and, if a separator follows, the numbers after it: Jan-01-99.
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

// yearOf returns the reference year for years of two digits.
func yearOf(now time.Time, place *time.Location) int { return civil(now, place).Year() }
