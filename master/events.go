package master

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/reactor"
)

// minionEvents fires events of minions on the bus (salt/daemons/masterapi.py,
// RemoteFuncs._minion_event).
type minionEvents struct {
	bus      *eventbus.Bus
	progress *progress
	presence *presence
	quiet    *loglimit.Limiter
	log      logrus.FieldLogger
}

func (e *minionEvents) fire(ctx context.Context, c *channel.Command) (any, error) {
	if list, ok := c.Load.Value("events").([]any); ok {
		e.fireList(ctx, c, list)
		return nil, nil
	}
	tag, ok := c.Load.Text("tag")
	if !ok || !c.Load.Has("data") {
		return nil, nil
	}
	if e.allowed(c.Caller.ID, tag) {
		raw, err := c.Load.AppendRewrite(make([]byte, 0, sizeOf(c.Load)))
		if err != nil {
			return nil, err
		}
		e.progress.fired(ctx, c.Caller.ID, tag)
		if tag == "salt/minion/"+c.Caller.ID+"/start" || tag == "minion_start" {
			e.presence.await(ctx, c.Caller.ID)
		}
		return nil, e.bus.FireMap(tag, raw)
	}
	return nil, nil
}

// fireList fires several events, and each once more below pretag if that is set. An id in the body
// is replaced by the proved id of the minion.
func (e *minionEvents) fireList(ctx context.Context, c *channel.Command, list []any) {
	pretag, hasPretag := c.Load.Text("pretag")
	for _, item := range list {
		event, _ := item.(*data.Map)
		tag := event.Text("tag")
		if tag == "" {
			continue
		}
		body, ok := event.Value("data").(*data.Map)
		if !ok {
			body = event
		}
		if body.Has("id") {
			body.Set("id", c.Caller.ID)
		}
		e.fireOne(ctx, c.Caller.ID, tag, body)
		if hasPretag {
			e.fireOne(ctx, c.Caller.ID, eventbus.Tagify(pretag, tag), body)
		}
	}
}

func (e *minionEvents) fireOne(ctx context.Context, id, tag string, body *data.Map) {
	if !e.allowed(id, tag) {
		return
	}
	e.progress.fired(ctx, id, tag)
	if err := e.bus.Fire(tag, body); err != nil {
		e.log.WithError(err).Errorf("fire event %s of minion %s", strconv.QuoteToGraphic(tag), id)
	}
}

// allowed reports whether a minion may use tag, and logs a refusal.
func (e *minionEvents) allowed(id, tag string) bool {
	if err := checkTag(id, tag); err != nil {
		e.quiet.Warnf(e.log.WithError(err), "event "+id,
			"Event of minion %s refused", id)
		return false
	}
	return true
}

// isTag reports whether a tag is valid: printable ASCII without spaces, at most 1000 bytes.
func isTag(tag string) bool {
	return tag != "" && len(tag) <= 1000 &&
		!strings.ContainsFunc(tag, func(r rune) bool { return r < '!' || r > '~' })
}

// jobTag matches tags that begin with a bare job id. With these, masters announce the minions of a
// job; clients that wait for them accept any tag with that prefix.
var jobTag = regexp.MustCompile(`^[0-9]{20}`)

// reserved are prefixes of tags that only the master's own parts may fire, since others trust them
// (CVE-2025-22236, -22239).
var reserved = []string{
	"salt/auth", "salt/key", "salt/job/", "salt/run/", "salt/wheel/", "salt/presence/",
	"salt/stats/", "salt/batch/", "salt/cloud/", "salt/fileserver/", "salt/engines/",
	"salt/netapi/", "salt/queue/", "salt/reactor", "salt/event", "salt/minion/",
	"salt/beacon/", "salt/state_result/", "salt/syndic/", "minion/refresh/", "syndic/", "cluster/",
	"__schedule_return",
}

// bare are one-word tags that masters fire, some of them to themselves (salt/master.py;
// salt/channel/server.py).
var bare = []string{"auth", "key", "new_job", "rotate_cluster_aes_key"}

// checkTag returns an error for a tag that minion id must not use.
func checkTag(id, tag string) error {
	switch {
	case !isTag(tag):
		return fmt.Errorf("tag %s is not valid", strconv.QuoteToGraphic(clipText(tag, 100)))
	case strings.Contains(tag, reactor.ManageTag): // the reactor matches it anywhere in a tag
		return fmt.Errorf("tag %s is reserved for the master", tag)
	case ownTag(id, tag):
		return nil
	case slices.Contains(bare, tag) || jobTag.MatchString(tag):
		return fmt.Errorf("tag %s is reserved for the master", tag)
	}
	for _, prefix := range reserved {
		if strings.HasPrefix(tag, prefix) {
			return fmt.Errorf("tag %s is reserved for the master", tag)
		}
	}
	return nil
}

// ownTag reports whether tag is in a reserved namespace, at a place that belongs to minion id.
func ownTag(id, tag string) bool {
	parts := strings.Split(tag, "/")
	if len(parts) < 3 || parts[0] != "salt" {
		return false
	}
	switch parts[1] {
	case "minion", "beacon", "syndic":
		return parts[2] == id
	case "state_result": // salt/state_result/JID/ID/NAME (salt/state.py, State.event)
		return len(parts) > 4 && job.ValidID(job.ID(parts[2])) && parts[3] == id
	case "job":
		return len(parts) > 4 && parts[3] == "prog" && parts[4] == id ||
			len(parts) == 5 && parts[3] == "ack" && parts[4] == id &&
				job.ValidID(job.ID(parts[2]))
	}
	return false
}

func clipText(s string, n int) string { return s[:min(len(s), n)] }

// ping returns the request.
func ping(_ context.Context, c *channel.Command) (any, error) { return rawMap(c.Load), nil }

// rawMap returns fields in encoded form, to be forwarded without decoding.
func rawMap(f payload.Fields) data.Raw { return f.Marshal() }

// sizeOf returns the approximate size of a load in bytes.
func sizeOf(load payload.Fields) int {
	n := 16
	for i := range load {
		n += len(load[i].Key) + len(load[i].Value) + len(load[i].Value)/32 + 8
	}
	return n
}
