package draft

import (
	"strings"
	"testing"
)

// TestHostname has samples of RFC 3492, section 7.1, and names that stay as they are.
func TestHostname(t *testing.T) {
	for name, want := range map[string]string{
		"他们为什么不说中文":                    "xn--ihqwcrb4cv8a8dqg056pqjye",
		"почемужеонинеговорятпорусски": "xn--b1abfaaepdrnnbgefbadotcwatmq2g4l",
		"3年B組金八先生":                     "xn--3B-ww4c5e180e575a65lsy2b",
		"ひとつ屋根の下2":                     "xn--2-u9tlzr9756bt3uc0v",
		"www.münchen.de":               "www.xn--mnchen-3ya.de",
		"mu\u0308nchen。de":             "xn--mnchen-3ya.de",
		"*.example.com":                "*.example.com",
		"under_score..x:8080":          "under_score..x:8080",
		"":                             "",
	} {
		if got, err := hostname(name); err != nil || got != want {
			t.Errorf("hostname(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
	// Python's idna refuses both
	for _, label := range []string{strings.Repeat("ä", 60), strings.Repeat("ä", 1<<20)} {
		if got, err := hostname("a." + label + ".b"); err == nil || err.Error() != "Label too long" {
			t.Errorf("a label of %d bytes becomes %q, %v", len(label), got, err)
		}
	}
}

// FuzzTexts reads arguments in base 16, base 64 and IDNA.
func FuzzTexts(f *testing.F) {
	f.Add("aGFsbG8=")
	f.Add("68 61 6c6c6f")
	f.Add("käse.de")
	f.Fuzz(func(t *testing.T, text string) {
		if b, err := fromHex(text); err == nil && 2*len(b) > len(text) {
			t.Errorf("%q has %d bytes", text, len(b))
		}
		if b, err := fromBase64(text); err == nil && 4*len(b) > 3*len(text) {
			t.Errorf("%q has %d bytes", text, len(b))
		}
		if host, err := hostname(text); err == nil &&
			strings.ContainsFunc(host, func(r rune) bool { return r >= 128 }) {
			t.Errorf("%q becomes %q", text, host)
		}
	})
}
