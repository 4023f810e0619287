package syndic

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// settings are the options that only a syndic has, and those in which it differs from a minion.
type settings struct {
	masters  []address
	masterID string        // master_id of the lower master
	cluster  bool          // syndic_mode: cluster
	ordered  bool          // syndic_failover: ordered
	gather   time.Duration // syndic_event_forward_timeout
	loads    int           // syndic_jid_forward_cache_hwm
	retries  int           // syndic_retries
	finger   string        // syndic_finger, else master_finger
	timeout  time.Duration // of a job that names none
}

// An address is where an upper master accepts requests.
type address struct {
	text string // as configured
	host string
	port int
}

// endpoint returns HOST:PORT.
func (a address) endpoint() string { return net.JoinHostPort(a.host, strconv.Itoa(a.port)) }

// dir returns the name of the directory for the journal of the upper master.
func (a address) dir() string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '-':
			return r
		case r == '.':
			return r
		}
		return '_'
	}, a.host+"_"+strconv.Itoa(a.port))
}

// readSettings returns the settings in the configurations of the lower master and of the minion on
// its host. The minion's options count before the master's (salt/config/__init__.py, syndic_config).
func readSettings(master *config.Master, minion *config.Minion) (settings, error) {
	o := options{minion.Map(), master.Map()}
	s := settings{
		masterID: data.Str(o.value("master_id", "")),
		cluster:  o.value("syndic_mode", "sync") == "cluster",
		ordered:  o.value("syndic_failover", "random") == "ordered",
		gather:   time.Duration(o.number("syndic_event_forward_timeout", 0.5) * float64(time.Second)),
		loads:    max(int(o.number("syndic_jid_forward_cache_hwm", 100)), 1),
		retries:  max(int(o.number("syndic_retries", 3)), 1),
		finger:   data.Str(o.value("syndic_finger", minion.MasterFinger)),
		timeout:  master.Timeout,
	}
	port := int(o.number("syndic_master_port", float64(minion.MasterPort)))
	if port <= 0 || port > 65535 {
		return s, &config.About{Option: "syndic_master_port",
			Err: fmt.Errorf("syndic_master_port: %d is not a port", port)}
	}
	var err error
	s.masters, err = parseUppers(o.value("syndic_master", "masterofmasters"), port,
		minion.MasterURIFormat == "ip_only")
	return s, err
}

// parseUppers parses the option syndic_master: a text or a list of texts.
func parseUppers(v any, port int, hostOnly bool) ([]address, error) {
	texts := data.TextsOf(v)
	if text, ok := v.(string); ok {
		texts = []string{text}
	}
	var all []address
	for _, text := range texts {
		host, number, err := config.ParseAddress(text, port, hostOnly)
		if err != nil {
			return nil, &config.About{Option: "syndic_master",
				Err: fmt.Errorf("syndic_master: %w; write HOST, HOST:PORT or '[IPV6]:PORT'", err)}
		}
		a := address{text: text, host: host, port: number}
		if !slices.ContainsFunc(all, func(b address) bool { return a.endpoint() == b.endpoint() }) {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil, &config.About{Option: "syndic_master",
			Err: errors.New("syndic_master: no master is set; write syndic_master: ADDRESS")}
	}
	return all, nil
}

// options are the options of the minion and, behind them, those of the master.
type options [2]*data.Map

// value returns an option, or otherwise if neither has it set.
func (o options) value(name string, otherwise any) any {
	for _, m := range o {
		if v := m.Value(name); v != nil && v != "" {
			return v
		}
	}
	return otherwise
}

// number returns an option that is a number, or otherwise if neither has one.
func (o options) number(name string, otherwise float64) float64 {
	switch v := o.value(name, otherwise).(type) {
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case float64:
		return v
	case string:
		if n, err := strconv.ParseFloat(v, 64); err == nil {
			return n
		}
	}
	return otherwise
}

// fingerOption returns the option that finger comes from, for messages.
func (s *Syndic) fingerOption() string {
	if s.finger != "" && s.finger != s.minion.MasterFinger {
		return "syndic_finger"
	}
	return "master_finger"
}
