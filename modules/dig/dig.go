// Package dig is Salt's module dig: lookups in the DNS by the program dig (salt/modules/dig.py).
//
// dig.go has the lookups of one kind of record, spf.go those of mail senders.
//
// Differences from Salt: names that dig would read as options or as a server are refused, also those
// that a server returns; MX returns no rows if there are none; a missing address of a mail server
// is an error of plain words; and SPF records that include each other are an error.
package dig

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module dig. It is available on hosts with the program dig.
func Plugin() loader.Plugin { return loader.Plugin{Name: "dig", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("dig") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The dig execution module cannot be loaded: the dig binary is not in the path.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("A", m.a),
		loader.F("AAAA", m.aaaa),
		loader.F("CNAME", m.cname),
		loader.F("MX", m.mx),
		loader.F("NS", m.ns),
		loader.F("PTR", m.ptr),
		loader.F("SPF", m.spf),
		loader.F("TXT", m.txt),
		loader.F("a", m.a),
		loader.F("aaaa", m.aaaa),
		loader.F("check_ip", m.checkIP),
		loader.F("cname", m.cname),
		loader.F("mx", m.mx),
		loader.F("ns", m.ns),
		loader.F("ptr", m.ptr),
		loader.F("spf", m.spf),
	}}, nil
}

type ipArgs struct{ Addr any }

// checkIP returns whether a text is an IP address, or one with the length of a prefix.
//
// CLI Example:
//
//	salt ns1 dig.check_ip 127.0.0.1
func (m *module) checkIP(_ context.Context, a ipArgs) (any, error) {
	text, ok := a.Addr.(string)
	return ok && isIP(text), nil
}

// isIP reports whether a text is an address, perhaps with a prefix of 1 to 32 bits for IPv4, and 8
// to 128 bits for IPv6.
func isIP(text string) bool {
	host, length := text, ""
	at := strings.LastIndexByte(text, '/')
	if at >= 0 {
		host, length = text[:at], text[at+1:]
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || at < 0 {
		return err == nil
	}
	bits, err := loader.Int(length)
	if addr.Is4() {
		return err == nil && 1 <= bits && bits <= 32
	}
	return err == nil && 8 <= bits && bits <= 128
}

// ask runs dig, and returns its output. ok is false if dig failed, which the log tells.
func (m *module) ask(
	ctx context.Context, nameserver any, operands ...string,
) (text string, ok bool, err error) {
	argv := append([]string{"dig", "+short"}, operands...)
	if nameserver != nil {
		argv = append(argv, "@"+data.Str(nameserver))
	}
	for _, word := range argv[2:] {
		if strings.ContainsAny(word, "\n\r\x00") {
			return "", false, loader.Execution("%q has more than one line", word)
		}
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv})
	if err == nil && ran.Retcode != 0 {
		m.env.Log.Warnf("dig returned exit code '%d'. Returning empty list as fallback.", ran.Retcode)
	}
	return ran.Stdout, err == nil && ran.Retcode == 0, err
}

// records asks for the records of a name.
func (m *module) records(ctx context.Context, name, kind string, nameserver any) (string, bool, error) {
	if err := plain(name, kind); err != nil {
		return "", false, err
	}
	return m.ask(ctx, nameserver, name, kind)
}

// plain refuses words that dig would read as an option or as a server.
func plain(words ...string) error {
	if err := process.PlainOperands(words...); err != nil {
		return loader.Execution("%w", err)
	}
	for _, word := range words {
		if strings.HasPrefix(word, "+") || strings.HasPrefix(word, "@") {
			return loader.Execution("dig would take '%s' for an option or a server", word)
		}
	}
	return nil
}

// lines returns the rows of records as a list. It is empty if dig failed.
func (m *module) lines(ctx context.Context, name any, kind string, nameserver any) ([]string, error) {
	text, ok, err := m.records(ctx, data.Str(name), kind, nameserver)
	if err != nil || !ok {
		return nil, err
	}
	return strings.Split(text, "\n"), nil
}

// addresses returns the rows of records that are IP addresses.
func (m *module) addresses(ctx context.Context, name any, kind string, nameserver any) ([]any, error) {
	rows, err := m.lines(ctx, name, kind, nameserver)
	found := []any{}
	for _, row := range rows {
		if isIP(row) {
			found = append(found, row)
		}
	}
	return found, err
}

type hostArgs struct {
	Host       any
	Nameserver any `default:"None"`
}

// a returns the IPv4 addresses of a host in a list. nameserver is the server to ask.
//
// CLI Example:
//
//	salt ns1 dig.A www.google.com
func (m *module) a(ctx context.Context, a hostArgs) (any, error) {
	return m.addresses(ctx, a.Host, "A", a.Nameserver)
}

// aaaa returns the IPv6 addresses of a host in a list. nameserver is the server to ask.
//
// CLI Example:
//
//	salt ns1 dig.AAAA www.google.com
func (m *module) aaaa(ctx context.Context, a hostArgs) (any, error) {
	return m.addresses(ctx, a.Host, "AAAA", a.Nameserver)
}

// cname returns the name that a name stands for. nameserver is the server to ask. The result is an
// empty list if dig fails.
//
// CLI Example:
//
//	salt ns1 dig.CNAME mail.google.com
func (m *module) cname(ctx context.Context, a hostArgs) (any, error) {
	text, ok, err := m.records(ctx, data.Str(a.Host), "CNAME", a.Nameserver)
	if err != nil || !ok {
		return []any{}, err
	}
	return text, nil
}

// ptr returns the names of an address in a list. nameserver is the server to ask.
//
// CLI Example:
//
//	salt ns1 dig.PTR 1.2.3.4
func (m *module) ptr(ctx context.Context, a hostArgs) (any, error) {
	if err := plain(data.Str(a.Host)); err != nil {
		return nil, err
	}
	text, ok, err := m.ask(ctx, a.Nameserver, "-x", data.Str(a.Host))
	if err != nil || !ok {
		return []any{}, err
	}
	return data.Values(strings.Split(text, "\n")), nil
}

// txt returns the TXT records of a host in a list. nameserver is the server to ask.
//
// CLI Example:
//
//	salt ns1 dig.TXT google.com
func (m *module) txt(ctx context.Context, a hostArgs) (any, error) {
	rows, err := m.lines(ctx, a.Host, "TXT", a.Nameserver)
	return data.Values(rows), err
}

type nsArgs struct {
	Domain     any
	Resolve    any `default:"True"`
	Nameserver any `default:"None"`
}

// ns returns the addresses of the name servers of a domain in a list.
//
// resolve : True
//
//	If it is False, the list has the names of the servers.
//
// nameserver
//
//	The server to ask.
//
// CLI Example:
//
//	salt ns1 dig.NS google.com
func (m *module) ns(ctx context.Context, a nsArgs) (any, error) {
	names, err := m.lines(ctx, a.Domain, "NS", a.Nameserver)
	if err != nil || !data.Truth(a.Resolve) {
		return data.Values(names), err
	}
	found := []any{}
	for _, name := range names {
		addresses, err := m.addresses(ctx, name, "A", a.Nameserver)
		if err != nil {
			return nil, err
		}
		found = append(found, addresses...)
	}
	return found, nil
}

type mxArgs struct {
	Domain     any
	Resolve    any `default:"False"`
	Nameserver any `default:"None"`
}

// mx returns the mail servers of a domain: a list of lists, each with the preference and the name.
//
// resolve : False
//
//	Return an address in place of each name, the first that dig returns.
//
// nameserver
//
//	The server to ask.
//
// CLI Example:
//
//	salt ns1 dig.MX google.com
func (m *module) mx(ctx context.Context, a mxArgs) (any, error) {
	rows, err := m.lines(ctx, a.Domain, "MX", a.Nameserver)
	found := []any{}
	for _, row := range rows {
		words := strings.Fields(row)
		if !data.Truth(a.Resolve) {
			found = append(found, data.Values(words))
			continue
		}
		if len(words) < 2 {
			continue
		}
		addresses, err := m.addresses(ctx, words[1], "A", a.Nameserver)
		if err != nil {
			return nil, err
		}
		if len(addresses) == 0 {
			return nil, loader.Execution("the mail server %s of %s has no address", words[1], data.Str(a.Domain))
		}
		found = append(found, []any{words[0], addresses[0]})
	}
	return found, err
}
