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
	maxPacket  = 60_000 // bytes of a line; a UDP packet has room for a little more

	// timeout for connecting, for writing a line, and for the last lines at the end
	syslogWait = 2 * time.Second
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// A syslog sends lines to a syslog daemon like Python's SysLogHandler: the priority, the formatted
// line and a zero byte. Over TCP a line ends with a newline instead, so that receivers can separate
// lines (RFC 6587).
//
// Lines wait in a bounded queue while the daemon is not available. Lines that do not fit are
// dropped and counted.
type syslog struct {
	to     address
	outage func(error) // called once when the daemon becomes unavailable

	queue   chan line
	waiting atomic.Int64 // bytes in the queue
	dropped atomic.Int64

	stop context.CancelFunc
	done chan struct{}
}

// openSyslog starts sending to a. outage is called each time the daemon becomes unavailable.
func openSyslog(a address, outage func(error)) *syslog {
	ctx, stop := context.WithCancel(context.Background())
	s := &syslog{to: a, outage: outage, queue: make(chan line, queueLines), stop: stop,
		done: make(chan struct{})}
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

// Close sends queued lines, for at most a few seconds.
func (s *syslog) Close() error {
	s.stop()
	<-s.done
	return nil
}

// run sends lines until ctx ends, and then flushes the queue.
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

// deliver retries until l is sent, or returns false when ctx ends.
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

// flush sends the queued lines until the first error or timeout.
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

// A connection is the socket to a syslog daemon. It is opened on demand.
type connection struct {
	to      address
	dropped *atomic.Int64
	why     error // last error

	conn    net.Conn
	network string
	reading sync.WaitGroup
}

// send sends l, after a notice about dropped lines if there are any. It closes the connection on an
// error.
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
	if errors.Is(err, syscall.EMSGSIZE) { // retrying would not help
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

// reason returns why lines were dropped.
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

// watch closes the connection when the daemon does, so that the next line is not lost.
func (c *connection) watch() {
	if c.network != "tcp" && c.network != "unix" {
		return
	}
	conn := c.conn
	c.reading.Go(func() {
		_, _ = io.Copy(io.Discard, conn) // a syslog daemon sends nothing
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
		_ = c.conn.Close() // the connection is not used any more
		c.conn = nil
	}
	c.reading.Wait()
}

// packet returns the encoded line.
func packet(network string, facility int, level Level, text string) []byte {
	b := fmt.Appendf(nil, "<%d>", facility<<3|severity(level))
	text = cut(text, maxPacket)
	if network != "tcp" {
		return append(append(b, text...), 0)
	}
	return append(append(b, strings.ReplaceAll(text, "\n", "#012")...), '\n')
}

// cut truncates s to at most n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// severity returns the syslog severity of a level. Python sends Salt's own levels as warnings; here
// those below Info are sent as debug.
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
