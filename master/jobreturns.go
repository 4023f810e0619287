package master

import (
	"context"
	"errors"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/returners"
)

// jobReturns handles the command job_returns, which Salt does not have: a client reads returns whose
// events it has missed.
type jobReturns struct {
	base
	gate     *gatekeeper
	jobs     returners.JobReader
	watchers *watchers
}

// jobReturnsCommands returns the unencrypted command about the returns of a job.
func jobReturnsCommands(j *jobReturns) map[string]command {
	return map[string]command{"job_returns": {do: j.read}}
}

// mostReturns limits a reply, in bytes of its returns. It has one return at least.
const mostReturns = 8 << 20

// read replies with the returns of the minions `tgt` to the job `jid`: `returns` is a list of loads in
// their stored form. `more` reports whether there are further ones. Only users who may read the job's
// events get them.
func (j *jobReturns) read(ctx context.Context, c *channel.Command) (any, error) {
	claim, err := credentialsOf(c)
	var who *auth.Identity
	if err == nil {
		who, err = j.gate.Identify(ctx, claim)
	}
	id, _ := c.Load.Text("jid")
	if err == nil && !j.watchers.mayRead(job.ID(id), who, c.Caller.Remote) {
		err = auth.ErrNotAuthorized
	}
	if err != nil {
		j.gate.logRefusal("job_returns", claim.Kind, c.Caller.Remote)
		return refusedPublish(err), nil
	}
	minions := data.TextsOf(loadMap(c.Load).Value("tgt"))
	if minions == nil {
		minions = []string{}
	}
	list, size, more := []any{}, 0, false
	err = returners.WalkReturns(ctx, j.jobs, job.ID(id), minions, func(r returners.Return) error {
		if size += len(r.Load); size > mostReturns && len(list) > 0 {
			more = true
			return errEnough
		}
		list = append(list, []byte(r.Load))
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return clearReply(data.NewMap("returns", list, "more", more)), nil
}

// errEnough ends a walk over returns.
var errEnough = errors.New("the reply is full")
