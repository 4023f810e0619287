package dnsutil

import (
	"context"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type parseZoneArgs struct {
	Zonefile any `default:"None"`
	Zone     any `default:"None"`
}

// parseZone returns the content of a zone file.
//
// zonefile
//
//	The file.
//
// zone
//
//	A string that is parsed if there is no file.
//
// CLI Example:
//
//	salt ns1 dnsutil.parse_zone /var/lib/named/example.com.zone
func (m *module) parseZone(_ context.Context, a parseZoneArgs) (any, error) {
	if data.Truth(a.Zonefile) {
		if src, err := os.ReadFile(m.path(data.Str(a.Zonefile))); err == nil {
			a.Zone = string(src)
		}
	}
	if !data.Truth(a.Zone) {
		return "Error: Zone data was not found", nil
	}
	z := zone{records: &data.Map{}}
	for line := range strings.Lines(strings.ReplaceAll(data.Str(a.Zone), "\r", "\n")) {
		line, _, _ = strings.Cut(line, ";")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := z.read(line); err != nil {
			return nil, err
		}
	}
	return z.records, nil
}

// A zone is parsed line by line. The errors for lines that are not records are Python's.
type zone struct {
	records *data.Map
	several bool     // inside a record of several lines
	lines   []string // of that record
}

// words are the words of a line.
type words []string

// at returns n words, starting with word i.
func (w words) at(i, n int) (words, error) {
	if i+n > len(w) {
		return nil, loader.Exception("IndexError", "list index out of range")
	}
	return w[i : i+n], nil
}

// longest is the maximum size of a record in bytes. Each SOA can make the origin of the previous
// ones longer.
const longest = 1 << 17

func (z *zone) read(line string) error {
	if strings.HasPrefix(line, "$") {
		w, err := words(strings.Fields(line)).at(0, 2)
		if err == nil {
			z.records.Set(strings.ReplaceAll(w[0], "$", ""), w[1])
		}
		return err
	}
	closed := strings.Contains(line, ")")
	if strings.Contains(line, "(") && !closed {
		z.several, z.lines = true, nil
	}
	if z.several {
		if z.lines = append(z.lines, line); !closed {
			return nil
		}
		z.several = false
		line = strings.NewReplacer("(", "", ")", "").Replace(" " + strings.Join(z.lines, " "))
	}
	text := line
	if origin, ok := z.records.Get("ORIGIN"); ok {
		text = strings.ReplaceAll(line, "@", data.Str(origin))
	}
	if len(text) > longest {
		return loader.Execution("parse zone: a record has %d bytes, more than %d",
			len(text), longest)
	}
	if strings.Contains(line, "SOA") {
		return z.authority(strings.Fields(text))
	}
	return z.record(strings.Fields(text), strings.Contains(line, "NS"))
}

// authority parses an SOA record.
func (z *zone) authority(w words) error {
	if _, err := w.at(1, 1); err != nil {
		return err
	}
	if w[1] != "IN" {
		w = append(words{w[0]}, w[2:]...)
	}
	if _, err := w.at(0, 10); err != nil {
		return err
	}
	z.records.Set("ORIGIN", w[0])
	z.records.Set("NETWORK", w[1])
	z.records.Set("SOURCE", w[3])
	z.records.Set("CONTACT", strings.Replace(w[4], ".", "@", 1))
	z.records.Set("SERIAL", w[5])
	for i, name := range []string{"REFRESH", "RETRY", "EXPIRE", "MINTTL"} {
		n, err := seconds(w[6+i])
		if err != nil {
			return err
		}
		z.records.Set(name, n)
	}
	return nil
}

// week is the maximum time value of a zone; it also replaces times that cannot be parsed.
const week = 604800

func seconds(text string) (int64, error) {
	text = strings.ToUpper(text)
	for _, unit := range []struct {
		letter string
		length int64
	}{{"H", 3600}, {"D", 86400}} {
		if strings.Contains(text, unit.letter) {
			n, err := loader.Int(strings.ReplaceAll(text, unit.letter, ""))
			return min(min(n, week)*unit.length, week), err
		}
	}
	if strings.Contains(text, "W") {
		return week, nil
	}
	n, err := loader.Int(text)
	if err != nil {
		return week, nil
	}
	return min(n, week), nil
}

// record parses any other record.
func (z *zone) record(w words, ns bool) error {
	origin, known := z.records.Get("ORIGIN")
	missing := loader.Exception("KeyError", "'ORIGIN'")
	if len(w) == 0 {
		return loader.Exception("IndexError", "list index out of range")
	}
	if w[0] == "IN" {
		if !known {
			return missing
		}
		w = append(words{data.Str(origin)}, w...)
	}
	if !strings.HasSuffix(w[0], ".") && !ns {
		if !known {
			return missing
		}
		w[0] += "." + data.Str(origin)
	}
	if _, err := w.at(2, 2); err != nil {
		return err
	}
	switch {
	case w[2] == "NS":
		list, ok := z.records.Value("NS").([]any)
		if z.records.Has("NS") && !ok {
			return loader.Exception("AttributeError", "'str' object has no attribute 'append'")
		}
		z.records.Set("NS", append(list, w[3]))
	case w[2] == "MX" && z.records.Has("MX"):
	case w[2] == "MX":
		if _, err := w.at(4, 1); err != nil {
			return err
		}
		z.records.Set("MX", []any{data.NewMap("priority", w[3], "host", w[4])})
	case w[3] == "A" || w[3] == "AAAA":
		if _, err := w.at(4, 1); err != nil {
			return err
		}
		return z.set(w[3], w[0], data.NewMap("TARGET", w[4], "TTL", w[1]))
	default:
		return z.set(w[2], w[0], w[3])
	}
	return nil
}

// set sets the value of a name for a record type.
func (z *zone) set(kind, name string, v any) error {
	names, ok := z.records.Value(kind).(*data.Map)
	if !ok {
		if z.records.Has(kind) {
			return loader.Exception("TypeError", "'str' object does not support item assignment")
		}
		names = &data.Map{}
		z.records.Set(kind, names)
	}
	names.Set(name, v)
	return nil
}
