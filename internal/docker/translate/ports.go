package translate

import (
	"errors"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// mostPorts is the number of ports that one range may have. There are no more on a host.
const mostPorts = 1 << 16

// portRange reads a port, or two with a dash.
func portRange(v any) (first, last int64, err error) {
	if n, ok := whole(v); ok {
		return n, n, nil
	}
	line := data.Str(v)
	parts := splitTrim(line, "-", -1)
	first, ok := number(parts[0])
	last, also := first, true
	if len(parts) == 2 {
		last, also = number(parts[1])
	}
	switch {
	case !ok || !also || len(parts) > 2 || last-first >= mostPorts:
		return 0, 0, invalidf("'%s' is non-numeric or an invalid port range", line)
	case first > last:
		return 0, 0, invalidf("Start of port range (%d) cannot be greater than end of port range (%d)", first, last)
	}
	return first, last, nil
}

// portOf returns a port as docker's clients name it: a number, or with UDP a number and the protocol.
func portOf(v any, protocol string) (any, error) {
	if line, ok := v.(string); ok {
		port, own, _ := strings.Cut(line, "/")
		if own != "" {
			protocol = own
		}
		v = port
	}
	n, ok := number(v)
	if !ok {
		return nil, errors.New("invalid literal for int() with base 10: " + data.Repr(v))
	}
	if strings.EqualFold(protocol, "udp") {
		return data.Tuple{n, "udp"}, nil
	}
	return n, nil
}

// ports translates ports to open. Each is there once.
func ports(v any, _ call) (any, error) {
	items, ok := v.([]any)
	if !ok {
		switch v := v.(type) {
		case string:
			items = data.Values(splitTrim(v, ",", -1))
		case int64, int, bool:
			items = []any{v}
		default:
			return nil, invalidf("'%s' is not a valid port definition", data.Str(v))
		}
	}
	opened := []any{}
	for _, item := range items {
		if _, ok := whole(item); ok {
			opened = addOnce(opened, item)
			continue
		}
		line, ok := item.(string)
		if !ok {
			return nil, invalidf("'%s' is not a valid port definition", data.Str(item))
		}
		line, protocol, _ := strings.Cut(line, "/")
		first, last, err := portRange(line)
		if err != nil {
			return nil, err
		}
		for port := first; port <= last; port++ {
			def, err := portOf(port, protocol)
			if err != nil {
				return nil, err
			}
			opened = addOnce(opened, def)
		}
	}
	return opened, nil
}

func addOnce(list []any, v any) []any {
	for _, one := range list {
		if data.Equal(one, v) {
			return list
		}
	}
	return append(list, v)
}

// openPorts opens the ports that are published.
func openPorts(args *data.Map) error {
	bound, ok := args.Value("port_bindings").(*data.Map)
	if !ok {
		return errOther
	}
	if bound.Len() == 0 {
		return nil
	}
	opened, _ := args.Value("ports").([]any)
	for port := range bound.All() {
		def, err := portOf(port, "tcp")
		if err != nil {
			return err
		}
		opened = addOnce(opened, def)
	}
	args.Set("ports", opened)
	return nil
}

// A binding is a port of a container and the port of the host that leads to it.
type binding struct{ container, host any }

// bindings translates published ports: CONTAINER, HOST:CONTAINER or ADDRESS:HOST:CONTAINER, each a port or a
// range, with the protocol at the end.
func bindings(v any, c call) (any, error) {
	if _, ok := v.(*data.Map); ok {
		return v, nil
	}
	all := data.NewMap()
	for _, line := range words(v) {
		found, err := bindingsOf(line, c)
		if err != nil {
			return nil, err
		}
		for _, b := range found {
			addBinding(all, b)
		}
	}
	return all, nil
}

// addBinding adds the binding of a port, which may have some already. A port of the host that was left to
// the engine is then the container's.
func addBinding(all *data.Map, b binding) {
	before, ok := all.Get(b.container)
	if !ok {
		all.Set(b.container, b.host)
		return
	}
	list, ok := before.([]any)
	if !ok {
		list = []any{before}
	}
	list = append(list, b.host)
	for i, host := range list {
		if host != nil {
			continue
		}
		list[i] = b.container
		if port, ok := b.container.(string); ok {
			port, _, _ = strings.Cut(port, "/")
			list[i], _ = number(port)
		}
	}
	all.Set(b.container, list)
}

func bindingsOf(line string, c call) ([]binding, error) {
	parts := splitTrim(line, ":", -1)
	if len(parts) > 3 {
		return nil, invalidf("'%s' is an invalid port binding definition (at most 3 components are allowed, found %d)",
			line, len(parts))
	}
	switch {
	case len(parts) == 1 && parts[0] == "":
		return nil, invalidf("Empty port binding definition found")
	case len(parts) == 2 && parts[0] == "":
		return nil, invalidf("Empty host port in port binding definition '%s'", line)
	case len(parts) == 2 && parts[1] == "":
		return nil, invalidf("Empty container port in port binding definition '%s'", line)
	}
	if len(parts) == 3 && !c.anyAddress {
		if err := checkIP(parts[0]); err != nil {
			return nil, err
		}
	}
	inside, protocol, _ := strings.Cut(parts[len(parts)-1], "/")
	first, last, err := portRange(inside)
	if err != nil {
		return nil, err
	}
	outside := int64(-1)
	if len(parts) > 1 && parts[len(parts)-2] != "" {
		start, end, err := portRange(parts[len(parts)-2])
		if err != nil {
			return nil, err
		}
		if end-start != last-first {
			return nil, invalidf("Host port range (%s) does not have the same number of ports as the container port range (%s)",
				parts[len(parts)-2], inside)
		}
		outside = start
	}
	var all []binding
	for port := first; port <= last; port++ {
		var host any
		if outside >= 0 {
			host = outside + port - first
		}
		if len(parts) == 3 {
			address := data.Tuple{parts[0]}
			if host != nil {
				address = append(address, host)
			}
			host = address
		}
		all = append(all, binding{boundPort(port, protocol), host})
	}
	return all, nil
}

// boundPort returns a container's port as a key of bindings.
func boundPort(port int64, protocol string) any {
	if strings.EqualFold(protocol, "udp") {
		return strconv.FormatInt(port, 10) + "/udp"
	}
	return port
}
