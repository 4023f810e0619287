package pki

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxID is the maximum length of file names on common file systems.
const maxID = 255

// ValidID returns nil if id is valid for a minion: 1 to 255 bytes of UTF-8 without slash,
// backslash, control and direction characters, and without a leading dot. Salt accepts more
// (salt/utils/verify.py: valid_id); the additional ids could hide a key from the operator
// (CVE-2017-12791, CVE-2017-14695). The error wraps ErrInvalidID and quotes the id.
func ValidID(id string) error {
	if err := safeName(id); err != nil {
		return err
	}
	if !utf8.ValidString(id) {
		return fmt.Errorf("%w: %q is not UTF-8", ErrInvalidID, id)
	}
	if strings.ContainsFunc(id, hidden) {
		return fmt.Errorf("%w: %q has control or direction characters", ErrInvalidID, id)
	}
	return nil
}

// hidden reports whether r is invisible or changes how other characters are displayed.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// safeName returns nil if name is the name of a file directly in a directory, and not hidden.
func safeName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: empty", ErrInvalidID)
	case len(name) > maxID:
		return fmt.Errorf("%w: %d bytes long", ErrInvalidID, len(name))
	case name[0] == '.':
		return fmt.Errorf("%w: %q begins with a dot", ErrInvalidID, name)
	case strings.ContainsAny(name, "/\\\x00"):
		return fmt.Errorf("%w: %q has a slash, backslash or NUL", ErrInvalidID, name)
	}
	return nil
}
