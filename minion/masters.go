package minion

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/config"
)

// A masterAddress is the address at which a master accepts requests.
type masterAddress struct {
	text string // as configured
	host string
	port int
}

// uri returns the address in Salt's form, tcp://HOST:PORT.
func (a masterAddress) uri() string {
	return "tcp://" +
		net.JoinHostPort(a.host, strconv.Itoa(a.port))
}

// masters returns the masters of a configuration without duplicates. All of them are active at
// once. With master_type disable there are none.
func masters(cfg *config.Minion) ([]masterAddress, error) {
	switch cfg.MasterType {
	case "", "str":
	case "disable":
		return nil, nil
	default:
		return nil, &config.About{Option: "master_type",
			Err: fmt.Errorf("master_type: %s is not supported: set str, with which all masters of the list are active, or disable", cfg.MasterType)}
	}
	var all []masterAddress
	for _, text := range cfg.Master {
		a, err := parseMaster(text, cfg.MasterPort, cfg.MasterURIFormat == "ip_only")
		if err != nil {
			return nil, &config.About{Option: "master",
				Err: fmt.Errorf("master: %w; write HOST, HOST:PORT or '[IPV6]:PORT'", err)}
		}
		if !slices.ContainsFunc(all, func(b masterAddress) bool { return a.host == b.host && a.port == b.port }) {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil, &config.About{Option: "master",
			Err: errors.New("master: no master is set; write master: ADDRESS")}
	}
	return all, nil
}

// CheckMasters reports an error in the options that name the masters, the same as New: a
// *config.About.
func CheckMasters(cfg *config.Minion) error {
	_, err := masters(cfg)
	return err
}

// parseMaster parses HOST, HOST:PORT, V6, [V6] or [V6]:PORT (salt/minion.py, prep_ip_port). With
// hostOnly the whole text is the host.
func parseMaster(text string, port int, hostOnly bool) (masterAddress, error) {
	a := masterAddress{text: text, host: strings.TrimSpace(text), port: port}
	if host, digits, err := net.SplitHostPort(a.host); err == nil && !hostOnly {
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || n == 0 {
			return a, fmt.Errorf("%q: %q is not a port", text, digits)
		}
		a.host, a.port = host, int(n)
	} else if inner, ok := strings.CutPrefix(a.host, "["); ok {
		a.host = strings.TrimSuffix(inner, "]")
	}
	if a.host == "" || strings.ContainsAny(a.host, "[]/ \t\r\n\x00") {
		return a, fmt.Errorf("%q is not an address", text)
	}
	return a, nil
}
