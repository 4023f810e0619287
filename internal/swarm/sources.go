package swarm

import (
	"fmt"
	"net/netip"
	"strings"
)

// maxSources limits the addresses of one list.
const maxSources = 1 << 16

// ParseSources parses local addresses: single ones and ranges FIRST-LAST, separated by commas, at most
// 65,536 addresses. "" means none. Each address is good for some 28,000 connections.
func ParseSources(text string) ([]netip.Addr, error) {
	var all []netip.Addr
	if text == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		first, last, err := parseRange(part)
		if err != nil {
			return nil, fmt.Errorf("source addresses %q: %w", part, err)
		}
		for a := first; a.IsValid() && a.Compare(last) <= 0; a = a.Next() {
			if len(all) == maxSources {
				return nil, fmt.Errorf("source addresses %q: more than %d", text, maxSources)
			}
			all = append(all, a)
		}
	}
	return all, nil
}

func parseRange(text string) (first, last netip.Addr, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if first, err = netip.ParseAddr(strings.TrimSpace(from)); err != nil || !isRange {
		return first, first, err
	}
	if last, err = netip.ParseAddr(strings.TrimSpace(to)); err != nil {
		return first, last, err
	}
	if first.Is4() != last.Is4() || last.Less(first) {
		return first, last, fmt.Errorf("%s does not come after %s", last, first)
	}
	return first, last, nil
}
