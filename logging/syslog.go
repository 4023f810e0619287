package logging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	queueLines = 1000
	queueBytes = 1 << 20
	maxPacket  = 60_000 // bytes of a line; a packet of UDP takes a little more

	syslogWait = 2 * time.Second // for a connection, for a line to be taken, and for the last lines at the end
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// A syslog sends lines to a syslog daemon, as Python's SysLogHandler does: the priority, the formatted line, and a zero
// byte. Over TCP a line ends with a newline instead, by which receivers can tell lines apart (RFC 6587).
//
// Lines wait in a bounded queue while the daemon is away; those that it cannot hold are dropped and counted.
type syslog struct {
	to     address
	outage func(error) // told once when the daemon goes away

	queue   chan line
	waiting atomic.Int64 // bytes in the queue
	dropped atomic.Int64

	stop context.CancelFunc
	done chan struct{}
}

// openSyslog starts sending to a; outage is called once whenever the daemon there goes away.
func openSyslog(a address, outage func(error)) *syslog {
	ctx, stop := context.WithCancel(context.Background())
	s := &syslog{to: a, outage: outage, queue: make(chan line, queueLines), stop: stop, done: make(chan struct{})}
	go s.run(ctx)
	return s
}

func (s *syslog) write(l line) {
	if s.waiting.Load()+int64(len(l.text)) > queueBytes {
		s.dropped.Add(1)
		return
	}
	s.waiting.Add(int64(len(l.text)))
	select {
	case s.queue <- l:
	default:
		s.waiting.Add(-int64(len(l.text)))
		s.dropped.Add(1)
	}
}

func (s *syslog) reopen() error { return nil }

// Close sends what is waiting, and gives up after a few seconds.
func (s *syslog) Close() error {
	s.stop()
	<-s.done
	return nil
}

// run sends lines until ctx ends, and then what is left.
func (s *syslog) run(ctx context.Context) {
	defer close(s.done)
	c := &connection{to: s.to, dropped: &s.dropped}
	defer c.close()
	for {
		select {
		case <-ctx.Done():
			s.flush(c)
			return
		case l := <-s.queue:
			if !s.deliver(ctx, c, l) {
				if c.send(l) == nil {
					s.flush(c)
				}
				return
			}
			s.waiting.Add(-int64(len(l.text)))
		}
	}
}

// deliver tries to send l until it is sent, or until ctx ends: then it returns false.
func (s *syslog) deliver(ctx context.Context, c *connection, l line) bool {
	pause := firstPause
	for first := true; ; first = false {
		err := c.send(l)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if first {
			s.outage(err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// flush sends what is in the queue, as long as that goes well and does not take too long.
func (s *syslog) flush(c *connection) {
	for until := time.Now().Add(syslogWait); time.Now().Before(until); {
		select {
		case l := <-s.queue:
			if c.send(l) != nil {
				return
			}
		default:
			return
		}
	}
}

// A connection is the socket to a syslog daemon; it is opened when there is something to send.
type connection struct {
	to      address
	dropped *atomic.Int64
	why     error // of the last failure

	conn    net.Conn
	network string
	reading sync.WaitGroup
}

// send sends l, after a line that tells of dropped ones if there are such. The connection is closed on an error.
func (c *connection) send(l line) error {
	err := c.open()
	if n := c.dropped.Load(); err == nil && n > 0 {
		if err = c.put(Warning, l.notice(n, c.reason())); err == nil {
			c.dropped.Add(-n)
			c.why = nil
		}
	}
	if err == nil {
		err = c.put(l.level, l.text)
	}
	if errors.Is(err, syscall.EMSGSIZE) { // it would never go
		c.dropped.Add(1)
		c.why = err
		return nil
	}
	if err != nil {
		c.why = err
		c.close()
	}
	return err
}

// reason is why lines were dropped.
func (c *connection) reason() error {
	if c.why == nil {
		return errors.New("there were more than the syslog could take")
	}
	return c.why
}

func (c *connection) open() error {
	if c.conn != nil {
		return nil
	}
	networks := []string{c.to.scheme}
	if c.to.scheme == "file" {
		networks = []string{"unixgram", "unix"}
	}
	var err error
	for _, c.network = range networks {
		if c.conn, err = net.DialTimeout(c.network, c.to.place, syslogWait); err == nil {
			c.watch()
			return nil
		}
	}
	c.conn = nil
	return err
}

// watch closes the connection when the daemon does, so that the next line does not go nowhere.
func (c *connection) watch() {
	if c.network != "tcp" && c.network != "unix" {
		return
	}
	conn := c.conn
	c.reading.Go(func() {
		_, _ = io.Copy(io.Discard, conn) // a syslog daemon has nothing to say
		_ = conn.Close()
	})
}

func (c *connection) put(level Level, text string) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(syslogWait)); err != nil {
		return err
	}
	_, err := c.conn.Write(packet(c.network, c.to.facility, level, text))
	return err
}

func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is left to do with it
		c.conn = nil
	}
	c.reading.Wait()
}

// packet returns a line as it is sent.
func packet(network string, facility int, level Level, text string) []byte {
	b := fmt.Appendf(nil, "<%d>", facility<<3|severity(level))
	text = cut(text, maxPacket)
	if network != "tcp" {
		return append(append(b, text...), 0)
	}
	return append(append(b, strings.ReplaceAll(text, "\n", "#012")...), '\n')
}

// cut returns the start of s that has at most n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// severity is what syslog calls a level. Python knows none for Salt's own levels and sends them as warnings; here those
// below Info are for debugging.
func severity(l Level) int {
	switch {
	case l < Info:
		return 7
	case l < Warning:
		return 6
	case l < Error:
		return 4
	case l < Critical:
		return 3
	}
	return 2
}
