package client

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

// jobReturns is the command by which a master hands out the returns that it has recorded.
const jobReturns = "job_returns"

// recorded calls yield with the returns of minions to a job that the master has recorded, and reports
// whether yield still wants them. The master must be Brine's, and the job one of this user.
func (l *Local) recorded(
	ctx context.Context, id job.ID, minions []string, yield func(minion string, load data.Raw) bool,
) (wanted bool, err error) {
	key, user, err := l.credentials()
	if err != nil {
		return true, err
	}
	left := setOf(minions)
	for len(left) > 0 {
		r := Request{Target: data.Values(minions), Kind: "list", JID: string(id), command: jobReturns}
		reply, err := l.send(ctx, r, key, user)
		if err != nil {
			return true, err
		}
		m, _ := reply.(*data.Map)
		if err := replyError(m); err != nil {
			return true, err
		}
		loads, ok := m.Value("returns").([]any)
		if !ok {
			return true, errNoRecords
		}
		for _, v := range loads {
			load := rawOf(v)
			minion := minionOf(load)
			if !left[minion] {
				continue
			}
			delete(left, minion)
			if !yield(minion, load) {
				return false, nil
			}
		}
		if !data.Truth(m.Value("more")) || len(left) == len(minions) {
			return true, nil
		}
		minions = slices.DeleteFunc(slices.Clone(minions), func(id string) bool { return !left[id] })
	}
	return true, nil
}

// rawOf returns an encoded load, which is text if all its bytes happen to be.
func rawOf(v any) data.Raw {
	if b, ok := v.([]byte); ok {
		return b
	}
	return data.Raw(data.Str(v))
}

// minionOf returns the minion of a load.
func minionOf(load data.Raw) string {
	fields, err := payload.ParseFields(load, payload.WireLimits())
	if err != nil {
		return ""
	}
	id, _ := fields.Text("id")
	return id
}

// errNoRecords is returned if the master does not know the command: it is Salt's, or an older one.
var errNoRecords = errors.New("the master hands out no recorded returns")
