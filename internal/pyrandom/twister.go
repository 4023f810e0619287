// Package pyrandom produces the numbers that Python's module random produces for a seed. They come
// from the Mersenne Twister MT19937, seeded and used as in Python.
//
// The model is Lib/random.py and Modules/_randommodule.c of CPython 3.11. Do not use it for
// secrets.
package pyrandom

import (
	"crypto/sha512"
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
)

const (
	words  = 624
	middle = 397
)

// A Twister is a generator. It is not safe for concurrent use.
type Twister struct {
	state [words]uint32
	next  int
}

// FromText returns a generator seeded with a text, as random.seed does with str and bytes.
func FromText(seed string) *Twister {
	sum := sha512.Sum512([]byte(seed))
	return FromInt(new(big.Int).SetBytes(append([]byte(seed), sum[:]...)))
}

// FromFloat returns a generator seeded with a float, by its hash.
func FromFloat(seed float64) *Twister {
	hash := floatHash(seed)
	if hash == -1 {
		hash = -2
	}
	return FromInt(new(big.Int).SetUint64(uint64(hash)))
}

// floatHash is Python's hash of a float: its value modulo 2**61-1.
func floatHash(f float64) int64 {
	switch {
	case math.IsInf(f, 1):
		return 314159
	case math.IsInf(f, -1):
		return -314159
	case math.IsNaN(f):
		return 0
	}
	const width, modulus = 61, 1<<61 - 1
	m, e := math.Frexp(math.Abs(f))
	var x uint64
	for m != 0 {
		x = x<<28&modulus | x>>(width-28)
		m *= 1 << 28
		e -= 28
		y := uint64(m)
		m -= float64(y)
		if x += y; x >= modulus {
			x -= modulus
		}
	}
	if e %= width; e < 0 {
		e += width
	}
	x = x<<e&modulus | x>>(width-e)
	if f < 0 {
		return -int64(x)
	}
	return int64(x)
}

// FromInt returns a generator seeded with an integer; its sign is ignored.
func FromInt(seed *big.Int) *Twister {
	b := new(big.Int).Abs(seed).Bytes()
	var key []uint32
	for end := len(b); end > 0; end -= 4 {
		var word [4]byte
		part := b[max(0, end-4):end]
		copy(word[4-len(part):], part)
		key = append(key, binary.BigEndian.Uint32(word[:]))
	}
	if len(key) == 0 {
		key = []uint32{0}
	}
	t := &Twister{}
	t.seed(key)
	return t
}

// seed is init_by_array of MT19937.
func (t *Twister) seed(key []uint32) {
	s := &t.state
	s[0] = 19650218
	for i := uint32(1); i < words; i++ {
		s[i] = 1812433253*(s[i-1]^s[i-1]>>30) + i
	}
	i, j := 1, 0
	for range max(words, len(key)) {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + key[j] + uint32(j)
		i, j = t.after(i), (j+1)%len(key)
	}
	for range words - 1 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - uint32(i)
		i = t.after(i)
	}
	s[0] = 0x80000000
	t.next = words
}

// after returns the index after i during seeding.
func (t *Twister) after(i int) int {
	if i++; i < words {
		return i
	}
	t.state[0] = t.state[words-1]
	return 1
}

// Uint32 returns the next 32 bits.
func (t *Twister) Uint32() uint32 {
	if t.next == words {
		t.turn()
	}
	y := t.state[t.next]
	t.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// turn generates the next words.
func (t *Twister) turn() {
	s := &t.state
	for i := range words {
		y := s[i]&0x80000000 | s[(i+1)%words]&0x7fffffff
		s[i] = s[(i+middle)%words] ^ y>>1 ^ y&1*0x9908b0df
	}
	t.next = 0
}

// bits returns the next n bits, at most 64.
func (t *Twister) bits(n int) uint64 {
	if n <= 32 {
		return uint64(t.Uint32() >> (32 - n))
	}
	low := uint64(t.Uint32())
	return low | uint64(t.Uint32()>>(64-n))<<32
}

// Below returns a number from 0 to n-1; 0 if n is 0.
func (t *Twister) Below(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	k := bits.Len64(n)
	for {
		if r := t.bits(k); r < n {
			return r
		}
	}
}

// Sample returns size distinct indices from 0 to n-1, as random.sample picks them. size must not
// exceed n. below returns numbers as Below does.
func Sample(n, size int, below func(uint64) uint64) []int {
	out := make([]int, size)
	few := 21
	if size > 5 {
		few += 1 << (2 * int(math.Ceil(math.Log(float64(size)*3)/math.Log(4))))
	}
	if n > few {
		seen := make(map[int]bool, size)
		for i := range out {
			j := int(below(uint64(n)))
			for seen[j] {
				j = int(below(uint64(n)))
			}
			seen[j], out[i] = true, j
		}
		return out
	}
	pool := make([]int, n)
	for i := range pool {
		pool[i] = i
	}
	for i := range out {
		j := below(uint64(n - i))
		out[i], pool[j] = pool[j], pool[n-i-1]
	}
	return out
}
