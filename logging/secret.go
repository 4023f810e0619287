package logging

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/brineproject/brine/data"
)

const (
	hidden = "**********" // replaces secrets

	minSecret  = 4    // bytes: shorter values would also match ordinary words
	maxSecrets = 1024 // number of values
	maxHidden  = 1 << 20
	maxPiece   = 4096 // bytes: longer values are searched for in pieces
)

// Hide replaces the values by asterisks in all later log entries: the values as they are, as quoted
// by Go and Python, and each line of a multi-line value. Values of fewer than 4 bytes are not
// hidden. Only the last 1024 values are kept, or fewer if they exceed a megabyte; a value passed
// again counts as new.
func (l *Log) Hide(values ...string) { l.secrets.add(values) }

// secrets are the values that must not be logged. The zero value hides only private keys.
type secrets struct {
	replacer atomic.Pointer[strings.Replacer] // nil if there are no values

	mu     sync.Mutex
	values []string // newest last
}

func (s *secrets) add(values []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := len(s.values)
	for _, v := range values {
		if len(v) < minSecret || known > 0 && s.values[known-1] == v {
			continue
		}
		s.values = append(slices.DeleteFunc(s.values, func(old string) bool { return old == v }), v)
		known = len(s.values)
	}
	s.forget()
	if len(s.values) > 0 {
		s.replacer.Store(replacerOf(s.values))
	}
}

// forget drops the oldest values above the limits.
func (s *secrets) forget() {
	size := 0
	for _, v := range s.values {
		size += len(v)
	}
	for len(s.values) > 1 && (len(s.values) > maxSecrets || size > maxHidden) {
		size -= len(s.values[0])
		s.values = s.values[1:]
	}
}

// replacerOf returns a replacer for all forms of the values. If two match at one position, the
// longer one is replaced.
func replacerOf(values []string) *strings.Replacer {
	var forms []string
	for _, v := range values {
		for _, form := range formsOf(v) {
			forms = appendPieces(forms, form)
		}
	}
	slices.SortFunc(forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var pairs []string
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, hidden)
	}
	return strings.NewReplacer(pairs...)
}

// appendPieces appends a form of a value, split into pieces that are cheap to search for.
func appendPieces(forms []string, form string) []string {
	for len(form) >= 2*maxPiece {
		forms = append(forms, form[:maxPiece])
		form = form[maxPiece:]
	}
	return append(forms, form)
}

// formsOf returns the forms in which a value may occur in a text.
func formsOf(v string) []string {
	forms := []string{v}
	for _, quoted := range []string{strconv.Quote(v), data.Repr(v)} {
		if inner := quoted[1 : len(quoted)-1]; inner != v {
			forms = append(forms, inner)
		}
	}
	if strings.Contains(v, "\n") {
		for line := range strings.Lines(v) {
			if line = strings.TrimSpace(line); len(line) >= minSecret {
				forms = append(forms, line)
			}
		}
	}
	return forms
}

// hide returns text without secrets.
func (s *secrets) hide(text string) string {
	if r := s.replacer.Load(); r != nil {
		text = r.Replace(text)
	}
	if strings.Contains(text, pemBegin) {
		text = hideKeys(text)
	}
	return text
}

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
	pemDash  = "-----"
)

// hideKeys replaces PEM blocks of private keys, quoted or not. A block without an end extends to
// the end of the text.
func hideKeys(text string) string {
	var b strings.Builder
	for {
		before, block, found := strings.Cut(text, pemBegin)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		label, body, _ := strings.Cut(block, pemDash)
		if !strings.Contains(label, "PRIVATE KEY") {
			b.WriteString(pemBegin)
			text = block
			continue
		}
		b.WriteString(hidden)
		_, rest, _ := strings.Cut(body, pemEnd)
		_, text, _ = strings.Cut(rest, pemDash)
	}
}
