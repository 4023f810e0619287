package cli

import (
	"context"
	"runtime/debug"
	"sync"

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
		s.started.Do(s.giveBack)
	})
}

// giveBack gives back what only the start needed: garbage, and the code and tables of the program that it went through.
func (s *sparing) giveBack() {
	debug.FreeOSMemory()
	if err := unmapRead(); err != nil {
		s.log.WithError(err).Debug("the memory of the start is not given back") // all else is well
	}
}
