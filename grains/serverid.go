package grains

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/brineproject/brine/data"
)

// serverID returns a number derived from the minion's id, as MySQL needs one: the last 31 bits of
// its SHA-256 (salt/grains/core.py, get_server_id).
func (c *collection) serverID(context.Context) *data.Map {
	hash := sha256.Sum256([]byte(c.o.Opts.Text("id")))
	n := binary.BigEndian.Uint32(hash[len(hash)-4:]) & (1<<31 - 1)
	return data.NewMap("server_id", int64(n))
}
