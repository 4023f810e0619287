package daemon

import (
	"context"
	"time"

	"golang.org/x/sys/windows/svc"
)

// Serve runs a daemon and returns its exit code. If the service manager has started the process, the
// daemon is the service of this name: ctx ends when the manager stops it or the system shuts down.
func Serve(ctx context.Context, name string, run func(context.Context) int) int {
	if managed, err := svc.IsWindowsService(); err != nil || !managed {
		return run(ctx)
	}
	s := &service{ctx: ctx, run: run}
	if err := svc.Run(name, s); err != nil {
		return 1
	}
	return s.code
}

// A service answers to the service manager.
type service struct {
	ctx  context.Context //nolint:containedctx // the manager calls Execute without one
	run  func(context.Context) int
	code int
}

// stopTime is how long the manager waits for the end of the daemon before it reports a failure.
const stopTime = 30 * time.Second

// Execute runs the daemon until it ends by itself or the manager stops it.
func (s *service) Execute(_ []string, orders <-chan svc.ChangeRequest, report chan<- svc.Status) (bool, uint32) {
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	done := make(chan int, 1)
	go func() { done <- s.run(ctx) }()
	const accepts = svc.AcceptStop | svc.AcceptShutdown
	report <- svc.Status{State: svc.Running, Accepts: accepts}
	for {
		select {
		case s.code = <-done:
			report <- svc.Status{State: svc.StopPending}
			return true, uint32(s.code) // specific to the service; 0 is none
		case order, open := <-orders:
			switch {
			case !open:
				orders = nil
			case order.Cmd == svc.Interrogate:
				report <- order.CurrentStatus
			case order.Cmd == svc.Stop || order.Cmd == svc.Shutdown:
				report <- svc.Status{State: svc.StopPending, WaitHint: uint32(stopTime.Milliseconds())}
				stop()
			}
		}
	}
}
