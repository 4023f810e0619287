package daemon

import (
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// A notifier reports the daemon's state to the service manager (sd_notify(3)). It does nothing
// without one.
type notifier struct{ every time.Duration }

func newNotifier() *notifier {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		every = 0 // an invalid variable means no watchdog
	}
	return &notifier{every / 2}
}

// send sends a state to the service manager and ignores errors.
func (n *notifier) send(state string) { _, _ = daemon.SdNotify(false, state) }

// reloading reports the start of a reload; READY=1 reports its end.
func (n *notifier) reloading() {
	n.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", monotonic().Microseconds()))
}

// watchdog returns a ticker for the service manager's watchdog; it never ticks if the watchdog is
// off.
func (n *notifier) watchdog() *time.Ticker {
	if n.every <= 0 {
		t := time.NewTicker(time.Hour)
		t.Stop()
		return t
	}
	return time.NewTicker(n.every)
}

func (n *notifier) alive(status string) { n.send("WATCHDOG=1\nSTATUS=" + status) }
