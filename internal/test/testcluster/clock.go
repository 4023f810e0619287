//go:build linux

package testcluster

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// SetClock sets how far the clock of the master is off that of the machine, in whole seconds, from now
// on. A process that was started without this is ended and started again, once; then its clock is
// stepped. The error wraps [wrongclock.ErrRefused] if the system does not allow it.
func (m *Master) SetClock(off time.Duration) error {
	m.acting.Lock()
	defer m.acting.Unlock()
	m.setsClock, m.off = true, off
	p := m.process()
	if p == nil {
		return nil
	}
	if p.clock != nil {
		return p.clock.Set(off)
	}
	if err := m.terminate(p); err != nil {
		return err
	}
	return m.start()
}

// Skew returns how far the stamp of the latest line of the log is off the time at which the system
// noted that it was written.
func (m *Master) Skew() (time.Duration, error) {
	before, err := os.Stat(m.path("log"))
	if err != nil {
		return 0, err
	}
	tail, err := m.endOfLog(1 << 16)
	if err != nil {
		return 0, err
	}
	lines := strings.Split(strings.TrimSuffix(tail, "\n"), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		stamp, err := time.ParseInLocation("2006-01-02 15:04:05,000", lines[i][:min(23, len(lines[i]))], time.Local)
		if err == nil {
			return stamp.Sub(before.ModTime()), nil
		}
	}
	return 0, fmt.Errorf("the log of %s has no stamps", m.Name)
}
