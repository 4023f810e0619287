package master

// fileLimits returns nothing: Windows has no such limit.
func fileLimits() (soft, hard uint64) { return 0, 0 }
