package transport

import (
	"net"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/logging"
)

// Limits restrict the resources used by each peer and by all peers. The documented default applies
// to a field that is 0; a negative value means no limit.
type Limits struct {
	HandshakeTimeout time.Duration // time from connecting to the end of the handshake; 10 s
	MaxMessage       int           // bytes per message of a trusted peer; 100 MiB
	MaxUntrusted     int           // bytes per message of other peers; 1 MiB
	MaxFrames        int           // frames per message, including the envelope; 16
	// total bytes of large messages being received from trusted peers; 256 MiB
	Assembly int
	Strange  int // the same for all other peers, of which one address may use a quarter; 32 MiB
	// a message being received must advance by 1 MiB, or end, within this time; 60 s
	MessageTimeout time.Duration
	// an untrusted peer without any request is closed after this time; 5 min
	IdleTimeout time.Duration

	MaxConns     int // total connections; 100 000
	MaxPerSource int // connections per address; no limit, since fleets may be behind one NAT
	// concurrent handshakes; more wait in the kernel's queue, and silent ones make room after 1 s;
	// 2048
	MaxHandshakes int

	MaxSubscriptions     int // per subscriber; 1000
	MaxSubscriptionBytes int // total size of a subscriber's topics; 64 KiB

	QueueMessages int           // queued messages for a peer that does not read, pub_hwm; 1000
	QueueBytes    int           // the same in bytes, not counting one message; 64 MiB
	WriteStall    time.Duration // a peer that accepts nothing for so long is closed; 60 s
	MaxInFlight   int           // concurrent requests per connection; 256

	// a peer that was silent for so long is sent a heartbeat; 60 s on a server, 30 s on a client
	PingEvery time.Duration
	// intervals in a row without an answer after which a peer is closed; 1
	DeadAfter int
}

// ServerLimits returns l with a server's defaults filled in.
func (l Limits) ServerLimits() Limits {
	fill(&l.PingEvery, time.Minute)
	return l.common()
}

// ClientLimits returns l with a client's defaults filled in. A client trusts its server.
func (l Limits) ClientLimits() Limits {
	fill(&l.PingEvery, 30*time.Second)
	l.MaxUntrusted = l.MaxMessage
	fill(&l.MaxUntrusted, 100<<20)
	return l.common()
}

func (l Limits) common() Limits {
	fill(&l.HandshakeTimeout, 10*time.Second)
	fill(&l.MaxMessage, 100<<20)
	fill(&l.MaxUntrusted, 1<<20)
	fill(&l.MaxFrames, 16)
	fill(&l.Assembly, 256<<20)
	fill(&l.Strange, 32<<20)
	fill(&l.MessageTimeout, time.Minute)
	fill(&l.IdleTimeout, 5*time.Minute)
	fill(&l.MaxConns, 100_000)
	fill(&l.MaxPerSource, -1)
	fill(&l.MaxHandshakes, 2048)
	fill(&l.MaxSubscriptions, 1000)
	fill(&l.MaxSubscriptionBytes, 64<<10)
	fill(&l.QueueMessages, 1000)
	fill(&l.QueueBytes, 64<<20)
	fill(&l.WriteStall, time.Minute)
	fill(&l.MaxInFlight, 256)
	fill(&l.DeadAfter, 1)
	return l
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Over reports whether n exceeds limit; a negative limit is never exceeded.
func Over(n, limit int) bool { return limit >= 0 && n > limit }

// Options configure a server.
type Options struct {
	Limits  Limits
	Workers int // concurrent handlers; 0 means 64
	// time for Serve to finish work and send queued messages after its context has ended; 0 means 5
	// s, negative none
	Linger    time.Duration
	KeepAlive KeepAlive
	Crowd     *Crowd             // shared by all servers of a process; nil means no limit
	Log       logrus.FieldLogger // nil means no log
}

// Filled returns o with defaults filled in, except those of Limits.
func (o Options) Filled() Options {
	fill(&o.Workers, 64)
	fill(&o.Linger, 5*time.Second)
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	return o
}

// KeepAlive holds the TCP keepalive settings tcp_keepalive, tcp_keepalive_idle, tcp_keepalive_cnt
// and tcp_keepalive_intvl. The documented default applies to a field that is 0, the system's
// default to a negative one.
type KeepAlive struct {
	Disable  bool
	Idle     time.Duration // 30 s
	Interval time.Duration // 10 s
	Count    int           // 3
}

// SaltKeepAlive returns the settings for Salt's four options: seconds, or -1 for the system's
// default.
func SaltKeepAlive(on bool, idle, count, interval int) KeepAlive {
	return KeepAlive{
		Disable:  !on,
		Idle:     seconds(idle),
		Interval: seconds(interval),
		Count:    orSystem(count),
	}
}

// Or returns other if k is Salt's default, with which a dead peer is detected after a quarter of an
// hour, and otherwise k: what an operator has set is kept.
func (k KeepAlive) Or(other KeepAlive) KeepAlive {
	if k == SaltKeepAlive(true, 300, -1, -1) {
		return other
	}
	return k
}

func seconds(n int) time.Duration { return time.Duration(orSystem(n)) * time.Second }

func orSystem(n int) int {
	if n <= 0 {
		return -1
	}
	return n
}

// Config returns the settings for package net.
func (k KeepAlive) Config() net.KeepAliveConfig {
	fill(&k.Idle, 30*time.Second)
	fill(&k.Interval, 10*time.Second)
	fill(&k.Count, 3)
	return net.KeepAliveConfig{Enable: !k.Disable, Idle: k.Idle, Interval: k.Interval,
		Count: k.Count}
}
