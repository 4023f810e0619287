package cli

import (
	"context"
	"runtime/debug"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/logging"
)

// A memoryReleaser role returns its startup memory as soon as it is ready, so that its resident
// size is that of its work.
type memoryReleaser struct {
	daemon.Role
	log     *logging.Log
	started sync.Once
}

func (s *memoryReleaser) Run(ctx context.Context, ready func()) error {
	return s.Role.Run(ctx, func() {
		ready() // a role may call it again
		s.started.Do(func() { ReleaseMemory(s.log) })
	})
}

// ReleaseMemory returns unneeded memory of the process to the system, as after startup or a burst
// of requests: garbage, and the pages of the program file, which the system reads again when they
// are used. It logs failures.
func ReleaseMemory(log logrus.FieldLogger) {
	debug.FreeOSMemory()
	if err := unmapRead(); err != nil {
		// only this measure failed
		log.WithError(err).Debug("return of memory to the system failed")
	}
}
