package process

import (
	"fmt"
	"strings"
)

// Operands refuses words that a program would take for options, for programs of which not all know the word -- that ends those.
func Operands(words ...string) error {
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			return fmt.Errorf("'%s' begins with a dash, and would be taken for an option", word)
		}
	}
	return nil
}
