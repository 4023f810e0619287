package grains

import (
	"context"
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"math/bits"

	"github.com/brineproject/brine/data"
)

// serverID returns a number derived from the minion's id, as MySQL needs one. The option
// server_id_use_crc names the checksum, crc32 or adler32. Without it the number is Python's hash of
// the id with its random seed off (salt/grains/core.py, get_server_id).
func (c *collection) serverID(context.Context) *data.Map {
	id := c.o.Opts.Text("id")
	sum := c.o.Opts.Value("server_id_use_crc")
	var n int64
	switch {
	case !data.Truth(sum):
		n = int64(pythonHash(id, 1) & (1<<31 - 1))
	case sum == "crc32":
		n = int64(crc32.ChecksumIEEE([]byte(id)))
	default:
		n = int64(adler32.Checksum([]byte(id)))
	}
	return data.NewMap("server_id", n)
}

// pythonHash returns hash(s) of CPython with PYTHONHASHSEED=0. This is SipHash with the key 0,
// three rounds at the end and one (Python 3.11 and later) or two (before) per word. Its input is
// the characters in the narrowest width that fits them all.
func pythonHash(s string, rounds int) uint64 {
	if s == "" {
		return 0
	}
	var widest rune
	for _, r := range s {
		widest = max(widest, r)
	}
	var b []byte
	for _, r := range s {
		switch {
		case widest < 0x100:
			b = append(b, byte(r))
		case widest < 0x10000:
			b = binary.LittleEndian.AppendUint16(b, uint16(r))
		default:
			b = binary.LittleEndian.AppendUint32(b, uint32(r))
		}
	}
	h := sipHash(b, rounds)
	if h == ^uint64(0) {
		return h - 1 // -1 signals an error inside Python
	}
	return h
}

// sipHash returns SipHash-rounds-3 of b with the key 0.
func sipHash(b []byte, rounds int) uint64 {
	v := [4]uint64{0x736f6d6570736575, 0x646f72616e646f6d, 0x6c7967656e657261, 0x7465646279746573}
	word := func(m uint64) {
		v[3] ^= m
		for range rounds {
			sipRound(&v)
		}
		v[0] ^= m
	}
	last := uint64(len(b)) << 56
	for ; len(b) >= 8; b = b[8:] {
		word(binary.LittleEndian.Uint64(b))
	}
	for i, ch := range b {
		last |= uint64(ch) << (8 * i)
	}
	word(last)
	v[2] ^= 0xff
	for range 2 + rounds {
		sipRound(&v)
	}
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

func sipRound(v *[4]uint64) {
	v[0] += v[1]
	v[2] += v[3]
	v[1] = bits.RotateLeft64(v[1], 13) ^ v[0]
	v[3] = bits.RotateLeft64(v[3], 16) ^ v[2]
	v[0] = bits.RotateLeft64(v[0], 32)
	v[2] += v[1]
	v[0] += v[3]
	v[1] = bits.RotateLeft64(v[1], 17) ^ v[2]
	v[3] = bits.RotateLeft64(v[3], 21) ^ v[0]
	v[2] = bits.RotateLeft64(v[2], 32)
}
