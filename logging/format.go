package logging

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// jsonFormat is the option value for one JSON object per line.
const jsonFormat = "json"

// A format is a parsed value of log_fmt_console or log_fmt_logfile.
type format struct {
	json   bool
	pieces []piece
	date   string // for strftime
	jid    bool   // the format contains the job ID
	caller bool   // the format shows where an entry was logged
}

// A piece is literal text or one attribute of an entry.
type piece struct {
	literal   string
	name      string // of the attribute; "" for a literal
	attribute attribute
	percent   percent
}

// parseFormat parses a format like Python's logging.Formatter. Errors that Python reports only at
// the first entry are reported here: an unknown attribute or a verb for another type. A format
// without any attribute is an error too.
func parseFormat(text, date string) (*format, error) {
	if strings.EqualFold(strings.TrimSpace(text), jsonFormat) {
		return &format{json: true, jid: true}, nil
	}
	f := &format{date: date}
	var err error
	if f.pieces, err = parsePieces(text, attributeOf); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(f.pieces, func(p piece) bool { return p.name != "" }) {
		return nil, fmt.Errorf("the format %q contains no attribute of an entry", text)
	}
	f.jid, f.caller = f.uses("jid"), f.uses(callerAttributes()...)
	return f, nil
}

// CheckFormat reports errors in a value of log_fmt_console or log_fmt_logfile. "" means the
// default.
func CheckFormat(text string) error {
	if text == "" {
		return nil
	}
	_, err := parseFormat(text, "")
	return err
}

// parseJID parses log_fmt_jid, whose only attribute is jid.
func parseJID(text string) (*format, error) {
	pieces, err := parsePieces(text, func(name string) (attribute, bool) {
		return textOf(func(r *record, _ *format) string { return r.jid }), name == "jid"
	})
	return &format{pieces: pieces}, err
}

func parsePieces(text string, find func(string) (attribute, bool)) ([]piece, error) {
	var pieces []piece
	for rest := text; rest != ""; {
		plain, field, found := strings.Cut(rest, "%")
		if plain != "" {
			pieces = append(pieces, piece{literal: plain})
		}
		if !found {
			break
		}
		p, n, err := parsePiece(field, find)
		if err != nil {
			return nil, fmt.Errorf("the format %q at character %d: %w", text,
				len(text)-len(field), err)
		}
		pieces, rest = append(pieces, p), field[n:]
	}
	return pieces, nil
}

// parsePiece parses the text after a percent sign and returns its length.
func parsePiece(s string, find func(string) (attribute, bool)) (piece, int, error) {
	if strings.HasPrefix(s, "%") {
		return piece{literal: "%"}, 1, nil
	}
	name, rest, closed := strings.Cut(s, ")")
	if !closed || !strings.HasPrefix(name, "(") {
		return piece{}, 0, errors.New("a percent sign needs a name in brackets, or a second one, behind it")
	}
	name = name[1:]
	a, known := find(name)
	if !known {
		return piece{}, 0, fmt.Errorf("an entry has no attribute %q", name)
	}
	p, n, err := readPercent(rest)
	switch {
	case err != nil:
		return piece{}, 0, fmt.Errorf("%%(%s) %w", name, err)
	case !p.fits(a.kind()):
		return piece{}, 0, fmt.Errorf("%%(%s) cannot be printed by %q", name, p.verb)
	}
	return piece{name: name, attribute: a, percent: p}, len(s) - len(rest) + n, nil
}

// append appends the formatted entry without a line end.
func (f *format) append(b []byte, r *record) []byte {
	if f.json {
		return appendJSON(b, r)
	}
	for i := range f.pieces {
		p := &f.pieces[i]
		switch a := &p.attribute; {
		case p.name == "":
			b = append(b, p.literal...)
		case a.text != nil:
			b = p.percent.appendText(b, a.text(r, f))
		case a.number != nil:
			b = p.percent.appendInt(b, a.number(r))
		default:
			b = p.percent.appendFloat(b, a.float(r))
		}
	}
	return b
}

// uses reports whether the format contains one of the attributes.
func (f *format) uses(names ...string) bool {
	return slices.ContainsFunc(f.pieces,
		func(p piece) bool { return slices.Contains(names, p.name) })
}

// asctime returns the date of an entry in the format's date format.
func (f *format) asctime(t time.Time) string { return string(appendTime(nil, f.date, t)) }
