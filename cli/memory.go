package cli

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/logging"
)

// A sparing role gives the memory of its start back as soon as it is ready, so that its resident size is that of its work.
type sparing struct {
	daemon.Role
	log     *logging.Log
	started sync.Once
}

func (s *sparing) Run(ctx context.Context, ready func()) error {
	return s.Role.Run(ctx, func() {
		ready() // which a role may call again
		s.started.Do(func() { GiveBack(s.log) })
	})
}

// GiveBack returns memory to the system that the process holds and does not need, as after its start or a storm of requests. That is
// garbage, and the pages of the program itself: the system reads these again when they are used. Failures are logged.
func GiveBack(log logrus.FieldLogger) {
	debug.FreeOSMemory()
	if err := unmapRead(); err != nil {
		log.WithError(err).Debug("memory is not given back") // all else is well
	}
}
