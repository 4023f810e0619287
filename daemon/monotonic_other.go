//go:build !linux

package daemon

import "time"

// monotonic is for systemd, which other systems do not have.
func monotonic() time.Duration { return 0 }
