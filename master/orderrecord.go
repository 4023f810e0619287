package master

import (
	"fmt"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/returners"
)

// Kinds of entries in the stream of publications.
const (
	kindOrder = "order" // a new job, or a further step of one
	kindAgain = "again" // a publication of an earlier job
	kindLead  = "lead"  // a member begins to lead; entries of earlier leads that follow are void
	// a job is taken from the queue of minions that do not get it
	kindUnqueue = "unqueue"
)

// An orderRecord is an entry in the stream of publications.
type orderRecord struct {
	Kind   string `codec:"kind"`
	Nonce  string `codec:"nonce"`           // by which its member knows it again
	Member string `codec:"member"`          // that wrote it
	At     int64  `codec:"at"`              // when it was written, in microseconds since 1970
	Token  uint64 `codec:"token,omitempty"` // of the lead that it was written under; 0 means none

	JID    string `codec:"jid,omitempty"`
	Pub    []byte `codec:"pub,omitempty"`    // the publication; none for a job that is only recorded
	Below  []byte `codec:"below,omitempty"`  // that for syndics, if it differs
	Load   []byte `codec:"load,omitempty"`   // as stored
	Apart  bool   `codec:"apart,omitempty"`  // syndics do not pass it on
	Queued bool   `codec:"queued,omitempty"` // of kind again: it comes from the queue

	Minions []string `codec:"minions,omitempty"` // of the cluster; of kind again: to send it to
	Missing []string `codec:"missing,omitempty"`
	Absent  []string `codec:"absent,omitempty"`
	NoCache bool     `codec:"nocache,omitempty"`
	Started int64    `codec:"started,omitempty"` // microseconds since 1970

	// what differs with minions behind syndics
	All *minionLists `codec:"all,omitempty"`
	// what is queued
	Queue *queueRecord `codec:"queue,omitempty"`

	// of kind unqueue: what the minions are recorded as, and the reason
	State string `codec:"state,omitempty"`
	Why   string `codec:"why,omitempty"`
}

type minionLists struct {
	Minions []string `codec:"minions"`
	Missing []string `codec:"missing"`
	Absent  []string `codec:"absent"`
}

type queueRecord struct {
	Owner   string   `codec:"owner"`
	Rights  []byte   `codec:"rights"`
	Full    bool     `codec:"full"`
	Minions []string `codec:"minions"`
	Sent    []string `codec:"sent"`
	Expires int64    `codec:"expires"` // seconds since 1970
}

// recordOf returns the record of an order.
func recordOf(o *order, sent *sentJob) (*orderRecord, error) {
	r := &orderRecord{Kind: kindOrder, JID: string(sent.id), Load: o.own.Load, Apart: sent.own,
		Minions: o.own.Minions, Missing: o.own.Missing, Absent: o.own.Absent, NoCache: o.own.NoCache,
		Started: o.own.Started.UnixMicro()}
	var err error
	if r.Pub, err = marshalPublication(o.pub); err != nil {
		return nil, err
	}
	if r.Below, err = marshalPublication(o.below); err != nil {
		return nil, err
	}
	if o.record != o.own {
		r.All = &minionLists{o.record.Minions, o.record.Missing, o.record.Absent}
	}
	if q := o.queue; q != nil {
		r.Queue = &queueRecord{Owner: q.Owner.Name, Rights: q.Owner.Rights, Full: q.Owner.Full,
			Minions: q.Minions, Sent: q.Sent, Expires: q.Expires.Unix()}
	}
	return r, nil
}

// order returns the order of a record, for a member that did not take it.
func (r *orderRecord) order() (*order, *sentJob, error) {
	load, err := mapOf(r.Load)
	if err != nil {
		return nil, nil, fmt.Errorf("load of job %s: %w", r.JID, err)
	}
	o := &order{load: load, kwargs: kwargsOf(load), remote: true}
	if o.pub, err = publicationOf(r.Pub); err != nil {
		return nil, nil, fmt.Errorf("publication of job %s: %w", r.JID, err)
	}
	if o.below, err = publicationOf(r.Below); err != nil {
		return nil, nil, fmt.Errorf("publication of job %s for syndics: %w", r.JID, err)
	}
	o.own = &returners.Job{ID: job.ID(r.JID), Load: r.Load, Minions: r.Minions, Missing: r.Missing,
		Absent: r.Absent, NoCache: r.NoCache, Started: time.UnixMicro(r.Started)}
	o.record = o.own
	if r.All != nil {
		all := *o.own
		all.Minions, all.Missing, all.Absent = r.All.Minions, r.All.Missing, r.All.Absent
		o.record = &all
	}
	if q := r.Queue; q != nil {
		o.queue = &queue.Item{ID: o.own.ID, Load: r.Load, Minions: q.Minions, Sent: q.Sent,
			Owner: queue.Owner{Name: q.Owner, Full: q.Full, Rights: q.Rights}, Expires: time.Unix(q.Expires, 0)}
	}
	sent := &sentJob{id: o.own.ID, absent: o.record.Absent,
		recipients: recipients{ids: o.record.Minions, missing: o.record.Missing, own: r.Apart}}
	return o, sent, nil
}

// marshalPublication returns the record form of a publication, none for nil.
func marshalPublication(pub *job.Publication) ([]byte, error) {
	if pub == nil {
		return nil, nil
	}
	return payload.MarshalBin(pub.Map())
}

// mapOf decodes a map.
func mapOf(raw []byte) (*data.Map, error) {
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	if err != nil {
		return nil, err
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("%w: it is no map", payload.ErrInvalid)
	}
	return m, nil
}

// publicationOf decodes a publication; none gives nil.
func publicationOf(raw []byte) (*job.Publication, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	m, err := mapOf(raw)
	if err != nil {
		return nil, err
	}
	return job.ParsePublication(m)
}

// unqueued returns what a record of kind unqueue takes from the queue. A state that says something
// else than that a minion does not get the job is an error.
func (r *orderRecord) unqueued() (unqueued, error) {
	u := unqueued{id: job.ID(r.JID), minions: r.Minions, state: returners.State(r.State), why: r.Why}
	switch u.state {
	case "", returners.Gone, returners.Missed, returners.Refused:
		return u, nil
	}
	return unqueued{}, fmt.Errorf("%w: job %s is unqueued as %q", payload.ErrInvalid, r.JID, r.State)
}

// about says what a record is about, for texts.
func (r *orderRecord) about() string {
	if r.Kind == kindLead {
		return fmt.Sprintf("the start of lead %d", r.Token)
	}
	return "job " + r.JID
}

func (r *orderRecord) marshal() ([]byte, error) { return typed.Marshal(r) }

func parseOrder(body []byte) (*orderRecord, error) {
	var r orderRecord
	if err := typed.Unmarshal(body, payload.WireLimits(), &r); err != nil {
		return nil, err
	}
	return &r, nil
}
