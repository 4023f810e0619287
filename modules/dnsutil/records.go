package dnsutil

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type checkIPArgs struct {
	IPAddr any `name:"ip_addr"`
}

// checkIP returns whether a string is an IP address, or an address with a prefix length after a
// slash.
//
// CLI Example:
//
//	salt ns1 dnsutil.check_ip 127.0.0.1
func (m *module) checkIP(_ context.Context, a checkIPArgs) (any, error) {
	text, ok := a.IPAddr.(string)
	return ok && isAddress(text), nil
}

// isAddress is check_ip of salt/modules/dig.py. It requires a prefix of at least 8 bits for IPv6.
func isAddress(text string) bool {
	address, length, network := text, "", false
	if i := strings.LastIndex(text, "/"); i >= 0 {
		address, length, network = text[:i], text[i+1:], true
	}
	ip, err := netip.ParseAddr(address)
	if err != nil || !network {
		return err == nil
	}
	bits, err := loader.Int(length)
	if ip.Is4() {
		return err == nil && bits >= 1 && bits <= 32
	}
	return err == nil && bits >= 8 && bits <= 128
}

type hostArgs struct {
	Host       any
	Nameserver any `default:"None"`
}

// a returns the IPv4 addresses of a host.
//
// nameserver
//
//	The DNS server to query. Default: those of the host.
//
// CLI Example:
//
//	salt ns1 dnsutil.A www.example.com
func (m *module) a(ctx context.Context, a hostArgs) (any, error) {
	return m.addresses(ctx, a, typeA, "ip4")
}

// aaaa returns the IPv6 addresses of a host.
//
// nameserver
//
//	The DNS server to query. Default: those of the host.
//
// CLI Example:
//
//	salt ns1 dnsutil.AAAA www.example.com
func (m *module) aaaa(ctx context.Context, a hostArgs) (any, error) {
	return m.addresses(ctx, a, typeAAAA, "ip6")
}

func (m *module) addresses(ctx context.Context, a hostArgs, k kind, network string) (any, error) {
	host := data.Str(a.Host)
	if m.dig || a.Nameserver != nil {
		list, _ := m.ips(ctx, host, k, a.Nameserver)
		return list, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, network, host)
	if err != nil {
		return "Unable to resolve " + host, nil //nolint:nilerr // the text is the result
	}
	list := []any{}
	for _, ip := range found {
		list = append(list, ip.Unmap().String())
	}
	return list, nil
}

// ips returns the lines of a response that are addresses.
func (m *module) ips(ctx context.Context, host string, k kind, nameserver any) ([]any, bool) {
	lines, ok := m.lines(ctx, host, k, nameserver)
	list := []any{}
	for _, line := range lines {
		if isAddress(line) {
			list = append(list, line)
		}
	}
	return list, ok
}

// These are dig's return codes. The last failing query of a job determines its return code.
const (
	noReply = 9
	badName = 10
)

// lines returns the records of a name as dig +short prints them. If no server responds, it logs
// that and returns false. It sets the return code of the job to dig's.
func (m *module) lines(ctx context.Context, name string, k kind, nameserver any) ([]string, bool) {
	lines, err := m.query(ctx, name, k, nameserver)
	job := loader.ContextOf(ctx)
	switch {
	case err == nil:
		job.SetRetcode(0)
	case errors.Is(err, errName):
		job.SetRetcode(badName)
	default:
		job.SetRetcode(noReply)
	}
	if err != nil {
		m.env.Log.Warnf("dnsutil: lookup of %q failed: %v. Returning empty list as fallback.", name,
			err)
	}
	return lines, err == nil
}

type nsArgs struct {
	Domain     any
	Resolve    any `default:"True"`
	Nameserver any `default:"None"`
}

// ns returns the addresses of the DNS servers of a domain.
//
// resolve
//
//	False: return their names.
//
// nameserver
//
//	The DNS server to query. Default: those of the host.
//
// CLI Example:
//
//	salt ns1 dnsutil.NS example.com
func (m *module) ns(ctx context.Context, a nsArgs) (any, error) {
	lines, ok := m.lines(ctx, data.Str(a.Domain), typeNS, a.Nameserver)
	list := []any{}
	switch {
	case !ok:
		return list, nil
	case !data.Truth(a.Resolve) && len(lines) == 0:
		return []any{""}, nil // Salt splits dig's empty output like this
	case !data.Truth(a.Resolve):
		return data.Values(lines), nil
	}
	for _, host := range lines {
		ips, _ := m.ips(ctx, host, typeA, a.Nameserver)
		list = append(list, ips...)
	}
	if len(lines) == 0 {
		loader.ContextOf(ctx).SetRetcode(badName) // Salt then looks up the empty name
	}
	return list, nil
}

type mxArgs struct {
	Domain     any
	Resolve    any `default:"False"`
	Nameserver any `default:"None"`
}

// mx returns the mail servers of a domain: for each a list of its priority and its name.
//
// resolve
//
//	True: return the first address of each server instead of its name.
//
// nameserver
//
//	The DNS server to query. Default: those of the host.
//
// CLI Example:
//
//	salt ns1 dnsutil.MX example.com
func (m *module) mx(ctx context.Context, a mxArgs) (any, error) {
	lines, ok := m.lines(ctx, data.Str(a.Domain), typeMX, a.Nameserver)
	list := []any{}
	if !ok || len(lines) == 0 && data.Truth(a.Resolve) {
		return list, nil
	}
	if len(lines) == 0 {
		return []any{list}, nil // Salt splits dig's empty output like this
	}
	for _, line := range lines {
		words := strings.Fields(line)
		if data.Truth(a.Resolve) {
			if len(words) < 2 {
				continue // an alias in the chain to the records
			}
			ips, _ := m.ips(ctx, words[1], typeA, a.Nameserver)
			if len(ips) == 0 {
				return nil, loader.Execution("the mail server %s has no address", words[1])
			}
			words[1] = data.Str(ips[0])
		}
		list = append(list, data.Values(words))
	}
	return list, nil
}

type spfArgs struct {
	Domain     any
	Record     any `default:"'SPF'"`
	Nameserver any `default:"None"`
}

// spf returns the addresses that may send mail for a domain.
//
// record
//
//	TXT: use only records of that type; SPF: use TXT records if there are none of type SPF.
//
// nameserver
//
//	The DNS server to query. Default: those of the host.
//
// CLI Example:
//
//	salt ns1 dnsutil.SPF example.com
func (m *module) spf(ctx context.Context, a spfArgs) (any, error) {
	s := &sender{m: m, nameserver: a.Nameserver, left: referrals}
	switch record := data.Str(a.Record); strings.ToUpper(record) {
	case "SPF":
		return s.of(ctx, data.Str(a.Domain), typeSPF)
	case "TXT":
		return s.of(ctx, data.Str(a.Domain), typeTXT)
	default:
		return nil, loader.Invocation("record must be SPF or TXT, not %s", record)
	}
}

// referrals is how many other domains a record may refer to (RFC 7208).
const referrals = 10

// A sender looks up the addresses that may send mail.
type sender struct {
	m          *module
	nameserver any
	left       int // number of further domains that may be queried
}

var mechanism = regexp.MustCompile(`^(?:\+|~)?(ip[46]|include):(.+)`)

func (s *sender) of(ctx context.Context, domain string, k kind) ([]any, error) {
	list := []any{}
	lines, ok := s.m.lines(ctx, domain, k, s.nameserver)
	switch {
	case !ok:
		return list, nil
	case len(lines) == 0 && k == typeSPF:
		return s.of(ctx, domain, typeTXT)
	}
	sections := strings.Fields(strings.ReplaceAll(strings.Join(lines, "\n"), `"`, ""))
	if len(sections) < 2 || sections[0] != "v=spf1" {
		return list, nil
	}
	if to, ok := strings.CutPrefix(sections[1], "redirect="); ok {
		return s.referred(ctx, to)
	}
	for _, section := range sections[1:] {
		switch found := mechanism.FindStringSubmatch(section); {
		case found == nil:
		case found[1] == "include":
			more, err := s.referred(ctx, found[2])
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		case isAddress(found[2]):
			list = append(list, found[2])
		}
	}
	return list, nil
}

func (s *sender) referred(ctx context.Context, domain string) ([]any, error) {
	if s.left--; s.left < 0 {
		return nil, loader.Execution("the SPF record refers to more than %d others", referrals)
	}
	return s.of(ctx, domain, typeSPF)
}
