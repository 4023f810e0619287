package draft

import (
	"encoding/asn1"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// Qualifiers of policies (RFC 5280, 4.2.1.4).
const (
	OIDPractice = "1.3.6.1.5.5.7.2.1"
	oidNotice   = "1.3.6.1.5.5.7.2.2"
)

// policies builds certificatePolicies: object identifiers, or a dictionary of them with their
// qualifiers.
func policies(_ about, v any) (any, bool, error) {
	switch v := v.(type) {
	case string:
		return policyWords(v)
	case *data.Map:
		out := []certificate.Policy{}
		for id, qualifiers := range v.All() {
			if id == "critical" {
				continue
			}
			oid, err := identifier(data.Str(id))
			if err != nil {
				return nil, false, err
			}
			p := certificate.Policy{ID: oid}
			if p.Qualifiers, err = qualifierList(qualifiers); err != nil {
				return nil, false, err
			}
			out = append(out, p)
		}
		return out, data.Truth(v.Value("critical")), nil
	}
	return nil, false, loader.Invocation("certificatePolicies must be a string or a dictionary, not %s", loader.TypeName(v))
}

func policyWords(text string) (any, bool, error) {
	out := []certificate.Policy{}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "critical" {
			continue
		}
		oid, ok := certificate.ParseOID(word)
		if !ok {
			return nil, false, loader.Invocation("certificatePolicies defined as string must be a comma-separated list of OID.")
		}
		out = append(out, certificate.Policy{ID: oid})
	}
	return out, strings.HasPrefix(text, "critical"), nil
}

func qualifierList(v any) ([]asn1.RawValue, error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		list = []any{v}
	}
	var out []asn1.RawValue
	for _, one := range list {
		q, err := qualifier(one)
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

// qualifier builds a practice statement from a text, or a notice from a dictionary of organization,
// noticeNumbers and text.
func qualifier(v any) (asn1.RawValue, error) {
	var q struct {
		ID    asn1.ObjectIdentifier
		Value any
	}
	var der []byte
	var err error
	if m, ok := v.(*data.Map); ok {
		q.ID, _ = certificate.ParseOID(oidNotice)
		der, err = notice(m)
	} else {
		q.ID, _ = certificate.ParseOID(OIDPractice)
		der, err = asn1.Marshal(asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte(data.Str(v))})
	}
	if err != nil {
		return asn1.RawValue{}, err
	}
	whole, err := asn1.Marshal(certificate.Qualifier{ID: q.ID,
		Value: asn1.RawValue{FullBytes: der}})
	return asn1.RawValue{FullBytes: whole}, err
}

// A noticeText is a notice for users of a certificate.
type noticeText struct {
	Reference noticeReference `asn1:"optional"`
	Text      string          `asn1:"optional,utf8"`
}

// A noticeReference refers to the full notice.
type noticeReference struct {
	Organization string `asn1:"utf8"`
	Numbers      []int
}

func notice(m *data.Map) ([]byte, error) {
	n := noticeText{Text: data.Str(orEmpty(m.Value("text")))}
	numbers, _ := m.Value("noticeNumbers").([]any)
	for _, v := range numbers {
		i, ok := v.(int64)
		if !ok {
			return nil, loader.Execution("notice_numbers must be a list of integers")
		}
		n.Reference.Numbers = append(n.Reference.Numbers, int(i))
	}
	n.Reference.Organization = data.Str(orEmpty(m.Value("organization")))
	if n.Reference.Organization == "" && numbers == nil {
		return asn1.Marshal(struct {
			Text string `asn1:"optional,utf8"`
		}{n.Text})
	}
	return asn1.Marshal(n)
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

// policyLimits builds policyConstraints.
func policyLimits(_ about, v any) (any, bool, error) {
	critical := contains(v, "critical")
	m, ok := v.(*data.Map)
	if text, is := v.(string); is {
		var list []pair
		m = data.NewMap()
		list, critical = pairsOf(text)
		for _, p := range list {
			m.Set(p.name, p.value)
		}
	} else if !ok {
		return nil, false, loader.TypeError("policyConstraints must be a string or a dictionary, not %s", loader.TypeName(v))
	}
	limits := certificate.PolicyLimits{Require: -1, Inhibit: -1}
	for word, at := range map[string]*int{"requireExplicitPolicy": &limits.Require,
		"inhibitPolicyMapping": &limits.Inhibit} {
		n, there := m.Get(word)
		if !there {
			continue
		}
		i, err := strconv.Atoi(data.Str(n))
		if err != nil || i < 0 {
			return nil, false, loader.Exception("ValueError",
				"invalid literal for int() with base 10: %s", data.Repr(n))
		}
		*at = i
	}
	if limits.Require < 0 && limits.Inhibit < 0 {
		return nil, false, loader.Invocation("At least one of require_explicit_policy and inhibit_policy_mapping must not be None")
	}
	return limits, critical, nil
}

// inhibitAny builds inhibitAnyPolicy.
func inhibitAny(_ about, v any) (any, bool, error) {
	critical := false
	switch given := v.(type) {
	case string:
		var list []pair
		list, critical = pairsOf(given)
		v = list[0].name
	case *data.Map:
		critical = given.Has("critical")
		if !given.Has("value") {
			return nil, false, loader.Invocation("Undefined required key for inhibitAnyPolicy: 'value'")
		}
		v = given.Value("value")
	}
	n, err := strconv.Atoi(data.Str(v))
	if err != nil {
		return nil, false, loader.Exception("ValueError",
			"invalid literal for int() with base 10: %s", data.Repr(v))
	}
	if n < 0 {
		return nil, false, loader.Invocation("skip_certs must be a non-negative integer")
	}
	return n, critical, nil
}

// subtrees builds nameConstraints.
func subtrees(_ about, v any) (any, bool, error) {
	var out certificate.Subtrees
	for scope, at := range map[string]*[]certificate.Subtree{"permitted": &out.Permitted,
		"excluded": &out.Excluded} {
		list, err := generals(scoped(v, scope))
		if err != nil {
			return nil, false, err
		}
		for _, n := range list {
			if n.Tag == certificate.NameIP && (len(n.Bytes) == 4 || len(n.Bytes) == 16) {
				return nil, false, loader.TypeError("IPAddress name constraints must be an IPv4Network or IPv6Network object")
			}
			*at = append(*at, certificate.Subtree{Base: n})
		}
	}
	if out.Permitted == nil && out.Excluded == nil {
		return nil, false, loader.Invocation("nameConstraints needs at least one definition")
	}
	return out, contains(v, "critical"), nil
}

// scoped returns the permitted names, or the excluded ones.
func scoped(v any, scope string) []pair {
	switch v := v.(type) {
	case string:
		var list []pair
		for part := range strings.SplitSeq(v, ",") {
			which, rest, _ := strings.Cut(strings.TrimSpace(part), ";")
			if which == scope {
				kind, value, _ := strings.Cut(rest, ":")
				list = append(list, pair{kind, value})
			}
		}
		return list
	case *data.Map:
		list, _ := names(v.Value(scope))
		return list
	}
	return nil
}
