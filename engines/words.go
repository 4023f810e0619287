package engines

import (
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
)

// Words returns a command as words. A list is returned as it is. A text is split as a shell does,
// without any other shell processing (Python's shlex.split).
func Words(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		words, err := split(v)
		if err == nil && len(words) == 0 {
			err = errors.New("the command is empty")
		}
		return words, err
	case []any:
		var words []string
		for _, w := range v {
			words = append(words, data.Str(w))
		}
		if len(words) > 0 {
			return words, nil
		}
	}
	return nil, fmt.Errorf("a command is a text or a list of words, not %s", data.Repr(v))
}

func split(s string) (words []string, err error) {
	var word strings.Builder
	var quote rune // the open quotation mark, or 0
	escaped, begun := false, false
	for _, c := range s {
		switch {
		case escaped:
			if quote == '"' && c != '"' && c != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, begun = c, true
		case quote == 0 && strings.ContainsRune(" \t\r\n", c):
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	switch {
	case escaped:
		return nil, errors.New("nothing follows the last backslash")
	case quote != 0:
		return nil, errors.New("a quotation is not closed")
	case begun:
		words = append(words, word.String())
	}
	return words, nil
}
