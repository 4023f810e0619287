package runner

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state"
)

// beacons runs mod_beacon of the chunks that have the argument beacon, and adds the results
// (salt/state.py, call_beacons).
func (r *Runner) beacons(ctx context.Context, chunks []state.Chunk, results *data.Map) error {
	var more []state.Chunk
	for _, chunk := range chunks {
		if chunk.Has("beacon") {
			more = append(more, beaconOf(chunk))
		}
	}
	if len(more) == 0 {
		return nil
	}
	added, err := r.runChunks(ctx, more)
	results.Update(added)
	return err
}

// beaconOf returns the chunk that calls mod_beacon of another chunk. It has no requisites.
func beaconOf(chunk state.Chunk) state.Chunk {
	low := chunk.Clone()
	low.Set("sfun", chunk.Value("fun"))
	low.Set("fun", "mod_beacon")
	low.Set("__id__", "beacon_"+data.Str(chunk.ID()))
	for _, kind := range order {
		low.Delete(kind)
	}
	for _, key := range []string{"listen", "listen_in", "onfail_stop"} {
		low.Delete(key)
	}
	return low
}
