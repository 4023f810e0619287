package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// ParseAddress splits the address of a master: HOST, HOST:PORT, V6, [V6] or [V6]:PORT
// (salt/minion.py, prep_ip_port). An address without a port gets the given one. With hostOnly the
// whole text is the host.
func ParseAddress(text string, port int, hostOnly bool) (host string, number int, err error) {
	host = strings.TrimSpace(text)
	if before, digits, err := net.SplitHostPort(host); err == nil && !hostOnly {
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || n == 0 {
			return "", 0, fmt.Errorf("%q: %q is not a port", text, digits)
		}
		host, port = before, int(n)
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	if host == "" || strings.ContainsAny(host, "[]/ \t\r\n\x00") {
		return "", 0, fmt.Errorf("%q is not an address", text)
	}
	return host, port, nil
}
