package draft

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/brineproject/brine/loader"
)

// maxLabel is the maximum length of a label (RFC 5890, 2.3.1); the cost of Punycode grows with its
// square.
const maxLabel = 63

// hostname encodes labels that are not ASCII by IDNA (RFC 5891: NFC, and Punycode after xn--). An
// encoded label that is too long is an error.
func hostname(text string) (string, error) {
	labels := strings.Split(strings.NewReplacer("\u3002", ".", "\uff0e", ".", "\uff61",
		".").Replace(text), ".")
	for i, label := range labels {
		if strings.ContainsFunc(label, func(r rune) bool { return r >= utf8.RuneSelf }) {
			if signs := []rune(norm.NFC.String(label)); len(signs) <= maxLabel {
				labels[i] = "xn--" + punycode(signs)
			}
			if len(labels[i]) > maxLabel {
				return "", loader.Exception("idna.core.IDNAError", "Label too long")
			}
		}
	}
	return strings.Join(labels, "."), nil
}

// punycode encodes a label (RFC 3492, section 6.3).
func punycode(label []rune) string {
	var out []byte
	for _, r := range label {
		if r < utf8.RuneSelf {
			out = append(out, byte(r))
		}
	}
	basic := len(out)
	if basic > 0 {
		out = append(out, '-')
	}
	n, delta, bias := rune(128), 0, 72
	for done := basic; done < len(label); n++ {
		next := rune(utf8.MaxRune)
		for _, r := range label {
			if r >= n && r < next {
				next = r
			}
		}
		delta += int(next-n) * (done + 1)
		n = next
		for _, r := range label {
			switch {
			case r < n:
				delta++
			case r == n:
				out = appendNumber(out, delta, bias)
				bias = adapt(delta, done+1, done == basic)
				delta = 0
				done++
			}
		}
		delta++
	}
	return string(out)
}

// appendNumber appends a number in digits whose base depends on their position.
func appendNumber(out []byte, q, bias int) []byte {
	const digits = "abcdefghijklmnopqrstuvwxyz0123456789"
	for k := 36; ; k += 36 {
		t := min(max(k-bias, 1), 26)
		if q < t {
			return append(out, digits[q])
		}
		out = append(out, digits[t+(q-t)%(36-t)])
		q = (q - t) / (36 - t)
	}
}

func adapt(delta, points int, first bool) int {
	if first {
		delta /= 700
	} else {
		delta /= 2
	}
	delta += delta / points
	k := 0
	for ; delta > 35*26/2; k += 36 {
		delta /= 35
	}
	return k + 36*delta/(delta+38)
}
