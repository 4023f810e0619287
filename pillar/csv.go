package pillar

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/brineproject/brine/data"
)

// CSV is the external pillar csv: the first row of a file with the minion's id in the column idkey
// (salt/pillar/csvpillar.py). Values are text. The dialects are excel, excel-tab and unix.
type CSV struct{}

// Name implements Source.
func (CSV) Name() string { return "csv" }

// Pillar implements Source.
func (CSV) Pillar(_ context.Context, q Query) (*data.Map, error) {
	args, err := Bind(q.Argument, 1, "path", "idkey", "namespace", "fieldnames", "restkey",
		"restval", "dialect")
	if err != nil {
		return nil, err
	}
	f, err := os.Open(data.Str(args.Value("path")))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := csvReader(f, firstText(args.Text("dialect"), "excel"))
	if err != nil {
		return nil, err
	}
	s := &sheet{reader: r, fields: data.TextsOf(args.Value("fieldnames")),
		restkey: args.Value("restkey"), restval: args.Value("restval")}
	row, err := s.find(firstText(args.Text("idkey"), "id"), q.ID)
	if namespace := args.Value("namespace"); row != nil && data.Truth(namespace) &&
		data.Hashable(namespace) {
		return data.NewMap(namespace, row), err
	}
	return row, err
}

func csvReader(f io.Reader, dialect string) (*csv.Reader, error) {
	r := csv.NewReader(f)
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	switch dialect {
	case "excel", "unix":
	case "excel-tab":
		r.Comma = '\t'
	default:
		return nil, errors.New("unknown dialect")
	}
	return r, nil
}

// A sheet is a table with named columns (csv.DictReader of Python).
type sheet struct {
	reader           *csv.Reader
	fields           []string
	restkey, restval any
}

// find returns the first row with id in the column key; nil if there is none.
func (s *sheet) find(key, id string) (*data.Map, error) {
	for {
		cells, err := s.reader.Read()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			return nil, fmt.Errorf("line %d: %w", parse.Line, parse.Err)
		}
		if err != nil {
			return nil, err
		}
		if s.fields == nil {
			s.fields = cells
			continue
		}
		row := s.row(cells)
		value, ok := row.Get(key)
		if !ok {
			return nil, fmt.Errorf("'%s'", key)
		}
		if value == id {
			return row, nil
		}
	}
}

func (s *sheet) row(cells []string) *data.Map {
	row := data.NewMap()
	for i, name := range s.fields {
		if i < len(cells) {
			row.Set(name, cells[i])
		} else {
			row.Set(name, s.restval)
		}
	}
	if len(cells) > len(s.fields) && data.Hashable(s.restkey) {
		var rest []any
		for _, cell := range cells[len(s.fields):] {
			rest = append(rest, cell)
		}
		row.Set(s.restkey, rest)
	}
	return row
}
