package payload

import "github.com/brineproject/brine/data"

// RewriteShortWithin is RewriteWithin for values of from bytes and more. Where ok is false nothing
// is done.
func (f Fields) RewriteShortWithin(body []byte, from int) (raw data.Raw, ok bool) {
	return f.rewriteWithin(body, from)
}

// AllText reports whether b can be decoded with each str as text.
func AllText(b []byte, l Limits) bool {
	_, err := unmarshal(b, l, text)
	return err == nil
}
