package x509v2

import (
	"bytes"
	"context"
	"crypto/x509/pkix"
	"math/big"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
)

type crlArgs struct {
	Name                        string
	SigningPrivateKey           any
	Revoked                     any
	DaysRemaining               any       `default:"None"`
	SigningCert                 any       `default:"None"`
	SigningPrivateKeyPassphrase any       `default:"None"`
	IncludeExpired              any       `default:"False"`
	DaysValid                   any       `default:"None"`
	Digest                      any       `default:"'sha256'"`
	Encoding                    string    `default:"'pem'"`
	Extensions                  any       `default:"None"`
	Kwargs                      *data.Map `kwargs:"kwargs"`
}

// crlManaged manages a revocation list in a file. A new list is created if the revocations differ
// from the desired ones, or if the list is about to expire.
//
// days_remaining : 30
//
//	Create a new list if it expires in fewer than this many days. 0 lets it expire.
//
// extensions
//
//	As in the function x509.create_crl. With cRLNumber: auto, each new list gets the next number
//	after that of the last one.
//
// signing_private_key, signing_private_key_passphrase, signing_cert, revoked, include_expired,
// days_valid, digest, encoding
//
//	As in the function x509.create_crl. All arguments of file.managed for owners, mode,
//	directories and backups are accepted.
//
//	/etc/pki/ca.crl:
//	  x509.crl_managed:
//	    - signing_private_key: /etc/pki/myca.key
//	    - signing_cert: /etc/pki/myca.crt
//	    - revoked:
//	      - certificate: /etc/pki/certs/badweb.crt
//	        revocation_date: 2022-11-01 00:00:00
//	        extensions:
//	          CRLReason: keyCompromise
//	    - extensions:
//	        cRLNumber: auto
func (m *module) crlManaged(ctx context.Context, a crlArgs) (any, error) {
	l := &listState{m: m, a: a}
	revoked, err := draft.Revocations(a.Revoked)
	if err != nil {
		return nil, err
	}
	l.revoked = []any{}
	for _, one := range revoked {
		l.revoked = append(l.revoked, one)
	}
	l.extensions, _ = a.Extensions.(*data.Map)
	l.extensions = l.extensions.Clone()
	if l.auto = l.extensions.Value("cRLNumber") == "auto"; l.auto {
		l.extensions.Delete("cRLNumber")
	}
	t := &thing{m: m, title: "certificate revocation list", name: a.Name, encoding: a.Encoding,
		look: l.look, content: l.content}
	var others *data.Map
	t.file, others = split(a.Kwargs)
	others.Delete("text")
	if err := unknown(others); err != nil {
		return nil, err
	}
	return t.ensure(ctx)
}

// listState is the desired revocation list, and what was found of it.
type listState struct {
	m          *module
	a          crlArgs
	revoked    []any
	extensions *data.Map // without an automatic number
	auto       bool
	now        *certificate.List // nil if there is none
}

func (l *listState) arguments() *data.Map {
	return data.NewMap("signing_private_key", l.a.SigningPrivateKey, "revoked", l.revoked,
		"signing_cert", l.a.SigningCert, "signing_private_key_passphrase",
		l.a.SigningPrivateKeyPassphrase, "include_expired", l.a.IncludeExpired, "days_valid",
		l.a.DaysValid, "extensions", l.extensions)
}

func (l *listState) look(_ context.Context, path string, there bool) (seen, error) {
	now := seen{changes: data.NewMap()}
	if !there {
		now.changes.Set("created", l.a.Name)
		return now, nil
	}
	is, encoding, err := l.m.reader().List(path)
	if has(err, "Could not load PEM-encoded") || has(err, "Could not load DER-encoded") {
		now.garbage = true
		return now, nil
	}
	if err != nil {
		return now, err
	}
	l.now, now.again = is, len(is.TBS.Revoked) > 0 // Salt treats an empty list as none
	if err := digest(now.changes, is.Algorithm, l.a.Digest, l.a.Digest); err != nil {
		return now, err
	}
	if encoding != l.a.Encoding {
		now.changes.Set("encoding", l.a.Encoding)
	}
	days, err := draft.Days(l.a.DaysRemaining, 30)
	if err != nil {
		return now, err
	}
	if days != 0 && soon(is.TBS.NextUpdate, days) {
		now.changes.Set("expiration", true)
	}
	return now, l.compare(now.changes)
}

func (l *listState) compare(changes *data.Map) error {
	wanted, key, err := l.m.reader().NewList(l.arguments(), l.m.env.Log)
	if err != nil {
		return err
	}
	if err := names(changes, "issuer_name", l.now.TBS.Issuer, wanted.TBS.Issuer); err != nil {
		return err
	}
	if !l.now.SignedBy(key.Public()) {
		changes.Set("public_key", true)
	}
	revocations(changes, l.now, wanted)
	now := l.now.TBS.Extensions
	if l.auto {
		oid, _ := certificate.ParseOID(certificate.OIDListNumber)
		if number := certificate.ExtensionOf(now, oid); number != nil {
			wanted.TBS.Extensions = append(wanted.TBS.Extensions, *number)
		} else {
			wanted.TBS.Extensions = append(wanted.TBS.Extensions, pkix.Extension{Id: oid})
		}
	}
	extensions(changes, now, wanted.TBS.Extensions)
	return nil
}

// revocations adds the certificates that are newly revoked, revoked differently, or no longer
// revoked.
func revocations(changes *data.Map, now, wanted *certificate.List) {
	added, changed, removed := []any{}, []any{}, []any{}
	for _, r := range wanted.TBS.Revoked {
		serial := draft.SerialText(r.Serial)
		is := now.Find(r.Serial)
		if is == nil {
			added = append(added, serial)
			continue
		}
		for _, x := range r.Extensions {
			if old := certificate.ExtensionOf(is.Extensions, x.Id); old == nil ||
				old.Critical != x.Critical || !bytes.Equal(old.Value, x.Value) {
				changed = append(changed, serial)
			}
		}
		for _, x := range is.Extensions {
			if certificate.ExtensionOf(r.Extensions, x.Id) == nil {
				changed = append(changed, serial)
			}
		}
	}
	for _, r := range now.TBS.Revoked {
		if wanted.Find(r.Serial) == nil {
			removed = append(removed, draft.SerialText(r.Serial))
		}
	}
	if len(added)+len(changed)+len(removed) > 0 {
		changes.Set("revocations", data.NewMap("added", added, "changed", changed,
			"removed", removed))
	}
}

// content creates the list, or re-encodes the existing one if only the encoding differed.
func (l *listState) content(ctx context.Context, now seen) ([]byte, error) {
	if only(now.changes, "encoding") {
		return l.m.bytes(ctx, "encode_crl", []any{[]byte(l.now.Raw)},
			data.NewMap("encoding", l.a.Encoding))
	}
	args := l.arguments()
	if l.auto {
		more := l.extensions.Clone()
		more.Set("cRLNumber", l.next().String())
		args.Set("extensions", more)
	}
	args.Update(data.NewMap("digest", l.a.Digest, "encoding", l.a.Encoding))
	return l.m.bytes(ctx, "create_crl", nil, args)
}

// next returns the number after that of the existing list, or 1 if it has none.
func (l *listState) next() *big.Int {
	n := new(big.Int)
	if l.now != nil {
		oid, _ := certificate.ParseOID(certificate.OIDListNumber)
		if x := certificate.ExtensionOf(l.now.TBS.Extensions, oid); x != nil {
			var is *big.Int
			if certificate.Whole(x.Value, &is) == nil {
				n = is
			}
		}
	}
	return new(big.Int).Add(n, big.NewInt(1))
}
