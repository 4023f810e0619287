package minion

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
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

// masters returns the masters that a configuration names, without duplicates. With master_type
// failover and distributed one of them is in use at a time, with str all are. With disable there
// are none.
func masters(cfg *config.Minion) ([]masterAddress, error) {
	if cfg.MasterType == "disable" {
		return nil, nil
	}
	return addresses(cfg, cfg.Master)
}

// addresses parses the addresses of masters.
func addresses(cfg *config.Minion, texts []string) ([]masterAddress, error) {
	var all []masterAddress
	for _, text := range texts {
		a, err := parseMaster(text, cfg.MasterPort, cfg.MasterURIFormat == "ip_only")
		if list, ok := unbracketed(text); ok {
			return nil, &config.About{Option: "master",
				Err: fmt.Errorf("master: %q is not an address; write several masters as a list: %s", text, list)}
		}
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

// unbracketed returns the list that was meant by a text of several addresses, such as "a, b".
func unbracketed(text string) (list string, ok bool) {
	if !strings.Contains(text, ",") {
		return "", false
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	return "[" + strings.Join(parts, ", ") + "]", len(parts) > 1
}

// CheckMasters reports an error in the options that name the masters, the same as New: a
// *config.About.
func CheckMasters(cfg *config.Minion) error {
	if cfg.MasterType == typeFunc {
		_, err := masterFunction(cfg)
		return err
	}
	_, err := masters(cfg)
	return err
}

// typeFunc is the value of master_type with which a function returns the masters.
const typeFunc = "func"

// masterFunction returns the name of the function in the option master.
func masterFunction(cfg *config.Minion) (string, error) {
	if len(cfg.Master) == 1 {
		module, function, _ := strings.Cut(cfg.Master[0], ".")
		if module != "" && function != "" && !strings.Contains(function, ".") {
			return cfg.Master[0], nil
		}
	}
	return "", &config.About{Option: "master", Err: fmt.Errorf("master: %q is not the name of a function; "+
		"with master_type: func write MODULE.FUNCTION", strings.Join(cfg.Master, ", "))}
}

// evaluateMasters returns the masters, which with master_type func a function names (salt/minion.py,
// eval_master_func). functions are the execution modules.
func evaluateMasters(ctx context.Context, cfg *config.Minion, functions *loader.Registry) ([]masterAddress, error) {
	if cfg.MasterType != typeFunc {
		return masters(cfg)
	}
	name, err := masterFunction(cfg)
	if err != nil {
		return nil, err
	}
	ctx, scope := loader.WithScope(ctx)
	defer scope.Close()
	if !functions.Has(name) {
		return nil, &config.About{Option: "master", Err: fmt.Errorf("ask %s for the masters: %s", name,
			strings.TrimSuffix(functions.MissingText(name), "."))}
	}
	value, err := functions.Invoke(ctx, name, nil, nil)
	if err != nil {
		return nil, &config.About{Option: "master", Err: fmt.Errorf("ask %s for the masters: %w", name, err)}
	}
	texts := []string{}
	switch v := value.(type) {
	case string:
		texts = append(texts, v)
	case []any:
		for _, one := range v {
			text, ok := one.(string)
			if !ok {
				return nil, notMasters(name, value)
			}
			texts = append(texts, text)
		}
	default:
		return nil, notMasters(name, value)
	}
	all, err := addresses(cfg, texts)
	if err != nil {
		return nil, fmt.Errorf("%s has returned %s: %w", name, data.Repr(value), err)
	}
	return all, nil
}

func notMasters(name string, value any) error {
	return &config.About{Option: "master", Err: fmt.Errorf("ask %s for the masters: it has returned %s, "+
		"which is neither a text nor a list of texts", name, data.Repr(value))}
}

// parseMaster parses the address of a master, see config.ParseAddress.
func parseMaster(text string, port int, hostOnly bool) (masterAddress, error) {
	host, number, err := config.ParseAddress(text, port, hostOnly)
	return masterAddress{text: text, host: host, port: number}, err
}
