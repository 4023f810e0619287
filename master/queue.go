package master

import (
	"github.com/brineproject/brine/job"
)

// offline keeps jobs for minions that are away.
type offline struct{}

// settled forgets a job of a minion that has taken it or returned.
func (o *offline) settled(job.ID, string) {}

// remembers notes that a minion never runs a job twice, whatever is sent again.
func (o *offline) remembers(string) {}
