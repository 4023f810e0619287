package master

// fileLimits returns 0: Windows has no such limit.
func fileLimits() (soft, hard uint64) { return 0, 0 }
