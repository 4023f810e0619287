package network

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// hostName removes all characters that a host name cannot contain. The result is one word of a
// command line and no option.
func hostName(v any) string {
	text := data.Str(v)
	text = text[:min(255, len(text))]
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		if r < 128 && (r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' ||
			r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return -1
	}, text), "-")
}

// needs returns Salt's error for a missing program.
func (m *module) needs(program string) error {
	if m.find(program) == "" {
		return loader.NotFound("The '%s' binary was not found in $PATH.", program)
	}
	return nil
}

// onLinux returns an error on other systems, whose programs print other tables.
func (m *module) onLinux() error {
	if m.env.GrainsNow().Text("kernel") != "Linux" {
		return loader.Execution("Not yet supported on this platform")
	}
	return nil
}

type pingArgs struct {
	Host          any
	Timeout       any  `default:"False"`
	ReturnBoolean bool `default:"False"`
}

// ping sends four echo requests to a host and returns the output of the program ping.
//
// timeout
//
//	How long to wait for an answer, in seconds.
//
// return_boolean
//
//	Return whether an answer arrived instead of the output.
//
// CLI Example:
//
//	salt '*' network.ping example.org
//	salt '*' network.ping example.org return_boolean=True timeout=3
func (m *module) ping(ctx context.Context, a pingArgs) (any, error) {
	line := []string{"ping"}
	if data.Truth(a.Timeout) {
		line = append(line, "-W", data.Str(a.Timeout))
	}
	line = append(line, "-c", "4", hostName(a.Host))
	run := calls.Run{Argv: line, Shell: calls.CmdDecides}
	if !a.ReturnBoolean {
		return calls.RunOutput(ctx, m.env, run)
	}
	ran, err := calls.RunAll(ctx, m.env, run)
	return err == nil && ran.Retcode == 0, err
}

// output runs a program and returns its output.
func (m *module) output(ctx context.Context, argv ...string) (string, error) {
	return calls.RunOutput(ctx, m.env, calls.Run{Argv: argv, Shell: calls.CmdDecides})
}

type hostArgs struct{ Host any }

// dig returns the output of the program dig for a name.
//
// CLI Example:
//
//	salt '*' network.dig example.org
func (m *module) dig(ctx context.Context, a hostArgs) (any, error) {
	if err := m.needs("dig"); err != nil {
		return nil, err
	}
	return m.output(ctx, "dig", hostName(a.Host))
}

type connectArgs struct {
	Host   any
	Port   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// connect reports whether a port of a host can be reached.
//
// proto
//
//	tcp or udp. With udp something is sent, and the host must answer.
//
// timeout
//
//	How long to wait, in seconds. Default: 5.
//
// family
//
//	ipv4 or ipv6. Default: either.
//
// CLI Example:
//
//	salt '*' network.connect example.org 80 timeout=3 family=ipv4
//	salt '*' network.connect dns.example.org port=53 proto=udp
func (m *module) connect(ctx context.Context, a connectArgs) (any, error) {
	verdict := func(ok bool, text string) (any, error) { return data.NewMap("result", ok, "comment", text), nil }
	if isNone(a.Host) {
		return verdict(false, "Required argument, host, is missing.")
	}
	if isNone(a.Port) {
		return verdict(false, "Required argument, port, is missing.")
	}
	proto := "tcp"
	if a.Kwargs.Value("proto") == "udp" {
		proto = "udp"
	}
	to, err := endpointOf(ctx, a, proto)
	where := " on " + proto + " port " + data.Str(a.Port)
	if err != nil {
		return verdict(false, "Unable to resolve host "+data.Str(a.Host)+where)
	}
	where = data.Str(a.Host) + " (" + to.Addr().String() + ")" + where
	ctx, cancel, err := limited(ctx, a.Kwargs)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if err := reach(ctx, proto, to); err != nil {
		return verdict(false, "Unable to connect to "+where)
	}
	return verdict(true, "Successfully connected to "+where)
}

// limited returns a context with the timeout of a call in seconds. None means no limit.
func limited(ctx context.Context, kwargs *data.Map) (context.Context, context.CancelFunc, error) {
	given, ok := kwargs.Get("timeout")
	if !ok {
		given = int64(5)
	}
	if given == nil {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, nil
	}
	seconds, err := strconv.ParseFloat(data.Str(given), 64)
	if err != nil || seconds < 0 {
		return nil, nil, loader.Invocation("timeout must be a number of seconds, not %s",
			data.Repr(given))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(min(seconds, 1e9)*float64(time.Second)))
	return ctx, cancel, nil
}

// endpointOf resolves a host to its first address and a port to its number.
func endpointOf(ctx context.Context, a connectArgs, proto string) (netip.AddrPort, error) {
	kind := "ip"
	switch a.Kwargs.Value("family") {
	case "ipv4":
		kind = "ip4"
	case "ipv6":
		kind = "ip6"
	}
	host := data.Str(a.Host)
	if _, err := netip.ParseAddr(host); err != nil {
		host = hostName(a.Host)
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, kind, host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, proto, data.Str(a.Port))
	if err != nil {
		return netip.AddrPort{}, err
	}
	return netip.AddrPortFrom(addrs[0].Unmap(), uint16(port)), nil
}

// reach connects to an address. Over UDP it sends random bytes and waits for an answer.
func reach(ctx context.Context, proto string, to netip.AddrPort) error {
	c, err := (&net.Dialer{}).DialContext(ctx, proto, to.String())
	if err != nil {
		return err
	}
	defer c.Close()
	if proto == "tcp" {
		return nil
	}
	if end, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(end); err != nil {
			return err
		}
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := c.Write([]byte(rand.Text())); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 255))
	return err
}

type wolArgs struct {
	MAC      string `name:"mac"`
	Bcast    string `default:"'255.255.255.255'"`
	Destport int    `default:"9"`
}

// wol wakes a host: it sends a Wake-on-LAN packet with the hardware address.
//
// CLI Example:
//
//	salt '*' network.wol 08:00:27:13:69:77
//	salt '*' network.wol 080027136977 192.0.2.255 7
func (m *module) wol(ctx context.Context, a wolArgs) (any, error) {
	mac, err := macBytes(a.MAC)
	if err != nil {
		return nil, err
	}
	c, err := (&net.Dialer{}).DialContext(ctx,
		"udp4", net.JoinHostPort(a.Bcast, strconv.Itoa(a.Destport)))
	if err != nil {
		return nil, loader.Execution("wake %s: %w", a.MAC, err)
	}
	defer c.Close()
	packet := append(slices.Repeat([]byte{0xff}, 6), slices.Repeat(mac, 16)...)
	if _, err := c.Write(packet); err != nil {
		return nil, loader.Execution("wake %s: %w", a.MAC, err)
	}
	return true, nil
}

// macBytes parses a hardware address with or without separators between its bytes.
func macBytes(text string) ([]byte, error) {
	plain := text
	if len(text) == 17 {
		plain = strings.ReplaceAll(text, text[2:3], "")
	}
	mac, err := hex.DecodeString(plain)
	if err != nil || len(mac) != 6 {
		return nil, loader.Exception("ValueError", "Invalid MAC address")
	}
	return mac, nil
}

// fqdns returns the full names that the resolver knows for the addresses of the host.
//
// CLI Example:
//
//	salt '*' network.fqdns
func (m *module) fqdns(ctx context.Context, _ loader.NoArgs) (any, error) {
	v4, err := m.addresses(nil, false, true)
	if err != nil {
		return nil, err
	}
	v6, err := m.addresses(nil, false, false)
	if err != nil {
		return nil, err
	}
	names := m.namesOf(ctx, append(v4, v6...))
	slices.Sort(names)
	return data.NewMap("fqdns", data.Values(slices.Compact(names))), nil
}

// namesOf looks up the names of addresses, eight at a time.
func (m *module) namesOf(ctx context.Context, addrs []netip.Addr) []string {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		names []string
	)
	places := make(chan struct{}, 8)
	for _, ip := range addrs {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			found, err := m.resolver.LookupAddr(ctx, ip.String())
			if err != nil || len(found) == 0 {
				return
			}
			name := fullName(ctx, m.resolver, strings.TrimSuffix(found[0], "."))
			mu.Lock()
			defer mu.Unlock()
			names = append(names, name)
		})
	}
	wg.Wait()
	return names
}
