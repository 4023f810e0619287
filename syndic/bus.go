package syndic

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// busPause is the time between two attempts to connect to the bus of the lower master.
const busPause = time.Second

// listen reads the bus of the lower master until ctx ends. It connects again when the lower master
// has restarted.
func (s *Syndic) listen(ctx context.Context) error {
	for logged := false; ; {
		c, err := eventbus.Dial(ctx, eventbus.MasterSockets(s.master.SockDir),
			eventbus.ClientOptions{MaxEventSize: s.master.MaxEventSize})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !logged:
			logged = true
			s.log.WithError(err).Error("The lower master is not reachable; trying again")
		case err == nil:
			logged = false
			s.log.Info("Connected to the event bus of the lower master")
			s.below.Store(true)
			s.replay.all()
			err = s.readBus(ctx, c)
			s.below.Store(false)
			c.Close()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.log.WithError(err).Warn("The connection to the event bus of the lower master is lost; " +
				"trying to connect again")
		}
		if err := clock.Sleep(ctx, busPause); err != nil {
			return err
		}
	}
}

// readBus handles events until the connection ends.
func (s *Syndic) readBus(ctx context.Context, c *eventbus.Client) error {
	for {
		e, err := c.Next(ctx)
		if err != nil {
			return err
		}
		if err := s.handleEvent(ctx, e); err != nil {
			s.quiet.Warnf(s.log, "event", "event of the lower master is not forwarded: %v", err)
		}
	}
}

// handleEvent forwards one event (salt/minion.py, SyndicManager._process_event).
func (s *Syndic) handleEvent(ctx context.Context, e eventbus.Event) error {
	if e.Tag == eventbus.DroppedTag { // it is about this connection only
		s.quiet.Warnf(s.log, "gap", "The event bus of the lower master has dropped events, as the syndic is too "+
			"slow; their returns are read from the job cache")
		s.lookSoon()
		s.replay.gap()
		return nil
	}
	fields, err := payload.ParseFields(e.Data, payload.WireLimits())
	if err != nil {
		return fmt.Errorf("event %q: %w", e.Tag, err)
	}
	if changesStock(e.Tag) {
		s.lookSoon()
	}
	own := s.cluster && s.isOwn(fields)
	switch {
	case isReturn(e.Tag) && fields.Has("return"):
		if !fields.Has("jid") || own {
			return nil
		}
		return s.handleReturn(ctx, fields)
	case fields.Has("retcode"):
		return nil
	case s.cluster && (own || !job.Looks(e.Tag) || !fields.Has("minions")):
		return nil
	}
	s.meet(subject(e.Tag))
	event, err := newEvent(e.Tag, e.Data)
	if err == nil {
		s.router.spread(event)
	}
	return err
}

// isOwn reports whether an event is about a job of the lower master itself. Without a master_id it
// never is, as in Salt.
func (s *Syndic) isOwn(f payload.Fields) bool {
	id, ok := f.Text("master_id")
	return ok && id != "" && id == s.masterID
}

// isReturn reports whether tag is that of a return: salt/job/JID/ret/ID.
func isReturn(tag string) bool {
	parts := strings.SplitN(tag, "/", 5)
	return len(parts) >= 4 && parts[1] == "job" && parts[3] == "ret" && job.ValidID(job.ID(parts[2]))
}

// newEvent returns the encoded map of an event, as in the list of a _minion_event.
func newEvent(tag string, body data.Raw) (data.Raw, error) {
	name, err := payload.Marshal(tag)
	if err != nil {
		return nil, fmt.Errorf("event %q: %w", tag, err)
	}
	return payload.Fields{{Key: "data", Value: body}, {Key: "tag", Value: name}}.Marshal(), nil
}

// handleReturn forwards the return in an event. A return that the bus has trimmed is read from the job cache
// first. A return for which the queue has no room is read from there later.
func (s *Syndic) handleReturn(ctx context.Context, f payload.Fields) error {
	a, err := newAnswer(f)
	if err != nil {
		return err
	}
	s.meet(a.minion)
	if eventbus.MayBeTrimmed(f.Raw("return")) {
		whole, ok := s.replay.whole(ctx, a)
		switch {
		case ok:
			a = whole
		case s.opts.Jobs == nil: // it goes up trimmed
		case s.replay.trimmed.add(a):
			return nil
		default:
			return s.readLater(a)
		}
	}
	if s.router.put(a) != refused {
		return nil
	}
	if s.jobs() == nil {
		return fmt.Errorf("return of minion %s to job %s is lost: there is no room for it and no job cache",
			a.minion, a.jid)
	}
	s.replay.mark(a.jid)
	return nil
}

// readLater leaves a trimmed return to the next replay. It records the job in the journal, so that the replay
// finds it.
func (s *Syndic) readLater(a *answer) error {
	if s.journal.isAcknowledged(a.jid, a.minion) {
		return nil
	}
	s.replay.mark(a.jid)
	s.quiet.Warnf(s.log, "trimmed", "more than %d trimmed returns wait for the job cache; the return of "+
		"minion %s to job %s is read from it later", maxTrimmed, a.minion, a.jid)
	_, err := s.router.choose(a)
	return err
}

// errReturn is wrapped by errors about returns that cannot be forwarded.
var errReturn = errors.New("bad return")

// sent are the fields of a return that an upper master gets (salt/minion.py,
// SyndicManager._process_event), and Brine's own.
var sent = [...]string{"return", "retcode", "success", "fun_args", "out", job.NoticesField}

// newAnswer returns the answer in the fields of a return. It shares no memory with them, and decodes
// none of the values.
func newAnswer(f payload.Fields) (*answer, error) {
	jid, _ := f.Text("jid")
	id, _ := f.Text("id")
	if !job.ValidID(job.ID(jid)) || pki.ValidID(id) != nil {
		return nil, fmt.Errorf("%w: job %.100q, minion %.100q", errReturn, jid, id)
	}
	var body payload.Fields
	for _, name := range sent {
		if v := f.Raw(name); v != nil {
			body = append(body, payload.Field{Key: name, Value: v})
		}
	}
	a := &answer{jid: job.ID(jid), minion: id, fun: append(data.Raw(nil), f.Raw("fun")...),
		body: body.Marshal()}
	if master, ok := f.Text("master_id"); ok && master != "" {
		a.master = append(data.Raw(nil), f.Raw("master_id")...)
	}
	return a, nil
}
