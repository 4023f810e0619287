package x509

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// policy returns the signing policy with a name, from pillar or configuration. It returns nil if
// the policy does not exist.
func (m *module) policy(ctx context.Context, name string) (*data.Map, error) {
	const key = "x509_signing_policies"
	policies, err := calls.PillarGet[*data.Map](ctx, m.env, key, nil)
	if err == nil && !data.Truth(policies.Value(name)) {
		policies, err = calls.ConfigGet[*data.Map](ctx, m.env, key, nil)
	}
	if err != nil {
		return nil, err
	}
	if v := policies.Value(name); data.Truth(v) {
		return joined(v), nil
	}
	return nil, nil
}

// joined returns a copy of a policy, which may be a dictionary or a list of dictionaries, as one
// dictionary.
func joined(v any) *data.Map {
	all := data.NewMap()
	parts, ok := v.([]any)
	if !ok {
		parts = []any{v}
	}
	for _, part := range parts {
		if m, ok := part.(*data.Map); ok {
			all.Update(m)
		}
	}
	return all
}

// applyPolicy overrides arguments by the signing policy that they name.
func (m *module) applyPolicy(ctx context.Context, k *data.Map) error {
	if !k.Has("signing_policy") {
		return nil
	}
	name := data.Str(k.Value("signing_policy"))
	p, err := m.policy(ctx, name)
	if err != nil {
		return err
	}
	if p == nil {
		return loader.Invocation("Signing policy %s does not exist.", name)
	}
	k.Update(p)
	return nil
}

type policyArgs struct{ SigningPolicyName any }

// getSigningPolicy returns a signing policy of this minion, with the signing certificate but
// without its key.
//
// CLI Example:
//
//	salt '*' x509.get_signing_policy www
func (m *module) getSigningPolicy(ctx context.Context, a policyArgs) (any, error) {
	name := data.Str(a.SigningPolicyName)
	p, err := m.policy(ctx, name)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return "Signing policy " + name + " does not exist.", nil
	}
	p.Delete("signing_private_key")
	p.Delete("signing_private_key_passphrase")
	if p.Has("signing_cert") {
		text, err := m.entry(p.Value("signing_cert"), certKind)
		if err != nil {
			return nil, err
		}
		p.Set("signing_cert", []byte(text))
	}
	return p, nil
}

type signRemoteArgs struct {
	Argdic any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// signRemoteCertificate creates a certificate for another minion, which calls it through
// publish.publish. argdic holds the arguments of create_certificate and must name a signing policy.
// If the policy has minions, only those may use it.
//
// CLI Example:
//
//	salt '*' x509.sign_remote_certificate argdic="{'public_key': '/etc/pki/www.key', 'signing_policy': 'www'}" __pub_id='www1'
func (m *module) signRemoteCertificate(ctx context.Context, a signRemoteArgs) (any, error) {
	args, ok := a.Argdic.(*data.Map)
	if text, is := a.Argdic.(string); is {
		if v, _ := loader.ParseInput([]any{text}); len(v) == 1 {
			args, ok = v[0].(*data.Map)
		}
	}
	if !ok || !args.Has("signing_policy") {
		return "signing_policy must be specified", nil
	}
	refusal, err := m.refusal(ctx, data.Str(args.Value("signing_policy")), a.Kwargs)
	if err != nil || refusal != "" {
		return refusal, err
	}
	k, err := foreign(args)
	if err != nil {
		return err.Error(), nil
	}
	v, err := m.createCertificate(ctx,
		createCertificateArgs{Text: true, Overwrite: true, Kwargs: k})
	if err != nil {
		return err.Error(), nil
	}
	return v, nil
}

// foreign returns the arguments that another minion may set. Only the policy selects the signing
// key and the place of copies, and files of this host are not read for others.
func foreign(args *data.Map) (*data.Map, error) {
	k := args.Clone()
	for _, word := range []string{
		"path", "text", "ca_server", "overwrite", "copypath", "signing_private_key",
		"signing_private_key_passphrase", "signing_cert",
	} {
		k.Delete(word)
	}
	for _, word := range []string{"public_key", "csr"} {
		if text := data.Str(orEmpty(k.Value(word))); text != "" &&
			!strings.Contains(text, "-----BEGIN ") {
			return nil, loader.Invocation("PEM text not valid:\n%s", text)
		}
	}
	return k, nil
}

// refusal returns the reason why a minion must not use a signing policy, "" if it may.
func (m *module) refusal(ctx context.Context, name string, kwargs *data.Map) (string, error) {
	p, err := m.policy(ctx, name)
	if err != nil {
		return "", err
	}
	if p == nil {
		return "Signing policy " + name + " does not exist.", nil
	}
	if !p.Has("minions") {
		return "", nil
	}
	if !kwargs.Has("__pub_id") {
		return "minion sending this request could not be identified", nil
	}
	id := data.Str(kwargs.Value("__pub_id"))
	fits, err := m.matches(ctx, data.Str(p.Value("minions")), id)
	if err != nil || fits {
		return "", err
	}
	return id + " not permitted to use signing policy " + name, nil
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
	return answers.Value(id) == true, err
}

// internal reports whether an argument belongs to a state and not to a certificate.
func internal(word string) bool {
	const words = " onchanges onchanges_any onfail onfail_any onfail_all onfail_stop prereq prerequired watch watch_any require require_any listen" +
		" onchanges_in onfail_in prereq_in watch_in require_in listen_in fun state check_cmd cmd_opts_exclude failhard onlyif unless creates" +
		" retry order parallel reload_modules reload_grains reload_pillar runas runas_password fire_event saltenv umask use use_in "
	return strings.HasPrefix(word, "__") || strings.Contains(words, " "+word+" ")
}

// askServer makes another minion create a certificate.
func (m *module) askServer(ctx context.Context, a createCertificateArgs, k *data.Map) (any, error) {
	server := data.Str(a.CaServer)
	if !k.Has("signing_policy") {
		return nil, loader.Invocation("signing_policy must be specifiedif requesting remote certificate from ca_server %s.", server)
	}
	args, err := m.remoteArgs(k)
	if err != nil {
		return nil, err
	}
	answers, err := calls.Publish(ctx, m.env, calls.Publication{
		Target: server, Fun: "x509.sign_remote_certificate", Arg: args, Timeout: 30,
	})
	if err != nil {
		return nil, err
	}
	if answers.Len() == 0 {
		return nil, loader.Invocation("ca_server did not respond salt master must permit peers to call the sign_remote_certificate function.")
	}
	answer, ok := answers.Get(server)
	if !ok {
		return nil, loader.Exception("KeyError", "%s", data.Repr(server))
	}
	if text, ok := answer.(string); ok {
		if found, err := certificate.FindPEM(text, certKind); err != nil || found == nil {
			return nil, loader.Invocation("%s", text)
		}
	}
	if data.Truth(a.Path) {
		return m.writePEM(answer, data.Str(a.Path), a.Overwrite, certKind)
	}
	return answer, nil
}

// remoteArgs returns the arguments to send to another minion. They contain no private key.
func (m *module) remoteArgs(k *data.Map) (*data.Map, error) {
	args := data.NewMap()
	for word, v := range k.All() {
		if name := data.Str(word); !internal(name) && !strings.HasSuffix(name, "private_key") &&
			!strings.HasSuffix(name, "_passphrase") {
			args.Set(name, v)
		}
	}
	if k.Has("csr") {
		text, err := m.entry(k.Value("csr"), requestKind)
		if err != nil {
			return nil, err
		}
		args.Set("csr", strings.ReplaceAll(text, "\n", ""))
	}
	if k.Has("public_key") {
		key, err := m.publicKey(k.Value("public_key"), k.Value("public_key_passphrase"))
		if err != nil {
			return nil, err
		}
		text, err := publicPEM(key)
		if err != nil {
			return nil, err
		}
		args.Set("public_key", strings.ReplaceAll(string(text), "\n", ""))
	}
	return args, nil
}
