package ipset

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/brineproject/brine/process"
)

// A member is an entry of a set: its parts, and its options such as a comment.
type member struct {
	parts   []part
	options map[string]string
}

// A part is an address, a network, a range or any other text.
type part struct {
	text        string
	net         netip.Prefix // of an address all bits
	address     bool
	first, last netip.Addr // of a range
}

// split returns the words of an entry with its options. A comment is one word, without quotes.
func split(entry string) []string {
	words, err := process.Words(entry)
	if err != nil || len(words) == 0 {
		words = strings.Fields(entry)
	}
	at := slices.Index(words, "comment")
	if at <= 0 || at+2 >= len(words) {
		return append([]string{}, or(words, entry)...)
	}
	end := at + 1
	for end < len(words) && !slices.Contains(strings.Fields(nets), words[end]) {
		end++
	}
	return slices.Concat(words[:at+1], []string{strings.Join(words[at+1:end], " ")}, words[end:])
}

func or(words []string, text string) []string {
	if len(words) == 0 {
		return []string{text}
	}
	return words
}

// parse returns an entry of a set of a type.
func parse(kind, text string) member {
	words := split(text)
	m := member{options: map[string]string{}}
	values := strings.Split(words[0], ",")
	_, names, _ := strings.Cut(kind, ":")
	for i, name := range strings.Split(names, ",") {
		if i >= len(values) {
			break
		}
		m.parts = append(m.parts, parsePart(name, values[i]))
	}
	for i := 1; i < len(words); i++ {
		switch option := words[i]; {
		case option == "nomatch" || i+1 == len(words):
			m.options[option] = ""
		default:
			i++
			m.options[option] = words[i]
		}
	}
	return m
}

func parsePart(name, text string) part {
	p := part{text: text}
	switch name {
	case "mac":
		p.text = strings.ToUpper(text)
	case "port":
		p.text = strings.TrimPrefix(text, "tcp:")
	case "ip", "net":
		first, last, ranged := strings.Cut(text, "-")
		if net, err := netip.ParsePrefix(text); err == nil {
			p.net = net.Masked()
		} else if address, err := netip.ParseAddr(text); err == nil {
			p.net, p.address = netip.PrefixFrom(address, address.BitLen()), true
		} else if ranged {
			p.first, _ = netip.ParseAddr(first) //nolint:errcheck // invalid if it is none
			p.last, _ = netip.ParseAddr(last)   //nolint:errcheck // invalid if it is none
		}
	}
	return p
}

// contains reports whether an entry with at least its options is in the member, part by part. A
// timeout counts as the same whatever is left of it.
func (m member) contains(entry member) bool {
	if len(m.parts) < len(entry.parts) {
		return false
	}
	for i, p := range entry.parts {
		if !m.parts[i].contains(p) {
			return false
		}
	}
	for option, v := range entry.options {
		if has, ok := m.options[option]; !ok || has != v && option != "timeout" {
			return false
		}
	}
	return true
}

// manyAddresses is the number of addresses of a range that are looked for one by one.
const manyAddresses = 4096

// holds reports whether one of the members contains an entry. Those of a range may be in several.
func holds(members []member, entry member) bool {
	if slices.ContainsFunc(members, func(m member) bool { return m.contains(entry) }) {
		return true
	}
	at := slices.IndexFunc(entry.parts, func(p part) bool { return p.first.IsValid() && p.last.IsValid() })
	if at < 0 {
		return false
	}
	address, last, parts := entry.parts[at].first, entry.parts[at].last, slices.Clone(entry.parts)
	for range manyAddresses {
		parts[at] = part{text: address.String(), net: netip.PrefixFrom(address, address.BitLen()),
			address: true}
		one := member{parts, entry.options}
		if !slices.ContainsFunc(members, func(m member) bool { return m.contains(one) }) {
			return false
		}
		if address == last {
			return true
		}
		address = address.Next()
	}
	return false
}

// contains reports whether two parts are equal, or one is an address in the other's network, or the
// other is a range in the network. An address counts as one in the network of an entry, as in Salt.
func (p part) contains(entry part) bool {
	switch {
	case p.text == entry.text:
		return true
	case entry.first.IsValid() && entry.last.IsValid():
		return p.net.IsValid() && p.net.Contains(entry.first) && p.net.Contains(entry.last)
	case !p.net.IsValid() || !entry.net.IsValid():
		return false
	case p.address != entry.address:
		return p.net.Contains(entry.net.Addr()) && entry.address || p.address &&
			entry.net.Contains(p.net.Addr())
	}
	return p.net == entry.net
}
