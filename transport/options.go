package transport

import (
	"net"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/logging"
)

// Limits bound what one peer, and all peers together, may take. A field that is 0 has the default that is named; a
// negative field means that there is no limit.
type Limits struct {
	HandshakeTimeout time.Duration // to become a peer after connecting; 10 s
	MaxMessage       int           // bytes of one message of a trusted peer; 100 MiB
	MaxUntrusted     int           // bytes of one message of other peers; 1 MiB
	MaxFrames        int           // frames of one message, the envelope included; 16
	Assembly         int           // bytes of large messages in assembly, of all trusted peers; 256 MiB
	Strange          int           // the same of all other peers, of which one address has a quarter; 32 MiB
	MessageTimeout   time.Duration // a message once begun must go on by 1 MiB, or end, in this time; 60 s
	IdleTimeout      time.Duration // an untrusted peer without any request is closed after this; 5 min

	MaxConns      int // connections in all; 100 000
	MaxPerSource  int // connections from one address; no limit, for fleets sit behind one NAT
	MaxHandshakes int // peers in the handshake at once; more wait in the kernel's queue, silent ones make room after 1 s; 2048

	MaxSubscriptions     int // per subscriber; 1000
	MaxSubscriptionBytes int // all topics of a subscriber together; 64 KiB

	QueueMessages int           // waiting for one peer that does not read, pub_hwm; 1000
	QueueBytes    int           // the same in bytes, one message excepted; 64 MiB
	WriteStall    time.Duration // a peer that takes nothing for so long is closed; 60 s
	MaxInFlight   int           // requests of one connection in work at once; 256

	PingEvery time.Duration // of silence, after which a peer is pinged; 30 s on a server, 8 s on a client
	DeadAfter int           // intervals of silence in a row after which a peer is given up; 4 on a server, 2 on a client
}

// ServerLimits returns l with the defaults of a server filled in.
func (l Limits) ServerLimits() Limits {
	fill(&l.PingEvery, 30*time.Second)
	fill(&l.DeadAfter, 4)
	return l.common()
}

// ClientLimits returns l with the defaults of a client filled in: a client trusts the server that it has chosen.
func (l Limits) ClientLimits() Limits {
	fill(&l.PingEvery, 8*time.Second)
	fill(&l.DeadAfter, 2)
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
	return l
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Over reports whether n exceeds a limit as kept in Limits.
func Over(n, limit int) bool { return limit >= 0 && n > limit }

// Options tune a server.
type Options struct {
	Limits    Limits
	Workers   int           // handlers at once; 0 means 64
	Linger    time.Duration // how long Serve finishes work and sends what is queued after its context ended; 0 means 5 s, negative not at all
	KeepAlive KeepAlive
	Crowd     *Crowd             // of all servers of a process; nil bounds nothing
	Log       logrus.FieldLogger // nil logs nothing
}

// Filled returns o with the defaults filled in, but for those of Limits.
func (o Options) Filled() Options {
	fill(&o.Workers, 64)
	fill(&o.Linger, 5*time.Second)
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	return o
}

// KeepAlive are the TCP keepalive settings tcp_keepalive, tcp_keepalive_idle, tcp_keepalive_cnt and
// tcp_keepalive_intvl. A field that is 0 has the default that is named, a negative one that of the system.
type KeepAlive struct {
	Disable  bool
	Idle     time.Duration // 30 s
	Interval time.Duration // 10 s
	Count    int           // 3
}

// SaltKeepAlive returns the settings for Salt's four options: seconds, and -1 for what the system has.
func SaltKeepAlive(on bool, idle, count, interval int) KeepAlive {
	return KeepAlive{
		Disable:  !on,
		Idle:     seconds(idle),
		Interval: seconds(interval),
		Count:    orSystem(count),
	}
}

func seconds(n int) time.Duration { return time.Duration(orSystem(n)) * time.Second }

func orSystem(n int) int {
	if n <= 0 {
		return -1
	}
	return n
}

// Config returns the settings in the form of package net.
func (k KeepAlive) Config() net.KeepAliveConfig {
	fill(&k.Idle, 30*time.Second)
	fill(&k.Interval, 10*time.Second)
	fill(&k.Count, 3)
	return net.KeepAliveConfig{Enable: !k.Disable, Idle: k.Idle, Interval: k.Interval, Count: k.Count}
}
