package draft

import (
	"encoding/asn1"
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/loader"
)

// Layout is the format of times in arguments and results. They are in UTC.
const Layout = "2006-01-02 15:04:05"

// timeOf parses a time of an argument.
func timeOf(v any) (time.Time, error) {
	text, ok := v.(string)
	if !ok {
		return time.Time{}, loader.TypeError("strptime() argument 1 must be str, not %s",
			loader.TypeName(v))
	}
	t, err := time.Parse(Layout, text)
	if err != nil {
		return t, loader.Exception("ValueError",
			"time data %s does not match format '%%Y-%%m-%%d %%H:%%M:%%S'", data.Repr(text))
	}
	return t, nil
}

// listNumber builds cRLNumber.
func listNumber(_ about, v any) (any, bool, error) {
	n, ok := new(big.Int).SetString(strings.TrimSpace(data.Str(v)), 10)
	if !ok {
		return nil, false, loader.Invocation("cRLNumber must be an integer and must be marked as non-critical")
	}
	return n, false, nil
}

// deltaList builds deltaCRLIndicator.
func deltaList(_ about, v any) (any, bool, error) {
	text := data.Str(v)
	found := regexp.MustCompile(`[0-9]+`).FindAllString(text, 2)
	if len(found) != 1 {
		return nil, false, loader.Invocation("deltaCRLIndicator must contain a single integer pointing to a cRLNumber")
	}
	n, _ := new(big.Int).SetString(found[0], 10)
	return n, strings.Contains(text, "critical"), nil
}

// reason builds CRLReason.
func reason(_ about, v any) (any, bool, error) {
	critical := contains(v, "critical")
	word := data.Str(v)
	switch v := v.(type) {
	case string:
		var list []pair
		list, critical = pairsOf(v)
		word = list[0].name
	case []any:
		for _, one := range v {
			if one != "critical" {
				word = data.Str(one)
				break
			}
		}
	}
	r, err := reasonOf(word)
	return asn1.Enumerated(r.Code), critical, err
}

// invalidity builds invalidityDate.
func invalidity(_ about, v any) (any, bool, error) {
	text, ok := v.(string)
	if !ok {
		return nil, false, loader.Invocation("invalidityDate must be a string")
	}
	critical := strings.HasPrefix(text, "critical")
	if critical {
		_, text, _ = strings.Cut(text, " ")
	}
	t, err := timeOf(text)
	if err != nil {
		return nil, false, loader.Invocation("%w", err)
	}
	return asn1.RawValue{Tag: asn1.TagGeneralizedTime, Bytes: []byte(t.Format("20060102150405Z"))},
		critical, nil
}

// serialOf parses a serial number: an integer, hex digits with or without colons, or bytes.
func serialOf(v any) (*big.Int, error) {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v), nil
	case uint64:
		return new(big.Int).SetUint64(v), nil
	case *big.Int:
		return v, nil
	case []byte:
		return new(big.Int).SetBytes(v), nil
	case string:
		if b, err := fromHex(strings.ReplaceAll(v, ":", "")); err == nil {
			return new(big.Int).SetBytes(b), nil
		}
	}
	return nil, loader.Execution("Could not parse serial number %s", data.Str(v))
}

// SerialText returns a serial number as hex digits separated by colons.
func SerialText(n *big.Int) string {
	if n.Sign() == 0 {
		return "00"
	}
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
	}
	return sign + certificate.Hex(n.Bytes())
}
