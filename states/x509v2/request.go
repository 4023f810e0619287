package x509v2

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/loader"
)

type csrArgs struct {
	Name                 string
	PrivateKey           any
	PrivateKeyPassphrase any       `default:"None"`
	Digest               any       `default:"'sha256'"`
	Encoding             string    `default:"'pem'"`
	Subject              any       `default:"None"`
	Kwargs               *data.Map `kwargs:"kwargs"`
}

// csrManaged manages a certificate request in a file.
//
// private_key, private_key_passphrase, digest, encoding, subject
//
//	As in the function x509.create_csr, including the arguments for subject and extensions. All
//	arguments of file.managed for owners, mode, directories and backups are accepted.
//
//	/etc/pki/www.csr:
//	  x509.csr_managed:
//	    - private_key: /etc/pki/www.key
//	    - CN: www.example.com
//	    - keyUsage: critical, digitalSignature
func (m *module) csrManaged(ctx context.Context, a csrArgs) (any, error) {
	kwargs := a.Kwargs.Clone()
	if v, ok := kwargs.Get("algorithm"); ok {
		kwargs.Delete("algorithm")
		a.Digest = v
	}
	draft.Modern(kwargs)
	q := &requestState{m: m, a: a}
	t := &thing{m: m, title: "certificate signing request", name: a.Name, encoding: a.Encoding,
		look: q.look, content: q.content}
	t.file, q.words = split(kwargs)
	return t.ensure(ctx)
}

// requestState is the desired request, and what was found of it.
type requestState struct {
	m     *module
	a     csrArgs
	words *data.Map // subject and extensions
	now   *certificate.Request
}

func (q *requestState) arguments() *data.Map {
	args := data.NewMap("private_key", q.a.PrivateKey, "private_key_passphrase",
		q.a.PrivateKeyPassphrase, "subject", q.a.Subject)
	args.Update(q.words)
	return args
}

func (q *requestState) look(_ context.Context, path string, there bool) (seen, error) {
	now := seen{changes: data.NewMap()}
	if !there {
		now.changes.Set("created", q.a.Name)
		return now, nil
	}
	is, encoding, err := q.m.reader().Request(path)
	switch {
	case has(err, "Could not load PEM-encoded"), has(err, "Could not load DER-encoded"):
		now.garbage = true
		return now, nil
	case errors.Is(err, draft.ErrVersion):
		now.changes.Set("invalid_version", true)
		now.garbage = true
		return now, nil
	case err != nil:
		return now, err
	}
	q.now, now.again = is, true
	if err := digest(now.changes, is.Algorithm, q.a.Digest, q.a.Digest); err != nil {
		return now, err
	}
	if encoding != q.a.Encoding {
		now.changes.Set("encoding", q.a.Encoding)
	}
	return now, q.compare(now.changes)
}

func (q *requestState) compare(changes *data.Map) error {
	wanted, key, err := q.m.reader().NewRequest(q.arguments())
	if err != nil {
		return err
	}
	is, err := q.now.PublicKey()
	if err != nil {
		return loader.Execution("read a public key: %w", err)
	}
	if !certificate.Same(is, key.Public()) {
		changes.Set("private_key", true)
	}
	if err := names(changes, "subject_name", q.now.Info.Subject, wanted.Info.Subject); err != nil {
		return err
	}
	now, err := q.now.Extensions()
	if err != nil {
		return loader.Execution("%w", err)
	}
	list, err := wanted.Extensions()
	if err != nil {
		return loader.Execution("%w", err)
	}
	extensions(changes, now, list)
	return nil
}

// content creates the request, or re-encodes the existing one if only the encoding differed.
func (q *requestState) content(ctx context.Context, now seen) ([]byte, error) {
	if only(now.changes, "encoding") {
		return q.m.bytes(ctx, "encode_csr", []any{[]byte(q.now.Raw)},
			data.NewMap("encoding", q.a.Encoding))
	}
	args := q.arguments()
	args.Update(data.NewMap("digest", q.a.Digest, "encoding", q.a.Encoding))
	return q.m.bytes(ctx, "create_csr", nil, args)
}
