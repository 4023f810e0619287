package process

import (
	"errors"
	"strings"
)

// Words splits a command line into words as Python's shlex.split does: quotation marks and
// backslashes as in a POSIX shell. The errors are its texts.
func Words(s string) ([]string, error) {
	var (
		words []string
		word  strings.Builder
		quote rune // the open quotation mark, or 0
		begun bool // there is a word, possibly empty
	)
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case c == '\\' && quote != '\'':
			i++
			if i == len(runes) {
				//nolint:staticcheck // Salt's text
				return nil, errors.New("No escaped character") // Python's text
			}
			if quote == '"' && runes[i] != '"' && runes[i] != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(runes[i])
			begun = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '"' || c == '\'':
			quote, begun = c, true
		case strings.ContainsRune(" \t\r\n", c):
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quote != 0 {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("No closing quotation") // Python's text
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
