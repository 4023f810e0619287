//go:build linux

package disk

import (
	"context"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type smartArgs struct {
	Dev        string
	Attributes any `default:"None"`
	Values     any `default:"None"`
}

// smartAttributes returns the SMART attributes of a disk by attribute number.
//
// attributes
//
//	Only these numbers.
//
// values
//
//	Only these columns.
//
// CLI Example:
//
//	salt '*' disk.smart_attributes /dev/sda
//	salt '*' disk.smart_attributes /dev/sda attributes=(5,187,188,197,198)
func (m *module) smartAttributes(ctx context.Context, a smartArgs) (any, error) {
	if !strings.HasPrefix(a.Dev, "/dev/") {
		a.Dev = "/dev/" + a.Dev
	}
	out, err := m.run(ctx, "smartctl", "--attributes", a.Dev)
	if err != nil {
		return nil, err
	}
	if out.Retcode != 0 {
		return nil, loader.Execution("%s", out.Stderr)
	}
	return attributes(out.Stdout, chosen(a.Attributes), chosen(a.Values)), nil
}

// chosen converts a selection to strings; nil selects all.
func chosen(v any) map[string]bool {
	if v == nil {
		return nil
	}
	set := map[string]bool{}
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			set[data.Str(one)] = true
		}
	case data.Tuple:
		for _, one := range v {
			set[data.Str(one)] = true
		}
	default:
		for _, one := range strings.FieldsFunc(data.Str(v),
			func(r rune) bool { return strings.ContainsRune(" ,()[]", r) }) {
			set[one] = true
		}
	}
	return set
}

// attributes parses the table of smartctl.
func attributes(text string, wanted, values map[string]bool) *data.Map {
	all := data.NewMap()
	var heads []string
	row := regexp.MustCompile(`^\s*\d`)
	for line := range strings.Lines(text) {
		switch {
		case heads == nil && strings.HasPrefix(line, "ID#"):
			heads = strings.Fields(strings.ToLower(line))[1:]
		case heads == nil:
		case !row.MatchString(line):
			return all
		default:
			words := regexp.MustCompile(`\s+`).Split(strings.TrimSpace(line), len(heads)+1)
			number, err := strconv.ParseInt(words[0], 10, 64)
			if err != nil || wanted != nil && !wanted[words[0]] {
				continue
			}
			all.Set(number, attribute(heads, words[1:], values))
		}
	}
	return all
}

func attribute(heads, words []string, values map[string]bool) *data.Map {
	row := data.NewMap()
	for i, head := range heads {
		if i < len(words) && (values == nil || values[head]) {
			row.Set(head, smartValue(words[i]))
		}
	}
	return row
}

// smartValue converts a number, or several separated by blanks.
func smartValue(s string) any {
	if n, ok := integer(s).(int64); ok {
		return n
	}
	list := []any{}
	for _, w := range strings.Split(s, " ") {
		n, ok := integer(w).(int64)
		if !ok {
			return s
		}
		list = append(list, n)
	}
	return list
}

type iostatArgs struct {
	Interval any `default:"1"`
	Count    any `default:"5"`
	Disks    any `default:"None"`
}

// iostat returns the load of processors (sys) and disks, averaged over several samples.
//
// interval, count
//
//	Seconds between two samples, and the number of samples.
//
// disks
//
//	One disk or a list. Default: all disks and the processors.
//
// CLI Example:
//
//	salt '*' disk.iostat 1 5 disks=sda
func (m *module) iostat(ctx context.Context, a iostatArgs) (any, error) {
	if err := needs("iostat"); err != nil {
		return nil, err
	}
	argv := []string{"iostat", "-x", data.Str(a.Interval), data.Str(a.Count)}
	if a.Disks != nil {
		argv[1] = "-xd"
		list, ok := a.Disks.([]any)
		if !ok {
			list = []any{a.Disks}
		}
		for _, d := range list {
			if err := plain(data.Str(d)); err != nil {
				return nil, err
			}
			argv = append(argv, data.Str(d))
		}
	}
	out, err := m.run(ctx, argv...)
	return averages(out.Stdout), err
}

// A series is the rows of one table, to be averaged.
type series struct {
	heads []string
	rows  [][]float64
}

// averages parses the output of iostat -x, and averages each column for each device.
func averages(text string) *data.Map {
	found := map[string]*series{}
	var order, heads []string
	name := ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			heads = nil
			continue
		case words[0] == "avg-cpu:":
			heads, name = words[1:], "sys"
			continue
		case words[0] == "Device:" || words[0] == "Device":
			heads, name = words[1:], ""
			continue
		case heads == nil:
			continue
		}
		thing := name
		if thing == "" {
			thing, words = words[0], words[1:]
		}
		row, ok := floats(words)
		if !ok {
			continue
		}
		if found[thing] == nil {
			found[thing] = &series{heads: heads}
			order = append(order, thing)
		}
		found[thing].rows = append(found[thing].rows, row)
	}
	all := data.NewMap()
	for _, thing := range order {
		all.Set(thing, found[thing].average())
	}
	return all
}

func floats(words []string) ([]float64, bool) {
	list := make([]float64, len(words))
	for i, w := range words {
		f, err := strconv.ParseFloat(strings.ReplaceAll(w, ",", "."), 64)
		if err != nil {
			return nil, false
		}
		list[i] = f
	}
	return list, true
}

// average returns the averages of the columns, with two decimal places.
func (s *series) average() *data.Map {
	all := data.NewMap()
	for i, head := range s.heads {
		sum := 0.0
		for _, row := range s.rows {
			if i >= len(row) {
				return all
			}
			sum += row[i]
		}
		all.Set(head, math.RoundToEven(sum/float64(len(s.rows))*100)/100)
	}
	return all
}
