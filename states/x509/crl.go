package x509

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type crlArgs struct {
	Name                        string
	SigningPrivateKey           any
	SigningPrivateKeyPassphrase any       `default:"None"`
	SigningCert                 any       `default:"None"`
	Revoked                     any       `default:"None"`
	DaysValid                   any       `default:"100"`
	Digest                      any       `default:"''"`
	DaysRemaining               any       `default:"30"`
	IncludeExpired              any       `default:"False"`
	Kwargs                      *data.Map `kwargs:"kwargs"`
}

// crlManaged manages a revocation list in a file. A new list is created if the revocations differ
// from the desired ones, or if the list is about to expire.
//
// revoked
//
//	What is revoked: certificate or serial_number, and not_after, revocation_date and reason.
//
// days_remaining : 30
//
//	Create a new list if it expires within this many days. 0 lets it expire.
//
//	/etc/pki/ca.crl:
//	  x509.crl_managed:
//	    - signing_private_key: /etc/pki/ca.key
//	    - signing_cert: /etc/pki/ca.crt
//	    - revoked:
//	      - lost_host:
//	        - certificate: /etc/pki/lost.crt
//	        - revocation_date: 2015-03-01 00:00:00
//	        - reason: keyCompromise
func (m *module) crlManaged(ctx context.Context, a crlArgs) (any, error) {
	old, err := m.oldList(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	revoked, err := m.dated(ctx, revokedList(a.Revoked), old)
	if err != nil {
		return nil, err
	}
	v, err := m.call(ctx, "create_crl",
		data.NewMap("text", true, "signing_private_key", a.SigningPrivateKey,
			"signing_private_key_passphrase", a.SigningPrivateKeyPassphrase, "signing_cert",
			a.SigningCert, "revoked", revoked, "days_valid", a.DaysValid, "digest", a.Digest,
			"include_expired", a.IncludeExpired))
	if err != nil {
		return nil, err
	}
	made, err := m.dict(ctx, "read_crl", data.NewMap("crl", text(v)))
	if err != nil {
		return nil, err
	}
	keep, err := m.keepList(ctx, a, old, made)
	if err != nil {
		return nil, err
	}
	file, _ := split(a.Name, a.Kwargs)
	if keep {
		if v, err = m.call(ctx, "get_pem_entry",
			data.NewMap("text", a.Name, "pem_type", "X509 CRL")); err != nil {
			return nil, err
		}
	}
	ret, err := m.place(ctx, file, text(v))
	if err == nil && !keep && ret.Value("result") != false {
		ret.Set("changes", data.NewMap("Old", old, "New", made))
	}
	return ret, err
}

// oldList returns the contents of the existing list, or an error message.
func (m *module) oldList(ctx context.Context, name string) (any, error) {
	there, err := m.exists(name)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	if !there {
		return name + " does not exist.", nil
	}
	now, err := m.dict(ctx, "read_crl", data.NewMap("crl", name))
	switch {
	case err == nil:
		return now, nil
	case loader.KindOf(err) == loader.KindInvocation:
		return name + " is not a valid CRL.", nil
	}
	return nil, err
}

// keepList reports whether the existing list can be kept.
func (m *module) keepList(ctx context.Context, a crlArgs, old any, made *data.Map) (bool, error) {
	now, ok := old.(*data.Map)
	if !ok || !data.Equal(timeless(now), timeless(made)) {
		return false, nil
	}
	var least int
	if _, err := fmt.Sscan(data.Str(a.DaysRemaining), &least); err != nil {
		return false, loader.TypeError("days_remaining: %s is not a number",
			data.Repr(a.DaysRemaining))
	}
	if least != 0 && daysLeft(now.Text("Next Update")) <= least {
		return false, nil
	}
	signed, err := m.call(ctx, "verify_crl", data.NewMap("crl", a.Name, "cert", a.SigningCert))
	return data.Truth(signed), err
}

// timeless returns the contents of a list without its creation times.
func timeless(list *data.Map) *data.Map {
	m := list.Clone()
	m.Delete("Last Update")
	m.Delete("Next Update")
	return m
}

// revokedList returns the dictionaries of revoked, each given as a list of dictionaries under a
// name.
func revokedList(v any) []any {
	list := []any{}
	for _, named := range items(v) {
		m, ok := named.(*data.Map)
		if !ok {
			continue
		}
		for _, props := range m.All() {
			one := data.NewMap()
			for _, prop := range items(props) {
				if p, ok := prop.(*data.Map); ok {
					one.Update(p)
				}
			}
			list = append(list, one)
		}
	}
	return list
}

// dated sets the revocation time from the existing list where no time is requested, because the
// certificate was not revoked again.
func (m *module) dated(ctx context.Context, wanted []any, old any) ([]any, error) {
	now, ok := old.(*data.Map)
	if !ok {
		return wanted, nil
	}
	times := map[string]any{}
	for _, named := range items(now.Value("Revoked Certificates")) {
		one, err := loader.ResultAs[*data.Map]("x509.read_crl", named)
		if err != nil {
			return nil, err
		}
		for serial, v := range one.All() {
			props, err := loader.ResultAs[*data.Map]("x509.read_crl", v)
			if err != nil {
				return nil, err
			}
			times[data.Str(serial)] = props.Value("Revocation Date")
		}
	}
	for _, v := range wanted {
		one := v.(*data.Map)
		if one.Has("revocation_date") {
			continue
		}
		serial := one.Value("serial_number")
		if one.Has("certificate") {
			cert, err := m.dict(ctx, "read_certificate",
				data.NewMap("certificate", one.Value("certificate")))
			if err != nil {
				return nil, err
			}
			serial = cert.Value("Serial Number")
		}
		if at, ok := times[strings.ToUpper(strings.ReplaceAll(data.Str(serial), ":", ""))]; ok {
			one.Set("revocation_date", at)
		}
	}
	return wanted, nil
}
