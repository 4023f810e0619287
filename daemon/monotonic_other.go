//go:build !linux

package daemon

import "time"

// monotonic is only used for systemd, which other systems do not have.
func monotonic() time.Duration { return 0 }
