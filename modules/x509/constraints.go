package x509

import (
	"encoding/asn1"
	"fmt"
	"strconv"
	"strings"

	"github.com/brineproject/brine/internal/certificate"
)

func encodeConstraints(_ *certificate.Certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	c := certificate.Constraints{PathLen: -1}
	for _, p := range list {
		switch p.name {
		case "CA":
			c.CA, err = truth(p.value)
		case "pathlen":
			c.PathLen, err = strconv.Atoi(p.value)
			if c.PathLen < 0 {
				err = errValue
			}
		default:
			err = errValue
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

func truth(text string) (bool, error) {
	switch text {
	case "TRUE", "true", "Y", "y", "YES", "yes":
		return true, nil
	case "FALSE", "false", "N", "n", "NO", "no":
		return false, nil
	}
	return false, errValue
}

func showConstraints(der []byte) (string, error) {
	var c certificate.Constraints
	if err := certificate.Whole(der, &c); err != nil {
		return "", err
	}
	text := "CA:" + strings.ToUpper(strconv.FormatBool(c.CA))
	if c.PathLen >= 0 {
		text += ", pathlen:" + strconv.Itoa(c.PathLen)
	}
	return text, nil
}

func encodePolicyLimits(_ *certificate.Certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	limits := certificate.PolicyLimits{Require: -1, Inhibit: -1}
	for _, p := range list {
		n, err := strconv.Atoi(p.value)
		switch {
		case err != nil || n < 0:
			return nil, errValue
		case p.name == "requireExplicitPolicy":
			limits.Require = n
		case p.name == "inhibitPolicyMapping":
			limits.Inhibit = n
		default:
			return nil, errValue
		}
	}
	return limits, nil
}

func showPolicyLimits(der []byte) (string, error) {
	var limits certificate.PolicyLimits
	if err := certificate.Whole(der, &limits); err != nil {
		return "", err
	}
	var parts []string
	if limits.Require >= 0 {
		parts = append(parts, fmt.Sprintf("Require Explicit Policy:%d", limits.Require))
	}
	if limits.Inhibit >= 0 {
		parts = append(parts, fmt.Sprintf("Inhibit Policy Mapping:%d", limits.Inhibit))
	}
	return strings.Join(parts, ", "), nil
}

func encodeNumber(_ *certificate.Certificate, text string) (any, error) {
	return strconv.Atoi(text)
}

func showNumber(der []byte) (string, error) {
	var n int
	err := certificate.Whole(der, &n)
	return strconv.Itoa(n), err
}

func encodeSubtrees(_ *certificate.Certificate, text string) (any, error) {
	list, err := pairs(text)
	if err != nil {
		return nil, err
	}
	var s certificate.Subtrees
	for _, p := range list {
		which, kind, _ := strings.Cut(p.name, ";")
		base, err := encodeName(kind, p.value)
		switch {
		case err != nil:
			return nil, err
		case which == "permitted":
			s.Permitted = append(s.Permitted, certificate.Subtree{Base: base})
		case which == "excluded":
			s.Excluded = append(s.Excluded, certificate.Subtree{Base: base})
		default:
			return nil, errValue
		}
	}
	return s, nil
}

func showSubtrees(der []byte) (string, error) {
	var s certificate.Subtrees
	if err := certificate.Whole(der, &s); err != nil {
		return "", err
	}
	var lines []string
	for _, group := range []struct {
		title string
		list  []certificate.Subtree
	}{{"Permitted:", s.Permitted}, {"Excluded:", s.Excluded}} {
		if len(group.list) > 0 {
			lines = append(lines, group.title)
		}
		for _, t := range group.list {
			text, err := showBase(t.Base)
			if err != nil {
				return "", err
			}
			lines = append(lines, "  "+text)
		}
	}
	return strings.Join(lines, "\n"), nil
}

func showBase(base asn1.RawValue) (string, error) {
	if half := len(base.Bytes) / 2; base.Tag == 7 && (half == 4 || half == 16) {
		return "IP:" + showIP(base.Bytes[:half]) + "/" + showIP(base.Bytes[half:]), nil
	}
	return showName(base)
}
