package daemon

import (
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// A notifier tells the service manager how the daemon is (sd_notify(3)). It does nothing when there is none that asks.
type notifier struct{ every time.Duration }

func newNotifier() *notifier {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		every = 0 // a variable that is no number asks for nothing
	}
	return &notifier{every / 2}
}

// send gives a state to the service manager. One that does not listen is no concern of the daemon.
func (n *notifier) send(state string) { _, _ = daemon.SdNotify(false, state) }

// reloading tells that the configuration is read again; READY=1 ends that.
func (n *notifier) reloading() {
	n.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", monotonic().Microseconds()))
}

// watchdog returns a ticker for the signs of life that the service manager wants; it never ticks when none are wanted.
func (n *notifier) watchdog() *time.Ticker {
	if n.every <= 0 {
		t := time.NewTicker(time.Hour)
		t.Stop()
		return t
	}
	return time.NewTicker(n.every)
}

func (n *notifier) alive(status string) { n.send("WATCHDOG=1\nSTATUS=" + status) }
