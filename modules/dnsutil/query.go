package dnsutil

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
)

// dig's defaults.
const (
	timeout = 5 * time.Second // for a response
	rounds  = 3               // queries of each server
)

// errName is returned for a name that cannot be in a DNS query.
var errName = errors.New("not a legal name")

// query returns the records of a name from a DNS server, each as dig +short prints it. A name that
// does not exist has no records. The error says that no server responded, or wraps errName.
func (m *module) query(ctx context.Context, name string, k kind, nameserver any) ([]string, error) {
	if name == "" {
		return nil, errName
	}
	q, err := newQuestion(name, k)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errName, err)
	}
	servers, err := m.servers(ctx, nameserver)
	if err != nil {
		return nil, err
	}
	for range rounds {
		for _, server := range servers {
			var answer []byte
			if answer, err = q.send(ctx, net.JoinHostPort(server, m.port)); err == nil {
				return q.lines(answer)
			}
		}
		if ctx.Err() != nil || len(servers) == 0 {
			break
		}
	}
	return nil, err
}

// servers returns the addresses of the DNS servers to query.
func (m *module) servers(ctx context.Context, nameserver any) ([]string, error) {
	if nameserver != nil {
		name := data.Str(nameserver)
		if _, err := netip.ParseAddr(name); err == nil {
			return []string{name}, nil
		}
		return net.DefaultResolver.LookupHost(ctx, name)
	}
	text, err := os.ReadFile(m.path("/etc/resolv.conf"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var servers []string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "nameserver" {
			continue
		}
		if _, err := netip.ParseAddr(words[1]); err == nil {
			servers = append(servers, words[1])
		}
	}
	if servers == nil {
		servers = []string{"127.0.0.1", "::1"}
	}
	return servers, nil
}

// send returns the response of a server. It uses TCP if the response is too large for UDP.
func (q *question) send(ctx context.Context, server string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := q.over(ctx, "udp", server)
	if err != nil {
		return nil, err
	}
	if cut(answer) {
		return q.over(ctx, "tcp", server)
	}
	return answer, nil
}

func (q *question) over(ctx context.Context, network, server string) ([]byte, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, server)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	raw := q.raw
	if network == "tcp" {
		raw = append(binary.BigEndian.AppendUint16(nil, uint16(len(raw))), raw...)
	}
	if _, err := c.Write(raw); err != nil {
		return nil, err
	}
	for {
		answer, err := read(c, network)
		if err != nil {
			return nil, fmt.Errorf("query %s: %w", server, err)
		}
		if q.answeredBy(answer) {
			return answer, nil
		}
		if network == "tcp" {
			return nil, fmt.Errorf("query %s: the response is for another question", server)
		}
	}
}

// read reads a message.
func read(c net.Conn, network string) ([]byte, error) {
	if network == "udp" {
		b := make([]byte, largest)
		n, err := c.Read(b)
		return b[:n], err
	}
	var length [2]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(c, b)
	return b, err
}
