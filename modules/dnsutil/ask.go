package dnsutil

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/brineproject/brine/data"
)

// What dig does where nothing is said of it.
const (
	patience = 5 * time.Second // for an answer
	rounds   = 3               // each of the servers is asked
)

// ask returns the records that a DNS server has of a name, each as dig +short prints it. A name that there is not has none. An error
// says that no server answers.
func (m *module) ask(ctx context.Context, name string, kind dnsmessage.Type, nameserver any) ([]string, error) {
	if name == "" {
		return nil, nil // of the root
	}
	if !strings.HasSuffix(name, ".") {
		name += "."
	}
	q, err := newQuestion(name, kind)
	if err != nil {
		return nil, err
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

// servers returns the addresses of the DNS servers to ask.
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

// A question is what a DNS server is asked.
type question struct {
	id  uint16
	ask dnsmessage.Question
	raw []byte
}

// largest is the size of answers over UDP that no network cuts.
const largest = 1232

func newQuestion(name string, kind dnsmessage.Type) (*question, error) {
	full, err := dnsmessage.NewName(name)
	if err != nil {
		return nil, err
	}
	var id [2]byte
	rand.Read(id[:])
	q := &question{id: binary.BigEndian.Uint16(id[:]), ask: dnsmessage.Question{Name: full, Type: kind, Class: dnsmessage.ClassINET}}
	var size dnsmessage.ResourceHeader
	if err := size.SetEDNS0(largest, dnsmessage.RCodeSuccess, false); err != nil {
		return nil, err
	}
	message := dnsmessage.Message{
		Header:      dnsmessage.Header{ID: q.id, RecursionDesired: true},
		Questions:   []dnsmessage.Question{q.ask},
		Additionals: []dnsmessage.Resource{{Header: size, Body: &dnsmessage.OPTResource{}}},
	}
	q.raw, err = message.Pack()
	return q, err
}

// send returns the answer of a server, over TCP where it is too large for UDP.
func (q *question) send(ctx context.Context, server string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := q.over(ctx, "udp", server)
	if err != nil {
		return nil, err
	}
	var p dnsmessage.Parser
	if head, err := p.Start(answer); err == nil && head.Truncated {
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
			return nil, fmt.Errorf("ask %s: %w", server, err)
		}
		if q.answeredBy(answer) {
			return answer, nil
		}
		if network == "tcp" {
			return nil, fmt.Errorf("ask %s: the answer is to another question", server)
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

// answeredBy reports whether a message answers the question. Anybody may send messages over UDP.
func (q *question) answeredBy(answer []byte) bool {
	var p dnsmessage.Parser
	head, err := p.Start(answer)
	if err != nil || !head.Response || head.ID != q.id {
		return false
	}
	asked, err := p.Question()
	return err == nil && asked.Type == q.ask.Type && asked.Class == q.ask.Class && strings.EqualFold(asked.Name.String(), q.ask.Name.String())
}

// lines returns the records of an answer.
func (q *question) lines(answer []byte) ([]string, error) {
	var p dnsmessage.Parser
	if _, err := p.Start(answer); err != nil {
		return nil, err
	}
	if err := p.SkipAllQuestions(); err != nil {
		return nil, err
	}
	var lines []string
	for {
		r, err := p.Answer()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		if line := short(r.Body); line != "" {
			lines = append(lines, line)
		}
	}
}

// short returns a record as dig +short prints it, "" for types that nobody asks for.
func short(body dnsmessage.ResourceBody) string {
	switch r := body.(type) {
	case *dnsmessage.AResource:
		return netip.AddrFrom4(r.A).String()
	case *dnsmessage.AAAAResource:
		return netip.AddrFrom16(r.AAAA).String()
	case *dnsmessage.CNAMEResource:
		return r.CNAME.String()
	case *dnsmessage.NSResource:
		return r.NS.String()
	case *dnsmessage.MXResource:
		return fmt.Sprintf("%d %s", r.Pref, r.MX.String())
	case *dnsmessage.TXTResource:
		return quoted(r.TXT)
	case *dnsmessage.UnknownResource:
		if r.Type == typeSPF {
			return quoted(strs(r.Data))
		}
	}
	return ""
}

// strs returns the texts of a record SPF, each of which has its length before it.
func strs(b []byte) (texts []string) {
	for len(b) > 0 {
		n := min(int(b[0]), len(b)-1)
		texts, b = append(texts, string(b[1:1+n])), b[1+n:]
	}
	return texts
}

// quoted returns texts in quotes.
func quoted(texts []string) string {
	var b strings.Builder
	for i, text := range texts {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('"')
		for _, c := range []byte(text) {
			switch {
			case c == '"' || c == '\\':
				b.WriteByte('\\')
				b.WriteByte(c)
			case c < ' ' || c > '~':
				fmt.Fprintf(&b, "\\%03d", c)
			default:
				b.WriteByte(c)
			}
		}
		b.WriteByte('"')
	}
	return b.String()
}
