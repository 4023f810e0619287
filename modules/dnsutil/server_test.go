package dnsutil

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// A server responds to queries on loopback, over UDP and TCP.
type server struct {
	t       *testing.T
	port    string
	records map[string][]dnsmessage.ResourceBody // by type and name
	lies    atomic.Bool                          // send other messages before each UDP response
}

func name(s string) dnsmessage.Name { return dnsmessage.MustNewName(s) }

func startServer(t *testing.T, records map[string][]dnsmessage.ResourceBody) *server {
	t.Helper()
	udp, tcp := listen(t)
	_, port, _ := net.SplitHostPort(udp.LocalAddr().String())
	s := &server{t: t, port: port, records: records}
	done := make(chan struct{}, 2)
	go func() { s.serveUDP(udp); done <- struct{}{} }()
	go func() { s.serveTCP(tcp); done <- struct{}{} }()
	t.Cleanup(func() {
		_, _ = udp.Close(), tcp.Close()
		<-done
		<-done
	})
	return s
}

// listen returns a UDP and a TCP socket with the same port, which may be taken for TCP.
func listen(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 100 {
		udp, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if tcp, err := net.Listen("tcp", udp.LocalAddr().String()); err == nil {
			return udp, tcp
		}
		_ = udp.Close()
	}
	t.Fatal("no port is free over UDP and TCP")
	return nil, nil
}

func (s *server) serveUDP(c net.PacketConn) {
	b := make([]byte, 1<<16)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		answer := s.answer(b[:n], largest)
		if s.lies.Load() {
			for _, wrong := range [][]byte{{1, 2, 3}, append([]byte{^answer[0]}, answer[1:]...), b[:n]} {
				_, _ = c.WriteTo(wrong, from)
			}
		}
		_, _ = c.WriteTo(answer, from)
	}
}

func (s *server) serveTCP(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		var length [2]byte
		_, _ = io.ReadFull(c, length[:])
		b := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(c, b); err == nil {
			answer := s.answer(b, 1<<16)
			_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
		}
		_ = c.Close()
	}
}

// answer returns the response to a message, truncated if it is larger than most.
func (s *server) answer(ask []byte, most int) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(ask); err != nil || len(m.Questions) != 1 || !m.RecursionDesired {
		s.t.Errorf("the question %x: %v", ask, err)
		return []byte{0}
	}
	q := m.Questions[0]
	key := strings.TrimPrefix(q.Type.String(), "Type") + " " + q.Name.String()
	answer := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true}, Questions: m.Questions}
	for _, body := range s.records[key] {
		answer.Answers = append(answer.Answers,
			dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: body})
	}
	if answer.Answers == nil {
		answer.RCode = dnsmessage.RCodeNameError
	}
	raw, err := answer.Pack()
	if err != nil {
		s.t.Error(err)
	}
	if len(raw) > most {
		answer.Truncated, answer.Answers = true, nil
		raw, _ = answer.Pack()
	}
	return raw
}
