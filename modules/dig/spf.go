package dig

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// mostLookups is the number of lookups that the SPF record of a domain may need.
const mostLookups = 100

type spfArgs struct {
	Domain     any
	Record     string `default:"'SPF'"`
	Nameserver any    `default:"None"`
}

// spf returns the addresses that may send mail of a domain by its SPF record, in a list.
//
// record : SPF
//
//	The kind of the record. If there is no SPF record, the TXT record is read; with TXT the first
//	lookup is spared.
//
// nameserver
//
//	The server to ask.
//
// CLI Example:
//
//	salt ns1 dig.SPF google.com
func (m *module) spf(ctx context.Context, a spfArgs) (any, error) {
	s := senders{m: m, nameserver: a.Nameserver, left: mostLookups}
	return s.of(ctx, data.Str(a.Domain), a.Record)
}

// senders collects the addresses of SPF records.
type senders struct {
	m          *module
	nameserver any
	left       int      // lookups that may still be made
	path       []string // domains whose records led here
}

// of returns the addresses of the record of a domain, and of the records that it names.
func (s *senders) of(ctx context.Context, domain, record string) ([]any, error) {
	if slices.Contains(s.path, domain) {
		return nil, loader.Execution("the SPF record of %s includes itself", domain)
	}
	s.path = append(s.path, domain)
	defer func() { s.path = s.path[:len(s.path)-1] }()
	text, ok, err := s.lookup(ctx, domain, record)
	if err == nil && ok && text == "" && record == "SPF" {
		text, ok, err = s.lookup(ctx, domain, "TXT")
	}
	found := []any{}
	terms := spfTerms(text)
	if err != nil || !ok || len(terms) == 0 {
		return found, err
	}
	if next, is := strings.CutPrefix(terms[0], "redirect="); is {
		return s.of(ctx, next, "SPF")
	}
	for _, term := range terms {
		mechanism, value := spfMechanism(term)
		switch {
		case mechanism == "include":
			more, err := s.of(ctx, value, "SPF")
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		case mechanism != "" && isIP(value):
			found = append(found, value)
		}
	}
	return found, nil
}

func (s *senders) lookup(ctx context.Context, domain, record string) (string, bool, error) {
	if s.left--; s.left < 0 {
		return "", false, loader.Execution("the SPF record of %s needs more than %d lookups",
			s.path[0], mostLookups)
	}
	return s.m.records(ctx, domain, record, s.nameserver)
}

// spfTerms returns the terms of an SPF record after its version. There are none in other texts.
func spfTerms(text string) []string {
	words := strings.Fields(strings.ReplaceAll(text, `"`, ""))
	if len(words) == 0 || words[0] != "v=spf1" {
		return nil
	}
	return words[1:]
}

var mechanisms = regexp.MustCompile(`^[+~]?(ip[46]|include):(.+)`)

// spfMechanism returns ip4, ip6 or include with its value, or "" for other terms.
func spfMechanism(term string) (mechanism, value string) {
	if m := mechanisms.FindStringSubmatch(term); m != nil {
		return m[1], m[2]
	}
	return "", ""
}
