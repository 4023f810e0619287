package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
)

type queryArgs struct {
	Database any
	Query    string
	Conn     *data.Map `kwargs:"connection_args"`
}

// query executes a statement in a database. It returns the duration and, for statements that begin
// with SELECT, SHOW or DESC, columns, results and rows returned, otherwise rows affected. Values
// are strings. If the server rejects the statement it returns False.
//
// CLI Example:
//
//	salt '*' mysql.query mydb "UPDATE mytable set myfield=1 limit 1"
//	salt '*' mysql.query mydb "SELECT id,name,cash from users limit 3"
func (m *module) query(ctx context.Context, a queryArgs) (any, error) {
	conn := &data.Map{}
	conn.Update(a.Conn)
	conn.Set("connection_db", a.Database)
	reached := false
	v, err := m.with(ctx, conn, data.NewMap(), func(s *session) (any, error) {
		reached = true
		return s.answer(a.Query)
	})
	if refused, ok := v.(*data.Map); ok && reached && err == nil && refused.Len() == 0 {
		return false, nil
	}
	return v, err
}

// reads reports whether a statement returns rows.
func reads(statement string) bool {
	words := strings.ToUpper(strings.TrimSpace(statement))
	return strings.HasPrefix(words, "SELECT") || strings.HasPrefix(words, "SHOW") ||
		strings.HasPrefix(words, "DESC")
}

func (s *session) answer(statement string) (*data.Map, error) {
	statement = strings.ReplaceAll(statement, "%%", "%")
	begun := time.Now()
	if !reads(statement) {
		n, err := s.exec(statement)
		if err != nil {
			return nil, err
		}
		return data.NewMap("query time", duration(time.Since(begun)), "rows affected", n), nil
	}
	rows, err := s.db.QueryContext(s.ctx, statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, results, err := texts(rows)
	if err != nil {
		return nil, err
	}
	return data.NewMap("query time", duration(time.Since(begun)),
		"rows returned", int64(len(results)), "columns", columns, "results", results), nil
}

// texts returns the columns and the rows of a result, all as strings.
func texts(rows *sql.Rows) (columns, results []any, err error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, nil, err
	}
	results = []any{}
	for _, name := range names {
		columns = append(columns, name)
	}
	for rows.Next() {
		cells, into, row := make([]sql.NullString, len(names)), make([]any, len(names)),
			make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, nil, err
		}
		for i, c := range cells {
			if c.Valid {
				row[i] = c.String
			}
		}
		results = append(results, row)
	}
	return columns, results, rows.Err()
}

// duration returns a duration in readable form and in seconds.
func duration(d time.Duration) *data.Map {
	seconds := d.Seconds()
	human := fmt.Sprintf("%ss", data.Str(round(seconds, 2)))
	if seconds < 0.2 {
		human = fmt.Sprintf("%sms", data.Str(round(seconds*1000, 1)))
	}
	return data.NewMap("human", human, "raw", data.Str(round(seconds, 5)))
}

func round(f float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(f*scale) / scale
}

type fileQueryArgs struct {
	Database any
	FileName string
	Conn     *data.Map `kwargs:"connection_args"`
}

// fileQuery executes the statements of a file, which may come from the master. Each statement ends
// at a line with a semicolon. It returns the sums of the results of mysql.query, or False if the
// server rejected a statement.
//
// CLI Example:
//
//	salt '*' mysql.file_query mydb file_name=/tmp/sqlfile.sql
//	salt '*' mysql.file_query mydb file_name=salt://sqlfile.sql
func (m *module) fileQuery(ctx context.Context, a fileQueryArgs) (any, error) {
	name := a.FileName
	if regexp.MustCompile(`^(salt|https?|swift|s3)://`).MatchString(name) {
		cached, err := calls.CacheFile(ctx, m.env, calls.Source{Path: name})
		if err != nil {
			return nil, err
		}
		name = cached
	}
	text, err := os.ReadFile(name)
	if err != nil {
		m.env.Log.Errorf("File %q does not exist", name)
		return false, nil //nolint:nilerr // Salt's answer
	}
	sum := data.NewMap("rows returned", int64(0), "columns", []any{}, "results", []any{},
		"rows affected", int64(0))
	seconds := 0.0
	for _, statement := range statements(string(text)) {
		v, err := m.query(ctx, queryArgs{a.Database, statement, a.Conn})
		answer, ok := v.(*data.Map)
		if err != nil || !ok || answer.Len() == 0 {
			return false, err
		}
		seconds += add(sum, answer)
	}
	time := data.NewMap("human", data.Str(round(seconds, 2))+"s", "raw", round(seconds, 5))
	all := data.NewMap("query time", time)
	for key, v := range sum.All() {
		if data.Truth(v) {
			all.Set(key, v)
		}
	}
	return all, nil
}

// add adds a result to the sum of others, and returns its duration.
func add(sum, answer *data.Map) float64 {
	for _, key := range []string{"rows returned", "rows affected"} {
		if n, ok := answer.Value(key).(int64); ok {
			sum.Set(key, sum.Value(key).(int64)+n)
		}
	}
	for _, key := range []string{"columns", "results"} {
		if answer.Has(key) {
			sum.Set(key, append(sum.Value(key).([]any), answer.Value(key)))
		}
	}
	var seconds float64
	time, _ := answer.Value("query time").(*data.Map)
	_, _ = fmt.Sscanf(time.Text("raw"), "%g", &seconds)
	return seconds
}

// statements splits a text at lines that end a statement. Comments are removed.
func statements(text string) []string {
	var list []string
	ends := regexp.MustCompile(`[^-;]+;`)
	query := ""
	for line := range strings.Lines(withoutComments(text)) {
		query += strings.TrimRight(line, "\r\n")
		if ends.MatchString(line) {
			list = append(list, query)
			query = ""
		} else if query != "" {
			query += " "
		}
	}
	return list
}

// withoutComments removes comments from SQL, but leaves string literals alone.
func withoutComments(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		n := 1
		switch {
		case rest[0] == '\'' || rest[0] == '"' || rest[0] == '`':
			n = quotedLength(rest)
		case strings.HasPrefix(rest, "-- ") || strings.HasPrefix(rest, "--\n") || rest[0] == '#':
			if n = strings.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
			i += n
			continue
		case strings.HasPrefix(rest, "/*") && !strings.HasPrefix(rest, "/*!"):
			if n = strings.Index(rest, "*/") + 2; n < 2 {
				n = len(rest)
			}
			i += n
			continue
		}
		b.WriteString(rest[:n])
		i += n
	}
	return b.String()
}

// quotedLength returns how long the quoted text at the beginning is.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] != '`':
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return len(s)
}
