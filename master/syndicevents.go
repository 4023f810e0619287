package master

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	lower "github.com/brineproject/brine/master/syndics"
	"github.com/brineproject/brine/returners"
)

// syndicEvents fires events that a syndic passes on from the bus of its lower master
// (salt/minion.py, SyndicManager._forward_events; salt/daemons/masterapi.py,
// RemoteFuncs._minion_event).
//
// Each event is fired below syndic/ID/. With its own tag it is fired, too, if the minion that it is
// about could have fired it here. Salt fires all with their own tags, so that a lower master could
// forge events of this one.
type syndicEvents struct {
	*minionEvents
	syndics *syndics
}

// startTag returns the tag with which a syndic announces itself (salt/minion.py, Syndic.
// fire_master_syndic_start).
func startTag(id string) string { return "salt/syndic/" + id + "/start" }

// inventoryTag returns the tag of the list of all minions behind a syndic of Brine.
func inventoryTag(id string) string { return "salt/syndic/" + id + "/minions" }

// fire handles _minion_event. Requests of minions that are no syndics are those of any minion.
func (e *syndicEvents) fire(ctx context.Context, c *channel.Command) (any, error) {
	id := c.Caller.ID
	if tag, _ := c.Load.Text("tag"); tag == startTag(id) || tag == "syndic_start" {
		e.syndics.announce(id)
	}
	list, ok := c.Load.Value("events").([]any)
	pretag, _ := c.Load.Text("pretag")
	passesOn := ok && strings.HasPrefix(pretag, "syndic/")
	// this master forgets a syndic whose key is deleted, and that of Salt says only once that it has started
	if passesOn || ok && isInventory(id, list) {
		e.syndics.announce(id)
	}
	why := e.syndics.acts(id)
	if passesOn && why != nil {
		e.syndics.refused(base{quiet: e.quiet, log: e.log}, c, "Events of other minions", why)
		e.explain(ctx, id, list, why)
		return nil, nil
	}
	if !ok || why != nil {
		reply, err := e.minionEvents.fire(ctx, c)
		if err == nil && why != nil && isInventory(id, list) {
			reply = data.NewMap(job.Refused, why.Error())
		}
		return reply, err
	}
	for _, item := range list {
		event, _ := item.(*data.Map)
		tag := event.Text("tag")
		body, isMap := event.Value("data").(*data.Map)
		if isTag(tag) && isMap {
			e.fireOne(ctx, id, tag, body)
		}
	}
	return nil, nil
}

// mostExplained is how many jobs are looked up for one request that is refused.
const mostExplained = 100

// explain tells the clients that wait for jobs why no minion behind a syndic answers, if its refused
// events are about these jobs. The wait for a minion with the same id goes on.
func (e *syndicEvents) explain(ctx context.Context, id string, list []any, why error) {
	looked := map[job.ID]bool{}
	for _, item := range list {
		event, _ := item.(*data.Map)
		about := job.ID(strings.TrimSuffix(strings.TrimPrefix(innerTag(event.Text("tag")), "salt/job/"), "/new"))
		if !job.ValidID(about) || looked[about] || len(looked) >= mostExplained {
			continue
		}
		looked[about] = true
		if known, err := e.progress.jobs.Job(ctx, about); err != nil || !expects(known, id) {
			continue // a job of the lower master itself
		}
		e.send(id, eventbus.Tagify("job", string(about), "missed", id), data.NewMap("id", id, "jid", string(about),
			"reason", "This master takes nothing from minions behind this syndic: "+why.Error()+".", "syndic", true))
	}
}

// isInventory reports whether events are the inventory of a syndic of Brine.
func isInventory(id string, list []any) bool {
	return slices.ContainsFunc(list, func(item any) bool {
		event, _ := item.(*data.Map)
		return event.Text("tag") == inventoryTag(id)
	})
}

func (e *syndicEvents) fireOne(ctx context.Context, id, tag string, body *data.Map) {
	if tag == inventoryTag(id) {
		e.takeInventory(id, body)
		return
	}
	e.noteMinions(ctx, id, tag, body)
	e.send(id, eventbus.JoinTag("syndic", id, tag), body)
	if !e.own(id, tag, body) {
		return
	}
	if minion := minionOf(tag); minion != "" {
		e.progress.fired(ctx, minion, tag)
	}
	e.send(id, tag, body)
}

func (e *syndicEvents) send(id, tag string, body *data.Map) {
	if err := e.bus.Fire(tag, body); err != nil {
		e.log.WithError(err).Errorf("fire event %s of syndic %s", strconv.QuoteToGraphic(tag), id)
	}
}

// takeInventory notes which minions are behind a syndic, and announces their number.
func (e *syndicEvents) takeInventory(id string, body *data.Map) {
	minions, ok := idsOf(body, "minions")
	if !ok {
		return
	}
	i := lower.Inventory{Minions: minions}
	if nested, ok := body.Value("syndics").(*data.Map); ok {
		i.Syndics = map[string][]string{}
		for name := range nested.All() {
			i.Syndics[data.Str(name)], _ = idsOf(nested, name)
		}
	}
	e.syndics.take(id, i)
	news := data.NewMap("id", id, "minions", data.Values(e.syndics.Behind(id)))
	e.send(id, inventoryTag(id), news)
}

// idsOf returns a list of ids. ok is false for anything else, as the text by which a bus replaces a
// list that is too long for an event.
func idsOf(m *data.Map, key any) (ids []string, ok bool) {
	list, ok := m.Value(key).([]any)
	return data.TextsOf(list), ok
}

// innerTag removes what the syndics of lower tiers have put before the tag of an event.
func innerTag(tag string) string {
	for strings.HasPrefix(tag, "syndic/") {
		_, rest, ok := strings.Cut(tag[len("syndic/"):], "/")
		if !ok {
			return tag
		}
		tag = rest
	}
	return tag
}

// noteMinions adds the minions that an event names to those behind the syndic and, if it is about a
// job, to the expected ones of that job. Those that the syndic does not speak for are removed from
// the event.
func (e *syndicEvents) noteMinions(ctx context.Context, id, tag string, body *data.Map) {
	inner := innerTag(tag)
	named, ok := idsOf(body, "minions")
	if !ok {
		return
	}
	jid, _, _ := strings.Cut(strings.TrimPrefix(inner, "salt/job/"), "/")
	about := job.ID(jid)
	nested := strings.HasPrefix(inner, "salt/syndic/") && strings.HasSuffix(inner, "/minions")
	if !job.ValidID(about) && !nested {
		return
	}
	ids := e.syndics.add(id, named)
	if job.ValidID(about) {
		known, err := e.syndics.jobs.Job(ctx, about)
		if err == nil {
			ids, err = e.syndics.admit(known, ids, func(jid job.ID, ids []string) error {
				return e.syndics.jobs.AddMinions(ctx, jid, ids)
			})
		}
		if err != nil && !errors.Is(err, returners.ErrUnknownJob) {
			e.log.WithError(err).Errorf("note which minions behind syndic %s have job %s", id, about)
		}
	}
	body.Set("minions", data.Values(ids))
}

// own reports whether an event keeps its own tag: an ordinary minion may use that, or it is about a
// minion behind the syndic.
func (e *syndicEvents) own(id, tag string, body *data.Map) bool {
	if about := body.Text("id"); body.Has("id") && about != id && !e.syndics.speaks(id, about) {
		return false
	}
	if minion := minionOf(tag); minion != "" && minion != id {
		return e.syndics.speaks(id, minion) && checkTag(minion, tag) == nil
	}
	return checkTag(id, tag) == nil
}

// minionOf returns the minion in whose own namespace a tag is, or "".
func minionOf(tag string) string {
	parts := strings.Split(tag, "/")
	if len(parts) < 3 || parts[0] != "salt" {
		return ""
	}
	switch at := map[string]int{"minion": 2, "beacon": 2, "state_result": 3, "job": 4}[parts[1]]; {
	case at == 0 || len(parts) <= at:
	case parts[1] == "job" && parts[3] != "prog" && parts[3] != "ack":
	default:
		return parts[at]
	}
	return ""
}
