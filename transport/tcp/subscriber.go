package tcp

import (
	"context"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// A Subscriber receives publications; see [transport.Subscriber]. It gets everything that the
// publisher sends it: there are no topics.
type Subscriber struct {
	dialer transport.Dialer
	tls    *TLS
}

// NewSubscriber returns a subscriber, which says on each connection what d.Hello returns. A nil t
// is no TLS.
func NewSubscriber(d transport.Dialer, t *TLS) *Subscriber {
	d.ReadsOnly = true
	return &Subscriber{dialer: d, tls: t}
}

// Run hands each publication to fn until ctx ends.
func (s *Subscriber) Run(ctx context.Context, fn func(topic, body []byte)) error {
	l := newLink(s.dialer, s.tls)
	l.run(ctx, func(ctx context.Context, c *session) error { return s.listen(ctx, l, c, fn) })
	return nil
}

// listen hands on what comes by one connection.
func (s *Subscriber) listen(
	ctx context.Context, l *link, c *session, fn func(topic, body []byte),
) error {
	l.Up()
	ctx, stop := context.WithCancel(ctx)
	var hello sync.WaitGroup
	defer hello.Wait()
	defer stop()
	hello.Go(func() { s.introduce(ctx, c) })
	for {
		frame, err := c.guard.next()
		if err != nil {
			return err
		}
		if body := publicationOf(frame.Body); body != nil {
			fn(nil, body)
		}
	}
}

// introduce tells the publisher who listens. Without it publications still come, at least those
// that are for all.
func (s *Subscriber) introduce(ctx context.Context, c *session) {
	if s.dialer.Hello == nil {
		return
	}
	hello, err := s.dialer.Hello(ctx)
	if err == nil {
		var b, tail []byte
		if b, tail, err = encode(noHead, hello); err == nil {
			_, err = c.out.SendParts(b, tail)
		}
	}
	if err != nil && ctx.Err() == nil && s.dialer.Log != nil {
		s.dialer.Log.WithError(err).Warnf("send identification to the publisher at %s",
			s.dialer.Addr)
	}
}

// noHead is the head of a message that wants no reply.
var noHead = data.Raw{0x80}

// publicationOf returns the bytes of a publication: a map before Salt 3007.0, since then bytes that
// hold one. Other bodies are none.
func publicationOf(body data.Raw) []byte {
	if b, ok := payload.Bytes(body); ok {
		return b
	}
	if len(body) > 0 && (body[0]&0xf0 == 0x80 || body[0] == 0xde || body[0] == 0xdf) {
		return body
	}
	return nil
}
