// Package redissentinel is Salt's engine redis_sentinel: the messages of a Redis Sentinel become
// events (salt/engines/redis_sentinel.py).
//
//	engines:
//	  - redis_sentinel:
//	      hosts: {matching: 'board*', port: 26379, interface: eth2}
//	      channels: ['+switch-master', '+odown', '-odown']
//
// The Sentinel is on a minion: the master asks those that match for the addresses of their
// interface, and takes one. The tag of an event is the option tag and the channel.
//
// Differences from Salt: of several minions it takes the first by name with an address. It connects
// again after a failure, and asks again.
package redissentinel

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
)

const dialTimeout, answerTimeout = 10 * time.Second, 10 * time.Second

type sentinel struct {
	host          engines.Host
	target, iface string
	port          int
	channels      []string
	tag           string
	order         func(context.Context, *data.Map, func(string, *data.Map) bool) error
}

// New makes the engine. The option hosts says where the Sentinel is, channels are patterns of the
// channels, and tag begins the tags of the events (salt/engine/redis_sentinel).
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	if err := engines.Only(options, "hosts", "channels", "tag"); err != nil {
		return nil, err
	}
	hosts, ok := options.Value("hosts").(*data.Map)
	if !ok {
		return nil, errors.New("hosts: expected a mapping with matching, port and interface")
	}
	if err := engines.Only(hosts, "matching", "port", "interface"); err != nil {
		return nil, fmt.Errorf("hosts: %w", err)
	}
	s := &sentinel{host: h, order: h.Order}
	var errs [5]error
	s.target, errs[0] = engines.Text(hosts, "matching", "")
	s.iface, errs[1] = engines.Text(hosts, "interface", "")
	s.port, errs[2] = engines.Port(hosts, "port", 26379)
	s.channels, errs[3] = engines.Texts(options, "channels")
	s.tag, errs[4] = engines.Text(options, "tag", "salt/engine/redis_sentinel")
	if len(s.channels) == 0 {
		s.channels = []string{"*"}
	}
	return s.run, errors.Join(errs[:]...)
}

func (s *sentinel) run(ctx context.Context) error {
	ip, err := s.find(ctx)
	if err != nil {
		return err
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(ip, strconv.Itoa(s.port)))
	if err != nil {
		return err
	}
	defer conn.Close()                                      //nolint:errcheck // nothing is lost by it
	stop := context.AfterFunc(ctx, func() { conn.Close() }) //nolint:errcheck // as above
	defer stop()
	return s.listen(ctx, conn, ip)
}

// listen fires the messages of a Sentinel until the connection ends.
func (s *sentinel) listen(ctx context.Context, conn net.Conn, ip string) error {
	// a Sentinel answers at once; later it may be silent for as long as it has nothing to say
	if err := conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	if err := subscribe(conn, s.channels); err != nil {
		return err
	}
	r := bufio.NewReader(conn)
	for first := true; ; first = false {
		v, err := message(r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && first {
			err = conn.SetDeadline(time.Time{})
		}
		if err != nil {
			return fmt.Errorf("read from the Sentinel at %s: %w", ip, err)
		}
		channel, body, ok := event(v)
		if !ok {
			continue
		}
		tag := s.tag + "/" + channel
		if err := eventbus.CheckForeignTag(tag); err != nil {
			s.host.Log.WithError(err).Warnf("engine %s: ignored a message", s.host.Name)
			continue
		}
		if err := s.host.FireRaw(ctx, tag, body); err != nil {
			return err
		}
	}
}

// find returns the address of the Sentinel.
func (s *sentinel) find(ctx context.Context) (string, error) {
	if s.order == nil {
		return "", errors.New("there is no master to ask for addresses")
	}
	found := map[string]string{}
	err := s.order(ctx, data.NewMap("tgt", s.target, "tgt_type", "glob", "fun", "network.ip_addrs",
		"arg", []any{s.iface}), func(id string, answer *data.Map) bool {
		list, _ := answer.Value("ret").([]any)
		for _, v := range list {
			text, _ := v.(string)
			if address, err := netip.ParseAddr(text); err == nil {
				found[id] = address.String()
				break
			}
		}
		return true
	})
	if err != nil {
		return "", fmt.Errorf("ask %s for addresses: %w", s.target, err)
	}
	var ids []string
	for id := range found {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("no minion that matches %s has an address on %s", s.target, s.iface)
	}
	return found[slices.Min(ids)], nil
}

// subscribe sends PSUBSCRIBE.
func subscribe(w io.Writer, channels []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(channels)+1)
	for _, word := range append([]string{"PSUBSCRIBE"}, channels...) {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// event returns the event for a message.
func event(v any) (channel string, body *data.Map, ok bool) {
	list, ok := v.([]any)
	if !ok || len(list) < 3 {
		return "", nil, false
	}
	channel = data.Str(list[len(list)-2])
	if n, whole := list[len(list)-1].(int64); whole {
		return channel, data.NewMap("channel", channel, "code", n), true
	}
	text := data.Str(list[len(list)-1])
	words := strings.SplitN(text, " ", 10) // more than any channel below has names for
	body = data.NewMap("channel", channel)
	var names []string
	switch channel {
	case "+switch-master":
		names = []string{"master", "old_host", "old_port", "new_host", "new_port"}
	case "+odown", "-odown":
		names, words = []string{"master", "host", "port"}, words[1:]
	default:
		body.Set("data", text)
	}
	for i, name := range names[:min(len(names), len(words))] {
		body.Set(name, words[i])
	}
	return channel, body, true
}

// Limits of a message: its bytes, and the length and depth of its lists. A message is a list of a few
// texts and numbers.
const (
	maxMessage = 2 << 20
	maxItems   = 100
	maxDepth   = 1
)

var (
	errReply = errors.New("the reply is not in the protocol of Redis")
	errLarge = fmt.Errorf("a message has more than %d bytes", maxMessage)
)

// message reads one message.
func message(r *bufio.Reader) (any, error) { return (&decoder{r, maxMessage}).value(0) }

// A decoder reads one message of Redis's protocol.
type decoder struct {
	*bufio.Reader
	room int // how many bytes the message may still have
}

// take reads n bytes, or to the end of a line for 0.
func (d *decoder) take(n int) (b []byte, err error) {
	if n > d.room {
		return nil, errLarge
	}
	if n == 0 {
		b, err = d.ReadSlice('\n')
	} else {
		b = make([]byte, n)
		_, err = io.ReadFull(d, b)
	}
	if d.room -= len(b); err == nil && d.room < 0 {
		err = errLarge
	}
	return b, err
}

// value reads one value: a text, an integer, or a list.
func (d *decoder) value(depth int) (any, error) {
	line, err := d.take(0)
	if err != nil {
		return nil, err
	}
	text, ok := strings.CutSuffix(string(line), "\r\n")
	if !ok || text == "" {
		return nil, errReply
	}
	kind, text := text[0], text[1:]
	switch kind {
	case '+':
		return text, nil
	case '-':
		return nil, fmt.Errorf("the Sentinel answers %.200q", text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, errReply
	}
	switch {
	case kind == ':':
		return n, nil
	case kind == '$' && n == -1, kind == '*' && n == -1:
		return nil, nil
	case kind == '$' && n > maxMessage:
		return nil, errLarge
	case kind == '$' && n >= 0:
		body, err := d.take(int(n) + 2)
		if err != nil {
			return nil, err
		}
		if string(body[n:]) != "\r\n" {
			return nil, errReply
		}
		return string(body[:n]), nil
	case kind == '*' && n >= 0 && n <= maxItems && depth < maxDepth:
		list := []any{}
		for range n {
			v, err := d.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return nil, errReply
}
