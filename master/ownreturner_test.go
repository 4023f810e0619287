package master

import (
	"fmt"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners"
)

// TestOwnReturnerHoldsLittle checks that records that wait for users' own code are bounded in bytes,
// and that a record alone may be larger.
func TestOwnReturnerHoldsLittle(t *testing.T) {
	b := newBench(t, nil)
	own := returners.NewOwn("slow", func() *loader.Registry { return nil }, b.parts.log)
	o := newOwnReturner(masterJobCache, own, b.parts.base)
	load := make(data.Raw, 1<<20)
	for i := range 200 {
		o.addReturn(job.ID(fmt.Sprintf("2026010100000000%04d", i)), "web1", load)
	}
	waiting := 0
	for _, lane := range o.lanes {
		waiting += len(lane)
	}
	if want := ownBytes / len(load); waiting != want {
		t.Errorf("%d records of 1 MiB wait, want %d", waiting, want)
	}
	for _, lane := range o.lanes {
		for len(lane) > 0 {
			o.bytes.Add(-(<-lane).size())
		}
	}
	o.addReturn("20260101000000000000", "web1", make(data.Raw, 2*ownBytes))
	if o.bytes.Load() != 2*ownBytes {
		t.Errorf("%d bytes wait, want those of a large record alone", o.bytes.Load())
	}
}
