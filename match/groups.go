package match

import (
	"fmt"
	"regexp"
)

// CompileGroups reads an expression of Python's re for searches, with its groups; fold is re.I and lines re.M. Beyond what
// Regexp refuses it refuses look-ahead and look-behind, with an error that wraps ErrUnsupported. A $ takes the line feed
// at the very end into the match.
func CompileGroups(expr string, fold, lines bool) (*regexp.Regexp, error) {
	if len(expr) > MaxLength {
		return nil, fmt.Errorf("regular expression: %w: %d bytes", ErrTooBig, len(expr))
	}
	f := flags{fold: fold, multiline: lines}
	t, err := translateWith(expr, f)
	if err == nil && len(t.asserts) > 0 {
		err = fmt.Errorf("look-ahead and look-behind are %w where groups are asked for", ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", clip(expr), err)
	}
	if _, err := parseBounded(t.text); err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", clip(expr), err)
	}
	re, err := regexp.Compile(f.set() + t.text)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", clip(expr), syntaxError(err))
	}
	return re, nil
}
