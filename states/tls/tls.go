// Package tls is Salt's state tls: certificates that must be valid for some time
// (salt/states/tls.py). It uses the module tls.
package tls

import (
	"context"
	"errors"
	"fmt"
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
	left := time.Unix(to, 0).Sub(now).Truncate(time.Microsecond)
	const second = float64(time.Second)
	least := time.Duration(((((a.Weeks*7+a.Days)*24+a.Hours)*60+a.Minutes)*60 + a.Seconds) * second)
	switch {
	case now.Before(time.Unix(from, 0)):
		return change.Refuse(a.Name, "Certificate is not yet valid")
	case left < 0:
		return change.Refuse(a.Name, "Certificate is expired")
	case left < least:
		return change.Refuse(a.Name, "Certificate will expire in "+delta(left)+", which is less than "+delta(least))
	}
	return change.Leave(a.Name, "Certificate is valid for "+delta(left))
}

// delta returns a duration in the form of Python's timedelta.
func delta(d time.Duration) string {
	const day = 24 * time.Hour
	days, rest := d/day, d%day
	text := fmt.Sprintf("%d:%02d:%02d", rest/time.Hour, rest/time.Minute%60, rest/time.Second%60)
	if micro := rest % time.Second / time.Microsecond; micro > 0 {
		text += fmt.Sprintf(".%06d", micro)
	}
	switch days {
	case 0:
		return text
	case 1:
		return "1 day, " + text
	}
	return fmt.Sprintf("%d days, %s", days, text)
}
