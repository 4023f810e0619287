package mysql

import (
	"strings"

	"github.com/brineproject/brine/loader"
)

// A granting is a parsed GRANT statement.
type granting struct {
	user, host, database string
	grants               []string
}

// words splits a statement into words of letters, digits, underscores and double quotation marks;
// strings in single quotes or backticks, including these; and single other characters.
func words(s string) ([]string, error) {
	var list []string
	for i := 0; i < len(s); {
		c := s[i]
		n := 1
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			i++
			continue
		case c == '\'' || c == '`':
			end := strings.IndexByte(s[i+1:], c)
			if end < 0 {
				return nil, loader.Exception("ValueError", "No closing quotation")
			}
			n = end + 2
		case wordByte(c):
			for i+n < len(s) && (wordByte(s[i+n]) || s[i+n] == '\'' || s[i+n] == '`') {
				n++
			}
		}
		list = append(list, s[i:i+n])
		i += n
	}
	return list, nil
}

func wordByte(c byte) bool {
	return c == '_' || c == '"' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' ||
		'A' <= c && c <= 'Z'
}

// tokenize parses a GRANT statement.
func tokenize(statement string) (granting, error) {
	list, err := words(statement)
	if err != nil {
		return granting{}, err
	}
	var g granting
	if len(list) > 0 {
		list = list[1:] // GRANT
	}
	list = g.takeGrants(list)
	list = g.takePlace(list)
	g.takeUser(list)
	return g, nil
}

// takeGrants parses up to ON: privileges of several words, and columns in parentheses.
func (g *granting) takeGrants(list []string) []string {
	var many []string
	column, current := false, ""
	for i, w := range list {
		switch w {
		case "ON":
			return list[i+1:]
		case ",":
			continue
		case "(", ")":
			column = w == "("
			continue
		}
		if i+1 < len(list) && !ends(list[i+1]) {
			many = append(many, w)
			continue
		}
		switch {
		case many != nil:
			w, many = strings.Join(append(many, w), " "), nil
		case column:
			w = current + "." + w
		default:
			current = w
		}
		g.grants = append(g.grants, w)
	}
	return nil
}

func ends(next string) bool { return next == "," || next == "ON" || next == "(" || next == ")" }

// takePlace parses up to TO: the database and the table.
func (g *granting) takePlace(list []string) []string {
	for i, w := range list {
		if w == "TO" && strings.Contains(g.database, ".") {
			return list[i+1:]
		}
		g.database += w
	}
	return nil
}

// takeUser parses the user and the host.
func (g *granting) takeUser(list []string) {
	for i, w := range list {
		if w == "@" {
			if i+1 < len(list) {
				g.host = strings.Trim(list[i+1], "'")
			}
			break
		}
		g.user += w
	}
	g.user = strings.Trim(g.user, "'")
}
