package auth

import (
	"math"
	"time"
)

// Moment returns a time that tokens have as seconds since 1970; the zero Time if v is no number.
func Moment(v any) time.Time {
	n := number(v)
	if n == 0 {
		return time.Time{}
	}
	whole, part := math.Modf(n)
	return time.Unix(int64(whole), int64(part*1e9))
}

// Seconds returns a time as tokens have it: in seconds since 1970, to the microsecond.
func Seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
