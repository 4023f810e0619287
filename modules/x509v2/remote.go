package x509v2

import (
	"context"
	"crypto"
	"crypto/x509"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// askServer makes another minion create a certificate. It sends no private key.
func (m *module) askServer(
	ctx context.Context, server string, policy any, k *data.Map,
) (*certificate.Certificate, crypto.Signer, error) {
	original := k
	k = k.Clone()
	k.Delete("copypath") // the copy is kept on this host
	k.Delete("prepend_cn")
	key, err := m.remoteArgs(k)
	if err != nil {
		return nil, nil, err
	}
	v, err := m.query(ctx, server, policy, k, false)
	if err != nil {
		return nil, nil, err
	}
	cert, err := draft.Reader{NoFiles: true}.Certificate(v)
	if err != nil {
		return nil, nil, loader.Execution("ca_server did not return a certificate: %s", data.Str(v))
	}
	return cert, key, m.copy(cert, original)
}

// remoteArgs converts arguments to a form that another minion can use. It returns the private key
// that they contain, or nil.
func (m *module) remoteArgs(k *data.Map) (key crypto.Signer, err error) {
	var public crypto.PublicKey
	switch {
	case data.Truth(k.Value("private_key")):
		if key, _, err = m.reader().Key(k.Value("private_key"),
			k.Value("private_key_passphrase")); err != nil {
			return nil, err
		}
		public = key.Public()
	case data.Truth(k.Value("public_key")):
		if public, err = m.reader().PublicKey(k.Value("public_key")); err != nil {
			return nil, err
		}
	}
	for _, word := range []string{"private_key", "private_key_passphrase",
		"signing_private_key_passphrase"} {
		k.Delete(word)
	}
	// A path is one of the other minion.
	if path, ok := k.Value("signing_private_key").(string); !ok || !strings.HasPrefix(path, "/") {
		k.Delete("signing_private_key")
	}
	if public != nil {
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			return nil, loader.Execution("encode a public key: %w", err)
		}
		k.Set("public_key", der)
	}
	if data.Truth(k.Value("csr")) {
		q, _, err := m.reader().Request(k.Value("csr"))
		if err != nil {
			return nil, err
		}
		k.Set("csr", []byte(q.Raw))
	}
	return key, nil
}

// query asks another minion to sign, or only for a policy.
func (m *module) query(
	ctx context.Context, server string, policy any, k *data.Map, policyOnly bool,
) (any, error) {
	answers, err := calls.Publish(ctx, m.env, calls.Publication{
		Target: server, Fun: "x509.sign_remote_certificate", Arg: []any{policy, k, policyOnly},
	})
	if err != nil {
		return nil, err
	}
	if answers.Len() == 0 {
		return nil, loader.Invocation("ca_server did not respond. Salt master must permit peers to call the sign_remote_certificate function.")
	}
	_, first := answers.At(0)
	answer, ok := first.(*data.Map)
	if !ok || !answer.Has("data") {
		m.env.Log.Errorf("Received invalid return value from ca_server: %s", data.Str(answers))
		return nil, loader.Execution("Received invalid return value from ca_server. See minion log for details")
	}
	if list, _ := answer.Value("errors").([]any); len(list) > 0 {
		lines := make([]string, len(list))
		for i, line := range list {
			lines[i] = data.Str(line)
		}
		return nil, loader.Execution("ca_server reported errors:\n%s", strings.Join(lines, "\n"))
	}
	return answer.Value("data"), nil
}

type policyArgs struct {
	SigningPolicy any
	CaServer      any `default:"None"`
}

// getSigningPolicy returns a signing policy of this minion, or of another minion that signs for it.
// It leaves out passphrases and keys given as text.
//
// CLI Example:
//
//	salt '*' x509.get_signing_policy www
func (m *module) getSigningPolicy(ctx context.Context, a policyArgs) (any, error) {
	if a.CaServer == nil {
		policy, err := draft.SigningPolicy(ctx, m.env, a.SigningPolicy)
		if err != nil {
			return nil, err
		}
		policy.Delete("signing_private_key_passphrase")
		if !m.reader().IsFile(policy.Value("signing_private_key")) {
			policy.Delete("signing_private_key")
		}
		draft.Modern(policy)
		return policy, nil
	}
	v, err := m.query(ctx, data.Str(a.CaServer), a.SigningPolicy, data.NewMap(), true)
	if err != nil {
		return nil, err
	}
	policy, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Execution("Received invalid return value from ca_server. See minion log for details")
	}
	if policy = policy.Clone(); policy.Has("signing_cert") {
		cert, err := draft.Reader{NoFiles: true}.Certificate(policy.Value("signing_cert"))
		if err != nil {
			return nil, err
		}
		policy.Set("signing_cert", string(cert.PEM()))
	}
	draft.Modern(policy)
	return policy, nil
}

type signRemoteArgs struct {
	SigningPolicy        any
	Wish                 any       `name:"kwargs"`
	GetSigningPolicyOnly bool      `default:"False"`
	More                 *data.Map `kwargs:"more_kwargs"`
}

// signRemoteCertificate creates a certificate for another minion, which calls it through
// publish.publish. It returns a dictionary: data is the certificate in DER, and errors lists the
// errors. If a policy has minions, only those may use it.
//
// kwargs
//
//	The arguments of create_certificate.
//
// get_signing_policy_only
//
//	Return only the policy, without the signing key.
//
// CLI Example:
//
//	salt '*' x509.sign_remote_certificate www kwargs="{'public_key': '/etc/pki/www.key'}"
func (m *module) signRemoteCertificate(ctx context.Context, a signRemoteArgs) (any, error) {
	policy, refusal, err := m.policyFor(ctx, a)
	if err != nil {
		m.env.Log.Error(err)
		return failed("Failed building the signing policy. See CA server log for details."), nil
	}
	if refusal != "" {
		return failed(refusal), nil
	}
	if a.GetSigningPolicyOnly {
		return m.publicPolicy(policy), nil
	}
	k, err := foreign(a.Wish)
	if err != nil {
		return failed(err.Error()), nil
	}
	draft.Merge(policy, k)
	cert, _, err := m.signHere(k)
	if err != nil {
		return failed(err.Error()), nil
	}
	return answer([]byte(cert.Raw)), nil
}

func answer(v any, errors ...any) *data.Map {
	return data.NewMap("data", v, "errors", append([]any{}, errors...))
}

func failed(text string) *data.Map { return answer(nil, text) }

// policyFor returns a policy, or the reason why the requester must not use it.
func (m *module) policyFor(
	ctx context.Context, a signRemoteArgs,
) (policy *data.Map, refusal string, err error) {
	policy, err = draft.SigningPolicy(ctx, m.env, a.SigningPolicy)
	if err != nil {
		return nil, "", err
	}
	if policy.Len() == 0 {
		return nil, "signing_policy must be specified and defined on signing minion", nil
	}
	meant, ok := policy.Get("minions")
	if !ok {
		return policy, "", nil
	}
	policy.Delete("minions")
	if !a.More.Has("__pub_id") {
		return nil, "minion sending this request could not be identified", nil
	}
	fits, err := m.matches(ctx, data.Str(meant), data.Str(a.More.Value("__pub_id")))
	if err != nil {
		return nil, "", err
	}
	if !fits {
		return nil, "minion not permitted to use specified signing policy", nil
	}
	return policy, "", nil
}

// matches reports whether a minion matches a target. For a compound target it asks the minion
// itself.
func (m *module) matches(ctx context.Context, target, id string) (bool, error) {
	if !strings.Contains(target, "@") {
		return calls.MatchGlob(ctx, m.env, target, id)
	}
	answers, err := calls.Publish(ctx, m.env, calls.Publication{
		Target: id, Fun: "match.compound", Arg: target,
	})
	if err != nil {
		return false, err
	}
	if !answers.Has(id) {
		return false, loader.Execution("Could not verify if minion matches compound matching expression. Make sure the ca_server is allowed to run " +
			"`match.compound` on the requesting minion")
	}
	return answers.Value(id) == true, nil
}

// publicPolicy returns a policy in the form that others may see: with the signing certificate, and
// without its key.
func (m *module) publicPolicy(policy *data.Map) *data.Map {
	policy.Delete("signing_private_key")
	policy.Delete("signing_private_key_passphrase")
	if policy.Has("signing_cert") {
		cert, err := m.reader().Certificate(policy.Value("signing_cert"))
		if err != nil {
			return failed(err.Error())
		}
		policy.Set("signing_cert", []byte(cert.Raw))
	}
	return answer(policy)
}

// foreign returns the arguments that another minion may set. Only the policy selects the signing
// key and the place of copies, and files of this host are not read for others.
func foreign(v any) (*data.Map, error) {
	args, ok := v.(*data.Map)
	if !ok {
		return nil, loader.TypeError("kwargs must be a dictionary, not %s", loader.TypeName(v))
	}
	k := userArgs(args)
	for _, word := range []string{
		"ca_server", "copypath", "prepend_cn", "signing_private_key",
		"signing_private_key_passphrase", "signing_cert", "private_key",
		"private_key_passphrase",
	} {
		k.Delete(word)
	}
	for _, word := range []string{"public_key", "csr"} {
		if !data.Truth(k.Value(word)) {
			k.Delete(word)
			continue
		}
		b, err := draft.Reader{NoFiles: true}.Bytes(k.Value(word))
		if err != nil {
			return nil, err
		}
		k.Set(word, b)
	}
	return k, nil
}
