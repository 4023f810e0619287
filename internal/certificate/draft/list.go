package draft

import (
	"crypto"
	"math/big"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// Revocations returns the dictionaries of the argument revoked, with argument names of this module.
// In the older module an entry is a list of dictionaries below a name, and has reason. The argument
// is not changed.
func Revocations(v any) ([]*data.Map, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, loader.TypeError("'%s' object is not iterable", loader.TypeName(v))
	}
	var out []*data.Map
	for _, one := range list {
		m, ok := one.(*data.Map)
		if !ok {
			return nil, loader.TypeError("revoked: %s is not a dictionary", data.Repr(one))
		}
		m = unfolded(m)
		if why, ok := m.Get("reason"); ok {
			m.Delete("reason")
			more, _ := m.Value("extensions").(*data.Map)
			more = more.Clone()
			more.Set("CRLReason", why)
			m.Set("extensions", more)
		}
		out = append(out, m)
	}
	return out, nil
}

// unfolded returns a copy of a dictionary; if its only value is a list of dictionaries, these are
// joined.
func unfolded(m *data.Map) *data.Map {
	if m.Len() == 1 {
		_, v := m.At(0)
		if list, ok := v.([]any); ok {
			joined := data.NewMap()
			for _, one := range list {
				if part, ok := one.(*data.Map); ok {
					joined.Update(part)
				}
			}
			if joined.Len() > 0 {
				return joined
			}
		}
	}
	return m.Clone()
}

// NewList builds the revocation list described by arguments, not signed yet, and returns it with
// the key for signing it (build_crl). Unknown extensions are logged.
func (r Reader) NewList(
	args *data.Map, log logrus.FieldLogger,
) (*certificate.List, crypto.Signer, error) {
	var authority *certificate.Certificate
	if data.Truth(args.Value("signing_cert")) {
		var err error
		if authority, err = r.Certificate(args.Value("signing_cert")); err != nil {
			return nil, nil, err
		}
	}
	key, _, err := r.Key(args.Value("signing_private_key"),
		args.Value("signing_private_key_passphrase"))
	if err != nil {
		return nil, nil, err
	}
	l := &certificate.List{}
	l.TBS.Version = 1
	if authority != nil {
		if err := fits(authority, key); err != nil {
			return nil, nil, err
		}
		l.TBS.Issuer = authority.TBS.Subject
	}
	days, err := Days(args.Value("days_valid"), 100)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now().UTC().Truncate(time.Second)
	l.TBS.ThisUpdate, l.TBS.NextUpdate = now, now.AddDate(0, 0, days)
	if err := r.fill(l, args, now, log); err != nil {
		return nil, nil, err
	}
	extensions, _ := args.Value("extensions").(*data.Map)
	for word, v := range extensions.All() {
		k := kindOf(data.Str(word), func(k Kind) bool { return k.List })
		if k == nil {
			log.Warnf("Ignoring invalid CRL extension: %s", data.Str(word))
			continue
		}
		x, err := k.extension(about{authority: authority}, v)
		if err != nil {
			return nil, nil, err
		}
		l.TBS.Extensions = append(l.TBS.Extensions, x)
	}
	return l, key, nil
}

// fill adds the revoked certificates to a list. Expired certificates are left out unless
// include_expired is set.
func (r Reader) fill(
	l *certificate.List, args *data.Map, now time.Time, log logrus.FieldLogger,
) error {
	revoked, err := Revocations(args.Value("revoked"))
	if err != nil {
		return err
	}
	for _, item := range revoked {
		serial, ends, err := r.revoked(item)
		if err != nil {
			return err
		}
		if !ends.IsZero() && now.After(ends) && !data.Truth(args.Value("include_expired")) {
			continue
		}
		entry := certificate.Revoked{Serial: serial, Time: now}
		if item.Has("revocation_date") {
			if entry.Time, err = timeOf(item.Value("revocation_date")); err != nil {
				return err
			}
		}
		if err := extendEntry(&entry, item, log); err != nil {
			return err
		}
		l.TBS.Revoked = append(l.TBS.Revoked, entry)
	}
	return nil
}

// revoked returns the serial number of a certificate and its end of validity, which may be unknown.
func (r Reader) revoked(item *data.Map) (serial *big.Int, ends time.Time, err error) {
	if item.Has("not_after") {
		if ends, err = timeOf(item.Value("not_after")); err != nil {
			return nil, ends, err
		}
	}
	if item.Has("certificate") {
		c, err := r.Certificate(item.Value("certificate"))
		if err != nil {
			return nil, ends, err
		}
		return c.TBS.Serial, c.TBS.Validity.NotAfter, nil
	}
	if !data.Truth(item.Value("serial_number")) {
		return nil, ends, loader.Invocation("Need serial_number or certificate")
	}
	serial, err = serialOf(item.Value("serial_number"))
	return serial, ends, err
}

func extendEntry(entry *certificate.Revoked, item *data.Map, log logrus.FieldLogger) error {
	extensions, _ := item.Value("extensions").(*data.Map)
	for word, v := range extensions.All() {
		k := kindOf(data.Str(word), func(k Kind) bool { return k.Entry })
		if k == nil {
			log.Warnf("Ignoring invalid CRL entry extension: %s", data.Str(word))
			continue
		}
		x, err := k.extension(about{}, v)
		if err != nil {
			return err
		}
		entry.Extensions = append(entry.Extensions, x)
	}
	return nil
}
