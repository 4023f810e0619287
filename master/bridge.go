package master

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/reactor"
)

// Kinds of messages between members; the first byte of each.
const (
	aboutEvent    = 'e' // an event, as eventbus frames it
	aboutPresence = 'p' // a presenceNews
	aboutAll      = 'a' // asks the others to tell all their minions
	aboutSignIn   = 's' // a Brine minion has signed in; its id follows
	aboutReacted  = 'r' // the reactions to an event have ended; its number follows
	aboutRequest  = 'n' // a request under the shared session key was executed; its channel.RequestID follows
	aboutStored   = 'o' // events that a returner has stored, see appendStored
)

const (
	bridgeQueue   = 16 << 10 // messages that wait to be sent
	bridgeBytes   = 64 << 20 // the same in bytes
	presencePause = 250 * time.Millisecond
	presenceBeat  = time.Second // a member says something at least so often
)

// memberBus is what the master needs of cluster.Bus.
type memberBus interface {
	Send(message []byte) error
	Listen() (*cluster.Listener, error)
}

// A bridge passes events and presence between the members of a cluster. What it passes may be lost;
// jobs and returns go through streams.
type bridge struct {
	base
	member  string
	link    memberBus
	index   minionIndex
	others  *elsewhere
	local   func(tag string) bool // events that stay on this member; nil means none
	signIn  func(minion string)   // a Brine minion signed in at another member
	reacted func(event uint64)    // the reactions to an event have ended
	stored  func(returner string, events []uint64)
	done    func(channel.RequestID) // another member has executed a request
	fired   func(ctx context.Context, minion, tag string)
	waiting *messageQueue // events, and news about them
	news    *messageQueue // presence, which is sent first
	askAll  chan struct{}
}

// A minionIndex tells which minions are connected to this master.
type minionIndex interface {
	Connected() []string
	Host(id string) string
	Version() uint64
}

// newBridge returns a bridge that collects events until begin.
func newBridge() *bridge {
	return &bridge{waiting: newMessageQueue(bridgeQueue, bridgeBytes),
		news: newMessageQueue(bridgeQueue, bridgeBytes), askAll: make(chan struct{}, 1)}
}

// begin connects a bridge.
func (b *bridge) begin(c *member, link memberBus, local func(tag string) bool) {
	b.base, b.member, b.others, b.link, b.local = c.base, c.id, c.others, link, local
}

// share passes an event to the other members. It is eventbus.Options.Share.
func (b *bridge) share(e eventbus.Event) {
	if strings.Contains(e.Tag, reactor.ManageTag) || b.local != nil && b.local(e.Tag) {
		return // orders to the reactor prove that their sender knows the root key of this member
	}
	b.send(aboutEvent, e.Bytes())
}

// tellSignIn tells the other members that a Brine minion has signed in here.
func (b *bridge) tellSignIn(minion string) { b.send(aboutSignIn, []byte(minion)) }

// tellRequest tells the other members that a request was executed here. It does nothing without a cluster.
func (b *bridge) tellRequest(r channel.RequestID) {
	if b != nil {
		b.send(aboutRequest, r[:])
	}
}

// tellReacted tells the other members that the reactions to an event have ended.
func (b *bridge) tellReacted(event uint64) {
	b.send(aboutReacted, binary.BigEndian.AppendUint64(nil, event))
}

// tellStored tells the other members which events a returner has stored.
func (b *bridge) tellStored(returner string, events []uint64) {
	b.send(aboutStored, appendStored(returner, events))
}

func (b *bridge) send(kind byte, body []byte) {
	queue := b.waiting
	if kind == aboutPresence || kind == aboutAll || kind == aboutSignIn || kind == aboutRequest {
		queue = b.news
	}
	if !queue.put(append([]byte{kind}, body...)) {
		b.quiet.Warnf(b.log, "events for other members",
			"Events do not reach the other masters of the cluster: NATS does not keep up")
	}
}

// sendAll sends what waits until ctx ends.
func (b *bridge) sendAll(ctx context.Context) error {
	for {
		m, err := b.next(ctx)
		if err != nil {
			return err
		}
		if err := b.link.Send(m); err != nil {
			b.quiet.Warnf(b.log.WithError(err), "send to members",
				"An event does not reach the other masters of the cluster")
		}
	}
}

// next waits for the message to send next, and takes it from its queue.
func (b *bridge) next(ctx context.Context) ([]byte, error) {
	for {
		for _, q := range []*messageQueue{b.news, b.waiting} {
			if m, ok := q.take(); ok {
				return m, nil
			}
		}
		select {
		case <-b.news.wake:
		case <-b.waiting.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// receive takes what the other members send until ctx ends.
func (b *bridge) receive(ctx context.Context) error {
	l, err := b.link.Listen()
	if err != nil {
		return err
	}
	defer l.Close()
	b.send(aboutAll, nil)
	b.tellAll()
	for {
		m, err := l.Next(ctx)
		if err != nil {
			return err
		}
		if err := b.take(ctx, m); err != nil {
			b.quiet.Warnf(b.log.WithError(err), "message of member", "A message of another master of the cluster is ignored")
		}
	}
}

// take handles one message.
func (b *bridge) take(ctx context.Context, m []byte) error {
	if len(m) == 0 {
		return fmt.Errorf("%w: an empty message", payload.ErrInvalid)
	}
	switch kind, body := m[0], m[1:]; kind {
	case aboutEvent:
		e, err := b.bus.Deliver(body)
		if err != nil {
			return err
		}
		if id := reporter(e.Tag); id != "" {
			b.fired(ctx, id, e.Tag)
		}
	case aboutPresence:
		var n presenceNews
		if err := typed.Unmarshal(body, payload.WireLimits(), &n); err != nil {
			return err
		}
		if !b.others.take(&n) {
			b.send(aboutAll, nil)
		}
	case aboutAll:
		b.tellAll()
	case aboutSignIn:
		b.signIn(string(body))
	case aboutReacted:
		if len(body) != 8 {
			return fmt.Errorf("%w: an event's number of %d bytes", payload.ErrInvalid, len(body))
		}
		b.reacted(binary.BigEndian.Uint64(body))
	case aboutRequest:
		if len(body) != len(channel.RequestID{}) {
			return fmt.Errorf("%w: a request's number of %d bytes", payload.ErrInvalid, len(body))
		}
		b.done(channel.RequestID(body))
	case aboutStored:
		name, ids, err := parseStored(body)
		if err != nil {
			return err
		}
		b.stored(name, ids)
	default:
		return fmt.Errorf("%w: kind %q", payload.ErrInvalid, kind)
	}
	return nil
}

// reporter returns the minion of an event about a job that it takes or runs, or "": the last part of
// salt/job/JID/ack/ID and the fifth of salt/job/JID/prog/ID/N.
func reporter(tag string) string {
	rest, ok := strings.CutPrefix(tag, "salt/job/")
	if !ok {
		return ""
	}
	parts := strings.Split(rest, "/")
	if len(parts) >= 3 && (parts[1] == "ack" || parts[1] == "prog") {
		return parts[2]
	}
	return ""
}

// tellAll makes tell send all minions next.
func (b *bridge) tellAll() {
	select {
	case b.askAll <- struct{}{}:
	default:
	}
}

// tell tells the other members which minions are connected here, until ctx ends.
func (b *bridge) tell(ctx context.Context) error {
	var last []string
	var version, number uint64
	var told time.Time
	all := true
	for {
		now := b.now()
		if is := b.index.Version(); all || is != version || now.Sub(told).Abs() >= presenceBeat {
			ids := b.index.Connected()
			number++
			n := presenceNews{Member: b.member, Number: number, All: all, Came: ids}
			if !all {
				n.Came, n.Went = without(ids, last), without(last, ids)
			}
			n.Hosts = b.hostsOf(n.Came)
			var err error
			if number, err = b.sendNews(n); err != nil {
				return err
			}
			last, version, told, all = ids, is, now, false
		}
		b.others.expire()
		asked, err := b.pause(ctx)
		if err != nil {
			return err
		}
		all = all || asked
	}
}

// hostsOf returns the hosts of minions that are connected here.
func (b *bridge) hostsOf(ids []string) []string {
	hosts := make([]string, len(ids))
	for i, id := range ids {
		hosts[i] = b.index.Host(id)
	}
	return hosts
}

// pause waits for the next look at the presence, and reports whether all minions are to be told.
func (b *bridge) pause(ctx context.Context) (asked bool, err error) {
	if err := clock.Sleep(ctx, presencePause); err != nil {
		return false, err
	}
	select {
	case <-b.askAll:
		return true, nil
	default:
		return false, nil
	}
}

// newsSize is how many bytes of names one message has, and at least one minion.
const newsSize = 256 << 10

// sendNews sends news in messages of a bounded size, and returns the number of the last one.
func (b *bridge) sendNews(n presenceNews) (uint64, error) {
	came, hosts, went := n.Came, n.Hosts, n.Went
	for {
		part := n
		size := fit(came, hosts)
		part.Came, came = came[:size], came[size:]
		part.Hosts, hosts = hosts[:size], hosts[size:]
		size = fit(went, nil)
		part.Went, went = went[:size], went[size:]
		part.More = len(came)+len(went) > 0
		body, err := typed.Marshal(&part)
		if err != nil {
			return n.Number, err
		}
		b.send(aboutPresence, body)
		if !part.More {
			return n.Number, nil
		}
		n.All = false
		n.Number++
	}
}

// fit returns how many of ids one message takes, with their hosts if there are any.
func fit(ids, hosts []string) int {
	size := 0
	for i, id := range ids {
		size += len(id) + 8
		if hosts != nil {
			size += len(hosts[i])
		}
		if size > newsSize && i > 0 {
			return i
		}
	}
	return len(ids)
}
