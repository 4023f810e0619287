package master

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A memoryReleaser returns memory to the system after a burst of requests, for example when many
// minions have signed in. The garbage collector alone would keep it.
type memoryReleaser struct {
	allocated func() uint64 // total bytes allocated since the start
	release   func()

	last     uint64 // allocated at the last check
	released uint64 // allocated at the last release
}

const (
	// memoryInterval is how often a master checks whether it is idle.
	memoryInterval = 10 * time.Second
	// idleBytes is the limit on allocations between two checks of an idle master. burstBytes is the
	// minimum worth releasing.
	idleBytes, burstBytes = 4 << 20, 32 << 20
)

// newMemoryReleaser returns a memoryReleaser that calls free; nil means debug.FreeOSMemory.
func newMemoryReleaser(free func()) *memoryReleaser {
	if free == nil {
		free = debug.FreeOSMemory
	}
	return &memoryReleaser{allocated: allocated, release: func() {
		runtime.GC() // free collects again: objects in pools survive the first collection
		free()
	}}
}

// releaseIfIdle releases memory if much was allocated since the last release, and little since the
// last check.
func (t *memoryReleaser) releaseIfIdle(context.Context) error {
	all := t.allocated()
	idle := all-t.last < idleBytes
	t.last = all
	if idle && all-t.released >= burstBytes {
		t.release()
		t.released = all
	}
	return nil
}

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
