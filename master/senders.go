package master

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/master/queue"
)

// senders records who submitted a deferred job, and checks their rights again when it is sent.
type senders struct{ gate *gatekeeper }

// owner returns the sender of a job. A job without credentials comes from the master itself, for
// example its reactor: over the network it would have been refused before.
func (s senders) owner(ctx context.Context, load, kwargs *data.Map) (queue.Owner, error) {
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

// ownerOf returns an owner whose rights can be looked up later. The name includes the system, since
// a user of the host and one of external_auth may have the same name.
func ownerOf(s auth.Standing) (queue.Owner, error) {
	rights, err := s.Marshal()
	if err != nil {
		return queue.Owner{}, fmt.Errorf("encode rights of user %s: %w", s.Name, err)
	}
	return queue.Owner{Name: s.System + "/" + s.Name, Rights: rights}, nil
}

// authorize returns an error if the owner of a job may not send it to the minions now.
func (s senders) authorize(
	ctx context.Context, owner queue.Owner, load *data.Map, minions []string,
) error {
	if owner.Full {
		return nil
	}
	who, standing, err := s.identify(ctx, owner)
	if err != nil {
		return err
	}
	arg, isList := load.Value("arg").([]any)
	odd := load.Value("arg") != nil && !isList
	job := auth.Publication{Fun: load.Value("fun"), Arg: arg, Minions: minions}
	if odd || s.gate.Blocked(standing.Name, job.Fun) || !who.MayPublish(job) {
		return fmt.Errorf("user %s: %w", standing.Name, auth.ErrNotAuthorized)
	}
	return nil
}

// identify returns the sender of a job with their rights of now.
func (s senders) identify(ctx context.Context, owner queue.Owner) (*auth.Identity, auth.Standing, error) {
	standing, err := auth.ParseStanding(owner.Rights)
	if err != nil {
		return nil, standing, err
	}
	who, err := s.gate.Now(ctx, standing)
	if err != nil {
		return nil, standing, fmt.Errorf("look up rights of user %s: %w", standing.Name, err)
	}
	return who, standing, nil
}

// rights returns the rights of the sender for lower masters; none means all.
func (s senders) rights(ctx context.Context, owner queue.Owner) ([]any, error) {
	if owner.Full {
		return nil, nil
	}
	who, _, err := s.identify(ctx, owner)
	if err != nil {
		return nil, err
	}
	return who.AuthList(), nil
}
