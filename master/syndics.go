package master

import (
	"context"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/loglimit"
)

// syndics handles requests of lower masters. They are not supported yet, and a minion's key must
// not act as a syndic's (CVE-2024-22231).
type syndics struct {
	quiet *loglimit.Limiter
	log   logrus.FieldLogger
}

func (s *syndics) refuse(_ context.Context, c *channel.Command) (any, error) {
	s.quiet.Warnf(s.log, "syndic "+c.Caller.ID,
		"%s is not a syndic, and its returns for other minions are refused", c.Caller.ID)
	return data.NewMap(), nil
}
