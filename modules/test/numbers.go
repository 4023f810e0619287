package test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"math"
	"math/big"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/loader"
)

func (m *module) numbers() []loader.Func {
	return []loader.Func{
		loader.F("sleep", m.sleep),
		loader.F("rand_sleep", m.randSleep),
		loader.F("fib", m.fib),
		loader.F("collatz", m.collatz),
		loader.F("random_hash", m.randomHash),
		loader.F("rand_str", m.randStr),
	}
}

type sleepArgs struct{ Length int64 }

// sleep waits the given number of seconds and returns True.
//
// CLI Example:
//
//	salt '*' test.sleep 20
func (m *module) sleep(ctx context.Context, a sleepArgs) (any, error) {
	if a.Length < 0 {
		return nil, loader.Exception("ValueError", "sleep length must be non-negative")
	}
	return wait(ctx, a.Length)
}

type randSleepArgs struct {
	Max int64 `default:"60"`
}

// randSleep waits a random number of seconds, at most max, and returns True. It spreads the answers
// of minions over time.
//
// CLI Example:
//
//	salt '*' test.rand_sleep 60
func (m *module) randSleep(ctx context.Context, a randSleepArgs) (any, error) {
	n, err := upTo(a.Max)
	if err != nil {
		return nil, err
	}
	return wait(ctx, n.Int64())
}

// wait sleeps for some seconds. It returns early with an error if the job ends.
func wait(ctx context.Context, seconds int64) (any, error) {
	if seconds > int64(math.MaxInt64/time.Second) {
		return nil, loader.Exception("OverflowError",
			"timestamp too large to convert to C _PyTime_t")
	}
	if err := clock.Sleep(ctx, time.Duration(seconds)*time.Second); err != nil {
		return nil, err
	}
	return true, nil
}

// upTo returns a random number from 0 to n.
func upTo(n int64) (*big.Int, error) {
	if n < 0 {
		return nil, loader.Exception("ValueError",
			"empty range for randrange() (0, %d, %d)", n+1, n+1)
	}
	limit := new(big.Int).Add(big.NewInt(n), big.NewInt(1))
	return rand.Int(rand.Reader, limit)
}

type fibArgs struct{ Num int64 }

// fib returns the num-th Fibonacci number and the time it took in seconds. It is meant to keep a
// processor busy.
//
// CLI Example:
//
//	salt '*' test.fib 3
func (m *module) fib(ctx context.Context, a fibArgs) (any, error) {
	if a.Num < 0 {
		return nil, loader.Exception("ValueError", "Negative number is not allowed!")
	}
	start := time.Now()
	prev, curr := big.NewInt(1), big.NewInt(0)
	for range a.Num {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		prev.Add(prev, curr)
		prev, curr = curr, prev
	}
	return data.Tuple{integer(curr), time.Since(start).Seconds()}, nil
}

func integer(n *big.Int) any {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

type collatzArgs struct{ Start int64 }

// maxSteps limits the length of a sequence. No start below 2**63 needs as many steps.
const maxSteps = 100_000

// collatz returns the Collatz sequence from start down to 1, without the 1, and the time it took in
// seconds.
//
// CLI Example:
//
//	salt '*' test.collatz 3
func (m *module) collatz(_ context.Context, a collatzArgs) (any, error) {
	if a.Start < 1 {
		return nil, loader.Exception("ValueError",
			"start must be a positive number, not %d", a.Start)
	}
	begin := time.Now()
	steps, err := sequence(a.Start)
	return data.Tuple{steps, time.Since(begin).Seconds()}, err
}

// sequence returns integers up to the first even one, then floats, because Python's division
// returns them.
func sequence(n int64) ([]any, error) {
	steps := []any{}
	for ; n != 1; n = 3*n + 1 {
		if n > math.MaxInt64/4 {
			return nil, loader.Exception("OverflowError", "int too large to convert to float")
		}
		if steps = append(steps, n); n%2 == 0 {
			break
		}
	}
	if n == 1 {
		return steps, nil
	}
	for x := float64(n) / 2; x != 1; x = next(x) {
		if len(steps) > maxSteps {
			return nil, loader.Exception("OverflowError", "the sequence is too long")
		}
		steps = append(steps, x)
	}
	return steps, nil
}

func next(x float64) float64 {
	if math.Mod(x, 2) == 0 {
		return x / 2
	}
	return x*3 + 1
}

type hashArgs struct {
	Size     int64  `default:"9999999999"`
	HashType string `default:"None"`
}

// randomHash returns the hash of a random number from 0 to size. The default hash algorithm is the
// minion's option hash_type.
//
// CLI Example:
//
//	salt '*' test.random_hash
//	salt '*' test.random_hash hash_type=sha512
func (m *module) randomHash(_ context.Context, a hashArgs) (any, error) {
	if a.HashType == "" {
		a.HashType = m.env.Opts.Text("hash_type")
	}
	if a.HashType == "" {
		a.HashType = "md5"
	}
	n, err := upTo(a.Size)
	if err != nil {
		return nil, err
	}
	h, err := crypto.NewHash(a.HashType)
	if err != nil {
		return nil, loader.Exception("AttributeError",
			"module 'hashlib' has no attribute '%s'", a.HashType)
	}
	h.Write([]byte(n.String()))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// randStr is the old name of test.random_hash.
//
// CLI Example:
//
//	salt '*' test.rand_str
func (m *module) randStr(ctx context.Context, a hashArgs) (any, error) {
	return m.randomHash(ctx, a)
}
