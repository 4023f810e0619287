package zeromq

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/transport"
)

// TestVectorServers replays what clients sent and compares what our servers answer, byte for byte.
func TestVectorServers(t *testing.T) {
	f := vectors.Load(t, "14-zmtp.json")
	vectors.Later(t, f, []string{"daemon", "sessions", "other_versions"}, nil)
	for _, section := range []string{"daemon", "sessions"} {
		for _, c := range f.Section(section) {
			t.Run(section+"/"+c.Name, func(t *testing.T) {
				conversation(t, c.On(t)).replayClient()
			})
		}
	}
}

// TestVectorClients replays what servers sent and compares what our clients send: byte for byte,
// but that ours is a DEALER where Salt has a REQ, and gives each request a number.
func TestVectorClients(t *testing.T) {
	f := vectors.Load(t, "14-zmtp.json")
	for _, section := range []string{"daemon", "sessions"} {
		for _, c := range f.Section(section) {
			t.Run(section+"/"+c.Name, func(t *testing.T) {
				conversation(t, c.On(t)).replayServer()
			})
		}
	}
}

// TestVectorOtherVersions replays peers made by hand.
func TestVectorOtherVersions(t *testing.T) {
	f := vectors.Load(t, "14-zmtp.json")
	for _, c := range f.Section("other_versions") {
		t.Run(c.Name, func(t *testing.T) { replayEvents(t, c.On(t)) })
	}
}

// A talk is one recorded connection.
type talk struct {
	t              *testing.T
	client, server string
	c2s, s2c       side
	order          []piece
	published      [][]string // what the server's application sent, where the record has it
}

// A side is the bytes of one direction.
type side struct {
	greeting string
	frames   []rawFrame
}

// A piece is one command or message in the order of arrival.
type piece struct {
	dir     string
	command bool
	frames  int
}

func conversation(t *testing.T, c *vectors.Case) *talk {
	c.Only("name", "client_socket", "server_socket", "c2s", "s2c", "order", "steps", "received")
	k := &talk{t: t, client: c.Text("client_socket"), server: c.Text("server_socket")}
	k.c2s, k.s2c = recorded(t, c, "c2s"), recorded(t, c, "s2c")
	for _, v := range c.List("order") {
		p := v.([]any)
		kind := p[1].(string)
		if kind != "command" && kind != "message" {
			t.Fatalf("order has a %q", kind)
		}
		k.order = append(k.order, piece{dir: p[0].(string), command: kind == "command",
			frames: len(p[2].([]any))})
	}
	if c.Has("steps") {
		k.steps(c.List("steps"))
	}
	return k
}

// steps takes what the publisher sent from the record; the rest of them is in the bytes.
func (k *talk) steps(list []any) {
	for _, v := range list {
		step := v.([]any)
		what := fmt.Sprint(step[0], " ", step[1])
		switch what {
		case "server send":
			k.published = append(k.published, texts(k.t, step[2].([]any)))
		case "client send", "client recv", "client opt", "server recv", "server reply":
		default:
			k.t.Fatalf("step %q is unknown", what)
		}
	}
}

func texts(t *testing.T, list []any) []string {
	var out []string
	for _, v := range list {
		out = append(out, unbase64(t, v.(string)))
	}
	return out
}

func unbase64(t *testing.T, s string) string {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// recorded cuts the bytes of a direction into frames, and checks them against those that the record
// names.
func recorded(t *testing.T, c *vectors.Case, field string) side {
	sub := &vectors.Case{Map: c.Object(field)}
	sub = sub.On(t)
	sub.Only("bytes", "greeting", "frames", "rest")
	b := sub.Bytes("bytes")
	s := side{greeting: string(b[:greetingLen])}
	if s.greeting != string(sub.Bytes("greeting")) {
		t.Fatal("the record's greeting is not in its bytes")
	}
	for b = b[greetingLen:]; len(b) > 0; {
		h, ok, err := parseHeader(b)
		if err != nil || !ok || len(b) < h.len+int(h.size) {
			t.Fatalf("header of % x: %+v, %v, %v", b[:min(len(b), 9)], h, ok, err)
		}
		s.frames = append(s.frames, rawFrame{h.flags, string(b[h.len : h.len+int(h.size)])})
		b = b[h.len+int(h.size):]
	}
	if len(s.frames) != len(sub.List("frames")) {
		t.Fatalf("%d frames, the record has %d", len(s.frames), len(sub.List("frames")))
	}
	return s
}

func (f rawFrame) String() string { return string(appendFrame(nil, f.flags&^flagLong, []byte(f.body))) }

// messages returns the messages of a side.
func (s side) messages() [][]string {
	var all [][]string
	var m []string
	for _, f := range s.frames {
		if f.flags&flagCommand != 0 {
			continue
		}
		if m = append(m, f.body); f.flags&flagMore == 0 {
			all, m = append(all, m), nil
		}
	}
	return all
}

func (s side) commands(name string) []string {
	var all []string
	for _, f := range s.frames {
		if n, body, err := splitCommand([]byte(f.body)); f.flags&flagCommand != 0 && err == nil && n == name {
			all = append(all, string(body))
		}
	}
	return all
}

// replayClient plays the client's part against the server of ours.
func (k *talk) replayClient() {
	switch k.server {
	case "ROUTER":
		k.againstReplier()
	case "PUB":
		k.againstPublisher()
	case "PULL":
		k.againstPuller()
	default:
		k.t.Fatalf("no server for %q", k.server)
	}
}

func (k *talk) againstReplier() {
	wanted, replies := k.c2s.messages(), k.s2c.messages()
	n := 0
	turn := make(chan struct{}) // the recorded application took its time
	s, stop := startReplier(k.t, transport.Options{}, func(_ context.Context, r transport.Request) {
		if got, want := string(r.Body()), wanted[n][len(wanted[n])-1]; got != want {
			k.t.Errorf("request %d: %q, want %q", n, got, want)
		}
		<-turn
		reply := replies[n]
		n++
		_ = r.Reply([]byte(reply[len(reply)-1]))
	})
	k.play(dialRaw(k.t, s.Addr()), func([]string) { turn <- struct{}{} })
	stop()
	if n != len(wanted) {
		k.t.Errorf("%d requests, want %d", n, len(wanted))
	}
}

func (k *talk) againstPublisher() {
	if k.published == nil {
		k.published = k.s2c.messages()
	}
	p, stop := startPublisher(k.t, transport.Options{})
	publish := func(m []string) {
		if len(m) == 1 {
			p.Publish(transport.Message{Body: []byte(m[0])})
		} else {
			p.Publish(transport.Message{Topics: m[:1], Body: []byte(m[1])})
		}
	}
	subscribed := len(k.c2s.commands("SUBSCRIBE"))
	c := dialRaw(k.t, p.Addr())
	k.play(c, func(want []string) {
		eventually(k.t, "subscriptions", func() bool { return p.subscriptions() == subscribed })
		for len(k.published) > 0 {
			next := k.published[0]
			k.published = k.published[1:]
			if publish(next); slices.Equal(next, want) {
				return
			}
		}
		k.t.Fatalf("%q was never published", want)
	})
	left := subscribed - len(k.c2s.commands("CANCEL"))
	eventually(k.t, "subscriptions", func() bool { return p.subscriptions() == left })
	for _, m := range k.published {
		publish(m)
	}
	stop()
	if rest := c.rest(); rest != "" {
		k.t.Errorf("%q was sent besides", rest)
	}
}

func (k *talk) againstPuller() {
	s, err := ListenPull(k.t.Context(), "tcp://127.0.0.1:0", transport.Options{})
	if err != nil {
		k.t.Fatal(err)
	}
	got := make(chan []string, 10)
	stop := run(k.t, func(ctx context.Context) error {
		return s.Serve(ctx, func(frames [][]byte) {
			var m []string
			for _, f := range frames {
				m = append(m, string(f))
			}
			got <- m
		})
	})
	k.play(dialRaw(k.t, s.Addr()), func([]string) {})
	for _, want := range k.c2s.messages() {
		if m := <-got; !slices.Equal(m, want) {
			k.t.Errorf("received %q, want %q", m, want)
		}
	}
	stop()
}

// play sends the client's side and compares the server's, in the recorded order.
func (k *talk) play(c *raw, before func(message []string)) {
	c.write(k.c2s.greeting)
	if got := c.read(greetingLen); got != k.s2c.greeting {
		k.t.Errorf("greeting %q, want %q", got, k.s2c.greeting)
	}
	in, out := k.c2s.frames, k.s2c.frames
	for _, p := range k.order {
		if p.dir == "c2s" {
			for _, f := range in[:p.frames] {
				c.write(f.String())
			}
			in = in[p.frames:]
			continue
		}
		if !p.command {
			var m []string
			for _, f := range out[:p.frames] {
				m = append(m, f.body)
			}
			before(m)
		}
		for _, want := range out[:p.frames] {
			if got := c.frame(); got != want {
				k.t.Fatalf("server sent %+v, want %+v", got, want)
			}
		}
		out = out[p.frames:]
	}
	if len(in)+len(out) > 0 {
		k.t.Errorf("%d and %d frames are not in the order", len(in), len(out))
	}
}

// replayServer plays the server's part against the client of ours.
func (k *talk) replayServer() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		k.t.Fatal(err)
	}
	defer l.Close()
	d := quick(l.Addr())
	d.Identity = make([]byte, k.c2s.greeting[8]-1)
	if id := k.identity(); id != "" {
		d.Identity = []byte(id)
	}
	switch k.client {
	case "REQ":
		k.againstRequester(l, d)
	case "SUB":
		k.againstSubscriber(l, d)
	case "PUSH":
		k.t.Log("we have no PUSH: nothing of ours submits to another's publisher")
	default:
		k.t.Fatalf("no client for %q", k.client)
	}
}

// identity returns that of the client's READY.
func (k *talk) identity() string {
	into := map[string]string{}
	if err := parseProperties([]byte(k.c2s.commands("READY")[0]), into); err != nil {
		k.t.Fatal(err)
	}
	return into["Identity"]
}

// shake plays the server's part of the handshake.
func (k *talk) shake(l net.Listener, ready string) *raw {
	c := acceptRaw(k.t, l)
	if got := c.read(greetingLen); got != k.c2s.greeting {
		k.t.Errorf("greeting %q, want %q", got, k.c2s.greeting)
	}
	c.write(k.s2c.greeting)
	if got := c.frame(); got.body != ready || got.flags != flagCommand {
		k.t.Errorf("sent %+v, want READY %q", got, ready)
	}
	c.write(k.s2c.frames[0].String())
	return c
}

func (k *talk) againstRequester(l net.Listener, d transport.Dialer) {
	heartbeats := len(k.c2s.commands("PING")) > 0
	if heartbeats {
		d.Limits.PingEvery = time.Millisecond
		d.Limits.DeadAfter = -1
	}
	q := NewRequester(d)
	defer q.Close()
	c := k.shake(l, strings.Replace(k.c2s.frames[0].body, "\x03REQ", "\x06DEALER", 1))
	for i, want := range k.c2s.messages() {
		k.exchange(q, c, want, k.s2c.messages()[i])
	}
	if heartbeats {
		if got, want := c.frame(), (rawFrame{flagCommand, "\x04PING" +
			k.c2s.commands("PING")[0]}); got != want {
			k.t.Errorf("heartbeat %+v, want %+v", got, want)
		}
	}
}

// exchange lets the requester send one request, and answers it as the devices of a Salt master
// would.
func (k *talk) exchange(q *Requester, c *raw, want, reply []string) {
	type result struct {
		body []byte
		err  error
	}
	got := make(chan result, 1)
	go func() {
		body, err := q.Do(context.Background(), []byte(want[len(want)-1]))
		got <- result{body, err}
	}()
	m := c.message()
	if len(m) != 3 || !slices.Equal(m[1:], want) {
		k.t.Fatalf("request %q, want a number and %q", m, want)
	}
	c.write(frames(append(m[:1:1], reply...)...))
	if r := <-got; r.err != nil || string(r.body) != reply[len(reply)-1] {
		k.t.Errorf("Do = %q, %v, want %q", r.body, r.err, reply[len(reply)-1])
	}
}

func (k *talk) againstSubscriber(l net.Listener, d transport.Dialer) {
	topics := k.c2s.commands("SUBSCRIBE")
	got := make(chan []string, 100)
	stop := run(k.t, func(ctx context.Context) error {
		return NewSubscriber(d, topics...).Run(ctx, func(topic, body []byte) {
			if topic == nil {
				got <- []string{string(body)}
			} else {
				got <- []string{string(topic), string(body)}
			}
		})
	})
	defer stop()
	c := k.shake(l, k.c2s.frames[0].body)
	for _, topic := range topics {
		if got, want := c.frame(), (rawFrame{flagCommand, "\x09SUBSCRIBE" + topic}); got != want {
			k.t.Errorf("sent %+v, want %+v", got, want)
		}
	}
	for _, want := range k.s2c.messages() {
		c.write(frames(want...))
		if m := <-got; !slices.Equal(m, want) {
			k.t.Errorf("got %.60q, want %.60q", m, want)
		}
	}
}

// replayEvents plays a peer made by hand, which sends and expects in the given order.
func replayEvents(t *testing.T, c *vectors.Case) {
	c.Only("name", "server_socket", "note", "events")
	var sent [][]byte
	for _, v := range c.List("events") {
		if e := v.([]any); e[0] == "server sends" && e[1] != "" {
			sent = append(sent, []byte(unbase64(t, e[1].(string))))
		}
	}
	app := startApplication(t, c.Text("server_socket"), sent)
	conn := dialRaw(t, app.addr)
	answered := 0
	for _, v := range c.List("events") {
		e := v.([]any)
		switch e[0] {
		case "client sends":
			conn.write(unbase64(t, e[1].(string)))
		case "server sends":
			want := unbase64(t, e[1].(string))
			app.before(want)
			if got := conn.read(len(want)); got != want {
				t.Errorf("server sent %q, want %q", got, want)
			}
			answered += len(want)
		case "server application receives":
			m := texts(t, e[1].([]any))
			if got := <-app.received; got != m[len(m)-1] {
				t.Errorf("application got %q, want %q", got, m[len(m)-1])
			}
		default:
			t.Fatalf("event %q is unknown", e[0])
		}
	}
	if answered <= signatureLen { // the peer was refused
		conn.refused(hello(1)[answered:])
	}
	app.stop()
}

// refused checks that the connection ends, with at most the rest of our greeting sent.
func (c *raw) refused(greeting string) {
	c.t.Helper()
	if rest := c.rest(); !strings.HasPrefix(greeting, rest) {
		c.t.Errorf("%q was sent to a peer that must be refused", rest)
	}
}

// An application is a server of ours with somebody who uses it.
type application struct {
	addr     net.Addr
	received chan string
	before   func(sent string)
	stop     func()
}

func startApplication(t *testing.T, kind string, sent [][]byte) *application {
	a := &application{received: make(chan string, 10), before: func(string) {}}
	switch kind {
	case "ROUTER":
		var last []byte
		if len(sent) > 0 {
			last = sent[len(sent)-1]
		}
		s, stop := startReplier(t, transport.Options{}, func(_ context.Context, r transport.Request) {
			a.received <- string(r.Body())
			// the envelope and a header for four bytes
			body, _ := bytes.CutPrefix(last, []byte("\x01\x00\x00\x04"))
			_ = r.Reply(body)
		})
		a.addr, a.stop = s.Addr(), stop
	case "PUB":
		p, stop := startPublisher(t, transport.Options{})
		a.addr, a.stop = p.Addr(), stop
		a.before = func(want string) {
			if body, is := strings.CutPrefix(want, "\x00\x05"); is {
				eventually(t, "a subscription", func() bool { return p.subscriptions() == 1 })
				p.Publish(transport.Message{Body: []byte(body)})
			}
		}
	default:
		t.Fatalf("no server for %q", kind)
	}
	return a
}
