package master

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A thrift gives back the memory that a storm of requests has left when it is over, as when many minions have signed in:
// the collector alone would keep it for the next storm.
type thrift struct {
	allocated func() uint64 // bytes since the start, also those that were given back
	giveBack  func()

	last  uint64 // allocated at the last look
	given uint64 // allocated when memory was given back last
}

const (
	// thriftLook is how often a master looks whether it is calm.
	thriftLook = 10 * time.Second
	// calmBytes are fewer than a calm master allocates between two looks; stormBytes is what is worth giving back.
	calmBytes, stormBytes = 4 << 20, 32 << 20
)

// newThrift returns a thrift that gives back by free; nil is debug.FreeOSMemory.
func newThrift(free func()) *thrift {
	if free == nil {
		free = debug.FreeOSMemory
	}
	return &thrift{allocated: allocated, giveBack: func() {
		runtime.GC() // and free collects again: what pools keep goes with the second time
		free()
	}}
}

// look gives memory back if much was allocated since the last time, and next to nothing since the last look.
func (t *thrift) look(context.Context) error {
	all := t.allocated()
	calm := all-t.last < calmBytes
	t.last = all
	if calm && all-t.given >= stormBytes {
		t.giveBack()
		t.given = all
	}
	return nil
}

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
