// Package cluster is the runner cluster: what a master knows about the cluster that it is a member
// of, and how it leaves and joins. Salt has no such runner.
package cluster

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// A Member is a running master as a member of its cluster. It is safe for concurrent use.
type Member interface {
	// Status returns what the master knows. It answers within three seconds, also if NATS does not.
	Status(ctx context.Context) *Status
	// Forget removes the record of a member that is gone for good. The error says so if that member
	// still shows signs of life, is unknown, or if the cluster has no quorum.
	Forget(ctx context.Context, id string) error
	// Reseal seals what the cluster keeps with the first key of the key file, and returns how many
	// values were sealed with another one.
	Reseal(ctx context.Context) (int, error)
}

// A Status is what a member knows about its cluster.
type Status struct {
	Name    string // of the cluster
	Member  string // id of this master
	Quorum  bool
	Since   time.Time // since when Quorum is what it is
	Why     string    // why there is no quorum; "" if there is one
	Leader  string    // id of the member that leads; "" if none does, or it is unknown
	Members []Peer    // sorted by id, also those that are gone
	NATS    NATS

	// How many entries of the streams this member has not carried out yet, and when it looked: the
	// zero time if it never got an answer.
	OrdersBehind, ReturnsBehind uint64
	At                          time.Time

	Spooled      int    // returns that wait on this member's disk for the cluster
	KeyConflicts uint64 // since the start of this master
	KeysWaiting  int    // ids whose keys differ between the files and the cluster

	// UnknownKeys tells what this member could not read since its start, a line for each cluster key
	// that it lacks.
	UnknownKeys []string
}

// A Peer is one master of the cluster.
type Peer struct {
	ID      string
	State   State
	Version string    // "" if it is unknown
	Since   time.Time // its last start; zero if it is unknown
	Seen    time.Time // its last sign of life; zero if it is unknown
	Minions int       // that are connected to it, as far as is known
}

// A State is what the signs of life of a member say.
type State string

// The states of members.
const (
	Up      State = "up"
	Silent  State = "silent"  // no sign of life: it crashed, or the network between it and NATS is down
	Stopped State = "stopped" // it has ended as intended
)

// NATS is what a member sees of the servers.
type NATS struct {
	Address, Server, Version string // of the connection; "" while there is none
	Wanted                   int    // replicas
	Replicas                 []Replica
}

// A Replica is a server that keeps the stream of jobs.
type Replica struct {
	Server string
	State  string // leader, current, offline, or how many entries it lacks
}

// An InMaster calls a runner on the master of this host, and returns the result. running is false if
// no master runs.
type InMaster func(ctx context.Context, fun string, kwargs *data.Map) (result any, running bool, err error)

// Needs are the runner's dependencies.
type Needs struct {
	Member Member // nil if this is no running master, or one that is in no cluster
	// Master calls the running master, from a program beside it. It is nil inside a master.
	Master InMaster
}

// Plugin returns the runner cluster.
func Plugin(n Needs) loader.Plugin {
	return loader.Plugin{Name: "cluster", New: func(env *loader.Env) (*loader.Module, error) {
		m := &module{env, n}
		return &loader.Module{Funcs: []loader.Func{
			loader.F("join", m.join).Strict(),
			loader.F("leave", m.leave).Strict(),
			loader.F("members", m.members).Strict(),
			loader.F("reseal", m.reseal).Strict(),
			loader.F("status", m.status).Strict(),
		}}, nil
	}}
}

type module struct {
	env   *loader.Env
	needs Needs
}

const (
	textNone = "This master is in no cluster: its option cluster is not set. It works alone, as a master does without it."
	textDown = "salt-master does not run on this host. Start it; its log tells why it ended. Other members answer, too."
	textLeft = "This master has left its cluster and works alone, from its own files. To bring it back: " +
		"salt-run cluster.join, and then restart salt-master."
)

// mark returns the mark of a master that has left, or an error for a master without the option.
func (m *module) mark() (Mark, error) {
	if m.env.Option("cluster") == nil {
		return Mark{}, &runners.UnableError{Text: textNone}
	}
	return MarkIn(data.Str(m.env.Option("cachedir"))), nil
}

// status returns what this master knows about its cluster: whether there is a quorum, who leads, the
// members, the NATS servers, and what waits. The exit code is 1 without a quorum. Salt has no such
// function.
//
// quorum is True while a majority of the NATS servers takes what this master writes. state of a member
// is up, silent (no sign of life for more than five seconds) or stopped. minions counts those that are
// connected to a member, as far as this one knows.
//
// orders_behind and returns_behind count the entries of the cluster that this one has not carried out
// yet, as of the time checked; an entry can have several returns. returns_in_spool wait on the disk of this master until NATS takes them.
// keys_waiting are ids whose keys are not yet the same in its files and in the cluster. unknown_keys is
// there if this master has left out entries that are sealed with a cluster key which its key file lacks.
// Copy the key file from another member and restart, unless a stranger writes to NATS.
//
// CLI Example:
//
//	salt-run cluster.status
func (m *module) status(ctx context.Context, _ struct{}) (any, error) {
	mark, err := m.mark()
	if err != nil {
		return nil, err
	}
	if m.needs.Member != nil {
		s := m.needs.Member.Status(ctx)
		show := s.show()
		if since, left, _ := mark.Since(); left {
			show.Set("leaves", "at its next start, since salt-run cluster.leave at "+utc(since))
		}
		return failed(show, s.Quorum), nil
	}
	result, running, err := m.inMaster(ctx, "cluster.status", nil)
	if err != nil || running {
		return result, err
	}
	text, err := m.alone(mark)
	return failed(data.NewMap("quorum", false, "why", text), false), err
}

// alone returns why there is no member to ask.
func (m *module) alone(mark Mark) (string, error) {
	since, left, err := mark.Since()
	switch {
	case err != nil:
		return "", err
	case left && m.needs.Master == nil:
		return textLeft, nil
	case left:
		return textDown + " It is to work alone, since salt-run cluster.leave at " + utc(since) + ".", nil
	case m.needs.Master == nil:
		return "This master works alone until it is restarted: it was started before the option cluster was set, " +
			"or before salt-run cluster.join.", nil
	}
	return textDown, nil
}

// inMaster calls a function of this runner on the running master, if this program is not it.
func (m *module) inMaster(ctx context.Context, fun string, kwargs *data.Map) (any, bool, error) {
	if m.needs.Master == nil {
		return nil, false, nil
	}
	result, running, err := m.needs.Master(ctx, fun, kwargs)
	if err != nil {
		err = &runners.UnableError{Text: err.Error()}
	}
	return result, running, err
}

// members returns the masters of the cluster by their ids, also those that are gone: state, version,
// last start, last sign of life, and the number of connected minions. Salt has no such function.
//
// A member that is gone stays in the list until salt-run cluster.leave member=ID.
//
// CLI Example:
//
//	salt-run cluster.members
func (m *module) members(ctx context.Context, _ struct{}) (any, error) {
	mark, err := m.mark()
	if err != nil {
		return nil, err
	}
	if m.needs.Member != nil {
		return m.needs.Member.Status(ctx).showMembers(), nil
	}
	return m.elsewhere(ctx, mark, "cluster.members", nil)
}

type leaveArgs struct {
	Member any `default:"None"`
}

// leave makes this master work alone from its next start on, from its own files, although the option
// cluster is set. It needs neither NATS nor a running master. Salt has no such function.
//
// The other members go on without it. A master that works alone does not learn of their keys, jobs and
// returns, nor they of its own, until it joins again.
//
// member
//
//	The id of a member that is gone for good: its record is removed from the cluster instead. That needs
//	a running master and a quorum.
//
// CLI Example:
//
//	salt-run cluster.leave
//	salt-run cluster.leave member=master3
func (m *module) leave(ctx context.Context, a leaveArgs) (any, error) {
	mark, err := m.mark()
	if err != nil {
		return nil, err
	}
	if a.Member != nil {
		return m.forget(ctx, mark, data.Str(a.Member))
	}
	since, left, err := mark.Since()
	switch {
	case err != nil:
		return nil, err
	case left:
		return "This master was told to leave its cluster at " + utc(since) + " already. " + nextAlone, nil
	}
	if err := mark.Set(time.Now()); err != nil {
		return nil, err
	}
	return "This master leaves its cluster. " + nextAlone, nil
}

const nextAlone = "Restart it now: systemctl restart salt-master. From then on it works alone, from its own files, " +
	"and says so in its log. salt-run cluster.join takes this back."

// forget removes the record of another member.
func (m *module) forget(ctx context.Context, mark Mark, id string) (any, error) {
	if m.needs.Member != nil {
		if err := m.needs.Member.Forget(ctx, id); err != nil {
			return nil, &runners.UnableError{Text: err.Error()}
		}
		return "Member " + id + " is removed from the cluster. If its host is to come back, nothing else is to be done: " +
			"it joins when its salt-master starts.", nil
	}
	return m.elsewhere(ctx, mark, "cluster.leave", data.NewMap("member", id))
}

// reseal seals what the cluster keeps with the cluster key that is the first line of the key file of this
// master, and returns how many values an older one had sealed. Jobs and returns are not among them: NATS
// drops them after an hour and a day. After that the older key can leave the file. Salt has no such
// function.
//
// CLI Example:
//
//	salt-run cluster.reseal
func (m *module) reseal(ctx context.Context, _ struct{}) (any, error) {
	mark, err := m.mark()
	if err != nil {
		return nil, err
	}
	if m.needs.Member != nil {
		n, err := m.needs.Member.Reseal(ctx)
		if err != nil {
			return nil, &runners.UnableError{Text: err.Error()}
		}
		return int64(n), nil
	}
	return m.elsewhere(ctx, mark, "cluster.reseal", nil)
}

// elsewhere calls a function on the running master; without one the error says so.
func (m *module) elsewhere(ctx context.Context, mark Mark, fun string, kwargs *data.Map) (any, error) {
	result, running, err := m.inMaster(ctx, fun, kwargs)
	if err != nil || running {
		return result, err
	}
	text, err := m.alone(mark)
	if err != nil {
		return nil, err
	}
	return nil, &runners.UnableError{Text: text}
}

// join takes salt-run cluster.leave back: from its next start on this master is a member of its cluster
// again. It needs neither NATS nor a running master. Salt has no such function.
//
// At that start the keys of this master and those of the cluster become the same; of two that differ the
// stricter counts. The master gets the jobs and returns that the cluster still has; those that it took
// alone stay on it.
//
// CLI Example:
//
//	salt-run cluster.join
func (m *module) join(context.Context, struct{}) (any, error) {
	mark, err := m.mark()
	if err != nil {
		return nil, err
	}
	_, left, err := mark.Since()
	switch {
	case err != nil:
		return nil, err
	case !left:
		return "This master has not left its cluster. It is a member from its start on, as soon as NATS answers; " +
			"salt-run cluster.status shows it.", nil
	}
	if err := mark.Remove(); err != nil {
		return nil, err
	}
	return "This master joins its cluster again. Restart it now: systemctl restart salt-master. " +
		"Then look at salt-run cluster.status.", nil
}
