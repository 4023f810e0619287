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
)

// askServer has another minion make a certificate. No private key goes there.
func (m *module) askServer(ctx context.Context, server string, policy any, k *data.Map) (*certificate.Certificate, crypto.Signer, error) {
	asked := k
	k = k.Clone()
	k.Delete("copypath") // of this host, where the copy is kept
	k.Delete("prepend_cn")
	key, err := m.question(k)
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
	return cert, key, m.copy(cert, asked)
}

// question makes arguments what another minion can use, and returns the private key among them, nil where there is none.
func (m *module) question(k *data.Map) (key crypto.Signer, err error) {
	var public crypto.PublicKey
	switch {
	case data.Truth(k.Value("private_key")):
		if key, _, err = m.reader().Key(k.Value("private_key"), k.Value("private_key_passphrase")); err != nil {
			return nil, err
		}
		public = key.Public()
	case data.Truth(k.Value("public_key")):
		if public, err = m.reader().PublicKey(k.Value("public_key")); err != nil {
			return nil, err
		}
	}
	for _, word := range []string{"private_key", "private_key_passphrase", "signing_private_key_passphrase"} {
		k.Delete(word)
	}
	if path, ok := k.Value("signing_private_key").(string); !ok || !strings.HasPrefix(path, "/") { // a path is one of the other minion
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

// query asks another minion to sign, or for a policy alone.
func (m *module) query(ctx context.Context, server string, policy any, k *data.Map, policyOnly bool) (any, error) {
	v, err := m.env.Call(ctx, "publish.publish", []any{server, "x509.sign_remote_certificate"}, data.NewMap("arg", []any{policy, k, policyOnly}))
	if err != nil {
		return nil, err
	}
	answers, ok := v.(*data.Map)
	if !ok || answers.Len() == 0 {
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

// getSigningPolicy returns a signing policy of this minion, or of another that signs for it. A passphrase is not in it, nor a key as text.
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

// signRemoteCertificate makes a certificate for another minion, which asks by publish.publish. It answers with a dictionary: data is the
// certificate in DER, and errors is what went wrong. Where a policy has minions, only those are served.
//
// kwargs
//
//	The arguments of create_certificate.
//
// get_signing_policy_only
//
//	Answer with the policy alone, without the key that signs.
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
		return m.shown(policy), nil
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

// policyFor returns a policy, or why whoever asks may not use it.
func (m *module) policyFor(ctx context.Context, a signRemoteArgs) (policy *data.Map, refusal string, err error) {
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

// matches reports whether a minion is meant by a target: itself tells where the target is a compound one.
func (m *module) matches(ctx context.Context, target, id string) (bool, error) {
	if !strings.Contains(target, "@") {
		v, err := m.env.Call(ctx, "match.glob", []any{target, id}, nil)
		return data.Truth(v), err
	}
	v, err := m.env.Call(ctx, "publish.publish", nil, data.NewMap("tgt", id, "fun", "match.compound", "arg", target))
	if err != nil {
		return false, err
	}
	answers, _ := v.(*data.Map)
	if !answers.Has(id) {
		return false, loader.Execution("Could not verify if minion matches compound matching expression. Make sure the ca_server is allowed to run " +
			"`match.compound` on the requesting minion")
	}
	return answers.Value(id) == true, nil
}

// shown answers with a policy as others may see it: with the certificate that signs, and without its key.
func (m *module) shown(policy *data.Map) *data.Map {
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

// foreign returns the arguments of another minion that count: which key signs and where copies go is the policy's alone, and files of
// this host are not read for others.
func foreign(v any) (*data.Map, error) {
	args, ok := v.(*data.Map)
	if !ok {
		return nil, loader.TypeError("kwargs must be a dictionary, not %s", loader.TypeName(v))
	}
	k := own(args)
	for _, word := range []string{
		"ca_server", "copypath", "prepend_cn", "signing_private_key", "signing_private_key_passphrase", "signing_cert", "private_key",
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
