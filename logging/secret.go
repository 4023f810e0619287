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
	hidden = "**********" // stands for a secret

	minSecret  = 4    // bytes: shorter ones would hide half of all words
	maxSecrets = 1024 // values
	maxHidden  = 1 << 20
	maxPiece   = 4096 // bytes: a longer value is searched for in pieces
)

// Hide replaces the values by asterisks in all that is logged from now on: as they are, as Go and Python quote them, and
// the lines of those that have several. A value of fewer than 4 bytes is not hidden. Of the values given the last 1024
// are kept, and fewer when they have more than a megabyte; one that is given again counts as new.
func (l *Log) Hide(values ...string) { l.secrets.add(values) }

// secrets are what must not be logged. The zero value hides private keys alone.
type secrets struct {
	replacer atomic.Pointer[strings.Replacer] // nil when there are no values

	mu     sync.Mutex
	values []string // the newest last
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

// forget drops the oldest values above the bounds.
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

// replacerOf returns what replaces the values in each form that they may have; of two at one place the longer one.
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

// appendPieces appends a form of a value in pieces for which a search is cheap to prepare.
func appendPieces(forms []string, form string) []string {
	for len(form) >= 2*maxPiece {
		forms = append(forms, form[:maxPiece])
		form = form[maxPiece:]
	}
	return append(forms, form)
}

// formsOf returns the forms in which a value may stand in a text.
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

// hide returns text without what is secret in it.
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

// hideKeys replaces the PEM blocks of private keys, quoted or not. One without its end goes up to the end of the text.
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
