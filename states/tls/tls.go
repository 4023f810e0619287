// Package tls is Salt's state tls: certificates that must be valid for some time
// (salt/states/tls.py). It uses the module tls.
package tls

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state tls. It is available where the module is.
func Plugin() loader.Plugin { return loader.Plugin{Name: "tls", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("tls.cert_info") {
		return nil, errors.New("tls module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("valid_certificate", m.validCertificate)}}, nil
}

type validArgs struct {
	Name    string
	Weeks   float64 `default:"0"`
	Days    float64 `default:"0"`
	Hours   float64 `default:"0"`
	Minutes float64 `default:"0"`
	Seconds float64 `default:"0"`
}

// validCertificate fails unless a certificate is valid now, and stays so for some time. It changes
// nothing.
//
// name
//
//	The path of the certificate.
//
// weeks, days, hours, minutes, seconds
//
//	How long it must be valid from now.
//
//	/etc/ssl/example.crt:
//	  tls.valid_certificate:
//	    - days: 14
func (m *module) validCertificate(ctx context.Context, a validArgs) (change.Result, error) {
	now := time.Now()
	info, err := loader.CallAs[*data.Map](ctx, m.env, "tls.cert_info", []any{a.Name}, nil)
	if err != nil {
		return change.Refuse(a.Name, err.Error())
	}
	from, _ := info.Value("not_before").(int64)
	to, _ := info.Value("not_after").(int64)
	left := between(now, to)
	least, err := a.least()
	if err != nil {
		return change.Refuse(a.Name, err.Error())
	}
	switch {
	case now.Before(time.Unix(from, 0)):
		return change.Refuse(a.Name, "Certificate is not yet valid")
	case left.days < 0:
		return change.Refuse(a.Name, "Certificate is expired")
	case left.less(least):
		return change.Refuse(a.Name, "Certificate will expire in "+left.String()+", which is less than "+least.String())
	}
	return change.Leave(a.Name, "Certificate is valid for "+left.String())
}

const (
	perSecond = int64(time.Second / time.Microsecond)
	perDay    = 24 * 60 * 60 * perSecond
	mostDays  = 999_999_999
)

// A delta is Python's timedelta: days, and microseconds from 0 to less than a day. Go's durations end
// after 292 years.
type delta struct{ days, micros int64 }

// between returns the time from one until a Unix time.
func between(from time.Time, to int64) delta {
	const seconds = perDay / perSecond
	days, rest := to/seconds, to%seconds
	micros := rest*perSecond - from.UnixMicro() // a clock is far from the limit of 292,000 years
	step := micros / perDay
	if micros%perDay < 0 {
		step--
	}
	return delta{days + step, micros - step*perDay}
}

// least returns how long the certificate must be valid.
func (a validArgs) least() (delta, error) {
	const seconds = float64(perDay / perSecond)
	days, part := math.Modf(a.Weeks*7 + a.Days)
	left := part*seconds + (a.Hours*60+a.Minutes)*60 + a.Seconds
	more := math.Floor(left / seconds)
	if days += more; !(math.Abs(days) <= mostDays) { // also not a number
		return delta{}, loader.Exception("OverflowError", "days=%.0f; must have magnitude <= %d", days, mostDays)
	}
	d := delta{int64(days), int64(math.RoundToEven((left - more*seconds) * float64(perSecond)))}
	if d.micros == perDay {
		d = delta{d.days + 1, 0}
	}
	return d, nil
}

func (d delta) less(other delta) bool {
	return d.days < other.days || d.days == other.days && d.micros < other.micros
}

// String returns the form of Python.
func (d delta) String() string {
	seconds := d.micros / perSecond
	text := fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	if micro := d.micros % perSecond; micro > 0 {
		text += fmt.Sprintf(".%06d", micro)
	}
	switch d.days {
	case 0:
		return text
	case 1:
		return "1 day, " + text
	}
	return fmt.Sprintf("%d days, %s", d.days, text)
}
