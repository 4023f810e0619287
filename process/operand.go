package process

import (
	"fmt"
	"strings"
)

// Operands rejects words that a program would read as options. It is for programs that do not all
// support -- as the end of options.
func Operands(words ...string) error {
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			return fmt.Errorf("'%s' begins with a dash, and would be taken for an option", word)
		}
	}
	return nil
}

// PlainOperands is Operands for words that must also be a single line: it rejects line ends and
// NUL.
func PlainOperands(words ...string) error {
	for _, word := range words {
		if strings.ContainsAny(word, "\n\r\x00") {
			return fmt.Errorf("%q has more than one line", word)
		}
	}
	return Operands(words...)
}
