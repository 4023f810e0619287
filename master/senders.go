package master

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/master/queue"
)

// senders know whose the jobs are that are sent some time after they were ordered, and whether they may still send them then.
type senders struct{ gate *gatekeeper }

// of returns who gives an order. One without credentials is of the master itself, as of its reactor: who comes over the wire
// without them is refused before.
func (s senders) of(ctx context.Context, load, kwargs *data.Map) (queue.Owner, error) {
	name := load.Text("user")
	if !load.Has("key") && !kwargs.Has("token") && !kwargs.Has("eauth") {
		return queue.Owner{Name: name, Full: true}, nil
	}
	standing, err := s.gate.Stand(ctx, auth.FromKwargs(load, kwargs))
	if err != nil {
		return queue.Owner{}, err
	}
	if standing.Full {
		return queue.Owner{Name: name, Full: true}, nil
	}
	return ownerOf(standing)
}

// ownerOf returns the owner of jobs whose rights are to be looked up by a standing. A user of the host and one of external_auth may
// have the same name.
func ownerOf(s auth.Standing) (queue.Owner, error) {
	rights, err := s.Marshal()
	if err != nil {
		return queue.Owner{}, fmt.Errorf("keep who %s is: %w", s.Name, err)
	}
	return queue.Owner{Name: s.System + "/" + s.Name, Rights: rights}, nil
}

// may returns why the owner of a job may not send it to minions now, or nil.
func (s senders) may(ctx context.Context, owner queue.Owner, load *data.Map, minions []string) error {
	if owner.Full {
		return nil
	}
	standing, err := auth.ParseStanding(owner.Rights)
	if err != nil {
		return err
	}
	who, err := s.gate.Now(ctx, standing)
	if err != nil {
		return fmt.Errorf("rights of user %s: %w", standing.Name, err)
	}
	arg, isList := load.Value("arg").([]any)
	odd := load.Value("arg") != nil && !isList
	job := auth.Publication{Fun: load.Value("fun"), Arg: arg, Minions: minions}
	if odd || s.gate.Blocked(standing.Name, job.Fun) || !who.MayPublish(job) {
		return fmt.Errorf("user %s: %w", standing.Name, auth.ErrNotAuthorized)
	}
	return nil
}
